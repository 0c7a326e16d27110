/* cube: y_i = x_i³, dx_i += 3 x_i² dy_i. Check it with ./gradcheck tests/examples/cube.c */
#include "ops/ops.h"

static void forward(Node *n) {
    const real *x = n->in[0]->data;
    real *y = n->out->data;
    for (long i = 0; i < shape_count(n->out->shape); i++) y[i] = x[i] * x[i] * x[i];
}

static void backward(Node *n) {
    const real *x = n->in[0]->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    for (long i = 0; i < shape_count(n->out->shape); i++) dx[i] += 3 * x[i] * x[i] * dy[i];
}

extern const Op
    op_cube; /* a forward declaration: tape_cube needs op_cube, whose cases need tape_cube */

Tensor *tape_cube(Tape *t, Tensor *x) {
    Tensor *a = tape_contiguous(t, x); /* x may have any strides; a is in row-major order */
    return tape_forward(tape_node(t, &op_cube, a->shape, INPUTS(a)));
}

BUILD_CASE(build, tape_cube(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 5)}}},
    {"strided", build, {{"x", DIMS(3, 5), .layout = TRANSPOSED}}},
    {"large", build, {{"x", DIMS(4), .low = 10, .high = 20}}},
};

const Op op_cube = {"cube", forward, backward, CASES(cases)};
