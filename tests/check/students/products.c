/* Products: files as another hand wrote them. */
#include "student.h"

/* ---- other_bilinear ---- */
/* torch.nn.Bilinear without bias: y[b,o] = sum_ij x1[b,i] W[o,i,j] x2[b,j] */
static void other_bilinear_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    const real *x1 = in0, *W = in1, *x2 = in2;
    long B = n->in[0]->shape.size[0], I = n->in[0]->shape.size[1], J = n->in[2]->shape.size[1],
         O = n->in[1]->shape.size[0];
    for (long b = 0; b < B; b++)
        for (long o = 0; o < O; o++) {
            real s = 0;
            for (long i = 0; i < I; i++)
                for (long j = 0; j < J; j++) s += x1[b * I + i] * W[(o * I + i) * J + j] * x2[b * J + j];
            n->out->data[b * O + o] = s;
        }
}
static void other_bilinear_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    const real *x1 = in0, *W = in1, *x2 = in2, *dy = n->out->grad;
    long B = n->in[0]->shape.size[0], I = n->in[0]->shape.size[1], J = n->in[2]->shape.size[1],
         O = n->in[1]->shape.size[0];
    for (long b = 0; b < B; b++)
        for (long o = 0; o < O; o++)
            for (long i = 0; i < I; i++)
                for (long j = 0; j < J; j++) {
                    real g = dy[b * O + o], w = W[(o * I + i) * J + j];
                    if (n->in[0]->grad) n->in[0]->grad[b * I + i] += g * w * x2[b * J + j];
                    if (n->in[1]->grad)
                        n->in[1]->grad[(o * I + i) * J + j] += g * x1[b * I + i] * x2[b * J + j];
                    if (n->in[2]->grad) n->in[2]->grad[b * J + j] += g * w * x1[b * I + i];
                }
}
extern const Op op_other_bilinear;
Tensor *tape_other_bilinear(Tape *t_, Tensor *x1, Tensor *W, Tensor *x2) {
    return tape_record(
        tape_node(t_, &op_other_bilinear, SHAPE(x1->shape.size[0], W->shape.size[0]), INPUTS(x1, W, x2)));
}
static Tensor *other_bilinear_build(Tape *t_, Tensor **x_) {
    return tape_other_bilinear(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase other_bilinear_cases[] = {
    {"small", other_bilinear_build, {{"x1", DIMS(2, 3)}, {"W", DIMS(2, 3, 4)}, {"x2", DIMS(2, 4)}}},
    {"square", other_bilinear_build, {{"x1", DIMS(3, 2)}, {"W", DIMS(1, 2, 2)}, {"x2", DIMS(3, 2)}}},
};
const Op op_other_bilinear = {"other_bilinear", other_bilinear_forward, other_bilinear_backward,
                              CASES(other_bilinear_cases)};

/* ---- cdist ---- */
/* pairwise distances y_ij = |a_i - b_j| */
static void cdist_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    long A = n->in[0]->shape.size[0], B = n->in[1]->shape.size[0], D = n->in[0]->shape.size[1];
    for (long i = 0; i < A; i++)
        for (long j = 0; j < B; j++) {
            real s = 0;
            for (long k = 0; k < D; k++) s += pow(in0[i * D + k] - in1[j * D + k], 2);
            n->out->data[i * B + j] = sqrt(s);
        }
}
static void cdist_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    long A = n->in[0]->shape.size[0], B = n->in[1]->shape.size[0], D = n->in[0]->shape.size[1];
    for (long i = 0; i < A; i++)
        for (long j = 0; j < B; j++) {
            real d = n->out->data[i * B + j], g = d > 0 ? n->out->grad[i * B + j] / d : 0;
            for (long k = 0; k < D; k++) {
                real e = g * (in0[i * D + k] - in1[j * D + k]);
                if (n->in[0]->grad) n->in[0]->grad[i * D + k] += e;
                if (n->in[1]->grad) n->in[1]->grad[j * D + k] -= e;
            }
        }
}
extern const Op op_cdist;
Tensor *tape_cdist(Tape *t_, Tensor *a, Tensor *b) {
    return tape_record(tape_node(t_, &op_cdist, SHAPE(a->shape.size[0], b->shape.size[0]), INPUTS(a, b)));
}
static Tensor *cdist_build(Tape *t_, Tensor **x_) {
    return tape_cdist(t_, x_[0], x_[1]);
}
static const CheckCase cdist_cases[] = {
    {"points", cdist_build, {{"a", DIMS(3, 4)}, {"b", DIMS(2, 4)}}},
    {"square", cdist_build, {{"a", DIMS(2, 2)}, {"b", DIMS(2, 2)}}},
};
const Op op_cdist = {"cdist", cdist_forward, cdist_backward, CASES(cdist_cases)};

