#include "check/gradcheck/check_run.h"
#include "base/random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the sides that all branches of all operations on the tape took, as one number. */
static uint64_t branches_taken(const Tape *t) {
    uint64_t all = 0;
    for (const Node *n = t->last; n; n = n->previous)
        if (n->op->branches) all = (all ^ n->op->branches(n)) * 0x9E3779B97F4A7C15;
    return all;
}

/* y = x: recorded before the checked operation where its inputs are relayed. */
static void relay_forward(Node *n) {
    tensor_copy_out(n->in[0], n->out->data);
}

static void relay_backward(Node *n) {
    long count = shape_count(n->out->shape);
    for (long i = 0; i < count; i++) n->in[0]->grad[i] += n->out->grad[i];
}

static const Op relay = {"relay", relay_forward, relay_backward};

/* Records one relay for each tensor; a tensor passed twice has one. */
static void relay_inputs(CheckRun *r, Tensor **x) {
    const CheckPoint *p = r->point;
    for (int i = 0; i < p->inputs; i++) {
        int same = p->in[i].same_as;
        Tensor *in = p->x[i];
        x[i] = same >= 0 ? x[same] : tape_record(tape_node(r->tape, &relay, in->shape, INPUTS(in)));
    }
}

/* Records the case at a point. */
static Tensor *record(CheckRun *r, CheckPoint *point) {
    Tensor *x[CHECK_INPUTS] = {0};
    CheckPoint *given = r->point;
    r->point = point;
    memcpy(x, point->x, sizeof x);
    if (r->relayed) relay_inputs(r, x);
    r->point = given;
    Tensor *y = r->c->build(r->tape, x);
    Error e = {0};
    if (tape_failed(r->tape, &e)) {
        fprintf(stderr, "%s\n", e.text);
        exit((int)e.status);
    }
    if (!y) error_bug("%s, case %s: build returned no tensor", r->op, r->c->name);
    return y;
}

static void begin(CheckRun *r) {
    tape_reset(r->tape);
    r->tape->training = false; /* a case that wants dropout says so */
    r->tape->guard = r->guard, r->tape->keep = r->keep;
    r->tape->nodes = r->first;
}

/* The output may be a view of an input, or the input itself; then it has no guards. */
static bool beside_output_is_untouched(const CheckRun *r) {
    return !r->guard || !r->keep || !r->y->maker || r->y->maker->op->view || tape_guards_hold(r->y);
}

Tensor *check_run_forward(CheckRun *r) {
    r->evaluations++;
    if (r->host) return check_host_forward(r);
    begin(r);
    r->y = record(r, r->point);
    r->nodes = r->tape->nodes;
    r->branches = branches_taken(r->tape);
    r->untouched = beside_output_is_untouched(r);
    return r->y;
}

static void run_backward(CheckRun *r, Tensor *y, const real *dy) {
    if (y->maker) {
        tape_backward_from(r->tape, y, dy);
        return;
    }
    /* The operation had nothing to do and returned its input. */
    for (long i = 0; y->grad && i < shape_count(y->shape); i++)
        y->grad[i] = tensor_grad_adds(y) ? y->grad[i] + dy[i] : dy[i];
}

void check_run_backward(CheckRun *r, const real *dy) {
    if (r->host) {
        check_host_backward(r, dy);
        return;
    }
    run_backward(r, r->y, dy);
    r->untouched = beside_output_is_untouched(r);
}

void check_run_has_outputs(const CheckRun *r, long outputs) {
    long found = shape_count(r->y->shape);
    if (found != outputs)
        error_bug("%s, case %s: the output has %ld elements at one point and %ld at another", r->op,
                  r->c->name, outputs, found);
}

void check_run_pair(CheckRun *r, CheckPoint *other, const real *dy, const real *other_dy) {
    if (r->host) {
        check_host_pair(r, other, dy, other_dy);
        return;
    }
    begin(r);
    Tensor *one = record(r, r->point), *two = record(r, other);
    run_backward(r, two, other_dy);
    run_backward(r, one, dy);
}

void check_run_cotangent(real *dy, long outputs, uint64_t seed, uint64_t number) {
    uint64_t key = random_key(seed, 0xC07A00 + number);
    for (long i = 0; i < outputs; i++) {
        real size = (real)0.5 + random_uniform(key, (uint64_t)i);
        dy[i] = random_bits(key, (uint64_t)(outputs + i)) & 1 ? size : -size;
    }
}

void check_run_direction(real *v, long count, uint64_t key) {
    double size = 1 / sqrt((double)count);
    for (long i = 0; i < count; i++) {
        double part = size * (0.5 + (double)random_uniform(key, (uint64_t)(2 * i)));
        v[i] = (real)(random_bits(key, (uint64_t)(2 * i + 1)) & 1 ? part : -part);
    }
}

const char *gradcheck_index_text(char text[INDEX_TEXT], Shape s, long i) {
    long index[MAX_RANK];
    char *p = text;
    for (int axis = s.rank - 1; axis >= 0; axis--) {
        index[axis] = i % s.size[axis];
        i /= s.size[axis];
    }
    for (int axis = 0; axis < s.rank; axis++) p += sprintf(p, axis ? ",%ld" : "[%ld", index[axis]);
    strcpy(p, s.rank ? "]" : "");
    return text;
}

const char *gradcheck_element_text(char text[INDEX_TEXT], const char *name, Shape s, long i) {
    char at[INDEX_TEXT];
    snprintf(text, INDEX_TEXT, "%.40s%.80s", name, gradcheck_index_text(at, s, i));
    return text;
}
