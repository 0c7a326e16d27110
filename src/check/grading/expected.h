/* The right values of an array, and the verdict on an array in a file.
 *
 * The allowed distance (rounding.h) is measured: all numbers that the values are computed from change by ±ε
 * of themselves at random, several times, and the values are computed again. The largest change of a value,
 * moved_i, shows the size of its terms. A value that is 0 as the difference of others, such as the gradient
 * of a key's bias, keeps the rounding of those. With u the distance from 1 to the next number in the
 * precision of the file:
 *
 *     |found_i - need_i| ≤ 16 u (max_j |need_j| + moved_i / ε) */
#ifndef GRADING_EXPECTED_H
#define GRADING_EXPECTED_H

#include "base/arena.h"
#include "check/gradcheck/report.h"
#include "formats/array.h"

/* ε is float's: the last digits of float would be lost in a change of the last digits of double. */
#define EXPECTED_CHANGE FLT_EPSILON
enum { EXPECTED_TRIALS = 8 };

typedef struct Expected {
    Shape shape;
    long count;     /* elements, in the order of the shape */
    double *need;   /* [count] */
    double *moved;  /* [count]; infinite: any value is right */
    double largest; /* finite |need_i| */
} Expected;

/* Takes the right values. Memory is the arena's. */
void expected_take(Expected *x, Arena *arena, Shape s, const real *value);

/* Takes the values of a trial. */
void expected_move(Expected *x, const real *value);

/* Sets the verdict on an array, the counts and the worst element of the report. False: STATUS_BAD_DATA: it has another
 * shape, or numbers that are neither F32 nor F64. */
bool expected_judge(const Expected *x, const Array *a, InputReport *r, Error *e);

#endif
