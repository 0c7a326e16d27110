#include "autograd/tensor.h"
#include "base/error.h"
#include <string.h>

Tensor tensor_over(real *data, Shape s) {
    Tensor x = {.shape = s, .data = data};
    shape_count(s); /* a rank out of range is a bug */
    tensor_contiguous_strides(s, x.stride);
    return x;
}

bool tensor_contiguous(const Tensor *x) {
    WANT(x);
    long want = 1;
    for (int i = x->shape.rank - 1; i >= 0; i--) {
        if (x->shape.size[i] != 1 && x->stride[i] != want) return false;
        want *= x->shape.size[i] ? x->shape.size[i] : 1;
    }
    return true;
}

void tensor_broadcast_strides(Shape x, const long *stride, Shape to, long *out) {
    int lead = to.rank - x.rank;
    for (int i = 0; i < to.rank; i++) {
        bool repeated = i < lead || (x.size[i - lead] == 1 && to.size[i] != 1);
        out[i] = repeated ? 0 : stride[i - lead];
    }
}

void tensor_copy_out(const Tensor *x, real *out) {
    WANT(x);
    if (tensor_contiguous(x)) {
        size_t bytes = (size_t)shape_count(x->shape) * sizeof(real);
        if (bytes) memcpy(out, x->data, bytes);
        return;
    }
    for (Walk w = tensor_walk_over(x); tensor_walk_row(&w);)
        for (long i = 0; i < w.n; i++) *out++ = x->data[w.at[0] + i * w.step[0]];
}

Walk tensor_walk(Shape shape, int operands, const long *const stride[]) {
    Walk w = {.operands = operands, .shape = shape, .done = shape_count(shape) == 0};
    int last = shape.rank - 1;
    w.n = shape.rank ? shape.size[last] : 1;
    for (int o = 0; o < operands; o++) {
        memcpy(w.stride[o], stride[o], (size_t)shape.rank * sizeof(long));
        w.step[o] = shape.rank ? stride[o][last] : 0;
    }
    return w;
}

Walk tensor_walk_over(const Tensor *x) {
    return tensor_walk(x->shape, 1, (const long *[]){x->stride});
}

bool tensor_walk_row(Walk *w) {
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
