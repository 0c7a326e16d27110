/* Recording and walking backward: the whole idea of reverse-mode automatic differentiation.
 *
 * An operation that runs is written down as a node: which it was, of which inputs, with which output. From a scalar L,
 * backward visits the nodes in reverse order. When it comes to y = f(x), everything that read y has been visited, so
 * that y's gradient dL/dy is complete; the node's backward adds Jᵀ dL/dy, J = ∂y/∂x, to x's gradient: the chain rule. */
#include "autograd/tape_arrays.h"
#include "base/arena.h"
#include "base/clock.h"
#include <string.h>

/* A tensor of another tape would get no gradient, and one of this tape before its reset is gone. */
static bool belongs(const Tape *t, const Tensor *x) {
    return x->epoch == 0 || x->epoch == t->epoch;
}
#define FOREIGN "is of another tape, or of this one before it was reset"

static Node *new_node(Tape *t, const Op *op, int inputs, Tensor *const in[]) {
    if (inputs > MAX_INPUTS) error_bug("%s: %d inputs, want at most %d", op->name, inputs, MAX_INPUTS);
    for (int i = 0; i < inputs; i++)
        if (in[i] && !belongs(t, in[i])) error_bug("%s: argument %d %s", op->name, i + 1, FOREIGN);
    Node *n = arena_alloc(t->records, sizeof *n);
    n->op = op;
    n->tape = t;
    n->inputs = inputs;
    n->index = t->nodes++;
    n->recorder = t->recorder;
    n->previous = t->last;
    t->last = n;
    for (int i = 0; i < inputs; i++) n->in[i] = in[i];
    return n;
}

/* The output wants a gradient if an input does and the tape records for backward. */
static void set_output(Node *n, Tensor *out) {
    n->out = out;
    out->maker = n;
    for (int i = 0; i < n->inputs && !n->tape->no_grad; i++)
        if (n->in[i] && tensor_wants_grad(n->in[i])) out->grad_state = GRAD_AWAITED;
}

Node *tape_node(Tape *t, const Op *op, Shape out, int inputs, Tensor *const in[]) {
    Node *n = new_node(t, op, inputs, in);
    set_output(n, tape_tensor(t, out, node_array(n, shape_count(out))));
    return n;
}

Node *tape_view(Tape *t, const Op *op, Tensor *in, Shape out, const long *stride, long offset) {
    Node *n = new_node(t, op, 1, &in);
    Tensor *y = tape_tensor(t, out, in->data ? in->data + offset : NULL);
    memcpy(y->stride, stride, (size_t)out.rank * sizeof *stride);
    set_output(n, y);
    return n;
}

/* Runs one direction of a node, with its scratch memory, under the observer's eyes if there is one. */
static void run(Node *n, bool backward) {
    Tape *t = n->tape;
    void (*direction)(Node *) = backward ? n->op->backward : n->op->forward;
    long scratch = n->op->scratch ? n->op->scratch(n, backward) : 0;
    TapeBlock block = {0};
    if (scratch) n->scratch = tape_take(t, scratch, &block);
    if (direction && !t->planning) {
        double start = t->observer ? clock_seconds() : 0;
        direction(n);
        if (t->observer) t->observer(t->observer_context, n, backward, clock_seconds() - start);
    }
    tape_give_back(t, &block);
    n->scratch = NULL;
}

Tensor *tape_record(Node *n) {
    run(n, false);
    return n->out;
}

static bool passed_twice(const Node *n, int i) {
    for (int j = 0; j < n->inputs; j++)
        if (j != i && n->in[j] == n->in[i]) return true;
    return false;
}

/* The input that may take over the output's gradient as its own, or NULL: see Op.passes. */
static Tensor *heir(const Node *n) {
    int i = n->op->passes - 1;
    if (i < 0 || n->tape->keep || !n->grad.bytes) return NULL;
    Tensor *x = n->in[i];
    return x && x->grad_state == GRAD_AWAITED && !passed_twice(n, i) ? x : NULL;
}

static void bequeath(Node *n, Tensor *heir) {
    heir->grad = n->out->grad, heir->grad_state = GRAD_SUM;
    heir->maker->grad = n->grad;
    n->grad = (TapeBlock){0};
}

/* Gives every input that wants a gradient memory for it, and zero-fills what backward will add to. */
static void prepare_input_gradients(Node *n, const Tensor *heir) {
    for (int i = 0; i < n->inputs; i++) {
        Tensor *x = n->in[i];
        if (!x || !tensor_wants_grad(x) || x == heir) continue;
        long count = shape_count(x->shape);
        if (x->grad_state == GRAD_AWAITED) {
            x->grad = tape_array(n->tape, count, &x->maker->grad);
            x->grad_state = GRAD_FRESH;
        }
        if (x->grad_state == GRAD_FRESH && (!n->op->stores_fresh || passed_twice(n, i))) {
            if (!n->tape->planning) memset(x->grad, 0, (size_t)count * sizeof(real));
            x->grad_state = GRAD_SUM;
        }
    }
}

/* Backward of one node: its inputs' gradients get their sums, and its own memory is free. */
static void backward_node(Node *n) {
    if (n->out->grad_state >= GRAD_FRESH) {
        if (!n->op->backward) error_bug("%s: has no backward, but its output needs a gradient", n->op->name);
        Tensor *x = heir(n);
        prepare_input_gradients(n, x);
        run(n, true);
        for (int i = 0; i < n->inputs; i++)
            if (n->in[i] && n->in[i]->grad_state == GRAD_FRESH) n->in[i]->grad_state = GRAD_SUM;
        if (x) bequeath(n, x);
    }
    if (n->tape->keep) return;
    tape_give_back(n->tape, &n->grad);
    for (TapeBlock *a = n->arrays; a; a = a->next) tape_give_back(n->tape, a);
}

void tape_backward_from(Tape *t, Tensor *y, const real *dy) {
    if (!belongs(t, y)) error_bug("backward: the output " FOREIGN);
    if (!tensor_wants_grad(y)) error_bug("backward: the output depends on nothing that needs a gradient");
    if (!y->maker) error_bug("backward: the output is a leaf");
    if (t->spent && !t->keep) error_bug("backward: it has run already, want tape_reset before it runs again");
    for (Node *n = t->last; n && t->spent; n = n->previous)
        if (tensor_wants_grad(n->out)) n->out->grad_state = GRAD_AWAITED;
    t->spent = true;
    long count = shape_count(y->shape);
    y->grad = tape_array(t, count, &y->maker->grad);
    y->grad_state = GRAD_SUM;
    if (!t->planning && count) memcpy(y->grad, dy, (size_t)count * sizeof(real));
    for (Node *n = t->last; n; n = n->previous) backward_node(n);
}

void tape_backward(Tape *t, Tensor *loss) {
    if (shape_count(loss->shape) != 1)
        error_bug("backward: the loss is %s, want one element", shape_text(loss->shape));
    tape_backward_from(t, loss, &(real){1});
}