/* ---- cross3 ---- */
/* cross3_cross product of rows of cross3_three */
static void cross3_cross(const real *a, const real *b, real s, real *y) {
    y[0] += s * (a[1] * b[2] - a[2] * b[1]);
    y[1] += s * (a[2] * b[0] - a[0] * b[2]);
    y[2] += s * (a[0] * b[1] - a[1] * b[0]);
}
static void cross3_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    memset(n->out->data, 0, shape_count(n->out->shape) * sizeof(real));
    for (long i = 0; i < shape_count(n->out->shape); i += 3)
        cross3_cross(in0 + i, in1 + i, 1, n->out->data + i);
}
static void cross3_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    for (long i = 0; i < shape_count(n->out->shape); i += 3) {
        if (n->in[0]->grad) cross3_cross(in1 + i, n->out->grad + i, 1, n->in[0]->grad + i);
        if (n->in[1]->grad) cross3_cross(n->out->grad + i, in0 + i, 1, n->in[1]->grad + i);
    }
}
static Shape cross3_three(Tensor *a) {
    if (a->shape.size[1] != 3) error_bug("cross3: cross3_three columns");
    return a->shape;
}
extern const Op op_cross3;
Tensor *tape_cross3(Tape *t_, Tensor *a, Tensor *b) {
    return tape_record(tape_node(t_, &op_cross3, cross3_three(a), INPUTS(a, b)));
}
static Tensor *cross3_build(Tape *t_, Tensor **x_) {
    return tape_cross3(t_, x_[0], x_[1]);
}
static const CheckCase cross3_cases[] = {
    {"rows", cross3_build, {{"a", DIMS(4, 3)}, {"b", DIMS(4, 3)}}},
    {"one", cross3_build, {{"a", DIMS(1, 3)}, {"b", DIMS(1, 3)}}},
};
const Op op_cross3 = {"cross3", cross3_forward, cross3_backward, CASES(cross3_cases)};

