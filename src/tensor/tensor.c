#include "tensor/tensor.h"
#include "base/error.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

long shape_count(Shape s) {
    long count;
    if (!shape_fits(s.rank, s.size, sizeof(real), &count)) bug("shape %s: too many elements", shape_text(s));
    return count;
}

bool shape_fits(int rank, const long *size, size_t element_size, long *count) {
    long n = 1;
    bool zero = false;
    for (int i = 0; i < rank; i++) {
        if (size[i] < 0) return false;
        zero |= size[i] == 0;
        /* A size of 0 elsewhere does not excuse an overflow: strides are products of the other sizes. */
        if (size[i] && __builtin_mul_overflow(n, size[i], &n)) return false;
    }
    if (n > LONG_MAX / (long)element_size) return false;
    *count = zero ? 0 : n;
    return true;
}

int shape_axis(const char *op, Shape s, int axis) {
    int from_start = axis < 0 ? axis + s.rank : axis;
    if (from_start < 0 || from_start >= s.rank)
        bug("%s: axis %d of %s, want one in [%d,%d)", op, axis, shape_text(s), -s.rank, s.rank);
    return from_start;
}

Shape shape_broadcast(const char *op, Shape a, Shape b) {
    Shape out = {.rank = a.rank > b.rank ? a.rank : b.rank};
    for (int i = 1; i <= out.rank; i++) {
        long p = i <= a.rank ? a.size[a.rank - i] : 1, q = i <= b.rank ? b.size[b.rank - i] : 1;
        if (p != q && p != 1 && q != 1)
            bug("%s: argument 2 is %s, want a shape that broadcasts with %s", op, shape_text(b),
                shape_text(a));
        out.size[out.rank - i] = p == 1 ? q : p;
    }
    return out;
}

const char *shape_text(Shape s) {
    static _Thread_local char text[4][MAX_RANK * 21 + 3];
    static _Thread_local int next;
    char *p = text[next++ & 3], *start = p;
    *p++ = '[';
    for (int i = 0; i < s.rank; i++) p += sprintf(p, i ? ",%ld" : "%ld", s.size[i]);
    strcpy(p, "]");
    return start;
}

Tensor tensor_over(real *data, Shape s) {
    Tensor x = {.shape = s, .data = data};
    contiguous_strides(s, x.stride);
    return x;
}

bool tensor_contiguous(const Tensor *x) {
    long want = 1;
    for (int i = x->shape.rank - 1; i >= 0; i--) {
        if (x->shape.size[i] != 1 && x->stride[i] != want) return false;
        want *= x->shape.size[i] ? x->shape.size[i] : 1;
    }
    return true;
}

void broadcast_strides(Shape x, const long *stride, Shape to, long *out) {
    int lead = to.rank - x.rank;
    for (int i = 0; i < to.rank; i++) {
        bool repeated = i < lead || (x.size[i - lead] == 1 && to.size[i] != 1);
        out[i] = repeated ? 0 : stride[i - lead];
    }
}

void tensor_copy_out(const Tensor *x, real *out) {
    if (tensor_contiguous(x)) {
        size_t bytes = (size_t)shape_count(x->shape) * sizeof(real);
        if (bytes) memcpy(out, x->data, bytes);
        return;
    }
    for (Walk w = walk_over(x); walk_row(&w);)
        for (long i = 0; i < w.n; i++) *out++ = x->data[w.at[0] + i * w.step[0]];
}

Walk walk(Shape shape, int operands, const long *const stride[]) {
    Walk w = {.operands = operands, .shape = shape, .done = shape_count(shape) == 0};
    int last = shape.rank - 1;
    w.n = shape.rank ? shape.size[last] : 1;
    for (int o = 0; o < operands; o++) {
        memcpy(w.stride[o], stride[o], (size_t)shape.rank * sizeof(long));
        w.step[o] = shape.rank ? stride[o][last] : 0;
    }
    return w;
}

Walk walk_over(const Tensor *x) {
    return walk(x->shape, 1, (const long *[]){x->stride});
}

bool walk_row(Walk *w) {
    if (w->done) return false;
    if (!w->started) return w->started = true;
    for (int i = w->shape.rank - 2; i >= 0; i--) {
        for (int o = 0; o < w->operands; o++) w->at[o] += w->stride[o][i];
        if (++w->index[i] < w->shape.size[i]) return true;
        for (int o = 0; o < w->operands; o++) w->at[o] -= w->index[i] * w->stride[o][i];
        w->index[i] = 0;
    }
    w->done = true;
    return false;
}
