/* Sums along an axis, lookups and places: files as another hand wrote them. */
#include "student.h"

/* ---- cumsum ---- */
/* cumulative sum along the last axis */
static void cumsum_forward(Node *n) {
    Shape s = n->out->shape;
    long d = s.size[s.rank - 1], N = shape_count(s);
    tensor_copy_out(n->in[0], n->out->data);
    for (long i = 0; i < N; i++)
        if (i % d) n->out->data[i] += n->out->data[i - 1];
}
static void cumsum_backward(Node *n) {
    Shape s = n->out->shape;
    long d = s.size[s.rank - 1], N = shape_count(s);
    real acc = 0;
    for (long i = N - 1; i >= 0; i--) {
        acc += n->out->grad[i];
        n->in[0]->grad[i] += acc;
        if (i % d == 0) acc = 0;
    }
}
extern const Op op_cumsum;
Tensor *tape_cumsum(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_cumsum, x->shape, INPUTS(x)));
}
static Tensor *cumsum_build(Tape *t_, Tensor **x_) {
    return tape_cumsum(t_, x_[0]);
}
static const CheckCase cumsum_cases[] = {
    {"matrix", cumsum_build, {{"x", DIMS(3, 4)}}},
    {"vector", cumsum_build, {{"x", DIMS(6)}}},
    {"transposed", cumsum_build, {{"x", DIMS(4, 3), .layout = TRANSPOSED}}},
};
const Op op_cumsum = {"cumsum", cumsum_forward, cumsum_backward, CASES(cumsum_cases)};

/* ---- cumprod ---- */
/* cumulative product along the last axis, with zeros allowed: O(d^2) without division */
static void cumprod_forward(Node *n) {
    const real *in0 = values(n, 0);
    long d = n->out->shape.size[1], R = n->out->shape.size[0];
    for (long r = 0; r < R; r++) {
        real p = 1;
        for (long j = 0; j < d; j++) n->out->data[r * d + j] = p *= in0[r * d + j];
    }
}
static void cumprod_backward(Node *n) {
    const real *in0 = values(n, 0);
    long d = n->out->shape.size[1], R = n->out->shape.size[0];
    for (long r = 0; r < R; r++)
        for (long k = 0; k < d; k++) {
            real p = 1;
            for (long j = 0; j < k; j++) p *= in0[r * d + j];
            for (long j = k; j < d; j++) {
                if (j > k) p *= in0[r * d + j];
                n->in[0]->grad[r * d + k] += n->out->grad[r * d + j] * p;
            }
        }
}
static const double cumprod_withzero[] = {1, 2, 0, 3, 0.5, 0, 0, 1};
extern const Op op_cumprod;
Tensor *tape_cumprod(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_cumprod, x->shape, INPUTS(x)));
}
static Tensor *cumprod_build(Tape *t_, Tensor **x_) {
    return tape_cumprod(t_, x_[0]);
}
static const CheckCase cumprod_cases[] = {
    {"matrix", cumprod_build, {{"x", DIMS(3, 4)}}},
    {"zeros", cumprod_build, {{"x", DIMS(2, 4), .values = cumprod_withzero}}},
};
const Op op_cumprod = {"cumprod", cumprod_forward, cumprod_backward, CASES(cumprod_cases)};

/* ---- alibi ---- */
/* alibi: y[h,i,j] = s[h,i,j] - m[h] (i - j) for j <= i, -1e4 above the diagonal; the slopes are learned */
static void alibi_forward(Node *n) {
    Shape s = n->out->shape;
    long k = 0;
    for (long h = 0; h < s.size[0]; h++)
        for (long i = 0; i < s.size[1]; i++)
            for (long j = 0; j < s.size[2]; j++, k++)
                n->out->data[k] = j <= i ? n->in[0]->data[k] - n->in[1]->data[h] * (i - j) : -1e4;
}
static void alibi_backward(Node *n) {
    Shape s = n->out->shape;
    long k = 0;
    for (long h = 0; h < s.size[0]; h++)
        for (long i = 0; i < s.size[1]; i++)
            for (long j = 0; j < s.size[2]; j++, k++) {
                if (j > i) continue;
                if (n->in[0]->grad) n->in[0]->grad[k] += n->out->grad[k];
                if (n->in[1]->grad) n->in[1]->grad[h] -= n->out->grad[k] * (i - j);
            }
}
extern const Op op_alibi;
Tensor *tape_alibi(Tape *t_, Tensor *s, Tensor *m) {
    s = tape_contiguous(t_, s);
    m = tape_contiguous(t_, m);
    return tape_record(tape_node(t_, &op_alibi, s->shape, INPUTS(s, m)));
}
static Tensor *alibi_build(Tape *t_, Tensor **x_) {
    return tape_alibi(t_, x_[0], x_[1]);
}
static const CheckCase alibi_cases[] = {
    {"two heads", alibi_build, {{"s", DIMS(2, 3, 3)}, {"m", DIMS(2)}}},
    {"one head", alibi_build, {{"s", DIMS(1, 4, 4)}, {"m", DIMS(1), 0.1, 1}}},
};
const Op op_alibi = {"alibi", alibi_forward, alibi_backward, CASES(alibi_cases)};

/* ---- power2 ---- */
/* y = x^p with both learned, x > 0 */
static void power2_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] = pow(in0[i], in1[i]);
}
static void power2_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        real x = in0[i], p = in1[i], y = n->out->data[i], dy = n->out->grad[i];
        if (n->in[0]->grad) n->in[0]->grad[i] += dy * p * y / x;
        if (n->in[1]->grad) n->in[1]->grad[i] += dy * y * log(x);
    }
}
extern const Op op_power2;
Tensor *tape_power2(Tape *t_, Tensor *x, Tensor *p) {
    return tape_record(tape_node(t_, &op_power2, x->shape, INPUTS(x, p)));
}
static Tensor *power2_build(Tape *t_, Tensor **x_) {
    return tape_power2(t_, x_[0], x_[1]);
}
static const CheckCase power2_cases[] = {
    {"matrix", power2_build, {{"x", DIMS(3, 3), 0.5, 3}, {"p", DIMS(3, 3)}}},
    {"square", power2_build, {{"x", DIMS(4), 0.5, 3}, {"p", DIMS(4), 1.9, 2.1}}},
};
const Op op_power2 = {"power2", power2_forward, power2_backward, CASES(power2_cases)};
