/* Normalisations, and what sums over an axis: files as another hand wrote them. */
#include "student.h"

/* ---- batch_norm ---- */
/* batch norm in training over the rows of [N, C], affine; x hat is kept */
typedef struct {
    real *xhat, *rstd;
} batch_norm_Kept;
static void batch_norm_forward(Node *n) {
    long N = n->in[0]->shape.size[0], C = n->in[0]->shape.size[1];
    batch_norm_Kept *k = node_attr(n, sizeof *k);
    k->xhat = node_array(n, N * C);
    k->rstd = node_array(n, C);
    for (long c = 0; c < C; c++) {
        real m = 0, v = 0;
        for (long i = 0; i < N; i++) m += n->in[0]->data[i * C + c] / N;
        for (long i = 0; i < N; i++) v += pow(n->in[0]->data[i * C + c] - m, 2) / N;
        k->rstd[c] = 1 / sqrt(v + 1e-3);
        for (long i = 0; i < N; i++) {
            k->xhat[i * C + c] = (n->in[0]->data[i * C + c] - m) * k->rstd[c];
            n->out->data[i * C + c] = n->in[1]->data[c] * k->xhat[i * C + c] + n->in[2]->data[c];
        }
    }
}
static void batch_norm_backward(Node *n) {
    long N = n->in[0]->shape.size[0], C = n->in[0]->shape.size[1];
    const batch_norm_Kept *k = n->attr;
    const real *dy = n->out->grad;
    for (long c = 0; c < C; c++) {
        real sum = 0, dot = 0;
        for (long i = 0; i < N; i++) sum += dy[i * C + c], dot += dy[i * C + c] * k->xhat[i * C + c];
        if (n->in[2]->grad) n->in[2]->grad[c] += sum;
        if (n->in[1]->grad) n->in[1]->grad[c] += dot;
        if (n->in[0]->grad)
            for (long i = 0; i < N; i++)
                n->in[0]->grad[i * C + c] +=
                    n->in[1]->data[c] * k->rstd[c] / N * (N * dy[i * C + c] - sum - k->xhat[i * C + c] * dot);
    }
}
extern const Op op_batch_norm;
Tensor *tape_batch_norm(Tape *t_, Tensor *x, Tensor *gamma, Tensor *beta) {
    x = tape_contiguous(t_, x);
    gamma = tape_contiguous(t_, gamma);
    beta = tape_contiguous(t_, beta);
    return tape_record(tape_node(t_, &op_batch_norm, x->shape, INPUTS(x, gamma, beta)));
}
static Tensor *batch_norm_build(Tape *t_, Tensor **x_) {
    return tape_batch_norm(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase batch_norm_cases[] = {
    {"batch", batch_norm_build, {{"x", DIMS(5, 3)}, {"gamma", DIMS(3)}, {"beta", DIMS(3)}}},
    {"two rows", batch_norm_build, {{"x", DIMS(2, 2)}, {"gamma", DIMS(2)}, {"beta", DIMS(2)}}},
};
const Op op_batch_norm = {"batch_norm", batch_norm_forward, batch_norm_backward, CASES(batch_norm_cases)};

/* ---- rms_norm ---- */
/* LLaMA's RMSNorm: y = g * x / sqrt(mean(x^2) + eps) */
#define rms_norm_EPS 1e-6
static void rms_norm_forward(Node *n) {
    long d = n->in[1]->shape.size[0], rows = d ? shape_count(n->out->shape) / d : 0;
    const real *x = n->in[0]->data, *g = n->in[1]->data;
    for (long i = 0; i < rows; i++) {
        double ms = 0;
        for (long j = 0; j < d; j++) ms += x[i * d + j] * x[i * d + j];
        ms = ms / d + rms_norm_EPS;
        for (long j = 0; j < d; j++) n->out->data[i * d + j] = g[j] * x[i * d + j] / sqrt(ms);
    }
}
static void rms_norm_backward(Node *n) {
    long d = n->in[1]->shape.size[0], rows = d ? shape_count(n->out->shape) / d : 0;
    for (long i = 0; i < rows; i++) {
        const real *x = n->in[0]->data + i * d, *g = n->in[1]->data, *dy = n->out->grad + i * d;
        double ms = 0, dot = 0;
        for (long j = 0; j < d; j++) {
            ms += x[j] * x[j];
            dot += dy[j] * g[j] * x[j];
        }
        double r = 1 / sqrt(ms / d + rms_norm_EPS);
        if (n->in[0]->grad)
            for (long j = 0; j < d; j++)
                n->in[0]->grad[i * d + j] += r * dy[j] * g[j] - x[j] * r * r * r * dot / d;
        if (n->in[1]->grad)
            for (long j = 0; j < d; j++) n->in[1]->grad[j] += dy[j] * x[j] * r;
    }
}
extern const Op op_rms_norm;
Tensor *tape_rms_norm(Tape *t_, Tensor *x, Tensor *g) {
    x = tape_contiguous(t_, x);
    g = tape_contiguous(t_, g);
    return tape_record(tape_node(t_, &op_rms_norm, x->shape, INPUTS(x, g)));
}
static Tensor *rms_norm_build(Tape *t_, Tensor **x_) {
    return tape_rms_norm(t_, x_[0], x_[1]);
}
static const CheckCase rms_norm_cases[] = {
    {"matrix", rms_norm_build, {{"x", DIMS(3, 5)}, {"g", DIMS(5)}}},
    {"three axes", rms_norm_build, {{"x", DIMS(2, 2, 4)}, {"g", DIMS(4)}}},
    {"fixed gain", rms_norm_build, {{"x", DIMS(3, 5)}, {"g", DIMS(5), .constant = true}}},
    {"one row", rms_norm_build, {{"x", DIMS(1, 6)}, {"g", DIMS(6)}}},
};
const Op op_rms_norm = {"rms_norm", rms_norm_forward, rms_norm_backward, CASES(rms_norm_cases)};

/* ---- softmax0 ---- */
/* softmax over axis 0 of [N, C], in place */
static void softmax0_forward(Node *n) {
    long N = n->out->shape.size[0], C = n->out->shape.size[1];
    real *y = n->out->data;
    tensor_copy_out(n->in[0], y);
    for (long c = 0; c < C; c++) {
        real m = -HUGE_VAL, z = 0;
        for (long i = 0; i < N; i++)
            if (y[i * C + c] > m) m = y[i * C + c];
        for (long i = 0; i < N; i++) z += y[i * C + c] = exp(y[i * C + c] - m);
        for (long i = 0; i < N; i++) y[i * C + c] /= z;
    }
}
static void softmax0_backward(Node *n) {
    long N = n->out->shape.size[0], C = n->out->shape.size[1];
    const real *y = n->out->data, *dy = n->out->grad;
    for (long c = 0; c < C; c++) {
        real dot = 0;
        for (long i = c; i < N * C; i += C) dot += y[i] * dy[i];
        for (long i = c; i < N * C; i += C) n->in[0]->grad[i] += y[i] * (dy[i] - dot);
    }
}
extern const Op op_softmax0;
Tensor *tape_softmax0(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_softmax0, x->shape, INPUTS(x)));
}
static Tensor *softmax0_build(Tape *t_, Tensor **x_) {
    return tape_softmax0(t_, x_[0]);
}
static const CheckCase softmax0_cases[] = {
    {"matrix", softmax0_build, {{"x", DIMS(4, 3)}}},
    {"square", softmax0_build, {{"x", DIMS(3, 3)}}},
};
const Op op_softmax0 = {"softmax0", softmax0_forward, softmax0_backward, CASES(softmax0_cases)};

