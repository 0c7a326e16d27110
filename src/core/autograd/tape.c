/* Reverse-mode automatic differentiation.
 *
 * Each operation y = f(x) that runs adds a node to the tape: the operation, its inputs, its output.
 * Backward is given the gradient of one output. It visits the nodes from the newest to the oldest,
 * and skips those whose output has no gradient. Every node that reads y is newer than the node that
 * made y, so backward visits it first. When it visits y = f(x), dL/dy is complete. The node's
 * backward adds Jᵀ dL/dy, with J = ∂y/∂x, to the gradient of x: the chain rule. */
#include "autograd/tape_arrays.h"
#include "base/arena.h"
#include <string.h>

/* ---- Recording ---- */

static bool is_foreign(const Tape *t, const Tensor *x) {
    return x->epoch != 0 && x->epoch != t->epoch;
}
#define FOREIGN "is of another tape, or of this one before it was reset"

static Node *new_node(Tape *t, const Op *op, int inputs, Tensor *const in[]) {
    WANT(t);
    WANT(op);
    if (inputs < 0 || inputs > MAX_INPUTS)
        error_bug("%s: %d inputs, want 0 to %d", op->name, inputs, MAX_INPUTS);
    for (int i = 0; i < inputs; i++)
        if (in[i] && is_foreign(t, in[i])) error_bug("%s: argument %d " FOREIGN, op->name, i + 1);
    Node *n = arena_alloc(t->records, sizeof *n);
    n->op = op;
    n->tape = t;
    n->inputs = inputs;
    n->index = t->nodes++;
    n->previous = t->last;
    t->last = n;
    for (int i = 0; i < inputs; i++) n->in[i] = in[i];
    return n;
}

static void set_output(Node *n, Tensor *out) {
    n->out = out;
    out->maker = n;
    if (n->tape->no_grad) return;
    for (int i = 0; i < n->inputs; i++)
        if (n->in[i] && tensor_wants_grad(n->in[i])) out->grad_state = GRAD_UNALLOCATED;
}

void op_want(const char *op, const Tape *t, int inputs, Tensor *const in[]) {
    if (!t) error_bug("%s: the tape is NULL", op);
    for (int i = 0; i < inputs; i++)
        if (!in[i]) error_bug("%s: argument %d is NULL, want a tensor", op, i + 1);
}

Node *tape_node(Tape *t, const Op *op, Shape out, int inputs, Tensor *const in[]) {
    if (inputs > 0) WANT(in);
    Node *n = new_node(t, op, inputs, in);
    set_output(n, tape_tensor(t, out, node_array(n, shape_count(out))));
    return n;
}

/* The range of elements, relative to its first one, that a tensor of this shape spans. */
static void span(Shape s, const long *stride, long *low, long *high) {
    *low = *high = 0;
    for (int i = 0; i < s.rank; i++) *(stride[i] < 0 ? low : high) += (s.size[i] - 1) * stride[i];
}

/* Stops with a bug if a view reads beyond the elements of `in`. */
static void check_view(const Op *op, const Tensor *in, Shape out, const long *stride, long offset) {
    long low, high, first, last;
    if (shape_count(out) == 0) return;
    span(in->shape, in->stride, &low, &high);
    span(out, stride, &first, &last);
    first += offset;
    last += offset;
    if (first < low || last > high)
        error_bug("%s: the view has elements [%ld,%ld] of %s, want them in [%ld,%ld]", op->name,
                  first, last, shape_text(in->shape), low, high);
}

Node *tape_view(Tape *t, const Op *op, Tensor *in, Shape out, const long *stride, long offset) {
    WANT(op);
    WANT(in);
    if (out.rank) WANT(stride);
    check_view(op, in, out, stride, offset);
    Node *n = new_node(t, op, 1, &in);
    Tensor *y = tape_tensor(t, out, in->data ? in->data + offset : NULL);
    memcpy(y->stride, stride, (size_t)out.rank * sizeof *stride);
    set_output(n, y);
    return n;
}

/* Runs forward or backward of a node, with its scratch memory. A tape that is dry or has failed
 * runs nothing. */
static void run(Node *n, bool backward) {
    Tape *t = n->tape;
    void (*direction)(Node *) = backward ? n->op->backward : n->op->forward;
    if (!direction || t->error.status) return;
    long scratch = n->op->scratch ? n->op->scratch(n, backward) : 0;
    if (scratch) n->scratch = tape_array(t, scratch);
    if (t->error.status) return;
    if (!t->dry) direction(n);
    if (scratch) tape_give_back(t, scratch);
    n->scratch = NULL;
}

Tensor *tape_forward(Node *n) {
    WANT(n);
    run(n, false);
    return n->out;
}

/* ---- Backward ---- */

static bool is_passed_twice(const Node *n, int i) {
    for (int j = 0; j < n->inputs; j++)
        if (j != i && n->in[j] == n->in[i]) return true;
    return false;
}

/* Allocates the gradient of input i if it has none. Zeroes a new gradient, unless the operation
 * stores its first term instead of adding it (stores_fresh: op.h). */
static void prepare_gradient(Node *n, int i) {
    Tensor *x = n->in[i];
    if (x->grad_state == GRAD_UNALLOCATED) {
        x->grad = tape_array(n->tape, shape_count(x->shape));
        x->grad_state = GRAD_FRESH;
    }
    bool stores = n->op->stores_fresh && !is_passed_twice(n, i);
    if (x->grad_state != GRAD_FRESH || stores) return;
    if (x->grad) memset(x->grad, 0, (size_t)shape_count(x->shape) * sizeof(real));
    x->grad_state = GRAD_SUM;
}

static void backward_node(Node *n) {
    if (n->out->grad_state < GRAD_FRESH) return;
    if (!n->op->backward)
        error_bug("%s: has no backward, but its output needs a gradient", n->op->name);
    for (int i = 0; i < n->inputs; i++)
        if (n->in[i]) prepare_gradient(n, i);
    run(n, true);
    for (int i = 0; i < n->inputs; i++)
        if (n->in[i] && n->in[i]->grad_state == GRAD_FRESH) n->in[i]->grad_state = GRAD_SUM;
}

/* Marks the gradients of all outputs as unallocated, so that a second backward begins like the
 * first. */
static void forget_gradients(Tape *t) {
    for (Node *n = t->last; n; n = n->previous)
        if (tensor_wants_grad(n->out)) n->out->grad_state = GRAD_UNALLOCATED;
}

void tape_backward_from(Tape *t, Tensor *y, const real *dy) {
    WANT(t);
    WANT(y);
    WANT(dy);
    if (is_foreign(t, y)) error_bug("backward: the output " FOREIGN);
    if (!tensor_wants_grad(y))
        error_bug("backward: the output depends on nothing that needs a gradient");
    if (!y->maker) error_bug("backward: the output is a leaf");
    if (t->has_run_backward && !t->keep)
        error_bug("backward: it has run already, want tape_reset before it runs again");
    if (t->has_run_backward) forget_gradients(t);
    t->has_run_backward = true;
    long count = shape_count(y->shape);
    y->grad = tape_array(t, count);
    y->grad_state = GRAD_SUM;
    if (y->grad && count) memcpy(y->grad, dy, (size_t)count * sizeof(real));
    for (Node *n = t->last; n; n = n->previous) {
        if (t->error.status) return;
        backward_node(n);
    }
}

void tape_backward(Tape *t, Tensor *loss) {
    WANT(t);
    WANT(loss);
    if (shape_count(loss->shape) != 1)
        error_bug("backward: the loss is %s, want one element", shape_text(loss->shape));
    tape_backward_from(t, loss, &(real){1});
}
