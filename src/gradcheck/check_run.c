#include "gradcheck/check_run.h"
#include "base/random.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which side every branch of every operation on the tape took. */
static uint64_t branches_taken(const Tape *t) {
    uint64_t all = 0;
    for (const Node *n = t->last; n; n = n->previous)
        if (n->op->branches) all = (all ^ n->op->branches(n)) * 0x9E3779B97F4A7C15;
    return all;
}

/* The operation that stands before the one that is checked where its inputs are relayed: y = x. */
static void relay_forward(Node *n) {
    tensor_copy_out(n->in[0], n->out->data);
}

static void relay_backward(Node *n) {
    long count = shape_count(n->out->shape);
    for (long i = 0; i < count; i++) n->in[0]->grad[i] += n->out->grad[i];
}

static const Op relay = {"relay", relay_forward, relay_backward};

/* One relay for each tensor; those that are passed twice stay the same. */
static void relay_inputs(CheckRun *r, Tensor **x) {
    const CheckPoint *p = r->point;
    for (int i = 0; i < p->inputs; i++) {
        int same = p->in[i].same_as;
        Tensor *in = p->x[i];
        x[i] = same >= 0 ? x[same] : tape_record(tape_node(r->tape, &relay, in->shape, INPUTS(in)));
    }
}

Tensor *check_run_forward(CheckRun *r) {
    tape_reset(r->tape);
    r->tape->training = false; /* a case that wants dropout says so */
    r->tape->nodes = r->first;
    r->evaluations++;
    Tensor *x[CHECK_INPUTS] = {0};
    memcpy(x, r->point->x, sizeof x);
    if (r->relayed) relay_inputs(r, x);
    r->y = r->c->build(r->tape, x);
    Error e = {0};
    if (tape_failed(r->tape, &e)) {
        fprintf(stderr, "%s\n", e.text);
        exit((int)e.status);
    }
    if (!r->y) error_bug("%s, case %s: build returned no tensor", r->op, r->c->name);
    r->branches = branches_taken(r->tape);
    return r->y;
}

void check_run_backward(CheckRun *r, const real *dy) {
    if (r->y->maker) {
        tape_backward_from(r->tape, r->y, dy);
        return;
    }
    /* The operation had nothing to do and returned its input. */
    long count = shape_count(r->y->shape);
    for (long i = 0; r->y->grad && i < count; i++)
        r->y->grad[i] = tensor_grad_adds(r->y) ? r->y->grad[i] + dy[i] : dy[i];
}

void check_run_cotangent(real *dy, long outputs, uint64_t seed, uint64_t number) {
    uint64_t key = random_key(seed, 0xC07A00 + number);
    for (long i = 0; i < outputs; i++) {
        real size = (real)0.5 + random_uniform(key, (uint64_t)i);
        dy[i] = random_bits(key, (uint64_t)(outputs + i)) & 1 ? size : -size;
    }
}

void check_run_disturb(CheckRun *r, real relative, uint64_t key) {
    for (const Node *n = r->tape->last; n; n = n->previous) {
        long count = shape_count(n->out->shape);
        for (long i = 0; !n->op->view && i < count; i++)
            n->out->data[i] *=
                1 +
                (random_bits(random_key(key, (uint64_t)n->index), (uint64_t)i) & 1 ? relative : -relative);
    }
}

const char *gradcheck_index_text(char text[INDEX_TEXT], Shape s, long i) {
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
