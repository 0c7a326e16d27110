/* Operations along one axis of a contiguous array: element j of line (o, i) lies at (o·n + j)·inner + i. */
#ifndef OPS_AXIS_H
#define OPS_AXIS_H

#include "autograd/tensor.h"

typedef struct Axis {
    int axis;             /* from 0 */
    long outer, n, inner; /* products of the sizes before it, its own size, and of the sizes after it */
} Axis;

/* `axis` counts from the end where negative; out of range is a bug in op's name. */
static inline Axis axis_of(const char *op, Shape s, int axis) {
    axis = shape_axis(op, s, axis);
    Axis a = {axis, 1, s.size[axis], 1};
    for (int i = 0; i < axis; i++) a.outer *= s.size[i];
    for (int i = axis + 1; i < s.rank; i++) a.inner *= s.size[i];
    return a;
}

/* Where line number `line` of outer·inner begins; its elements are `inner` apart. */
static inline long axis_line(const Axis *a, long line) {
    return line / a->inner * a->n * a->inner + line % a->inner;
}

#endif
