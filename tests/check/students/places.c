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

/* ---- gather_rows ---- */
/* y[k] = table[gather_rows_idx[k]]: some rows twice, one not at all */
static const int gather_rows_idx[] = {2, 0, 2, 4};
#define gather_rows_M (long)(sizeof gather_rows_idx / sizeof *gather_rows_idx)
static void gather_rows_forward(Node *n) {
    Tensor *t = n->in[0];
    long d = t->shape.size[1];
    for (long k = 0; k < gather_rows_M; k++)
        for (long j = 0; j < d; j++)
            n->out->data[k * d + j] = t->data[gather_rows_idx[k] * t->stride[0] + j * t->stride[1]];
}
static void gather_rows_backward(Node *n) {
    long d = n->in[0]->shape.size[1];
    for (long k = 0; k < gather_rows_M; k++)
        for (long j = 0; j < d; j++) n->in[0]->grad[gather_rows_idx[k] * d + j] += n->out->grad[k * d + j];
}
static Shape gather_rows_picked(Shape s) {
    if (s.size[0] < 5) error_bug("gather_rows: want five rows");
    return SHAPE(gather_rows_M, s.size[1]);
}
extern const Op op_gather_rows;
Tensor *tape_gather_rows(Tape *t_, Tensor *table) {
    return tape_record(tape_node(t_, &op_gather_rows, gather_rows_picked(table->shape), INPUTS(table)));
}
static Tensor *gather_rows_build(Tape *t_, Tensor **x_) {
    return tape_gather_rows(t_, x_[0]);
}
static const CheckCase gather_rows_cases[] = {
    {"five rows", gather_rows_build, {{"table", DIMS(5, 3)}}},
    {"strided", gather_rows_build, {{"table", DIMS(6, 2), .layout = TRANSPOSED}}},
};
const Op op_gather_rows = {"gather_rows", gather_rows_forward, gather_rows_backward,
                           CASES(gather_rows_cases)};

/* ---- scatter_add ---- */
/* y[s] = sum over the k with seg[k] = s of x[k]; the scatter_add_segments come as numbers in a tensor that takes no gradient */
#define scatter_add_S 3
static void scatter_add_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    long K = n->in[0]->shape.size[0], d = n->in[0]->shape.size[1];
    memset(n->out->data, 0, scatter_add_S * d * sizeof(real));
    for (long k = 0; k < K; k++) {
        long s = lround(in1[k]);
        for (long j = 0; j < d; j++) n->out->data[s * d + j] += in0[k * d + j];
    }
}
static void scatter_add_backward(Node *n) {
    const real *in1 = values(n, 1);
    long K = n->in[0]->shape.size[0], d = n->in[0]->shape.size[1];
    for (long k = 0; k < K; k++) {
        long s = lround(in1[k]);
        for (long j = 0; j < d; j++) n->in[0]->grad[k * d + j] += n->out->grad[s * d + j];
    }
}
static const double scatter_add_segments[] = {0, 2, 2, 1, 0};
extern const Op op_scatter_add;
Tensor *tape_scatter_add(Tape *t_, Tensor *x, Tensor *seg) {
    return tape_record(
        tape_node(t_, &op_scatter_add, SHAPE(scatter_add_S, x->shape.size[1]), INPUTS(x, seg)));
}
static Tensor *scatter_add_build(Tape *t_, Tensor **x_) {
    return tape_scatter_add(t_, x_[0], x_[1]);
}
static const CheckCase scatter_add_cases[] = {
    {"five",
     scatter_add_build,
     {{"x", DIMS(5, 2)}, {"seg", DIMS(5), .values = scatter_add_segments, .constant = true}}},
    {"three",
     scatter_add_build,
     {{"x", DIMS(3, 4)}, {"seg", DIMS(3), .values = scatter_add_segments, .constant = true}}},
};
const Op op_scatter_add = {"scatter_add", scatter_add_forward, scatter_add_backward,
                           CASES(scatter_add_cases)};

