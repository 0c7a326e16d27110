/* The right values of the arrays of a case in files, and how far rounding may move an element (rounding.h).
 * All inputs change by ±u of themselves at random, several times, and the case runs again; u is the distance
 * from 1 to the next number in the precision of the file. The largest change of an element, moved_i, shows
 * the size of its terms:
 *
 *     |found_i - need_i| ≤ 16 (moved_i + u max_j |need_j|) */
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
    double largest; /* finite |need_i| */
    double *moved[PRECISIONS];
    /* How far the reference itself is from the numeric derivative, where that is too small to be seen and
     * the reference perhaps no more than what rounding left of terms that cancel. */
    double *flat;

    /* The entries of a gradient. Their analytic values are the built-in operation's. Cotangent 0 is dy; the
     * rows after it are the Jacobian's. The states tell what differences prove. */
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

/* The right value of an element. On a kink every value between the one-sided derivatives is right: returns the
 * one nearest to `found`. */
double reference_need(const ReferencePart *p, long i, double found);

/* How far off an element may be. */
double reference_allowed(const ReferencePart *p, long i, Precision precision);

#endif
