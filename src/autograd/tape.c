#include "autograd/tape.h"
#include "autograd/op.h"
#include "autograd/tape_memory.h"
#include "base/arena.h"
#include "base/clock.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arrays up to this size lie with the records and live until reset: so a loss can be read after backward. */
enum { SMALL_ARRAY = 64 };

enum { GUARD = 16 }; /* reals on either side of a guarded array: whole cache lines */

Tape *tape_new(void) {
    Tape *t = calloc(1, sizeof *t);
    if (t) t->memory = calloc(1, sizeof *t->memory);
    if (t) t->records = calloc(1, sizeof *t->records);
    if (!t || !t->memory || !t->records) {
        fprintf(stderr, "out of memory: a tape\n");
        exit(STATUS_NO_MEMORY);
    }
    return t;
}

void tape_free(Tape *t) {
    if (!t) return;
    tape_memory_free(t->memory);
    arena_free(t->records);
    free(t->memory);
    free(t->records);
    free(t);
}

void tape_reset(Tape *t) {
    tape_memory_reset(t->memory);
    arena_reset(t->records);
    t->last = NULL;
    t->nodes = 0;
    t->spent = t->planning = false;
    t->error = (Error){0};
}

bool tape_reserve(Tape *t, size_t bytes, Error *e) {
    tape_reset(t);
    return tape_memory_reserve(t->memory, bytes, e);
}

void tape_plan(Tape *t) {
    tape_reset(t);
    t->planning = t->memory->planning = true;
}

size_t tape_peak(const Tape *t) {
    return t->memory->peak;
}

void tape_forget_peak(Tape *t) {
    t->memory->peak = 0;
}

size_t tape_in_use(const Tape *t) {
    return tape_memory_in_use(t->memory);
}

bool tape_failed(const Tape *t, Error *e) {
    if (t->error.status) *e = t->error;
    return t->error.status != STATUS_DONE;
}

/* Takes memory for `count` reals. Where there is none, the tape goes on planning, so that the operations
 * still to come have shapes to work with and the caller hears of it once, from tape_failed. */
static real *take(Tape *t, long count, TapeBlock *array) {
    long guard = t->guard ? GUARD : 0;
    array->bytes = (size_t)(count + 2 * guard) * sizeof(real);
    if (!tape_memory_take(t->memory, array->bytes, &array->at, &t->error)) {
        t->planning = t->memory->planning = true;
        array->bytes = 0;
        return NULL;
    }
    real *memory = tape_memory_at(t->memory, array->at);
    for (long i = 0; guard && memory && i < count + 2 * guard; i++) memory[i] = NAN;
    return memory ? memory + guard : NULL;
}

static bool all_nan(const real *x, long count) {
    for (long i = 0; i < count; i++)
        if (!isnan(x[i])) return false;
    return true;
}

bool tape_guards_hold(const Tensor *x) {
    long count = shape_count(x->shape);
    bool data = all_nan(x->data - GUARD, GUARD) && all_nan(x->data + count, GUARD);
    return data && (!x->has_grad || (all_nan(x->grad - GUARD, GUARD) && all_nan(x->grad + count, GUARD)));
}

static void give_back(Tape *t, const TapeBlock *array) {
    if (array->bytes) tape_memory_give_back(t->memory, array->at, array->bytes);
}

static Tensor *new_tensor(Tape *t, Shape s, real *data) {
    Tensor *x = arena_alloc(t->records, sizeof *x);
    x->shape = s;
    x->data = data;
    contiguous_strides(s, x->stride);
    return x;
}

/* Guarded arrays are all alike. */
static bool is_small(const Tape *t, long count) {
    return count * (long)sizeof(real) <= SMALL_ARRAY && !t->guard;
}

static real *small_array(Tape *t, long count) {
    return arena_alloc(t->records, (size_t)count * sizeof(real));
}

Tensor *tape_leaf(Tape *t, Shape s, real *data, real *grad) {
    Tensor *x = new_tensor(t, s, data);
    x->grad = grad;
    x->needs_grad = x->has_grad = grad != NULL;
    return x;
}

Tensor *tape_constant(Tape *t, Shape s) {
    long count = shape_count(s);
    TapeBlock array;
    real *data = is_small(t, count) ? small_array(t, count) : take(t, count, &array);
    if (data) memset(data, 0, (size_t)count * sizeof(real));
    return new_tensor(t, s, data);
}

