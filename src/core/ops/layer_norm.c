/* layer_norm: shifts every row to mean 0, scales it to variance 1, and applies a learned gain and
 * bias. Section 3.1 (Add & Norm); Ba, Kiros & Hinton, arXiv:1607.06450.
 *
 *     x: [… d]   γ, β: [d]      y: as x
 *
 *   | μ = 1/d Σ_j x_j        σ² = 1/d Σ_j (x_j - μ)²
 *   | r = 1/√(σ² + ε)        ε = 1e-5, inside the root
 *   | x̂_j = (x_j - μ) r      y_j = γ_j x̂_j + β_j
 *
 * Backward. x̂ depends on x_k directly, through μ, and through r:
 *
 *   | g_j = dy_j γ_j
 *     ∂x̂_j/∂x_k = r (δ_jk - 1/d - x̂_j x̂_k / d)
 *     dx_k = Σ_j g_j ∂x̂_j/∂x_k
 *   | dx_k += r (g_k - 1/d Σ_j g_j - x̂_k 1/d Σ_j g_j x̂_j)
 *   | dγ_j += Σ_rows dy_j x̂_j            dβ_j += Σ_rows dy_j
 *
 * Forward keeps μ and r of each row; backward recomputes x̂ from x.
 *
 * Numerical note: the variance is the mean of squared distances from the mean, in a second pass
 * over the row, not E[x²] - μ², which cancels. A constant row has variance 0: x̂ = 0, y = β, and
 * all gradients are finite. */
#include "kernels/arrays.h"
#include "kernels/rows.h"
#include "ops/ops.h"
#include "ops/row_loop.h"
#include <math.h>
#include <string.h>

#define EPSILON ((real)1e-5)

enum { X, GAMMA, BETA };

typedef struct Attr {
    long n, d;
    real *mean, *r; /* [n] of each row */
} Attr;

/* exercise: begin */
#include "ops/norm_row.h"

static void forward_rows(Node *n, long begin, long end) {
    const Attr *a = n->attr;
    const real *gamma = n->in[GAMMA]->data, *beta = n->in[BETA]->data;
    long d = a->d;
    for (long i = begin; i < end; i++) {
        const real *x = n->in[X]->data + i * d;
        real *y = n->out->data + i * d, mean, variance;
        row_moments(x, d, &mean, &variance);
        real r = 1 / (real)sqrt(variance + EPSILON);
        for (long j = 0; j < d; j++) y[j] = (x[j] - mean) * r * gamma[j] + beta[j];
        a->mean[i] = mean;
        a->r[i] = r;
    }
}

static void forward(Node *n) {
    const Attr *a = n->attr;
    row_loop(n, a->n, a->d, forward_rows);
}

/* A chunk of rows: their dx, and the chunk's sums of dγ and dβ in one row of the scratch memory. */
static void backward_rows(Node *n, long begin, long end) {
    const Attr *a = n->attr;
    const real *gamma = n->in[GAMMA]->data;
    bool store = !tensor_grad_adds(n->in[X]);
    long d = a->d, chunk = begin / rows_per_chunk(d);
    real *restrict dgamma = n->scratch + chunk * 2 * d, *restrict dbeta = dgamma + d;
    memset(dgamma, 0, 2 * (size_t)d * sizeof(real));
    for (long i = begin; i < end; i++) {
        const real *x = n->in[X]->data + i * d, *dy = n->out->grad + i * d;
        real mean = a->mean[i], r = a->r[i], mean_g, mean_gx;
        norm_row_sums(d, x, dy, gamma, mean, r, dgamma, dbeta, &mean_g, &mean_gx);
        if (!n->in[X]->grad) continue;
        real *restrict dx = n->in[X]->grad + i * d;
        for (long j = 0; j < d; j++) {
            real more = r * (dy[j] * gamma[j] - mean_g - (x[j] - mean) * r * mean_gx);
            dx[j] = store ? more : dx[j] + more;
        }
    }
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    Tensor *gamma = n->in[GAMMA], *beta = n->in[BETA];
    long chunks = chunks_of(a->n, rows_per_chunk(a->d));
    row_loop(n, a->n, a->d, backward_rows);
    if (gamma->grad)
        kernel_column_sums(chunks, a->d, n->scratch, 2 * a->d, gamma->grad,
                           tensor_grad_adds(gamma));
    /* Without rows there is no scratch memory. */
    const real *dbeta = chunks ? n->scratch + a->d : NULL;
    if (beta->grad)
        kernel_column_sums(chunks, a->d, dbeta, 2 * a->d, beta->grad, tensor_grad_adds(beta));
}

