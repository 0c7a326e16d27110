/* linear_cross_entropy: the output projection and its loss in one operation, without ever holding
 * all logits. Sections 3.4 and 5.4.
 *
 *     x: [n, d]   W: [V, d]   targets: n ids in [0, V), or `ignore`      y: scalar
 *
 *   | y = cross_entropy(x Wᵀ, targets)
 *
 * The upstream gradient is only a factor of the logits' gradient. So forward computes that
 * gradient, one block of rows at a time in place of the block's logits l, and multiplies it into
 * what backward needs:
 *
 *   | g_ij = 1/C (p_ij - q_ij)
 *   | X = g W  [n, d]                   G = gᵀ x  [V, d]
 *
 * Backward.
 *
 *   | dx += dy X            dW += dy G
 *
 * Forward keeps X and G. The result equals cross_entropy(linear(x, W)), whose logits and their
 * gradient take n·V elements each, most of the memory if the vocabulary is large. `targets` is the
 * caller's. */
#include "kernels/arrays.h"
#include "kernels/product.h"
#include "ops/cross_entropy_row.h"
#include "ops/row_loop.h"
#include <string.h>

enum { X, W };

typedef struct Attr {
    Targets targets;
    long n, d, V, block;     /* block: rows of a block */
    real *saved_x, *saved_w; /* X and G; NULL if not needed */
    double *row_loss;        /* [block] */
    long first;              /* first row of the current block */
} Attr;

/* exercise: begin */
/* Turns logits of the current block into their gradient, in place. */
static void loss_rows(Node *n, long begin, long end) {
    const Attr *a = n->attr;
    const Targets *t = &a->targets;
    real scale = 1 / (real)t->counted;
    for (long i = begin; i < end; i++) {
        real *l = n->scratch + i * a->V, *dl = a->saved_x || a->saved_w ? l : NULL;
        int32_t target = t->id[a->first + i];
        a->row_loss[i] =
            target == t->ignore ? 0 : cross_entropy_row(a->V, l, target, t->smoothing, scale, dl);
        if (target == t->ignore) memset(l, 0, (size_t)a->V * sizeof *l);
    }
}

static void forward(Node *n) {
    Attr *a = n->attr;
    Matrix x = matrix_of(n->in[X]->data, a->n, a->d), w = matrix_of(n->in[W]->data, a->V, a->d);
    Matrix saved_x = matrix_of(a->saved_x, a->n, a->d), saved_w = matrix_of(a->saved_w, a->V, a->d);
    double sum = 0;
    for (a->first = 0; a->first < a->n; a->first += a->block) {
        long rows = chunk_end(a->first, a->block, a->n) - a->first;
        Matrix x_block = matrix_rows(x, a->first, rows), l = matrix_of(n->scratch, rows, a->V);
        product_nt(x_block, w, l, false);
        row_loop(n, rows, 4 * a->V, loss_rows); /* a logit is more work than an element */
        for (long i = 0; i < rows; i++) sum += a->row_loss[i];
        if (a->saved_x) product_nn(l, w, matrix_rows(saved_x, a->first, rows), false);
        if (a->saved_w) product_tn(l, x_block, saved_w, a->first > 0);
    }
    n->out->data[0] = a->targets.counted ? (real)(sum / (double)a->targets.counted) : 0;
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    Tensor *x = n->in[X], *w = n->in[W];
    real dy = n->out->grad[0];
    if (x->grad) kernel_scale_to(a->n * a->d, dy, a->saved_x, x->grad, tensor_grad_adds(x));
    if (w->grad && a->n) kernel_scale_to(a->V * a->d, dy, a->saved_w, w->grad, tensor_grad_adds(w));
    if (w->grad && !a->n && !tensor_grad_adds(w))
        memset(w->grad, 0, (size_t)(a->V * a->d) * sizeof(real));
}

/* The logits of a block of rows. */
static long scratch(const Node *n, bool backward) {
    const Attr *a = n->attr;
    return backward ? 0 : a->block * a->V;
}

static double flops(const Node *n) {
    const Attr *a = n->attr;
    return 2.0 * (double)a->n * (double)a->V * (double)a->d;
}
/* exercise: end */

static const int32_t some_targets[] = {3, 0, -1, 3}, no_targets[] = {-1, -1};

BUILD_CASE(plain, tape_linear_cross_entropy(t, x[0], x[1], some_targets, -1, 0))
BUILD_CASE(smoothed, tape_linear_cross_entropy(t, x[0], x[1], some_targets, -1, 0.1))
BUILD_CASE(all_ignored, tape_linear_cross_entropy(t, x[0], x[1], no_targets, -1, 0.1))

static const CheckCase cases[] = {
    {"one row ignored", plain, {{"x", DIMS(4, 3)}, {"W", DIMS(5, 3)}}},
    {"smoothed", smoothed, {{"x", DIMS(4, 3)}, {"W", DIMS(5, 3)}}},
    {"strided",
     smoothed,
     {{"x", DIMS(4, 3), .layout = TRANSPOSED}, {"W", DIMS(5, 3), .layout = STEPPED}}},
    {"fixed weights", smoothed, {{"x", DIMS(4, 3)}, {"W", DIMS(5, 3), .constant = true}}},
    {"fixed input", smoothed, {{"x", DIMS(4, 3), .constant = true}, {"W", DIMS(5, 3)}}},
    {"one tensor twice", smoothed, {{"x", DIMS(4, 4)}, {"x", .same_as = 1}}},
    {"all ignored", all_ignored, {{"x", DIMS(2, 3)}, {"W", DIMS(5, 3)}}},
    {"no rows", plain, {{"x", DIMS(0, 3)}, {"W", DIMS(5, 3)}}},
};

const Op op_linear_cross_entropy = {"linear_cross_entropy",
                                    forward,
                                    backward,
                                    .scratch = scratch,
                                    .stores_fresh = true,
                                    .flops = flops,
                                    .arguments = targets_print,
                                    CASES(cases)};

Tensor *tape_linear_cross_entropy(Tape *t, Tensor *x, Tensor *weight, const int32_t *targets,
                                  int32_t ignore, double smoothing) {
    op_want("linear_cross_entropy", t, INPUTS(x, weight));
    Shape xs = x->shape, ws = weight->shape;
    if (xs.rank != 2) error_bug("linear_cross_entropy: x is %s, want [n,d]", shape_text(xs));
    if (ws.rank != 2 || ws.size[1] != xs.size[1] || ws.size[0] < 1)
        error_bug("linear_cross_entropy: W is %s, want [V,%ld], V >= 1", shape_text(ws),
                  xs.size[1]);
    Targets all =
        targets_of("linear_cross_entropy", xs.size[0], ws.size[0], targets, ignore, smoothing);
    x = tape_contiguous(t, x);
    weight = tape_contiguous(t, weight);
    Node *n = tape_node(t, &op_linear_cross_entropy, SCALAR, INPUTS(x, weight));
    Attr *a = node_attr(n, sizeof *a);
    *a = (Attr){all, all.n, xs.size[1], all.V, logit_block_rows(all.n, all.V)};
    a->row_loss = node_memory(n, (size_t)a->block * sizeof(double));
    if (tensor_wants_grad(n->out) && tensor_wants_grad(x)) a->saved_x = node_array(n, a->n * a->d);
    if (tensor_wants_grad(n->out) && tensor_wants_grad(weight))
        a->saved_w = node_array(n, a->V * a->d);
    return tape_forward(n);
}