static Node *new_node(Tape *t, const Op *op, int inputs, Tensor *const in[]) {
    if (inputs > MAX_INPUTS) error_bug("%s: %d inputs, want at most %d", op->name, inputs, MAX_INPUTS);
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

/* The output wants a gradient if an input does and the tape records for backward. */
static void set_output(Node *n, Tensor *out) {
    n->out = out;
    out->maker = n;
    for (int i = 0; i < n->inputs && !n->tape->no_grad; i++)
        if (n->in[i] && n->in[i]->needs_grad) out->needs_grad = true;
}

real *node_array(Node *n, long count) {
    if (is_small(n->tape, count)) return small_array(n->tape, count);
    TapeBlock *array = arena_alloc(n->tape->records, sizeof *array);
    real *data = take(n->tape, count, array);
    array->next = n->arrays;
    n->arrays = array;
    return data;
}

Node *tape_node(Tape *t, const Op *op, Shape out, int inputs, Tensor *const in[]) {
    Node *n = new_node(t, op, inputs, in);
    long count = shape_count(out);
    set_output(n, new_tensor(t, out, node_array(n, count)));
    return n;
}

Node *tape_view(Tape *t, const Op *op, Tensor *in, Shape out, const long *stride, long offset) {
    Node *n = new_node(t, op, 1, &in);
    Tensor *y = new_tensor(t, out, in->data ? in->data + offset : NULL);
    memcpy(y->stride, stride, (size_t)out.rank * sizeof *stride);
    set_output(n, y);
    return n;
}

void *node_record(Node *n, size_t bytes) {
    return arena_alloc(n->tape->records, bytes);
}

void *node_attr(Node *n, size_t bytes) {
    return n->attr = node_record(n, bytes);
}

/* Runs one direction of a node, with its scratch memory, under the observer's eyes if there is one. */
static void run(Node *n, bool backward) {
    Tape *t = n->tape;
    void (*direction)(Node *) = backward ? n->op->backward : n->op->forward;
    long count = backward ? n->backward_scratch : n->forward_scratch;
    TapeBlock scratch = {0};
    if (backward && n->scratch_over_grad && !t->keep)
        n->scratch = n->out->grad;
    else if (count)
        n->scratch = take(t, count, &scratch);
    if (direction && !t->planning) {
        double start = t->observer ? clock_seconds() : 0;
        direction(n);
        if (t->observer) t->observer(t->observer_context, n, backward, clock_seconds() - start);
    }
    give_back(t, &scratch);
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
    return x && x->needs_grad && !x->has_grad && !passed_twice(n, i) ? x : NULL;
}

/* Gives every input that wants a gradient memory for it, and zero-fills what backward will add to. */
static void prepare_input_gradients(Node *n, const Tensor *heir) {
    Tape *t = n->tape;
    for (int i = 0; i < n->inputs; i++) {
        Tensor *x = n->in[i];
        if (!x || !x->needs_grad || x == heir) continue;
        long count = shape_count(x->shape);
        if (!x->has_grad) {
            x->grad = is_small(t, count) ? small_array(t, count) : take(t, count, &x->maker->grad);
            x->has_grad = x->grad_fresh = true;
        }
        if (x->grad_fresh && (!n->op->stores_fresh || passed_twice(n, i))) {
            if (!t->planning) memset(x->grad, 0, (size_t)count * sizeof(real));
            x->grad_fresh = false;
        }
    }
}

/* Backward of one node: its inputs' gradients get their sums, and its own memory is free. */
static void backward_node(Node *n) {
    Tape *t = n->tape;
    if (n->out->has_grad) {
        if (!n->op->backward) error_bug("%s: has no backward, but its output needs a gradient", n->op->name);
        Tensor *x = heir(n);
        prepare_input_gradients(n, x);
        run(n, true);
        for (int i = 0; i < n->inputs; i++)
            if (n->in[i] && n->in[i]->needs_grad) n->in[i]->grad_fresh = false;
        if (x) {
            x->grad = n->out->grad, x->has_grad = true;
            x->maker->grad = n->grad;
            n->grad = (TapeBlock){0};
        }
    }
    if (t->keep) return;
    give_back(t, &n->grad);
    for (TapeBlock *a = n->arrays; a; a = a->next) give_back(t, a);
}

void tape_backward_from(Tape *t, Tensor *y, const real *dy) {
    if (!y->needs_grad) error_bug("backward: the output depends on nothing that needs a gradient");
    if (!y->maker) error_bug("backward: the output is a leaf");
    if (t->spent && !t->keep) error_bug("backward: it has run already, want tape_reset before it runs again");
    for (Node *n = t->last; n && t->spent; n = n->previous) n->out->has_grad = false;
    t->spent = true;
    long count = shape_count(y->shape);
    y->grad = is_small(t, count) ? small_array(t, count) : take(t, count, &y->maker->grad);
    y->has_grad = true;
    if (!t->planning && count) memcpy(y->grad, dy, (size_t)count * sizeof(real));
    for (Node *n = t->last; n; n = n->previous) backward_node(n);
}

void tape_backward(Tape *t, Tensor *loss) {
    if (shape_count(loss->shape) != 1)
        error_bug("backward: the loss is %s, want one element", shape_text(loss->shape));
    tape_backward_from(t, loss, &(real){1});
}

const Node *tape_first_non_finite(const Tape *t) {
    const Node *found = NULL;
    for (const Node *n = t->last; n && !t->planning; n = n->previous) {
        if (n->op->view) continue;
        const real *y = n->out->data;
        long count = shape_count(n->out->shape);
        for (long i = 0; i < count; i++)
            if (!isfinite(y[i])) {
                found = n;
                break;
            }
    }
    return found;
}
