/* residual: adds the output of a sublayer, after dropout, to its input. Section 5.4.
 *
 *     x, f: the same shape      y: the same
 *
 *   | y_i = x_i + m_i f_i      m = 1; while training, the dropout mask
 *
 * Backward.
 *
 *   | dx_i += dy_i             df_i += dy_i m_i
 *
 * Equals add(x, dropout(f)) in one pass, without an array for dropout(f). */
#include "kernels/arrays.h"
#include "ops/dropout_mask.h"
#include "ops/ops.h"
#include "ops/row_loop.h"

/* exercise: begin */
static void forward_range(Node *n, long begin, long end) {
    const DropoutMask *m = n->attr;
    const real *x = n->in[0]->data, *f = n->in[1]->data;
    real *y = n->out->data;
    for (long i = begin; i < end; i++)
        y[i] = m->p > 0 ? x[i] + f[i] * dropout_factor(m, i) : x[i] + f[i];
}

static void forward(Node *n) {
    row_loop(n, shape_count(n->out->shape), 1, forward_range);
}

static void backward_range(Node *n, long begin, long end) {
    const DropoutMask *m = n->attr;
    const real *dy = n->out->grad;
    real *df = n->in[1]->grad;
    bool store = !tensor_grad_adds(n->in[1]);
    for (long i = begin; i < end; i++) {
        real part = m->p > 0 ? dy[i] * dropout_factor(m, i) : dy[i];
        df[i] = store ? part : df[i] + part;
    }
}

static void backward(Node *n) {
    const DropoutMask *m = n->attr;
    Tensor *x = n->in[0], *f = n->in[1];
    if (x->grad) kernel_scale_to(m->count, 1, n->out->grad, x->grad, tensor_grad_adds(x));
    if (f->grad) row_loop(n, m->count, 1, backward_range);
}
/* exercise: end */

static Tensor *in_training(Tape *t, Tensor *x, Tensor *f) {
    t->training = true;
    return tape_residual(t, x, f, 0.3);
}

BUILD_CASE(training, in_training(t, x[0], x[1]))
BUILD_CASE(resting, tape_residual(t, x[0], x[1], 0.3))

static const CheckCase cases[] = {
    {"training", training, {{"x", DIMS(5, 8)}, {"f", DIMS(5, 8)}}},
    {"not training", resting, {{"x", DIMS(3, 4)}, {"f", DIMS(3, 4)}}},
    {"strided",
     training,
     {{"x", DIMS(3, 4), .layout = TRANSPOSED}, {"f", DIMS(3, 4), .layout = STEPPED}}},
    {"around the identity", training, {{"x", DIMS(5, 8)}, {"x", .same_as = 1}}},
    {"constant input", training, {{"x", DIMS(5, 8), .constant = true}, {"f", DIMS(5, 8)}}},
    {"empty", training, {{"x", DIMS(0, 4)}, {"f", DIMS(0, 4)}}},
};

const Op op_residual = {
    "residual", forward, backward, .stores_fresh = true, .arguments = dropout_print, CASES(cases)};

Tensor *tape_residual(Tape *t, Tensor *x, Tensor *f, double p) {
    op_want("residual", t, INPUTS(x, f));
    if (!shape_equal(x->shape, f->shape))
        error_bug("residual: f is %s, want %s", shape_text(f->shape), shape_text(x->shape));
    if (!(p >= 0 && p < 1)) error_bug("residual: p is %g, want it in [0,1)", p);
    x = tape_contiguous(t, x);
    f = tape_contiguous(t, f);
    Node *n = tape_node(t, &op_residual, x->shape, INPUTS(x, f));
    *(DropoutMask *)node_attr(n, sizeof(DropoutMask)) =
        dropout_mask(n, shape_count(x->shape), t->training ? p : 0);
    return tape_forward(n);
}
