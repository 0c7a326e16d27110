/* rms_norm: every row scaled to a mean square of 1, then by a learned gain: layer norm without the
 * shift (Zhang & Sennrich, arXiv:1910.07467).
 *
 *     x: [… d]   γ: [d]      y: as x
 *
 *   | r = 1/√(1/d Σ_j x_j² + ε)      ε = 1e-5, inside the root
 *   | x̂_j = x_j r                    y_j = γ_j x̂_j
 *
 * Backward. x̂ depends on x_k directly and through r:
 *
 *   | g_j = dy_j γ_j
 *     ∂x̂_j/∂x_k = r (δ_jk - x̂_j x̂_k / d)
 *   | dx_k += r (g_k - x̂_k 1/d Σ_j g_j x̂_j)
 *   | dγ_j += Σ_rows dy_j x̂_j
 *
 * Forward keeps r of each row; backward recomputes x̂ from x.
 *
 * Numerical note: a row of zeros has r = 1/√ε, y = 0 and finite gradients. */
#include "kernels/arrays.h"
#include "kernels/rows.h"
#include "ops/ops.h"
#include "ops/row_loop.h"
#include <math.h>
#include <string.h>

#define EPSILON ((real)1e-5)

enum { X, GAMMA };

typedef struct Attr {
    long n, d;
    real *r; /* [n] of each row */
} Attr;

/* exercise: begin */
#include "ops/norm_row.h"

static void forward_rows(Node *n, long begin, long end) {
    const Attr *a = n->attr;
    const real *gamma = n->in[GAMMA]->data;
    long d = a->d;
    for (long i = begin; i < end; i++) {
        const real *x = n->in[X]->data + i * d;
        real *y = n->out->data + i * d, r = 1 / (real)sqrt(row_dot(x, x, d) / (real)d + EPSILON);
        for (long j = 0; j < d; j++) y[j] = x[j] * r * gamma[j];
        a->r[i] = r;
    }
}

static void forward(Node *n) {
    const Attr *a = n->attr;
    row_loop(n, a->n, a->d, forward_rows);
}

/* A chunk of rows: their dx, and the chunk's sum of dγ in a row of the scratch memory. */
static void backward_rows(Node *n, long begin, long end) {
    const Attr *a = n->attr;
    const real *gamma = n->in[GAMMA]->data;
    bool store = !tensor_grad_adds(n->in[X]);
    long d = a->d;
    real *restrict dgamma = n->scratch + begin / rows_per_chunk(d) * d;
    memset(dgamma, 0, (size_t)d * sizeof(real));
    for (long i = begin; i < end; i++) {
        const real *x = n->in[X]->data + i * d, *dy = n->out->grad + i * d;
        real r = a->r[i], none, mean;
        norm_row_sums(d, x, dy, gamma, 0, r, dgamma, NULL, &none, &mean);
        if (!n->in[X]->grad) continue;
        real *restrict dx = n->in[X]->grad + i * d;
        for (long j = 0; j < d; j++) {
            real more = r * (dy[j] * gamma[j] - x[j] * r * mean);
            dx[j] = store ? more : dx[j] + more;
        }
    }
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    Tensor *gamma = n->in[GAMMA];
    long chunks = chunks_of(a->n, rows_per_chunk(a->d));
    row_loop(n, a->n, a->d, backward_rows);
    if (gamma->grad)
        kernel_column_sums(chunks, a->d, n->scratch, a->d, gamma->grad, tensor_grad_adds(gamma));
}

/* [chunks, d]: each chunk's dgamma. */
static long scratch(const Node *n, bool backward) {
    const Attr *a = n->attr;
    return backward ? chunks_of(a->n, rows_per_chunk(a->d)) * a->d : 0;
}
/* exercise: end */

BUILD_CASE(build, tape_rms_norm(t, x[0], x[1]))

static const double zero_row[] = {0, 0, 0, 0, 1, -2, 0.5, 4};

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 5)}, {"gamma", DIMS(5)}}},
    {"three axes", build, {{"x", DIMS(2, 3, 4)}, {"gamma", DIMS(4)}}},
    {"wide", build, {{"x", DIMS(2, 37)}, {"gamma", DIMS(37)}}},
    {"strided",
     build,
     {{"x", DIMS(3, 5), .layout = TRANSPOSED}, {"gamma", DIMS(5), .layout = STEPPED}}},
    {"large", build, {{"x", DIMS(3, 5), 999, 1001}, {"gamma", DIMS(5)}}},
    {"fixed row of zeros",
     build,
     {{"x", DIMS(2, 4), .values = zero_row, .constant = true}, {"gamma", DIMS(4)}}},
    {"fixed gain", build, {{"x", DIMS(3, 5)}, {"gamma", DIMS(5), .constant = true}}},
    {"many rows", build, {{"x", DIMS(70, 3)}, {"gamma", DIMS(3)}}},
    {"one column", build, {{"x", DIMS(3, 1), -0.01, 0.01}, {"gamma", DIMS(1)}}},
    {"no rows", build, {{"x", DIMS(0, 5)}, {"gamma", DIMS(5)}}},
};

const Op op_rms_norm = {"rms_norm",           forward,     backward, .scratch = scratch,
                        .stores_fresh = true, CASES(cases)};

Tensor *tape_rms_norm(Tape *t, Tensor *x, Tensor *gamma) {
    op_want("rms_norm", t, INPUTS(x, gamma));
    Shape s = x->shape;
    if (s.rank < 1 || s.size[s.rank - 1] < 1)
        error_bug("rms_norm: x is %s, want […,d], d >= 1", shape_text(s));
    long d = s.size[s.rank - 1];
    if (!shape_equal(gamma->shape, SHAPE(d)))
        error_bug("rms_norm: gamma is %s, want [%ld]", shape_text(gamma->shape), d);
    x = tape_contiguous(t, x);
    gamma = tape_contiguous(t, gamma);
    Node *n = tape_node(t, &op_rms_norm, s, INPUTS(x, gamma));
    Attr *a = node_attr(n, sizeof *a);
    *a = (Attr){shape_count(s) / d, d, node_array(n, shape_count(s) / d)};
    return tape_forward(n);
}
