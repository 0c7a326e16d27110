/* Reductions: one element of y for the elements of x along one axis, or for all of them.
 *
 * The reduced axis keeps size 1, so that y broadcasts against x: x - max(x) is a sub. With ALL_AXES in
 * place of an axis, y is a scalar. */
#ifndef OPS_REDUCE_H
#define OPS_REDUCE_H

#include "ops/ops.h"

enum { WALK_X, WALK_DX };

typedef struct Reduction {
    long outputs; /* elements of y */
    long n;       /* elements of x for each of them */
    int axis;     /* the innermost one of the walk */
    bool all;     /* ALL_AXES */
} Reduction;

/* A node for y = f(x), with its Reduction as attributes. */
static inline Node *reduction_node(Tape *t, const Op *op, Tensor *x, int axis) {
    Reduction r = {.axis = x->shape.rank - 1, .n = shape_count(x->shape)};
    Shape out = SCALAR;
    r.all = axis == ALL_AXES;
    if (!r.all) {
        r.axis = shape_axis(op->name, x->shape, axis);
        r.n = x->shape.size[r.axis];
        out = x->shape;
        out.size[r.axis] = 1;
    }
    r.outputs = shape_count(out);
    Node *n = tape_node(t, op, out, INPUTS(x));
    *(Reduction *)node_attr(n, sizeof r) = r;
    return n;
}

/* For Op.arguments. */
static inline void reduction_print(const Node *n, FILE *out) {
    const Reduction *r = n->attr;
    if (r->all)
        fprintf(out, "\"axis\": \"all\"");
    else
        fprintf(out, "\"axis\": %d", r->axis);
}

/* Walks x and dx (WALK_X, WALK_DX) in the order of y, so that the n elements of one y, a line, follow each other in
 * whole rows. */
static inline Walk reduction_walk(const Node *n) {
    const Tensor *x = n->in[0];
    Shape s = x->shape;
    long x_stride[MAX_RANK], dx_stride[MAX_RANK], contiguous[MAX_RANK];
    tensor_contiguous_strides(s, contiguous);
    for (int i = 0, to = 0; i < s.rank; i++) {
        int axis = ((const Reduction *)n->attr)->axis;
        int place = i == axis ? s.rank - 1 : to++;
        s.size[place] = x->shape.size[i];
        x_stride[place] = x->stride[i];
        dx_stride[place] = contiguous[i];
    }
    return tensor_walk(s, 2, (const long *[]){x_stride, dx_stride});
}

/* For a loop over the rows of w's next line: `for (long left = r->n; reduction_row(&w, &left);)`. */
static inline bool reduction_row(Walk *w, long *left) {
    if (*left <= 0 || !tensor_walk_row(w)) return false;
    *left -= w->n;
    return true;
}

/* The sum of x over the next line. In double, so that in float it is exact to its last digit. */
static inline double reduction_sum(const Reduction *r, Walk *w, const real *x) {
    double sum = 0;
    for (long left = r->n; reduction_row(w, &left);)
        for (long i = 0; i < w->n; i++) sum += (double)x[w->at[WALK_X] + i * w->step[WALK_X]];
    return sum;
}

/* Adds a value to every dx of the next line. */
static inline void reduction_add(const Reduction *r, Walk *w, real *dx, real value) {
    for (long left = r->n; reduction_row(w, &left);)
        for (long i = 0; i < w->n; i++) dx[w->at[WALK_DX] + i * w->step[WALK_DX]] += value;
}

/* Cases for a reduction of this name: x in [-2, 2], of common shapes, layouts and axes. */
#define REDUCTION_BUILDS(name)                                                                               \
    BUILD_CASE(last_axis, tape_##name(t, x[0], -1))                                                          \
    BUILD_CASE(first_axis, tape_##name(t, x[0], 0))                                                          \
    BUILD_CASE(middle_axis, tape_##name(t, x[0], 1))                                                         \
    BUILD_CASE(all_axes, tape_##name(t, x[0], ALL_AXES))

/* clang-format off */
#define REDUCTION_CASES                                                                                      \
    {"last axis", last_axis, {{"x", DIMS(3, 4), .distinct = true}}},                                         \
    {"first axis", first_axis, {{"x", DIMS(3, 4), .distinct = true}}},                                       \
    {"middle axis", middle_axis, {{"x", DIMS(2, 3, 4), .distinct = true}}},                                  \
    {"all", all_axes, {{"x", DIMS(2, 3, 4), .distinct = true}}},                                             \
    {"strided", middle_axis, {{"x", DIMS(2, 3, 4), .distinct = true, .layout = TRANSPOSED}}},                \
    {"stepped", all_axes, {{"x", DIMS(2, 3, 4), .distinct = true, .layout = STEPPED}}},                      \
    {"scalar", all_axes, {{"x", {0}}}},                                                                      \
    {"one element", last_axis, {{"x", DIMS(3, 1)}}}
/* clang-format on */

#endif
