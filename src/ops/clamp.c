/* clamp: every element moved to the nearest point of an interval.
 *
 *     x: any shape; low ≤ high: numbers      y: the same shape
 *
 *     y_i = min(max(x_i, low), high)
 *
 * Backward. The slope is 1 inside and 0 outside. At the kinks, x = low and x = high, it is taken as 1, as
 * in PyTorch:
 *
 *     dx_i += dy_i      where low ≤ x_i ≤ high
 *
 * Forward keeps the interval. Backward reads x, because y does not tell x = high from x > high.
 *
 * Numerical note: NaN stays NaN. */
#include "kernels/arrays.h"
#include "ops/arguments.h"
#include "ops/ops.h"

typedef struct Attr {
    real low, high;
} Attr;

/* exercise: begin */
static void forward(Node *n) {
    const Attr *a = n->attr;
    real *y = n->out->data;
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < count; i++) y[i] = y[i] < a->low ? a->low : y[i] > a->high ? a->high : y[i];
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    const real *x = n->in[0]->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    for (Walk w = tensor_walk_over(n->in[0]); tensor_walk_row(&w); dx += w.n, dy += w.n)
        for (long i = 0; i < w.n; i++) {
            real v = x[w.at[0] + i * w.step[0]];
            dx[i] += a->low <= v && v <= a->high ? dy[i] : 0;
        }
}

static uint64_t branches(const Node *n) {
    const Attr *a = n->attr;
    const real *x = n->in[0]->data;
    uint64_t hash = 0;
    for (Walk w = tensor_walk_over(n->in[0]); tensor_walk_row(&w);)
        for (long i = 0; i < w.n; i++) {
            real v = x[w.at[0] + i * w.step[0]];
            hash = branch_hash(hash, (v >= a->low) + (v > a->high));
        }
    return hash;
}

static void arguments(const Node *n, FILE *out) {
    const Attr *a = n->attr;
    print_number(out, "low", (double)a->low);
    fprintf(out, ", ");
    print_number(out, "high", (double)a->high);
}
/* exercise: end */

BUILD_CASE(to_unit, tape_clamp(t, x[0], -1, 1))
BUILD_CASE(to_a_point, tape_clamp(t, x[0], 1, 1))

static const double off_kinks[] = {-1.5, -0.5, 0.5, 1.5, 0, -0.75, 1.25, 0.75};
static const double at_kinks[] = {-1, 0, 1, 2};

static const CheckCase cases[] = {
    {"matrix", to_unit, {{"x", DIMS(2, 4), .values = off_kinks}}},
    {"strided", to_unit, {{"x", DIMS(2, 4), .values = off_kinks, .layout = TRANSPOSED}}},
    {"one point", to_a_point, {{"x", DIMS(3, 4), .away_from = 1, .margin = 0.1}}},
    {"scalar", to_unit, {{"x", {0}, -0.9, 0.9}}},
    {"empty", to_unit, {{"x", DIMS(2, 0)}}},
    {"at the kinks", to_unit, {{"x", DIMS(4), .values = at_kinks}}, .kinks = true},
};

const Op op_clamp = {"clamp", forward, backward, .branches = branches, .arguments = arguments, CASES(cases)};

Tensor *tape_clamp(Tape *t, Tensor *x, real low, real high) {
    if (!(low <= high))
        error_bug("clamp: the interval is [%g,%g], want low <= high", (double)low, (double)high);
    Node *n = tape_node(t, &op_clamp, x->shape, INPUTS(x));
    *(Attr *)node_attr(n, sizeof(Attr)) = (Attr){low, high};
    return tape_record(n);
}