/* ---- rope ---- */
/* rotary embedding: pairs (2i, 2i+1) of x [T, D] turned by t * 100^(-2i/D) */
static void rope_turn(const real *x, real *y, long T, long D, int sign, int add) {
    for (long t = 0; t < T; t++)
        for (long i = 0; i + 1 < D; i += 2) {
            double a = t * pow(100, -(double)i / D), c = cos(a), s = sign * sin(a);
            real u = x[t * D + i] * c - x[t * D + i + 1] * s;
            real v = x[t * D + i] * s + x[t * D + i + 1] * c;
            if (add)
                y[t * D + i] += u, y[t * D + i + 1] += v;
            else
                y[t * D + i] = u, y[t * D + i + 1] = v;
        }
}
static void rope_forward(Node *n) {
    const real *in0 = values(n, 0);
    rope_turn(in0, n->out->data, n->out->shape.size[0], n->out->shape.size[1], 1, 0);
}
static void rope_backward(Node *n) {
    rope_turn(n->out->grad, n->in[0]->grad, n->out->shape.size[0], n->out->shape.size[1], -1, 1);
}
static Shape rope_even(Shape s) {
    if (s.size[1] % 2) error_bug("rope: odd width");
    return s;
}
extern const Op op_rope;
Tensor *tape_rope(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_rope, rope_even(x->shape), INPUTS(x)));
}
static Tensor *rope_build(Tape *t_, Tensor **x_) {
    return tape_rope(t_, x_[0]);
}
static const CheckCase rope_cases[] = {
    {"five steps", rope_build, {{"x", DIMS(5, 4)}}},
    {"two wide", rope_build, {{"x", DIMS(3, 2)}}},
};
const Op op_rope = {"rope", rope_forward, rope_backward, CASES(rope_cases)};

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

/* ---- other_mish ---- */
/* other_mish(x) = x tanh(other_mish_softplus(x)) */
static real other_mish_softplus(real x) {
    return x > 20 ? x : log1p(exp(x));
}
static void other_mish_forward(Node *n) {
    real *y = n->out->data;
    tensor_copy_out(n->in[0], y);
    long count = shape_count(n->out->shape);
    while (count-- > 0) {
        *y = *y * tanh(other_mish_softplus(*y));
        y++;
    }
}
static void other_mish_backward(Node *n) {
    long count = shape_count(n->out->shape);
    real *x = malloc((count + 1) * sizeof *x);
    tensor_copy_out(n->in[0], x);
    for (long i = 0; i < count; i++) {
        real t = tanh(other_mish_softplus(x[i]));
        real s = 1 / (1 + exp(-x[i]));
        n->in[0]->grad[i] += n->out->grad[i] * (t + x[i] * s * (1 - t * t));
    }
    free(x);
}
extern const Op op_other_mish;
Tensor *tape_other_mish(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_other_mish, x->shape, INPUTS(x)));
}
static Tensor *other_mish_build(Tape *t_, Tensor **x_) {
    return tape_other_mish(t_, x_[0]);
}
static const CheckCase other_mish_cases[] = {
    {"rows", other_mish_build, {{"x", DIMS(4, 3)}}},
    {"strided", other_mish_build, {{"x", DIMS(4, 3), .layout = STEPPED}}},
    {"empty", other_mish_build, {{"x", DIMS(0)}}},
};
const Op op_other_mish = {"other_mish", other_mish_forward, other_mish_backward, CASES(other_mish_cases)};

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

/* ---- median3 ---- */
/* the median3_middle one of three, no sorting */
static int median3_middle(real a, real b, real c) {
    if ((a <= b && b <= c) || (c <= b && b <= a)) return 1;
    if ((b <= a && a <= c) || (c <= a && a <= b)) return 0;
    return 2;
}
static void median3_forward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->out->data[i] =
            n->in[median3_middle(n->in[0]->data[i], n->in[1]->data[i], n->in[2]->data[i])]->data[i];
}
static void median3_backward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        int m = median3_middle(n->in[0]->data[i], n->in[1]->data[i], n->in[2]->data[i]);
        if (n->in[m]->grad) n->in[m]->grad[i] += n->out->grad[i];
    }
}
extern const Op op_median3;
Tensor *tape_median3(Tape *t_, Tensor *a, Tensor *b, Tensor *c) {
    a = tape_contiguous(t_, a);
    b = tape_contiguous(t_, b);
    c = tape_contiguous(t_, c);
    return tape_record(tape_node(t_, &op_median3, a->shape, INPUTS(a, b, c)));
}
static Tensor *median3_build(Tape *t_, Tensor **x_) {
    return tape_median3(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase median3_cases[] = {
    {"three", median3_build, {{"a", DIMS(2, 5)}, {"b", DIMS(2, 5)}, {"c", DIMS(2, 5)}}},
    {"more", median3_build, {{"a", DIMS(12)}, {"b", DIMS(12)}, {"c", DIMS(12)}}},
};
const Op op_median3 = {"median3", median3_forward, median3_backward, CASES(median3_cases)};
