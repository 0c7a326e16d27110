#include "autograd/check_run.h"
#include "base/random.h"
#include <stdio.h>
#include <stdlib.h>

/* Which side every branch of every operation on the tape took. */
static uint64_t branches_taken(const Tape *t) {
    uint64_t all = 0;
    for (const Node *n = t->last; n; n = n->previous)
        if (n->op->branches) all = (all ^ n->op->branches(n)) * 0x9E3779B97F4A7C15;
    return all;
}

Tensor *run_forward(CheckRun *r) {
    tape_reset(r->tape);
    r->tape->training = false; /* a case that wants dropout says so */
    r->tape->nodes = r->first;
    r->evaluations++;
    r->y = r->c->build(r->tape, r->point->x);
    Error e = {0};
    if (tape_failed(r->tape, &e)) {
        fprintf(stderr, "%s\n", e.text);
        exit((int)e.status);
    }
    if (!r->y) bug("%s, case %s: build returned no tensor", r->op, r->c->name);
    r->branches = branches_taken(r->tape);
    return r->y;
}

void run_backward(CheckRun *r, const real *dy) {
    if (r->y->maker) {
        tape_backward_from(r->tape, r->y, dy);
        return;
    }
    /* The operation had nothing to do and returned its input. */
    long count = shape_count(r->y->shape);
    for (long i = 0; r->y->grad && i < count; i++) r->y->grad[i] += dy[i];
}

void run_cotangent(real *dy, long outputs, uint64_t seed, uint64_t number) {
    uint64_t key = random_key(seed, 0xC07A00 + number);
    for (long i = 0; i < outputs; i++) {
        real size = (real)0.5 + random_uniform(key, (uint64_t)i);
        dy[i] = random_bits(key, (uint64_t)(outputs + i)) & 1 ? size : -size;
    }
}

const char *index_text(char text[INDEX_TEXT], Shape s, long i) {
    long index[MAX_RANK];
    char *p = text;
    for (int axis = s.rank - 1; axis >= 0; axis--) {
        index[axis] = i % s.size[axis];
        i /= s.size[axis];
    }
    *p++ = '[';
    for (int axis = 0; axis < s.rank; axis++) p += sprintf(p, axis ? ",%ld" : "%ld", index[axis]);
    *p++ = ']';
    *p = 0;
    return text;
}