/* [chunks, 2d]: each chunk's dgamma and dbeta. */
static long scratch(const Node *n, bool backward) {
    const Attr *a = n->attr;
    return backward ? chunks_of(a->n, rows_per_chunk(a->d)) * 2 * a->d : 0;
}
/* exercise: end */

BUILD_CASE(build, tape_layer_norm(t, x[0], x[1], x[2]))

static const double constant_row[] = {3, 3, 3, 3, 1, -2, 0.5, 4};

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 5)}, {"gamma", DIMS(5)}, {"beta", DIMS(5)}}},
    {"three axes", build, {{"x", DIMS(2, 3, 4)}, {"gamma", DIMS(4)}, {"beta", DIMS(4)}}},
    {"strided",
     build,
     {{"x", DIMS(3, 5), .layout = TRANSPOSED},
      {"gamma", DIMS(5), .layout = STEPPED},
      {"beta", DIMS(5)}}},
    {"far from zero", build, {{"x", DIMS(3, 5), 999, 1001}, {"gamma", DIMS(5)}, {"beta", DIMS(5)}}},
    {"one row constant",
     build,
     {{"x", DIMS(2, 4), .values = constant_row}, {"gamma", DIMS(4)}, {"beta", DIMS(4)}}},
    {"fixed gain",
     build,
     {{"x", DIMS(3, 5)},
      {"gamma", DIMS(5), .constant = true},
      {"beta", DIMS(5), .constant = true}}},
    {"many rows", build, {{"x", DIMS(70, 3)}, {"gamma", DIMS(3)}, {"beta", DIMS(3)}}},
    {"one column", build, {{"x", DIMS(3, 1)}, {"gamma", DIMS(1)}, {"beta", DIMS(1)}}},
    {"no rows", build, {{"x", DIMS(0, 5)}, {"gamma", DIMS(5)}, {"beta", DIMS(5)}}},
};

const Op op_layer_norm = {"layer_norm",         forward,     backward, .scratch = scratch,
                          .stores_fresh = true, CASES(cases)};

Tensor *tape_layer_norm(Tape *t, Tensor *x, Tensor *gamma, Tensor *beta) {
    op_want("layer_norm", t, INPUTS(x, gamma, beta));
    Shape s = x->shape;
    if (s.rank < 1 || s.size[s.rank - 1] < 1)
        error_bug("layer_norm: x is %s, want […,d], d >= 1", shape_text(s));
    long d = s.size[s.rank - 1];
    if (!shape_equal(gamma->shape, SHAPE(d)))
        error_bug("layer_norm: gamma is %s, want [%ld]", shape_text(gamma->shape), d);
    if (!shape_equal(beta->shape, SHAPE(d)))
        error_bug("layer_norm: beta is %s, want [%ld]", shape_text(beta->shape), d);
    x = tape_contiguous(t, x);
    gamma = tape_contiguous(t, gamma);
    beta = tape_contiguous(t, beta);
    Node *n = tape_node(t, &op_layer_norm, s, INPUTS(x, gamma, beta));
    Attr *a = node_attr(n, sizeof *a);
    a->n = shape_count(s) / d;
    a->d = d;
    a->mean = node_array(n, a->n);
    a->r = node_array(n, a->n);
    return tape_forward(n);
}
