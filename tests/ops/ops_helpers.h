/* Inputs for tests of operations: in memory as it comes, filled with numbers that are the same in
 * both precisions. */
#pragma once

#include "base/random.h"
#include "ops/ops.h"
#include "test.h"

typedef enum Layout { PLAIN, TURNED, SPREAD, LAYOUTS } Layout;
static const char *const layout_name[] = {"plain", "last two axes swapped in memory",
                                          "every second element"};

/* A tape whose outputs can still be looked at when backward has run. */
static inline Tape *new_tape(void) {
    Tape *t = tape_new();
    t->keep = true;
    return t;
}

/* The index along each axis of element i of the shape, in row-major order. */
static inline void unravel(Shape s, long i, long *index) {
    for (int axis = s.rank - 1; axis >= 0; axis--) {
        index[axis] = i % s.size[axis];
        i /= s.size[axis];
    }
}

static inline long ravel(Shape s, const long *index) {
    long i = 0;
    for (int axis = 0; axis < s.rank; axis++) i = i * s.size[axis] + index[axis];
    return i;
}

/* Element i of x in row-major order, whatever x's strides. */
static inline real *element(const Tensor *x, long i) {
    long index[MAX_RANK], at = 0;
    unravel(x->shape, i, index);
    for (int axis = 0; axis < x->shape.rank; axis++) at += index[axis] * x->stride[axis];
    return x->data + at;
}

static inline double value(const Tensor *x, long i) {
    return (double)*element(x, i);
}

/* The element of x that element i of the broadcast shape uses. */
static inline long broadcast_index(Shape x, Shape out, long i) {
    long index[MAX_RANK], own[MAX_RANK];
    unravel(out, i, index);
    for (int axis = 0; axis < x.rank; axis++)
        own[axis] = x.size[axis] == 1 ? 0 : index[axis + out.rank - x.rank];
    return ravel(x, own);
}

/* Every gradient of a leaf before backward, which must add to it. */
enum { GRAD_BEFORE = 3 };

/* A leaf whose data and gradient lie on the tape, to be filled through element. */
static inline Tensor *blank_leaf(Tape *t, Shape s, Layout layout) {
    long count = shape_count(s), spread = 1;
    for (int axis = 0; axis < s.rank; axis++) spread *= 2;
    Tensor *data = tape_constant(t, SHAPE(count * spread + 1)),
           *grad = tape_constant(t, SHAPE(count + 1));
    for (long i = 0; i < count * spread; i++) data->data[i] = (real)NAN;
    for (long i = 0; i <= count; i++) grad->data[i] = GRAD_BEFORE;
    Tensor *x = tape_leaf(t, s, data->data, grad->data);
    if (layout == TURNED && s.rank >= 2) {
        Shape turned = s;
        long *last = &x->stride[s.rank - 2];
        turned.size[s.rank - 2] = s.size[s.rank - 1];
        turned.size[s.rank - 1] = s.size[s.rank - 2];
        tensor_contiguous_strides(turned, x->stride);
        long stride = last[0];
        last[0] = last[1];
        last[1] = stride;
    }
    if (layout == SPREAD) {
        Shape larger = s;
        for (int axis = 0; axis < s.rank; axis++) larger.size[axis] *= 2;
        tensor_contiguous_strides(larger, x->stride);
        for (int axis = 0; axis < s.rank; axis++) x->stride[axis] *= 2;
    }
    return x;
}

/* A number of that stream, uniform in [low, high) and exact in float. */
static inline real number(uint64_t stream, long i, double low, double high) {
    return (real)(float)(low +
                         (high - low) * (double)random_uniform(random_key(5, stream), (uint64_t)i));
}

static inline Tensor *random_leaf(Tape *t, Shape s, Layout layout, uint64_t stream, double low,
                                  double high) {
    Tensor *x = blank_leaf(t, s, layout);
    for (long i = 0; i < shape_count(s); i++) *element(x, i) = number(stream, i, low, high);
    return x;
}

static inline Tensor *leaf_of(Tape *t, Shape s, const double *values) {
    Tensor *x = blank_leaf(t, s, PLAIN);
    for (long i = 0; i < shape_count(s); i++) *element(x, i) = (real)values[i];
    return x;
}

/* Runs backward with a random upstream gradient and returns it. */
static inline const real *backward_from(Tape *t, Tensor *y, uint64_t stream) {
    long count = shape_count(y->shape);
    real *dy = tape_constant(t, SHAPE(count + 1))->data;
    for (long i = 0; i < count; i++) dy[i] = number(stream, i, -1, 1);
    tape_backward_from(t, y, dy);
    return dy;
}

/* Near, relative to 1 or to the number wanted if that is larger. */
#define CHECK_CLOSE(found, want, epsilons)                                                         \
    CHECK_NEAR(found, want, (epsilons) * (double)REAL_EPSILON * fmax(1, fabs((double)(want))))