/* ---- dense_layer ---- */
/* y = x W + b with wide rows: x [N, I], W [I, O], b [O] */
static void dense_layer_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    long N = n->in[0]->shape.size[0], I = n->in[0]->shape.size[1], O = n->in[1]->shape.size[1];
    for (long i = 0; i < N; i++)
        for (long o = 0; o < O; o++) {
            real a = in2[o];
            for (long k = 0; k < I; k++) a += in0[i * I + k] * in1[k * O + o];
            n->out->data[i * O + o] = a;
        }
}
static void dense_layer_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    long N = n->in[0]->shape.size[0], I = n->in[0]->shape.size[1], O = n->in[1]->shape.size[1];
    const real *x = in0, *W = in1, *dy = n->out->grad;
    for (long i = 0; i < N; i++)
        for (long o = 0; o < O; o++) {
            real g = dy[i * O + o];
            if (n->in[2]->grad) n->in[2]->grad[o] += g;
            for (long k = 0; k < I; k++) {
                if (n->in[0]->grad) n->in[0]->grad[i * I + k] += g * W[k * O + o];
                if (n->in[1]->grad) n->in[1]->grad[k * O + o] += g * x[i * I + k];
            }
        }
}
extern const Op op_dense_layer;
Tensor *tape_dense_layer(Tape *t_, Tensor *x, Tensor *W, Tensor *b) {
    return tape_record(
        tape_node(t_, &op_dense_layer, SHAPE(x->shape.size[0], W->shape.size[1]), INPUTS(x, W, b)));
}
static Tensor *dense_layer_build(Tape *t_, Tensor **x_) {
    return tape_dense_layer(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase dense_layer_cases[] = {
    {"wide", dense_layer_build, {{"x", DIMS(5, 40)}, {"W", DIMS(40, 30)}, {"b", DIMS(30)}}},
    {"small", dense_layer_build, {{"x", DIMS(2, 3)}, {"W", DIMS(3, 3)}, {"b", DIMS(3)}}},
};
const Op op_dense_layer = {"dense_layer", dense_layer_forward, dense_layer_backward,
                           CASES(dense_layer_cases)};

/* ---- einsum_bik ---- */
/* einsum("bij,bkj->ik") */
#define einsum_bik_FOR(v, n) for (long v = 0; v < (n); v++)
static void einsum_bik_forward(Node *n) {
    const real *a = n->in[0]->data, *b = n->in[1]->data;
    long B = n->in[0]->shape.size[0], I = n->in[0]->shape.size[1], J = n->in[0]->shape.size[2],
         K = n->in[1]->shape.size[1];
    einsum_bik_FOR(i, I) einsum_bik_FOR(k, K) {
        n->out->data[i * K + k] = 0;
        einsum_bik_FOR(q, B) einsum_bik_FOR(j, J) n->out->data[i * K + k] +=
            a[(q * I + i) * J + j] * b[(q * K + k) * J + j];
    }
}
static void einsum_bik_backward(Node *n) {
    const real *a = n->in[0]->data, *b = n->in[1]->data, *dy = n->out->grad;
    real *da = n->in[0]->grad, *db = n->in[1]->grad;
    long B = n->in[0]->shape.size[0], I = n->in[0]->shape.size[1], J = n->in[0]->shape.size[2],
         K = n->in[1]->shape.size[1];
    if (da)
        einsum_bik_FOR(q, B) einsum_bik_FOR(i, I) einsum_bik_FOR(j, J) einsum_bik_FOR(k, K)
            da[(q * I + i) * J + j] += dy[i * K + k] * b[(q * K + k) * J + j];
    if (db)
        einsum_bik_FOR(q, B) einsum_bik_FOR(k, K) einsum_bik_FOR(j, J) einsum_bik_FOR(i, I)
            db[(q * K + k) * J + j] += dy[i * K + k] * a[(q * I + i) * J + j];
}
extern const Op op_einsum_bik;
Tensor *tape_einsum_bik(Tape *t_, Tensor *a, Tensor *b) {
    a = tape_contiguous(t_, a);
    b = tape_contiguous(t_, b);
    return tape_record(
        tape_node(t_, &op_einsum_bik, SHAPE(a->shape.size[1], b->shape.size[1]), INPUTS(a, b)));
}
static Tensor *einsum_bik_build(Tape *t_, Tensor **x_) {
    return tape_einsum_bik(t_, x_[0], x_[1]);
}
static const CheckCase einsum_bik_cases[] = {
    {"rectangles", einsum_bik_build, {{"a", DIMS(2, 3, 4)}, {"b", DIMS(2, 2, 4)}}},
    {"squares", einsum_bik_build, {{"a", DIMS(2, 3, 3)}, {"b", DIMS(2, 3, 3)}}},
};
const Op op_einsum_bik = {"einsum_bik", einsum_bik_forward, einsum_bik_backward, CASES(einsum_bik_cases)};

/* ---- inverse2 ---- */
/* inverse of 2x2 matrices [N, 2, 2]; dA = -Y' dY Y' */
static void inverse2_forward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i += 4) {
        const real *a = n->in[0]->data + i;
        real *y = n->out->data + i, det = a[0] * a[3] - a[1] * a[2];
        y[0] = a[3] / det, y[1] = -a[1] / det, y[2] = -a[2] / det, y[3] = a[0] / det;
    }
}
static void inverse2_backward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i += 4) {
        const real *y = n->out->data + i, *g = n->out->grad + i;
        for (int p = 0; p < 2; p++)
            for (int q = 0; q < 2; q++) {
                real s = 0;
                for (int r = 0; r < 2; r++)
                    for (int t = 0; t < 2; t++) s += y[r * 2 + p] * g[r * 2 + t] * y[q * 2 + t];
                n->in[0]->grad[i + p * 2 + q] -= s;
            }
    }
}
static Shape inverse2_two(Shape s) {
    if (s.rank != 3 || s.size[1] != 2 || s.size[2] != 2) error_bug("inverse2: %s", shape_text(s));
    return s;
}
extern const Op op_inverse2;
Tensor *tape_inverse2(Tape *t_, Tensor *a) {
    a = tape_contiguous(t_, a);
    return tape_record(tape_node(t_, &op_inverse2, inverse2_two(a->shape), INPUTS(a)));
}
static Tensor *inverse2_build(Tape *t_, Tensor **x_) {
    return tape_inverse2(t_, x_[0]);
}
static const CheckCase inverse2_cases[] = {
    {"three", inverse2_build, {{"a", DIMS(3, 2, 2)}}},
    {"one", inverse2_build, {{"a", DIMS(1, 2, 2), 1, 3}}},
};
const Op op_inverse2 = {"inverse2", inverse2_forward, inverse2_backward, CASES(inverse2_cases)};

