/* The epilogue of a matrix product: bias and activation. */
#ifndef KERNELS_GEMM_EPILOGUE_H
#define KERNELS_GEMM_EPILOGUE_H

#include "kernels/gemm_type.h"

/* Applies the epilogue to `rows` by `columns` of C from g->c[at] on, where column `column` begins: right
 * after they are computed, while they are in the cache. */
void gemm_epilogue(const Gemm *g, long at, long column, long rows, long columns);

#endif
