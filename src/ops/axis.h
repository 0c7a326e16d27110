/* Operations along one axis of a contiguous array: element j of line (o, i) lies at (o·n + j)·inner + i. */
#ifndef OPS_AXIS_H
#define OPS_AXIS_H

#include "autograd/op.h"
#include <math.h>

typedef struct Axis {
    int axis; /* from 0 */
    long outer, n,
        inner; /* the product of the sizes before it, its size, and the product of those after it */
} Axis;

/* A node for y = f(x), of x's shape, with its Axis as attributes. A negative `axis` counts
 * from the end. */
static inline Node *axis_node(Tape *t, const Op *op, Tensor *x, int axis) {
    Shape s = x->shape;
    axis = shape_axis(op->name, s, axis);
    Node *n = tape_node(t, op, s, INPUTS(x));
    Axis *a = node_attr(n, sizeof *a);
    *a = (Axis){axis, 1, s.size[axis], 1};
    for (int i = 0; i < axis; i++) a->outer *= s.size[i];
    for (int i = axis + 1; i < s.rank; i++) a->inner *= s.size[i];
    return n;
}

/* For Op.arguments. */
static inline void axis_print(const Node *n, FILE *out) {
    fprintf(out, "\"axis\": %d", ((const Axis *)n->attr)->axis);
}

/* The offset of line `line` of outer·inner; its elements are `inner` apart. */
static inline long axis_line(const Axis *a, long line) {
    return line / a->inner * a->n * a->inner + line % a->inner;
}

/* The maximum of a line; -∞ if all its elements are -∞, or it has none. */
static inline real axis_max(const Axis *a, const real *line) {
    real max = -INFINITY;
    for (long i = 0; i < a->n; i++) max = line[i * a->inner] > max ? line[i * a->inner] : max;
    return max;
}

#endif
