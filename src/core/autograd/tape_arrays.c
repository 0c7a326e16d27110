#include "autograd/tape_arrays.h"
#include "autograd/tape_memory.h"
#include "base/arena.h"
#include <math.h>
#include <string.h>

enum { GUARD = 16 }; /* reals of NaN on either side of an array of a tape with `guard` */

static size_t array_bytes(const Tape *t, long count) {
    return (size_t)(count + (t->guard ? 2 * GUARD : 0)) * sizeof(real);
}

real *tape_array(Tape *t, long count) {
    if (t->error.status) return NULL;
    real *memory = tape_memory_take(t->memory, array_bytes(t, count), &t->error);
    if (!memory || !t->guard) return memory;
    for (long i = 0; i < count + 2 * GUARD; i++) memory[i] = NAN;
    return memory + GUARD;
}

void tape_give_back(Tape *t, long count) {
    tape_memory_give_back(t->memory, array_bytes(t, count));
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

void *node_record(Node *n, size_t bytes) {
    WANT(n);
    return arena_alloc(n->tape->records, bytes);
}

void *node_attr(Node *n, size_t bytes) {
    return n->attr = node_record(n, bytes);
}