/* ---- other_outer ---- */
/* batched other_outer product y[b,i,j] = u[b,i] v[b,j] */
static void other_outer_forward(Node *n) {
    Shape s = n->out->shape;
    real *y = n->out->data;
    for (long b = 0; b < s.size[0]; b++)
        for (long i = 0; i < s.size[1]; i++)
            for (long j = 0; j < s.size[2]; j++)
                *y++ = n->in[0]->data[b * s.size[1] + i] * n->in[1]->data[b * s.size[2] + j];
}
static void other_outer_backward(Node *n) {
    Shape s = n->out->shape;
    long I = s.size[1], J = s.size[2];
    const real *dy = n->out->grad;
    if (n->in[0]->grad)
        for (long b = 0; b < s.size[0]; b++)
            for (long i = 0; i < I; i++) {
                real sum = 0;
                for (long j = 0; j < J; j++) sum += dy[(b * I + i) * J + j] * n->in[1]->data[b * J + j];
                n->in[0]->grad[b * I + i] += sum;
            }
    if (n->in[1]->grad)
        for (long b = 0; b < s.size[0]; b++)
            for (long j = 0; j < J; j++)
                for (long i = 0; i < I; i++)
                    n->in[1]->grad[b * J + j] += dy[(b * I + i) * J + j] * n->in[0]->data[b * I + i];
}
extern const Op op_other_outer;
Tensor *tape_other_outer(Tape *t_, Tensor *u, Tensor *v) {
    u = tape_contiguous(t_, u);
    v = tape_contiguous(t_, v);
    return tape_record(tape_node(t_, &op_other_outer,
                                 SHAPE(u->shape.size[0], u->shape.size[1], v->shape.size[1]), INPUTS(u, v)));
}
static Tensor *other_outer_build(Tape *t_, Tensor **x_) {
    return tape_other_outer(t_, x_[0], x_[1]);
}
static const CheckCase other_outer_cases[] = {
    {"batch", other_outer_build, {{"u", DIMS(3, 2)}, {"v", DIMS(3, 4)}}},
    {"single", other_outer_build, {{"u", DIMS(1, 3)}, {"v", DIMS(1, 3)}}},
    {"u fixed", other_outer_build, {{"u", DIMS(2, 2), .constant = true}, {"v", DIMS(2, 3)}}},
};
const Op op_other_outer = {"other_outer", other_outer_forward, other_outer_backward,
                           CASES(other_outer_cases)};
