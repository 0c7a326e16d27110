/* What the arrays of a case in files have to be, and how far off rounding may bring them (rounding.h).
 *
 * The terms are known here, and so is their number. Let u be the distance from 1 to the next number of the
 * precision in which an array was computed. An element that is the sum of n terms t_i is off by at most n u
 * Σ|t_i|, in whatever order they are added (Higham, Accuracy and Stability of Numerical Algorithms, section
 * 4.2). The terms of dx_j are dy_i ∂y_i/∂x_j, those of y_i are, to first order, x_j ∂y_i/∂x_j: the Jacobian
 * matrix knows them all. A term itself is the result of some STEPS roundings, of operations and elementary
 * functions, each u of the largest number at hand, for which the array's largest element stands; and it moves
 * with the numbers that it is computed from, which a student has only rounded: inputs and outputs. How far,
 * is measured: they are changed by u of themselves, at random, several times over. So
 *
 *     |found - need| ≤ (n + STEPS) (u (Σ|t_i| + max|need|) + the largest move) */
#ifndef GRADING_CASE_REFERENCE_H
#define GRADING_CASE_REFERENCE_H

#include "check/gradcheck/check_entries.h"
#include "check/grading/case_files.h"

typedef enum Precision { SINGLE, DOUBLE, PRECISIONS } Precision; /* of an array's file */

/* One array: the output or the gradient of an input. Arrays have `count` elements, in the order of the
 * shape. */
typedef struct ReferencePart {
    int input;              /* -1: the output */
    char name[REPORT_NAME]; /* y, dx */
    Shape shape;
    long count;
    double *need;
    double *terms; /* Σ|t_i| */
    long *added;   /* n */
    double *moved[PRECISIONS];
    /* How far the reference itself is from the numeric derivative, where that is too small to be seen and
     * the reference perhaps no more than what rounding left of terms that cancel. */
    double *flat;

    /* Of a gradient: its entries, whose analytic values are the built-in operation's; cotangent 0 is dy,
     * and the rows behind it are the Jacobian's. Their states say what differences prove. */
    Entries entries;
} ReferencePart;

typedef struct Reference {
    CaseFiles *files;
    ReferencePart part[REPORT_INPUTS]; /* the output first */
    int parts;
} Reference;

/* Names and shapes alone. */
void reference_list(Reference *r, CaseFiles *files);

/* All else, at the point and the upstream gradient that `files` has now. Memory is its arena's. */
void reference_compute(Reference *r);

/* What an element has to be. On a kink every value between the one-sided derivatives is a gradient: there
 * it is the one that is nearest to `found`. */
double reference_need(const ReferencePart *p, long i, double found);

/* How far off an element may be. */
double reference_allowed(const ReferencePart *p, long i, Precision precision);

#endif
