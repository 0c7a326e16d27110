/* A tape's memory: it is made, reset between steps and freed; its arrays, tensors and records. */
#include "autograd/tape_arrays.h"
#include "base/arena.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char arrays[] = "the tape";

static uint64_t new_epoch(void) {
    static _Atomic uint64_t epochs;
    return ++epochs;
}

Tape *tape_new(void) {
    Tape *t = calloc(1, sizeof *t);
    if (t) t->arrays = calloc(2, sizeof *t->arrays);
    if (!t || !t->arrays) error_no_memory("a tape");
    t->records = t->arrays + 1;
    t->epoch = new_epoch();
    return t;
}

void tape_free(Tape *t) {
    if (!t) return;
    arena_free(t->arrays);
    arena_free(t->records);
    free(t->arrays);
    free(t);
}

void tape_reset(Tape *t) {
    WANT(t);
    arena_reset(t->arrays);
    arena_reset(t->records);
    t->in_use = 0;
    t->last = NULL;
    t->nodes = 0;
    t->epoch = new_epoch();
    t->has_run_backward = false;
    t->error = (Error){0};
}

bool tape_reserve(Tape *t, size_t bytes, Error *e) {
    WANT(t);
    tape_reset(t);
    return arena_reserve(t->arrays, bytes, arrays, e);
}

bool tape_failed(const Tape *t, Error *e) {
    WANT(t);
    WANT(e);
    if (t->error.status) *e = t->error;
    return t->error.status != STATUS_DONE;
}

/* ---- Arrays ---- */

enum { GUARD = 16 }; /* reals of NaN on either side of an array of a tape with `guard` */

static size_t array_bytes(const Tape *t, long count) {
    return (size_t)(count + (t->guard ? 2 * GUARD : 0)) * sizeof(real);
}

real *tape_array(Tape *t, long count) {
    if (t->error.status) return NULL;
    size_t bytes = array_bytes(t, count);
    real *memory = t->dry ? NULL : arena_take(t->arrays, bytes, arrays, &t->error);
    if (!memory && !t->dry) return NULL;
    t->in_use += arena_bytes(bytes);
    if (t->in_use > t->peak) t->peak = t->in_use;
    if (!memory || !t->guard) return memory;
    for (long i = 0; i < count + 2 * GUARD; i++) memory[i] = NAN;
    return memory + GUARD;
}

void tape_give_back(Tape *t, long count) {
    size_t bytes = array_bytes(t, count);
    t->in_use -= arena_bytes(bytes);
    if (!t->dry) arena_give_back(t->arrays, bytes);
}

static bool all_nan(const real *x, long count) {
    for (long i = 0; i < count; i++)
        if (!isnan(x[i])) return false;
    return true;
}

static bool guards_hold(const real *x, long count) {
    return all_nan(x - GUARD, GUARD) && all_nan(x + count, GUARD);
}

bool tape_guards_hold(const Tensor *x) {
    long count = shape_count(x->shape);
    if (!guards_hold(x->data, count)) return false;
    return x->grad_state < GRAD_FRESH || guards_hold(x->grad, count);
}

Tensor *tape_tensor(Tape *t, Shape s, real *data) {
    Tensor *x = arena_alloc(t->records, sizeof *x);
    shape_count(s); /* a bug if the shape is none */
    x->epoch = t->epoch;
    x->shape = s;
    x->data = data;
    tensor_contiguous_strides(s, x->stride);
    return x;
}

Tensor *tape_leaf(Tape *t, Shape s, real *data, real *grad) {
    WANT(t);
    if (shape_count(s)) WANT(data);
    Tensor *x = tape_tensor(t, s, data);
    x->grad = grad;
    x->grad_state = grad ? GRAD_SUM : GRAD_UNWANTED;
    return x;
}

Tensor *tape_constant(Tape *t, Shape s) {
    WANT(t);
    long count = shape_count(s);
    real *data = tape_array(t, count);
    if (data) memset(data, 0, (size_t)count * sizeof(real));
    return tape_tensor(t, s, data);
}

real *node_array(Node *n, long count) {
    WANT(n);
    if (count < 0) error_bug("node_array: %ld numbers, want at least 0", count);
    return tape_array(n->tape, count);
}

void *node_memory(Node *n, size_t bytes) {
    WANT(n);
    return arena_alloc(n->tape->records, bytes);
}

void *node_attr(Node *n, size_t bytes) {
    return n->attr = node_memory(n, bytes);
}

static bool is_finite(const Tensor *x) {
    long count = shape_count(x->shape);
    for (long i = 0; i < count; i++)
        if (!isfinite(x->data[i])) return false;
    return true;
}

const Node *tape_first_non_finite(const Tape *t) {
    WANT(t);
    const Node *found = NULL;
    if (t->error.status) return NULL;
    for (const Node *n = t->last; n; n = n->previous)
        if (!n->op->view && !is_finite(n->out)) found = n;
    return found;
}
