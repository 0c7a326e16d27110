/* The one seam for matrix products: every product of the project goes through gemm.
 *
 * C = A·B, all row-major; with the options C += A·B, a bias row, an activation. Each element of C is one
 * chain of multiply-adds over k in ascending order, starting from C (accumulate) or 0, so its bits depend
 * neither on the tile that computes it nor on the number of threads. (Where BLAS is defined, a library computes
 * instead: then bits depend on the sizes too, but still not on the number of threads.) */
#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

#include "kernels/gemm_type.h"

/* Splits the product over the pool's threads where that pays. Inside a pool_for body it runs on the
 * calling thread. k = 0 gives C = epilogue(0). Operands must not overlap C. */
void gemm(const Gemm *g);

#endif
