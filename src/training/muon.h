/* Muon: updates the layers' matrices by their orthogonalised momentum (Jordan et al., kellerjordan.github.io/posts/muon).
 *
 *     B = μ B + G            U = G + μ B            X = U / (‖U‖ + 1e-7)            G: the (clipped) gradient
 *     five times  X = a X + (b A + c A²) X,  A = X Xᵀ,  a, b, c = 3.4445, -4.7750, 2.0315            (Newton–Schulz)
 *     W = W - η λ W - η √max(1, rows/columns) X
 *
 * The iteration moves all singular values of X towards 1. Here it runs on square matrices of X's smaller side. With
 * A_0 = X Xᵀ and Q_k = a I + b A_k + c A_k², A_k+1 = Q_k A_k Q_k, because the powers of a matrix commute, and the last
 * X is Q_4 Q_3 Q_2 Q_1 Q_0 X. For a matrix four times as wide as high this halves the work of the products. */
#ifndef TRAINING_MUON_H
#define TRAINING_MUON_H

#include "nn/parameters.h"

/* Whether the parameter is a layer's matrix, by its name in a weight file: "….layers.I.…". */
bool muon_owns(const Parameter *p);

/* Reals of scratch memory that muon_update needs. */
long muon_scratch(const Parameters *p);

/* Updates all matrices of layers with rate η, decay λ, momentum μ and the gradient times `scale`; moment is B, laid out as
 * the store. Overwrites their gradients. One thread computes each matrix. */
void muon_update(Parameters *p, real *moment, double rate, double decay, double momentum, double scale,
                 real *scratch);

#endif
