/* The epilogue of a matrix product: bias and activation. */
#ifndef KERNELS_GEMM_FINISH_H
#define KERNELS_GEMM_FINISH_H

#include "kernels/gemm_type.h"

/* Finishes `rows` by `columns` of C from g->c[at] on, which is in column `column`: while they are in the cache. */
void gemm_finish(const Gemm *g, long at, long column, long rows, long columns);

#endif
