#include "autograd/tape_arrays.h"
#include "autograd/tape_memory.h"
#include "base/arena.h"
#include <math.h>
#include <string.h>

enum {
    SMALL_ARRAY = 64, /* bytes; larger arrays are blocks of the tape's memory */
    GUARD = 16,       /* reals of NaN on either side of an array of a tape with `guard` */
};

real *tape_take(Tape *t, long count, TapeBlock *block) {
    long guard = t->guard ? GUARD : 0;
    block->bytes = (size_t)(count + 2 * guard) * sizeof(real);
    if (!tape_memory_take(t->memory, block->bytes, &block->offset, &t->error)) {
        t->planning = t->memory->planning = true;
        block->bytes = 0;
        return NULL;
    }
    real *memory = tape_memory_at(t->memory, block->offset);
    for (long i = 0; guard && memory && i < count + 2 * guard; i++) memory[i] = NAN;
    return memory ? memory + guard : NULL;
}

void tape_give_back(Tape *t, const TapeBlock *block) {
    if (block->bytes) tape_memory_give_back(t->memory, block->offset, block->bytes);
}

real *tape_array(Tape *t, long count, TapeBlock *block) {
    bool small = count * (long)sizeof(real) <= SMALL_ARRAY && !t->guard;
    if (!small) return tape_take(t, count, block);
    *block = (TapeBlock){0};
    return arena_alloc(t->records, (size_t)count * sizeof(real));
}

static bool all_nan(const real *x, long count) {
    for (long i = 0; i < count; i++)
        if (!isnan(x[i])) return false;
    return true;
}

bool tape_guards_hold(const Tensor *x) {
    long count = shape_count(x->shape);
    bool data = all_nan(x->data - GUARD, GUARD) && all_nan(x->data + count, GUARD);
    return data && (x->grad_state < GRAD_FRESH ||
                    (all_nan(x->grad - GUARD, GUARD) && all_nan(x->grad + count, GUARD)));
}

Tensor *tape_tensor(Tape *t, Shape s, real *data) {
    Tensor *x = arena_alloc(t->records, sizeof *x);
    if (s.rank < 0 || s.rank > MAX_RANK) shape_count(s); /* a bug, with its message */
    x->epoch = t->epoch;
    x->shape = s;
    x->data = data;
    tensor_contiguous_strides(s, x->stride);
    return x;
}

Tensor *tape_leaf(Tape *t, Shape s, real *data, real *grad) {
    Tensor *x = tape_tensor(t, s, data);
    x->grad = grad;
    x->grad_state = grad ? GRAD_SUM : GRAD_UNWANTED;
    return x;
}

Tensor *tape_constant(Tape *t, Shape s) {
    long count = shape_count(s);
    TapeBlock block; /* not kept: reset frees it */
    real *data = tape_array(t, count, &block);
    if (data) memset(data, 0, (size_t)count * sizeof(real));
    return tape_tensor(t, s, data);
}

real *node_array(Node *n, long count) {
    TapeBlock *block = arena_alloc(n->tape->records, sizeof *block);
    real *data = tape_array(n->tape, count, block);
    block->next = n->arrays;
    n->arrays = block;
    return data;
}

void *node_record(Node *n, size_t bytes) {
    return arena_alloc(n->tape->records, bytes);
}

void *node_attr(Node *n, size_t bytes) {
    return n->attr = node_record(n, bytes);
}
