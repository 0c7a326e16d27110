/* Functions of several inputs, element by element: files as another hand wrote them. */
#include "student.h"

/* ---- film ---- */
/* FiLM: y[b,t,c] = gamma[b,c] x[b,t,c] + beta[b,c] */
#define film_IX ((b * T + t) * C + c)
#define film_GX (b * C + c)
#define film_EACH                                                                                            \
    for (long b = 0; b < B; b++)                                                                             \
        for (long t = 0; t < T; t++)                                                                         \
            for (long c = 0; c < C; c++)
#define film_SIZES long B = n->out->shape.size[0], T = n->out->shape.size[1], C = n->out->shape.size[2]
static void film_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    film_SIZES;
    film_EACH n->out->data[film_IX] = in1[film_GX] * in0[film_IX] + in2[film_GX];
}
static void film_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    film_SIZES;
    const real *dy = n->out->grad;
    if (n->in[0]->grad) film_EACH n->in[0]->grad[film_IX] += dy[film_IX] * in1[film_GX];
    if (n->in[1]->grad) film_EACH n->in[1]->grad[film_GX] += dy[film_IX] * in0[film_IX];
    if (n->in[2]->grad) film_EACH n->in[2]->grad[film_GX] += dy[film_IX];
}
extern const Op op_film;
Tensor *tape_film(Tape *t_, Tensor *x, Tensor *gamma, Tensor *beta) {
    return tape_record(tape_node(t_, &op_film, x->shape, INPUTS(x, gamma, beta)));
}
static Tensor *film_build(Tape *t_, Tensor **x_) {
    return tape_film(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase film_cases[] = {
    {"sequence", film_build, {{"x", DIMS(2, 3, 4)}, {"gamma", DIMS(2, 4)}, {"beta", DIMS(2, 4)}}},
    {"one step", film_build, {{"x", DIMS(2, 1, 3)}, {"gamma", DIMS(2, 3)}, {"beta", DIMS(2, 3)}}},
};
const Op op_film = {"film", film_forward, film_backward, CASES(film_cases)};

/* ---- lerp ---- */
/* y = a + w (b - a), w a scalar */
static void lerp_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->out->data[i] = in0[i] + in2[0] * (in1[i] - in0[i]);
}
static void lerp_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    real w = in2[0], s = 0;
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        if (n->in[0]->grad) n->in[0]->grad[i] += (1 - w) * n->out->grad[i];
        if (n->in[1]->grad) n->in[1]->grad[i] += w * n->out->grad[i];
        s += (in1[i] - in0[i]) * n->out->grad[i];
    }
    if (n->in[2]->grad) *n->in[2]->grad += s;
}
extern const Op op_lerp;
Tensor *tape_lerp(Tape *t_, Tensor *a, Tensor *b, Tensor *w) {
    return tape_record(tape_node(t_, &op_lerp, a->shape, INPUTS(a, b, w)));
}
static Tensor *lerp_build(Tape *t_, Tensor **x_) {
    return tape_lerp(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase lerp_cases[] = {
    {"matrix", lerp_build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4)}, {"w", {0}, 0, 1}}},
    {"w fixed", lerp_build, {{"a", DIMS(3)}, {"b", DIMS(3)}, {"w", {0}, 0, 1, .constant = true}}},
};
const Op op_lerp = {"lerp", lerp_forward, lerp_backward, CASES(lerp_cases)};

/* ---- where ---- */
/* y = cond ? a : b, b broadcast over the rows, cond given as 0 and 1 */
static void where_forward(Node *n) {
    long d = n->out->shape.size[1];
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->out->data[i] = n->in[0]->data[i] != 0 ? n->in[1]->data[i] : n->in[2]->data[i % d];
}
static void where_backward(Node *n) {
    long d = n->out->shape.size[1];
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        if (n->in[0]->data[i] != 0) {
            if (n->in[1]->grad) n->in[1]->grad[i] += n->out->grad[i];
        } else if (n->in[2]->grad)
            n->in[2]->grad[i % d] += n->out->grad[i];
    }
}
static const double where_c01[] = {1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1};
extern const Op op_where;
Tensor *tape_where(Tape *t_, Tensor *cond, Tensor *a, Tensor *b) {
    cond = tape_contiguous(t_, cond);
    a = tape_contiguous(t_, a);
    b = tape_contiguous(t_, b);
    return tape_record(tape_node(t_, &op_where, a->shape, INPUTS(cond, a, b)));
}
static Tensor *where_build(Tape *t_, Tensor **x_) {
    return tape_where(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase where_cases[] = {
    {"rows",
     where_build,
     {{"cond", DIMS(4, 3), .values = where_c01, .constant = true}, {"a", DIMS(4, 3)}, {"b", DIMS(3)}}},
    {"one row",
     where_build,
     {{"cond", DIMS(1, 5), .values = where_c01, .constant = true}, {"a", DIMS(1, 5)}, {"b", DIMS(5)}}},
};
const Op op_where = {"where", where_forward, where_backward, CASES(where_cases)};
