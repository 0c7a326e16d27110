/* Loops over whole arrays, on all threads. */
#pragma once

#include "base/real.h"
#include <stdbool.h>

/* y = factor·x, or y += factor·x. The arrays must be equal or not overlap. */
void kernel_scale_to(long count, real factor, const real *x, real *y, bool accumulate);

/* Sets out[j] = Σ_i x[i·ld + j] over `rows` rows of `columns` columns, or adds it. Sums blocks of
 * COLUMN_BLOCK rows, then the blocks: a fixed order. Its rounding error grows with the size of a
 * block, and hardly with the number of rows. */
enum { COLUMN_BLOCK = 128 };
void kernel_column_sums(long rows, long columns, const real *x, long ld, real *out,
                        bool accumulate);

/* The index of the largest of count >= 1 elements, the first one of equals. */
long kernel_argmax(long count, const real *x);
