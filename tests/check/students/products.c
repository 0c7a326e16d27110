/* Products: files as another hand wrote them. */
#include "student.h"

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
