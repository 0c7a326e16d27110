/* permute: a view of x with its axes in another order.
 *
 *     x: any shape; order: the axes of x, each once      y: size[i] is x's size[order[i]], sharing x's memory
 *
 *     y_{j_0 j_1 …} = x_{…}      where j_i is the index on axis order[i] of x
 *
 * Backward. Each y is one x and gives it its gradient:
 *
 *     dx_{…} += dy_{j_0 j_1 …}
 *
 * Forward keeps the order. The gradient of y has memory of its own, contiguous in y's shape. */
#include "ops/ops.h"

typedef struct Attr {
    int order[MAX_RANK];
} Attr;

/* The values of x's axes, in the order of y's axes. */
static void permute(int rank, const int *order, const long *x, long *y) {
    for (int i = 0; i < rank; i++) y[i] = x[order[i]];
}

/* exercise: begin */
static void backward(Node *n) {
    const real *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    long x_stride[MAX_RANK], dx_stride[MAX_RANK];
    tensor_contiguous_strides(n->in[0]->shape, x_stride);
    permute(n->out->shape.rank, ((Attr *)n->attr)->order, x_stride, dx_stride);
    for (Walk w = tensor_walk(n->out->shape, 1, (const long *[]){dx_stride}); tensor_walk_row(&w); dy += w.n)
        for (long i = 0; i < w.n; i++) dx[w.at[0] + i * w.step[0]] += dy[i];
}

static void arguments(const Node *n, FILE *out) {
    const Attr *a = n->attr;
    fprintf(out, "\"order\": [");
    for (int i = 0; i < n->out->shape.rank; i++) fprintf(out, i ? ", %d" : "%d", a->order[i]);
    fprintf(out, "]");
}
/* exercise: end */

BUILD_CASE(rotated, tape_permute(t, x[0], (int[]){1, 2, 0}))
BUILD_CASE(reversed, tape_permute(t, x[0], (int[]){-1, -2, -3}))
BUILD_CASE(unchanged, tape_permute(t, x[0], (int[]){0, 1, 2}))
BUILD_CASE(heads_first, tape_permute(t, x[0], (int[]){0, 2, 1, 3}))
BUILD_CASE(no_axes, tape_permute(t, x[0], NULL))

static const CheckCase cases[] = {
    {"rotated", rotated, {{"x", DIMS(2, 3, 4)}}},
    {"reversed", reversed, {{"x", DIMS(2, 3, 4)}}},
    {"unchanged", unchanged, {{"x", DIMS(2, 3, 4)}}},
    {"heads before positions", heads_first, {{"x", DIMS(2, 3, 2, 4)}}},
    {"strided", rotated, {{"x", DIMS(2, 3, 4), .layout = TRANSPOSED}}},
    {"repeated", rotated, {{"x", DIMS(2, 3, 4), .layout = REPEATED}}},
    {"size one", rotated, {{"x", DIMS(1, 3, 1)}}},
    {"scalar", no_axes, {{"x", {0}}}},
    {"empty", rotated, {{"x", DIMS(2, 0, 4)}}},
};

const Op op_permute = {"permute", .backward = backward, .view = true, .arguments = arguments, CASES(cases)};

Tensor *tape_permute(Tape *t, Tensor *x, const int *order) {
    Attr a;
    bool used[MAX_RANK] = {false};
    for (int i = 0; i < x->shape.rank; i++) {
        a.order[i] = shape_axis("permute", x->shape, order[i]);
        if (used[a.order[i]])
            error_bug("permute: axis %d of %s occurs twice, want each axis once", order[i],
                      shape_text(x->shape));
        used[a.order[i]] = true;
    }
    Shape shape = {.rank = x->shape.rank};
    long stride[MAX_RANK];
    permute(shape.rank, a.order, x->shape.size, shape.size);
    permute(shape.rank, a.order, x->stride, stride);
    Node *n = tape_view(t, &op_permute, x, shape, stride, 0);
    *(Attr *)node_attr(n, sizeof a) = a;
    return tape_record(n);
}
