/* The parts of the check of a case at a point: all gradients against differences, the properties
 * that hold without them, and the mistake that a wrong gradient looks like. */
#pragma once

#include "check/gradcheck/entries.h"

/* The elements to differentiate: all elements of all inputs. In a case with too many elements, a
 * sample of each input's elements moves alone, and all of them move together along a random
 * direction. */
typedef struct Gradients {
    CheckRun *run;         /* computes the gradients */
    CheckRun *differences; /* its forward is differentiated: run itself, or the reference's run */
    Arena *arena;
    uint64_t seed;
    /* The checker has added the point, or the whole case: a gradient is wrong there only where the
     * function is smooth. */
    bool doubted, added;
    double rounding; /* of Entries */

    long outputs, cotangents;
    long runs; /* of an element */
    bool whole;
    const real *cotangent;
    Entries element[CHECK_INPUTS], along[CHECK_INPUTS];
} Gradients;

/* Runs of a case's forward at all of its points, until its gradients have a verdict. */
enum { CHECK_RUNS = 4000 };

/* Fills the parts of the report, and its verdict. The fields of *g up to `added` are given. */
void check_gradients(Gradients *g, CaseReport *report);

/* Checks all properties of properties.def but the first, and reports how they are broken; the last
 * needs a fresh program. */
void check_properties(CheckRun *run, const CheckOptions *how, Arena *arena, CaseReport *report);

/* Explains the wrong and the inconclusive gradients that check_gradients found (comparison.h): each
 * wrong one gets its map, its numbers, and the explanations that fit; the first gives its pattern
 * and reason. The runs are still at the same point, and have run forward. */
void gradcheck_diagnose(const Gradients *g, CaseReport *report);

/* ---- A failing case in full (counterexample.c): its inputs, the upstream gradient, and the
 * gradient and the Jacobian beside the right ones ---- */

/* Writes the case of input k into the report, unless its elements are a sample or the report has a
 * case that is as small; `how` names the changes of the case; "": none. Returns whether it has. */
bool counterexample_write(const Gradients *g, int k, const char *how, InputReport *report);

/* The smallest size of an axis above a number; 0: there is none. */
long counterexample_next_size(const CheckCase *c, long above);
