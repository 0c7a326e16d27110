/* The check cases of an operation: a table, in its own file, of the inputs at which its gradient is
 * proved.
 *
 *     BUILD_CASE(rows, tape_softmax(t, x[0], -1))
 *     static const CheckCase cases[] = {
 *         {"matrix", rows, {{"x", DIMS(3, 5)}}},
 *         {"strided", rows, {{"x", DIMS(3, 5), .layout = TRANSPOSED}}},
 *         {"empty", rows, {{"x", DIMS(0, 5)}}},
 *     };
 *
 * The values of an input are random; seed, operation, case and input determine them, so that every
 * run checks the same points. */
#pragma once

#include "autograd/op.h"

/* How an input's elements lie in memory. */
typedef enum CheckLayout {
    CONTIGUOUS,
    TRANSPOSED, /* the last two axes are stored swapped */
    STEPPED,    /* every second element of a larger array, in every axis */
    REPEATED,   /* stride 0 along the first axis: all its slices are one */
} CheckLayout;

typedef struct CheckInput {
    const char *name; /* as in the operation's derivation: x, gamma, … */
    Shape shape;
    double low, high;     /* values are uniform in [low, high]; both 0: [-2, 2] */
    double away_from;     /* values are at least `margin` away from this pole or kink */
    double margin;        /* 0: no such point */
    bool distinct;        /* no two elements are closer than (high - low) / (2 · count): no ties */
    const double *values; /* instead of random values: one for each element of the shape */
    CheckLayout layout;
    int same_as;   /* 1 + index of an earlier input: the same tensor is passed twice */
    bool constant; /* needs no gradient: its grad is NULL in backward */
} CheckInput;

enum { CHECK_INPUTS = MAX_INPUTS };

struct CheckCase {
    const char *name;
    /* Records the operation on x[0], x[1], … and returns its output. */
    Tensor *(*build)(Tape *t, Tensor **x);
    CheckInput in[CHECK_INPUTS]; /* ends at the first without a name */
    bool kinks;    /* the points lie on kinks or ties: the checker must report a kink, not fail */
    bool flat;     /* saturated: a gradient too small to move the output's last digit counts as 0 */
    double points; /* for grading; 0: 1 point */
};

/* Defines a case's `build` as one expression in the tape t and the inputs x. */
#define BUILD_CASE(name, expression)                                                               \
    static Tensor *name(Tape *t, Tensor **x) {                                                     \
        return expression;                                                                         \
    }

/* Puts a case table into an Op: `CASES(cases)`. */
#define CASES(table) .cases = (table), .n_cases = (int)(sizeof(table) / sizeof *(table))
