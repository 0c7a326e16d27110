/* Losses of pairs: files as another hand wrote them. */
#include "student.h"

/* ---- smooth_l1 ---- */
/* smooth l1 without reduction, smooth_l1_beta 0.5, broadcasting nothing */
static const real smooth_l1_beta = 0.5;
static real smooth_l1_f(real d) {
    return fabs(d) < smooth_l1_beta ? d * d / (2 * smooth_l1_beta) : fabs(d) - smooth_l1_beta / 2;
}
static real smooth_l1_df(real d) {
    return fabs(d) < smooth_l1_beta ? d / smooth_l1_beta : d > 0 ? 1 : -1;
}
static void smooth_l1_forward(Node *n) {
    Walk w = tensor_walk(n->out->shape, 2, (const long *[]){n->in[0]->stride, n->in[1]->stride});
    real *y = n->out->data;
    while (tensor_walk_row(&w))
        for (long i = 0; i < w.n; i++)
            *y++ = smooth_l1_f(n->in[0]->data[w.at[0] + i * w.step[0]] -
                               n->in[1]->data[w.at[1] + i * w.step[1]]);
}
static void smooth_l1_backward(Node *n) {
    Walk w = tensor_walk(n->out->shape, 2, (const long *[]){n->in[0]->stride, n->in[1]->stride});
    long k = 0;
    while (tensor_walk_row(&w))
        for (long i = 0; i < w.n; i++, k++) {
            real d = smooth_l1_df(n->in[0]->data[w.at[0] + i * w.step[0]] -
                                  n->in[1]->data[w.at[1] + i * w.step[1]]);
            if (n->in[0]->grad) n->in[0]->grad[k] += n->out->grad[k] * d;
            if (n->in[1]->grad) n->in[1]->grad[k] += -n->out->grad[k] * d;
        }
}
extern const Op op_smooth_l1;
Tensor *tape_smooth_l1(Tape *t_, Tensor *a, Tensor *b) {
    return tape_record(tape_node(t_, &op_smooth_l1, a->shape, INPUTS(a, b)));
}
static Tensor *smooth_l1_build(Tape *t_, Tensor **x_) {
    return tape_smooth_l1(t_, x_[0], x_[1]);
}
static const CheckCase smooth_l1_cases[] = {
    {"matrix", smooth_l1_build, {{"a", DIMS(3, 3)}, {"b", DIMS(3, 3)}}},
    {"strided",
     smooth_l1_build,
     {{"a", DIMS(3, 5), .layout = TRANSPOSED}, {"b", DIMS(3, 5), .layout = STEPPED}}},
    {"near", smooth_l1_build, {{"a", DIMS(6), -0.2, 0.2}, {"b", DIMS(6), -0.2, 0.2}}},
};
const Op op_smooth_l1 = {"smooth_l1", smooth_l1_forward, smooth_l1_backward, CASES(smooth_l1_cases)};

/* ---- segment_mean ---- */
/* weighted mean of the rows of each segment; weights are squares so that they are positive
 *   x [n,d]  w [n]  ids: n segment numbers in [0,S)     y [S,d]
 *   y_s = sum_{ids_i = s} w_i^2 x_i / sum_{ids_i = s} w_i^2        0 for a segment without rows */

typedef struct segment_mean_Segments {
    long n, d, S;
    int32_t *ids;
    real *total;
    long *rows;
} segment_mean_Segments;

static void segment_mean_forward(Node *n) {
    segment_mean_Segments *a = n->attr;
    const real *x = n->in[0]->data, *w = n->in[1]->data;
    real *y = n->out->data;
    for (long s = 0; s < a->S; s++) a->total[s] = 0, a->rows[s] = 0;
    for (long i = 0; i < a->S * a->d; i++) y[i] = 0;
    for (long i = 0; i < a->n; i++) {
        long s = a->ids[i];
        a->total[s] += w[i] * w[i];
        a->rows[s]++;
        for (long j = 0; j < a->d; j++) y[s * a->d + j] += w[i] * w[i] * x[i * a->d + j];
    }
    for (long s = 0; s < a->S; s++)
        for (long j = 0; j < a->d; j++)
            if (a->total[s] > 0) y[s * a->d + j] /= a->total[s];
}

static void segment_mean_backward(Node *n) {
    segment_mean_Segments *a = n->attr;
    const real *x = n->in[0]->data, *w = n->in[1]->data, *y = n->out->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad, *dw = n->in[1]->grad;
    for (long i = 0; i < a->n; i++) {
        long s = a->ids[i];
        real total = a->total[s], dot = 0;
        if (total == 0) continue;
        for (long j = 0; j < a->d; j++) {
            real g = dy[s * a->d + j];
            if (dx) dx[i * a->d + j] += g * w[i] * w[i] / total;
            dot += g * (x[i * a->d + j] - y[s * a->d + j]);
        }
        if (dw) dw[i] += 2 * w[i] * dot / total;
    }
}

extern const Op op_segment_mean;
static Tensor *segment_mean(Tape *t, Tensor *x, Tensor *w, const int32_t *ids, long S) {
    x = tape_contiguous(t, x), w = tape_contiguous(t, w);
    long rows = x->shape.size[0], d = x->shape.size[1];
    Node *n = tape_node(t, &op_segment_mean, SHAPE(S, d), INPUTS(x, w));
    segment_mean_Segments *a = node_attr(n, sizeof *a);
    a->n = rows, a->d = d, a->S = S;
    a->ids = node_record(n, rows * sizeof(int32_t));
    memcpy(a->ids, ids, rows * sizeof(int32_t));
    a->total = node_record(n, S * sizeof(real));
    a->rows = node_record(n, S * sizeof(long));
    return tape_record(n);
}

