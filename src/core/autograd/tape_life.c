/* A tape's life: made, reset between steps, freed; and what it tells about its memory and its
 * failures. */
#include "autograd/op.h"
#include "autograd/tape_memory.h"
#include "base/arena.h"
#include <math.h>
#include <stdlib.h>

static uint64_t new_epoch(void) {
    static _Atomic uint64_t epochs;
    return ++epochs;
}

Tape *tape_new(void) {
    Tape *t = calloc(1, sizeof *t);
    if (t) t->memory = calloc(1, sizeof *t->memory);
    if (t) t->records = calloc(1, sizeof *t->records);
    if (!t || !t->memory || !t->records) error_no_memory("a tape");
    t->epoch = new_epoch();
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
    WANT(t);
    tape_memory_reset(t->memory);
    arena_reset(t->records);
    t->last = NULL;
    t->nodes = 0;
    t->epoch = new_epoch();
    t->spent = false;
    t->error = (Error){0};
}

bool tape_reserve(Tape *t, size_t bytes, Error *e) {
    WANT(t);
    tape_reset(t);
    return tape_memory_reserve(t->memory, bytes, e);
}

size_t tape_peak(const Tape *t) {
    return t->memory->peak;
}

size_t tape_in_use(const Tape *t) {
    return t->memory->in_use;
}

bool tape_failed(const Tape *t, Error *e) {
    WANT(t);
    WANT(e);
    if (t->error.status) *e = t->error;
    return t->error.status != STATUS_DONE;
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
