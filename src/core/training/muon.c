/* Muon: updates the layers' matrices by their orthogonalised momentum (Jordan et al.,
 * kellerjordan.github.io/posts/muon). With G the (clipped) gradient:
 *
 *     B = μ B + G            U = G + μ B            X = U / (‖U‖ + 1e-7)
 *     five times  X = a X + (b A + c A²) X,  A = X Xᵀ                          (Newton–Schulz)
 *                 a, b, c = 3.4445, -4.7750, 2.0315
 *     W = W - η λ W - η √max(1, rows/columns) X
 *
 * The iteration moves all singular values of X towards 1. Here it runs on square matrices of X's
 * smaller side. With A_0 = X Xᵀ and Q_k = a I + b A_k + c A_k², A_k+1 = Q_k A_k Q_k, because the
 * powers of a matrix commute, and the last X is Q_4 Q_3 Q_2 Q_1 Q_0 X. For a matrix four times as
 * wide as high this halves the work of the products. All these squares are symmetric: of each
 * product half is computed.
 *
 * AdamW updates the other parameters. The first moment of Muon's matrices is B; they have no second
 * one. */
#include "base/pool.h"
#include "kernels/product.h"
#include "training/optimizer.h"
#include <math.h>
#include <string.h>

enum { STEPS = 5, SQUARES = 4 };

static const double muon_momentum = 0.95; /* μ */

/* A layer's matrix, by its name in a weight file: "….layers.I.…". */
static bool owns(const Parameter *p) {
    return p->shape.rank == 2 && strstr(p->name, "layers.");
}

static long smaller_side(const Parameter *p) {
    return p->shape.size[0] < p->shape.size[1] ? p->shape.size[0] : p->shape.size[1];
}

static long scratch_size(const Parameter *p) {
    return SQUARES * smaller_side(p) * smaller_side(p);
}

/* C = A·B, of which the caller knows that it is symmetric: the blocks on and below the diagonal,
 * mirrored. */
static void product_symmetric(GemmLayout layout, Matrix A, Matrix B, Matrix C) {
    enum { BLOCK = 32 };
    for (long i = 0; i < C.rows; i += BLOCK) {
        Gemm g = product_of(layout, A, B, C, false);
        g.m = C.rows - i < BLOCK ? C.rows - i : BLOCK;
        g.n = i + g.m;
        g.a += layout == GEMM_TN ? i : i * A.ld;
        g.c += i * C.ld;
        gemm(&g);
    }
    for (long i = 0; i < C.rows; i++)
        for (long j = i + 1; j < C.rows; j++) C.at[i * C.ld + j] = C.at[j * C.ld + i];
}

/* Q = a I + b A + c A² */
static void polynomial(Matrix A, Matrix Q) {
    const real a = (real)3.4445, b = (real)-4.7750, c = (real)2.0315;
    long m = A.rows;
    product_symmetric(GEMM_NN, A, A, Q);
    for (long i = 0; i < m * m; i++) Q.at[i] = b * A.at[i] + c * Q.at[i];
    for (long i = 0; i < m; i++) Q.at[i * m + i] += a;
}

/* P = Q_4 Q_3 Q_2 Q_1 Q_0, of A, which is overwritten. Returns the matrix that holds P. */
static Matrix newton_schulz(Matrix A, Matrix P, Matrix Q, Matrix T) {
    polynomial(A, P);
    for (int k = 1; k < STEPS; k++) {
        Matrix last = k == 1 ? P : Q, swapped = P;
        product_symmetric(GEMM_NN, last, A, T);
        product_symmetric(GEMM_NN, T, last, A);
        polynomial(A, Q);
        product_symmetric(GEMM_NN, Q, P, T);
        P = T;
        T = swapped;
    }
    return P;
}

/* Momentum, and U in the gradient's place. */
static void add_momentum(const Update *u, long begin, long count) {
    real momentum = (real)muon_momentum, scale = (real)u->scale;
    real *restrict b = u->o->moment1 + begin, *restrict g = u->p->grad + begin;
    for (long i = 0; i < count; i++) {
        real gi = scale * g[i];
        b[i] = momentum * b[i] + gi;
        g[i] = gi + momentum * b[i];
    }
}

/* Overwrites the matrix's gradient. */
static void update_matrix(const Update *u, const Parameter *p, real *scratch) {
    long rows = p->shape.size[0], columns = p->shape.size[1], m = smaller_side(p);
    double rate = u->rate * u->o->matrix_rate, decay = u->o->weight_decay;
    Matrix W = matrix_of(u->p->value + p->offset, rows, columns), U = W, square[SQUARES];
    U.at = u->p->grad + p->offset;
    for (int i = 0; i < SQUARES; i++) square[i] = matrix_of(scratch + i * m * m, m, m);
    add_momentum(u, p->offset, rows * columns);
    product_symmetric(rows <= columns ? GEMM_NT : GEMM_TN, U, U, square[0]);
    double sum = 0; /* ‖U‖² */
    for (long i = 0; i < m; i++) sum += (double)square[0].at[i * m + i];
    double length = sqrt(sum) + 1e-7;
    for (long i = 0; i < m * m; i++) square[0].at[i] *= (real)(1 / (length * length));
    Matrix P = newton_schulz(square[0], square[1], square[2], square[3]);
    double taller = (double)rows / (double)columns, factor = rate * sqrt(fmax(1, taller)) / length;
    for (long i = 0; i < m * m; i++) P.at[i] *= (real)-factor;
    for (long i = 0; decay > 0 && i < rows * columns; i++) W.at[i] *= (real)(1 - rate * decay);
    if (rows <= columns)
        product_nn(P, U, W, true);
    else
        product_nn(U, P, W, true);
}

const OptimizerKind optimizer_muon = {
    {"muon", "beta1 beta2 matrix-lr"},
    .moments = 2,
    .update = adamw_update,
    .owns = owns,
    .update_whole = update_matrix,
    .scratch = scratch_size,
};