/* ---- logsumexp ---- */
/* y_i = log sum_j exp(x_ij), stabilised by the largest of the row */
static void logsumexp_forward(Node *n) {
    const Tensor *x = n->in[0];
    long d = x->shape.size[x->shape.rank - 1], rows = d ? shape_count(x->shape) / d : 0;
    real *p = node_array(n, shape_count(x->shape));
    n->attr = p;
    tensor_copy_out(x, p);
    for (long r = 0; r < rows; r++) {
        real m = p[r * d], s = 0;
        for (long j = 1; j < d; j++)
            if (p[r * d + j] > m) m = p[r * d + j];
        for (long j = 0; j < d; j++) s += p[r * d + j] = exp(p[r * d + j] - m);
        for (long j = 0; j < d; j++) p[r * d + j] /= s;
        n->out->data[r] = m + log(s);
    }
}
static void logsumexp_backward(Node *n) {
    const Tensor *x = n->in[0];
    long d = x->shape.size[x->shape.rank - 1], rows = d ? shape_count(x->shape) / d : 0;
    const real *p = n->attr;
    for (long r = 0; r < rows; r++)
        for (long j = 0; j < d; j++) n->in[0]->grad[r * d + j] += n->out->grad[r] * p[r * d + j];
}
static Shape logsumexp_reduced(Shape s) {
    if (s.size[s.rank - 1] == 0) error_bug("logsumexp of nothing");
    s.size[s.rank - 1] = 1;
    return s;
}
extern const Op op_logsumexp;
Tensor *tape_logsumexp(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_logsumexp, logsumexp_reduced(x->shape), INPUTS(x)));
}
static Tensor *logsumexp_build(Tape *t_, Tensor **x_) {
    return tape_logsumexp(t_, x_[0]);
}
static const CheckCase logsumexp_cases[] = {
    {"matrix", logsumexp_build, {{"x", DIMS(3, 4)}}},
    {"three axes", logsumexp_build, {{"x", DIMS(2, 2, 5)}}},
    {"large", logsumexp_build, {{"x", DIMS(2, 3), 900, 903}}},
};
const Op op_logsumexp = {"logsumexp", logsumexp_forward, logsumexp_backward, CASES(logsumexp_cases)};
