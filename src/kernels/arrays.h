/* Loops over whole arrays, on all threads. */
#pragma once

#include "base/real.h"
#include <stdbool.h>

/* y = factor·x, or y += factor·x. The arrays must be equal or not overlap. */
void kernel_scale_to(long count, real factor, const real *x, real *y, bool accumulate);

/* out[j] = Σ_i x[i·ld + j] over `rows` rows of `columns` columns, or out[j] += it. Rows are summed
 * in blocks of COLUMN_BLOCK, then the blocks: a fixed order, whose rounding error grows with the
 * block and hardly with rows. */
enum { COLUMN_BLOCK = 128 };
void kernel_column_sums(long rows, long columns, const real *x, long ld, real *out,
                        bool accumulate);

/* The index of the largest of count >= 1 elements, the first one of equals. */
long kernel_argmax(long count, const real *x);
