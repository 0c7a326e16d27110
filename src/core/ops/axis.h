/* Operations along one axis of a contiguous array. A line is all elements that differ in their
 * index of the axis alone: element j of line (o, i) lies at (o·n + j)·inner + i. */
#pragma once

#include "kernels/vector_math.h"
#include "ops/ops.h"
#include <math.h>

typedef struct Axis {
    int axis;   /* from 0, or ALL_AXES */
    long n;     /* its size */
    long outer; /* the product of the sizes before it */
    long inner; /* the product of the sizes after it */
} Axis;

static inline Axis axis_of(const char *op, Shape s, int axis) {
    if (axis == ALL_AXES) return (Axis){axis, shape_count(s), 1, 1};
    axis = shape_axis(op, s, axis);
    Axis a = {axis, s.size[axis], 1, 1};
    for (int i = 0; i < axis; i++) a.outer *= s.size[i];
    for (int i = axis + 1; i < s.rank; i++) a.inner *= s.size[i];
    return a;
}

/* A node for y = f(x), of x's shape, with its Axis as attributes. A negative `axis` counts from the
 * end. */
static inline Node *axis_node(Tape *t, const Op *op, Tensor *x, int axis) {
    op_want(op->name, t, INPUTS(x));
    Axis a = axis_of(op->name, x->shape, axis);
    Node *n = tape_node(t, op, x->shape, INPUTS(x));
    *(Axis *)node_attr(n, sizeof a) = a;
    return n;
}

/* The same for a reduction: y has one element for each line of x. The axis keeps size 1, so that y
 * broadcasts against x: x - max(x) is a sub. With ALL_AXES y is a scalar. */
static inline Node *reduction_node(Tape *t, const Op *op, Tensor *x, int axis) {
    op_want(op->name, t, INPUTS(x));
    Axis a = axis_of(op->name, x->shape, axis);
    Shape out = axis == ALL_AXES ? SCALAR : x->shape;
    if (axis != ALL_AXES) out.size[a.axis] = 1;
    Node *n = tape_node(t, op, out, INPUTS(tape_contiguous(t, x)));
    *(Axis *)node_attr(n, sizeof a) = a;
    return n;
}

/* For Op.arguments. */
static inline void axis_print(const Node *n, FILE *out) {
    int axis = ((const Axis *)n->attr)->axis;
    fprintf(out, axis == ALL_AXES ? "\"axis\": \"all\"" : "\"axis\": %d", axis);
}

static inline long axis_lines(const Axis *a) {
    return a->outer * a->inner;
}

/* The offset of a line; its elements are `inner` apart. */
static inline long axis_line(const Axis *a, long line) {
    return line / a->inner * a->n * a->inner + line % a->inner;
}

/* The maximum of a line; -∞ if all its elements are -∞, or it has none. */
static inline real axis_max(const Axis *a, const real *line) {
    real max = -INFINITY;
    for (long i = 0; i < a->n; i++) max = line[i * a->inner] > max ? line[i * a->inner] : max;
    return max;
}

/* Σ_i e^(x_i - shift) over a line, in double, so that long lines are as exact as short ones; out,
 * if not NULL, receives the terms. out may be the line. */
static inline double axis_exp_sum(const Axis *a, const real *line, real shift, real *out) {
    double sum = 0;
    for (long i = 0; i < a->n; i++) {
        real term = vm_exp(line[i * a->inner] - shift);
        if (out) out[i * a->inner] = term;
        sum += (double)term;
    }
    return sum;
}

/* The sum of a line. In double, so that in float it is exact to its last digit. */
static inline double axis_sum(const Axis *a, const real *line) {
    double sum = 0;
    for (long i = 0; i < a->n; i++) sum += (double)line[i * a->inner];
    return sum;
}

/* Adds a value to every element of a line. */
static inline void axis_add(const Axis *a, real *line, real value) {
    for (long i = 0; i < a->n; i++) line[i * a->inner] += value;
}

/* Cases for softmax and log_softmax. */
#define SOFTMAX_BUILDS(name)                                                                       \
    BUILD_CASE(last_axis, tape_##name(t, x[0], -1))                                                \
    BUILD_CASE(first_axis, tape_##name(t, x[0], 0))

/* clang-format off */
#define SOFTMAX_CASES                                                                              \
    {"matrix", last_axis, {{"x", DIMS(3, 5)}}},                                                    \
    {"first axis", first_axis, {{"x", DIMS(4, 3)}}},                                               \
    {"three axes", last_axis, {{"x", DIMS(2, 3, 4)}}},                                             \
    {"strided", last_axis, {{"x", DIMS(3, 5), .layout = TRANSPOSED}}},                             \
    {"repeated", last_axis, {{"x", DIMS(3, 5), .layout = REPEATED}}},                              \
    {"one element", last_axis, {{"x", DIMS(3, 1)}}},                                               \
    {"no rows", last_axis, {{"x", DIMS(0, 5)}}},                                                   \
    {"no columns", last_axis, {{"x", DIMS(3, 0)}}}
/* clang-format on */

/* Cases for a reduction of this name: x in [-2, 2], of common shapes, layouts and axes. */
#define REDUCTION_BUILDS(name)                                                                     \
    BUILD_CASE(last_axis, tape_##name(t, x[0], -1))                                                \
    BUILD_CASE(first_axis, tape_##name(t, x[0], 0))                                                \
    BUILD_CASE(middle_axis, tape_##name(t, x[0], 1))                                               \
    BUILD_CASE(all_axes, tape_##name(t, x[0], ALL_AXES))

/* clang-format off */
#define REDUCTION_CASES                                                                            \
    {"last axis", last_axis, {{"x", DIMS(3, 4), .distinct = true}}},                               \
    {"first axis", first_axis, {{"x", DIMS(3, 4), .distinct = true}}},                             \
    {"middle axis", middle_axis, {{"x", DIMS(2, 3, 4), .distinct = true}}},                        \
    {"all", all_axes, {{"x", DIMS(2, 3, 4), .distinct = true}}},                                   \
    {"strided", middle_axis, {{"x", DIMS(2, 3, 4), .distinct = true, .layout = TRANSPOSED}}},      \
    {"stepped", all_axes, {{"x", DIMS(2, 3, 4), .distinct = true, .layout = STEPPED}}},            \
    {"scalar", all_axes, {{"x", {0}}}},                                                            \
    {"one element", last_axis, {{"x", DIMS(3, 1)}}}
/* clang-format on */