static const int32_t segment_mean_three[32] = {0, 2, 0, 2, 2, 0, 2};
static const int32_t segment_mean_sorted[32] = {0, 0, 1, 1, 1, 2};
BUILD_CASE(segment_mean_unsorted, segment_mean(t, x[0], x[1], segment_mean_three, 4))
BUILD_CASE(segment_mean_in_order, segment_mean(t, x[0], x[1], segment_mean_sorted, 3))

static const CheckCase segment_mean_cases[] = {
    {"two empty segments", segment_mean_unsorted, {{"x", DIMS(7, 2)}, {"w", DIMS(7), 0.5, 2}}},
    {"in order", segment_mean_in_order, {{"x", DIMS(6, 3)}, {"w", DIMS(6), 0.5, 2}}},
    {"fixed weights", segment_mean_in_order, {{"x", DIMS(6, 1)}, {"w", DIMS(6), 0.5, 1.5, .constant = true}}},
};

const Op op_segment_mean = {"segment_mean", segment_mean_forward, segment_mean_backward,
                            CASES(segment_mean_cases)};

/* ---- hinge ---- */
/* multi-class margin loss of x [R, V], labels r % V, summed */
static void hinge_forward(Node *n) {
    const real *in0 = values(n, 0);
    long R = n->in[0]->shape.size[0], V = n->in[0]->shape.size[1];
    real L = 0;
    for (long r = 0; r < R; r++)
        for (long v = 0; v < V; v++) {
            long t = r % V;
            if (v != t) L += fmax(0, 1 - in0[r * V + t] + in0[r * V + v]);
        }
    n->out->data[0] = L;
}
static void hinge_backward(Node *n) {
    const real *in0 = values(n, 0);
    long R = n->in[0]->shape.size[0], V = n->in[0]->shape.size[1];
    real g = n->out->grad[0], *dx = n->in[0]->grad;
    for (long r = 0; r < R; r++) {
        long t = r % V, active = 0;
        for (long v = 0; v < V; v++)
            if (v != t && 1 - in0[r * V + t] + in0[r * V + v] > 0) dx[r * V + v] += g, active++;
        dx[r * V + t] -= active * g;
    }
}
extern const Op op_hinge;
Tensor *tape_hinge(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_hinge, SCALAR, INPUTS(x)));
}
static Tensor *hinge_build(Tape *t_, Tensor **x_) {
    return tape_hinge(t_, x_[0]);
}
static const CheckCase hinge_cases[] = {
    {"scores", hinge_build, {{"x", DIMS(4, 3)}}},
    {"wide", hinge_build, {{"x", DIMS(3, 5)}}},
};
const Op op_hinge = {"hinge", hinge_forward, hinge_backward, CASES(hinge_cases)};

/* ---- gumbel_square_relu ---- */
/* squared relu (Primer): y = max(x,0)^2, in place in y */
static void gumbel_square_relu_forward(Node *n) {
    real *y = n->out->data;
    tensor_copy_out(n->in[0], y);
    for (long i = 0, N = shape_count(n->out->shape); i < N; ++i) y[i] = y[i] > 0 ? y[i] * y[i] : 0;
}
static void gumbel_square_relu_backward(Node *n) {
    for (long i = 0, N = shape_count(n->out->shape); i < N; ++i)
        n->in[0]->grad[i] += 2 * sqrt(n->out->data[i]) * n->out->grad[i];
}
extern const Op op_gumbel_square_relu;
Tensor *tape_gumbel_square_relu(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_gumbel_square_relu, x->shape, INPUTS(x)));
}
static Tensor *gumbel_square_relu_build(Tape *t_, Tensor **x_) {
    return tape_gumbel_square_relu(t_, x_[0]);
}
static const CheckCase gumbel_square_relu_cases[] = {
    {"matrix", gumbel_square_relu_build, {{"x", DIMS(4, 4)}}},
    {"vector", gumbel_square_relu_build, {{"x", DIMS(7), -1, 3}}},
};
const Op op_gumbel_square_relu = {"gumbel_square_relu", gumbel_square_relu_forward,
                                  gumbel_square_relu_backward, CASES(gumbel_square_relu_cases)};

/* ---- other_silu ---- */
/* other_silu / swish: y = x * sigmoid(x); the sigmoid is kept */
static double other_silu_sig(double x) {
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}
static void other_silu_forward(Node *n) {
    long count = shape_count(n->in[0]->shape);
    real *s = node_array(n, count);
    n->attr = s;
    tensor_copy_out(n->in[0], n->out->data);
    for (long i = 0; i < count; i++) {
        s[i] = other_silu_sig(n->out->data[i]);
        n->out->data[i] *= s[i];
    }
}
static void other_silu_backward(Node *n) {
    long count = shape_count(n->in[0]->shape);
    const real *s = n->attr, *y = n->out->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    for (long i = 0; i < count; i++) dx[i] += dy[i] * (s[i] + y[i] * (1 - s[i]));
}
extern const Op op_other_silu;
Tensor *tape_other_silu(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_other_silu, x->shape, INPUTS(x)));
}
static Tensor *other_silu_build(Tape *t_, Tensor **x_) {
    return tape_other_silu(t_, x_[0]);
}
static const CheckCase other_silu_cases[] = {
    {"vector", other_silu_build, {{"x", DIMS(7)}}},
    {"cube", other_silu_build, {{"x", DIMS(2, 3, 2)}}},
    {"big", other_silu_build, {{"x", DIMS(10), -30, 30}}},
};
const Op op_other_silu = {"other_silu", other_silu_forward, other_silu_backward, CASES(other_silu_cases)};
