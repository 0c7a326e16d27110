/* The random mask of dropout: 0 or 1/(1-p) for each element, a function of seed, step, the node's
 * index on the tape, and the element's index. With p = 0 nothing is dropped. */
#pragma once

#include "autograd/op.h"
#include "base/random.h"
#include "ops/arguments.h"

typedef struct DropoutMask {
    long count; /* of its elements */
    uint64_t key;
    uint32_t below; /* drop where 32 random bits are below this: p·2³² */
    real scale;     /* 1/(1-p) */
    double p;
} DropoutMask;

static inline DropoutMask dropout_mask(const Node *n, long count, double p) {
    uint64_t seed = random_key(n->tape->seed, STREAM_DROPOUT),
             stream = n->tape->step * 0x100000u + (uint64_t)n->index;
    return (DropoutMask){count, random_key(seed, stream), (uint32_t)(p * 0x1p32),
                         (real)(1 / (1 - p)), p};
}

static inline real dropout_factor(const DropoutMask *m, long i) {
    return random_bits(m->key, (uint64_t)i) < m->below ? 0 : m->scale;
}

/* Prints p and, if p is not 0, which elements are kept. */
static inline void print_mask(FILE *out, const DropoutMask *m) {
    print_number(out, "p", m->p);
    if (m->p == 0) return;
    fprintf(out, ", \"kept\": [");
    for (long i = 0; i < m->count; i++) fprintf(out, i ? ", %d" : "%d", dropout_factor(m, i) > 0);
    fprintf(out, "]");
}

/* For Op.arguments, where n->attr is a DropoutMask. */
static inline void dropout_print(const Node *n, FILE *out) {
    print_mask(out, n->attr);
}
