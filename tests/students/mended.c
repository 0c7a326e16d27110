/* mended: a right operation with what backwards are made of: saved values, a loop over time, sums over rows, indices of a
 * graph, a parameter. tests/repairs.c spoils it, one place at a time.
 *
 *     x [T,n], w [n], v [E]:  h_t = a h_(t-1) + x_t w,  s_t = h_t / r_t with r_t² = 1 + Σ_j h_tj² / n,
 *     y_tj = tanh(s_tj) + (n - j + [j = t]) x_tj + Σ_(e: to_e = j) v_e s_t,from_e, the sum from the second step on */
#include "ops/ops.h"
#include <math.h>
#include <stdlib.h>

enum { E = 4 };
static const int from[E] = {0, 1, 2, 0}, to[E] = {1, 2, 0, 2};

typedef struct Attr {
    double a;
    real *h, *s, *r;
} Attr;

static void forward(Node *n) {
    Attr *m = n->attr;
    long T = n->in[0]->shape.size[0], N = n->in[0]->shape.size[1];
    const real *x = n->in[0]->data, *w = n->in[1]->data, *v = n->in[2]->data;
    real *y = n->out->data;
    m->h = node_array(n, T * N), m->s = node_array(n, T * N), m->r = node_array(n, T);
    for (long t = 0; t < T; t++) {
        double sum = 0;
        for (long j = 0; j < N; j++) {
            double h = (t > 0 ? m->a * m->h[(t - 1) * N + j] : 0) + x[t * N + j] * w[j];
            m->h[t * N + j] = h;
            sum += h * h;
        }
        m->r[t] = sqrt(1 + sum / N);
        for (long j = 0; j < N; j++) m->s[t * N + j] = m->h[t * N + j] / m->r[t];
        for (long j = 0; j < N; j++) y[t * N + j] = tanh(m->s[t * N + j]) + (N - j) * x[t * N + j];
        if (t < N) y[t * N + t] += x[t * N + t];
        for (int e = 0; t > 0 && e < E; e++) y[t * N + to[e]] += v[e] * m->s[t * N + from[e]];
    }
}

static void backward(Node *n) {
    Attr *m = n->attr;
    long T = n->in[0]->shape.size[0], N = n->in[0]->shape.size[1];
    const real *x = n->in[0]->data, *w = n->in[1]->data, *v = n->in[2]->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad, *dw = n->in[1]->grad, *dv = n->in[2]->grad;
    real *ds = calloc((size_t)N, sizeof *ds), *carry = calloc((size_t)N, sizeof *carry);
    for (long t = T - 1; t >= 0; t--) {
        const real *s = m->s + t * N, *g = dy + t * N;
        double radial = 0, along[E];
        for (long j = 0; j < N; j++) {
            double th = tanh(s[j]);
            ds[j] = g[j] * (1 - th * th);
        }
        for (int e = 0; e < E; e++) {
            if (t > 0) ds[from[e]] += v[e] * g[to[e]];
            along[e] = t > 0 ? s[from[e]] * g[to[e]] : 0;
            if (dv) dv[e] += along[e];
        }
        for (long j = 0; j < N; j++) radial += ds[j] * s[j];
        for (long j = 0; j < N; j++) {
            double dh = (ds[j] - radial * s[j] / N) / m->r[t] + m->a * carry[j];
            if (dx) dx[t * N + j] += dh * w[j] + (N - j + (j == t)) * g[j];
            if (dw) dw[j] += dh * x[t * N + j];
            carry[j] = dh;
        }
    }
    free(ds), free(carry);
}

extern const Op op_mended;

Tensor *tape_mended(Tape *t, Tensor *x, Tensor *w, Tensor *v, double a) {
    x = tape_contiguous(t, x), w = tape_contiguous(t, w), v = tape_contiguous(t, v);
    if (x->shape.rank != 2 || x->shape.size[1] < 3 || v->shape.size[0] != E ||
        w->shape.size[0] != x->shape.size[1])
        error_bug("mended: need x [T,n], w [n], v [4], n of 3 at least");
    Node *node = tape_node(t, &op_mended, x->shape, INPUTS(x, w, v));
    Attr *m = node_attr(node, sizeof(Attr));
    m->a = a;
    return tape_record(node);
}

BUILD_CASE(slow, tape_mended(t, x[0], x[1], x[2], 0.7))
BUILD_CASE(fast, tape_mended(t, x[0], x[1], x[2], 0.25))

static const CheckCase cases[] = {
    {"three steps", slow, {{"x", DIMS(3, 4)}, {"w", DIMS(4)}, {"v", DIMS(4)}}},
    {"two steps", fast, {{"x", DIMS(2, 3)}, {"w", DIMS(3)}, {"v", DIMS(4)}}},
};

const Op op_mended = {"mended", forward, backward, CASES(cases)};
