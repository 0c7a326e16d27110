#include "check/gradcheck/tape_runner.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 16 }; /* reals on either side of a block */
static const real GRAD_GUARD = 12345;

TapeRunner tape_runner_new(const char *op, const CheckCase *c) {
    return (TapeRunner){.op = op, .c = c, .tape = tape_new()};
}

void tape_runner_free(TapeRunner *t) {
    tape_free(t->tape);
    arena_free(&t->arena);
}

/* ---- Inputs in memory ---- */

/* The place of stored element i of an input. */
static real *element_of(const Tensor *x, long i) {
    long at = 0;
    for (int axis = x->shape.rank - 1; axis >= 0; axis--) {
        at += i % x->shape.size[axis] * x->stride[axis];
        i /= x->shape.size[axis];
    }
    return x->data + at;
}

real *tape_runner_element(TapeRunner *t, const CheckPoint *p, int input, long element) {
    int same = p->in[input].same_as;
    return element_of(&t->in[0][same < 0 ? input : same].tensor, element);
}

/* Gives the input memory in its layout, and puts its values there. */
static void lay_out(TapeRunner *t, CaseInput *in, const PointInput *p) {
    Shape s = p->shape, stored = s;
    Tensor *x = &in->tensor;
    in->block_count = p->stored;
    if (p->layout == TRANSPOSED && s.rank >= 2) {
        stored.size[s.rank - 1] = s.size[s.rank - 2];
        stored.size[s.rank - 2] = s.size[s.rank - 1];
    }
    int stepped = p->layout == STEPPED ? s.rank : 0;
    for (int i = 0; i < stepped; i++) {
        stored.size[i] = 2 * s.size[i];
        in->block_count *= 2;
    }
    in->block = arena_alloc(&t->arena, (size_t)(in->block_count + 2 * GUARD) * sizeof(real));
    *x = tensor_over(in->block + GUARD, stored);
    x->shape = s;
    for (int i = 0; i < stepped; i++) x->stride[i] *= 2;
    if (p->layout == TRANSPOSED && s.rank >= 2) {
        long kept = x->stride[s.rank - 1];
        x->stride[s.rank - 1] = x->stride[s.rank - 2];
        x->stride[s.rank - 2] = kept;
    }
    if (p->layout == REPEATED && s.rank) x->stride[0] = 0;
    for (long i = 0; i < in->block_count + 2 * GUARD; i++) in->block[i] = NAN;
    for (long i = 0; i < p->stored; i++) *element_of(x, i) = p->value[i];
    in->grad_block = NULL;
    if (p->constant) return;
    in->grad_block = arena_alloc(&t->arena, (size_t)(p->count + 2 * GUARD) * sizeof(real));
    for (long i = 0; i < p->count + 2 * GUARD; i++) in->grad_block[i] = GRAD_GUARD;
}

static void lay_out_all(TapeRunner *t, const CheckPoint *p, int which) {
    for (int i = 0; i < p->inputs; i++) {
        int same = p->in[i].same_as;
        t->x[which][i] = &t->in[which][same < 0 ? i : same].tensor;
        if (same < 0) lay_out(t, &t->in[which][i], &p->in[i]);
    }
}

void tape_runner_lay_out(TapeRunner *t, const CheckPoint *p) {
    arena_reset(&t->arena);
    lay_out_all(t, p, 0);
}

/* Resets the tensors to their state before any tape used them. */
static void ready(TapeRunner *t, const CheckPoint *p, int which, real fill) {
    for (int i = 0; i < p->inputs; i++) {
        CaseInput *in = &t->in[which][i];
        if (p->in[i].same_as >= 0) continue;
        Tensor *x = &in->tensor;
        x->maker = NULL;
        x->grad_state = isnan(fill) ? GRAD_FRESH : GRAD_SUM;
        if (p->in[i].constant) x->grad_state = GRAD_UNWANTED;
        x->grad = in->grad_block ? in->grad_block + GUARD : NULL;
        for (long j = 0; j < (x->grad ? p->in[i].count : 0); j++) x->grad[j] = fill;
    }
}

void tape_runner_ready(TapeRunner *t, const CheckPoint *p, real fill) {
    ready(t, p, 0, fill);
}

/* ---- Recording ---- */

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
static void relay_inputs(TapeRunner *t, const CheckPoint *p, Tensor **x) {
    for (int i = 0; i < p->inputs; i++) {
        int same = p->in[i].same_as;
        x[i] = same >= 0 ? x[same]
                         : tape_forward(tape_node(t->tape, &relay, x[i]->shape, INPUTS(x[i])));
    }
}

static void begin(TapeRunner *t, const JobWays *ways) {
    tape_reset(t->tape);
    t->tape->training = false; /* a case that wants dropout says so */
    t->tape->guard = ways->guard;
    t->tape->keep = ways->keep;
    t->tape->nodes = ways->first;
}

static Tensor *record(TapeRunner *t, const CheckPoint *p, int which, bool relayed) {
    Tensor *x[CHECK_INPUTS] = {0};
    memcpy(x, t->x[which], sizeof x);
    if (relayed) relay_inputs(t, p, x);
    Tensor *y = t->c->build(t->tape, x);
    Error e = {0};
    if (tape_failed(t->tape, &e)) {
        fprintf(stderr, "%s\n", e.text);
        exit((int)e.status);
    }
    if (!y) error_bug("%s, case %s: build returned no tensor", t->op, t->c->name);
    if (shape_count(y->shape) > JOB_OUTPUTS)
        error_bug("an output of %ld elements is too large to be checked", shape_count(y->shape));
    t->y[which] = y;
    return y;
}

Tensor *tape_runner_record(TapeRunner *t, const CheckPoint *p, const JobWays *ways) {
    begin(t, ways);
    return record(t, p, 0, ways->relayed);
}

/* Returns the sides that all branches of all operations on the tape took, as one number. */
static uint64_t branches_taken(const Tape *t) {
    uint64_t all = 0;
    for (const Node *n = t->last; n; n = n->previous)
        if (n->op->branches) all = (all ^ n->op->branches(n)) * 0x9E3779B97F4A7C15;
    return all;
}

/* ---- What must not change ---- */

static bool all_guard(const real *x) {
    for (long i = 0; i < GUARD; i++)
        if (x[i] != GRAD_GUARD) return false;
    return true;
}

/* Whether the memory is as lay_out left it. Bits are compared, so that NaN equals itself and -0
 * differs from 0. */
static bool as_laid_out(const CaseInput *in, const PointInput *p) {
    long numbers = 0;
    for (long i = 0; i < in->block_count + 2 * GUARD; i++) numbers += !isnan(in->block[i]);
    for (long i = 0; i < p->stored; i++) {
        if (memcmp(element_of(&in->tensor, i), &p->value[i], sizeof(real)) != 0) return false;
        numbers -= !isnan(p->value[i]);
    }
    return numbers == 0;
}

/* The output may be a view of an input, or the input itself; then it has no guards. */
static bool beside_output_is_untouched(const Tensor *y) {
    return !y->maker || y->maker->op->view || tape_guards_hold(y);
}

/* Names what `who` has changed of a job's memory, unless something is named. Gradients
 * themselves may change. */
static void name_damage(const TapeRunner *t, const CheckPoint *p, const char *who, Result *r) {
    for (int i = 0; i < p->inputs && !r->damage[0]; i++) {
        const CaseInput *in = &t->in[0][i];
        if (p->in[i].same_as >= 0) continue;
        if (!as_laid_out(in, &p->in[i]))
            snprintf(r->damage, DAMAGE_TEXT, "%s changed input %s", who, p->in[i].name);
        else if (in->grad_block &&
                 !(all_guard(in->grad_block) && all_guard(in->grad_block + GUARD + p->in[i].count)))
            snprintf(r->damage, DAMAGE_TEXT, "%s changed memory beside the gradient of %s", who,
                     p->in[i].name);
    }
    if (!r->damage[0] && !beside_output_is_untouched(t->y[0]))
        snprintf(r->damage, DAMAGE_TEXT, "%s changed memory beside the output%s", who,
                 *who == 'b' ? " or its gradient" : "");
}

/* ---- Runs ---- */

/* Gives the elements that a run changes their values, or the point's again. */
static void change(TapeRunner *t, const Job *j, long run, int which, bool back) {
    if (!j->start) return;
    for (long i = j->start[run]; i < j->start[run + 1]; i++) {
        const JobChange *c = &j->change[i];
        real given = j->point->in[c->input].value[c->element];
        *element_of(&t->in[which][c->input].tensor, c->element) = back ? given : (real)c->value;
    }
}

/* Which inputs, output and tensors a run has. */
static int which_of(const Job *j, long run) {
    return j->ways.together && run == 1;
}

static void forward(TapeRunner *t, const Job *j, long run) {
    int which = which_of(j, run);
    if (!which) begin(t, &j->ways);
    change(t, j, run, which, false);
    ready(t, j->point, which, j->ways.fill);
    record(t, j->point, which, j->ways.relayed);
}

void tape_runner_forward(TapeRunner *t, const Job *j, Result *r) {
    long outputs = 0;
    tape_runner_lay_out(t, j->point);
    if (j->ways.together) lay_out_all(t, j->point, 1);
    r->damage[0] = 0;
    for (long run = 0; run < j->runs; run++) {
        forward(t, j, run);
        const Tensor *y = t->y[which_of(j, run)];
        long found = shape_count(y->shape);
        if (run == 0) {
            outputs = found;
            result_for_outputs(r, j->runs, outputs);
            r->shape = y->shape;
            r->wants_grad = tensor_wants_grad(y);
        } else if (found != outputs) {
            error_bug("%s, case %s: the output has %ld elements at one point and %ld at another",
                      t->op, t->c->name, outputs, found);
        }
        tensor_copy_out(y, r->y + run * outputs);
        r->branches[run] = branches_taken(t->tape);
        if (!j->ways.together) change(t, j, run, 0, true);
    }
    r->nodes = t->tape->nodes;
    if (j->ways.watch) name_damage(t, j->point, "forward", r);
}

void tape_runner_back_from(TapeRunner *t, Tensor *y, const real *dy) {
    if (y->maker) {
        tape_backward_from(t->tape, y, dy);
        return;
    }
    /* The operation had nothing to do and returned its input. */
    long count = y->grad ? shape_count(y->shape) : 0;
    for (long i = 0; i < count; i++) y->grad[i] = tensor_grad_adds(y) ? y->grad[i] + dy[i] : dy[i];
}

/* Names a change of the output, or of the upstream gradient. */
static void watch_output(const TapeRunner *t, const real *dy, Result *r) {
    const Tensor *y = t->y[0];
    size_t count = (size_t)shape_count(y->shape);
    real *after = malloc((count + 1) * sizeof *after);
    if (!after) error_no_memory("an output");
    tensor_copy_out(y, after);
    const char *what = NULL;
    if (y->grad && memcmp(y->grad, dy, count * sizeof *after) != 0) what = "the upstream gradient";
    if (memcmp(after, r->y, count * sizeof *after) != 0) what = "the output";
    if (what && !r->damage[0]) snprintf(r->damage, DAMAGE_TEXT, "backward changed %s", what);
    free(after);
}

static void take_gradients(const TapeRunner *t, const CheckPoint *p, int which, real *grad) {
    for (int i = 0; i < p->inputs; i++) {
        if (!point_has_gradient(p, i)) continue;
        memcpy(grad, t->in[which][i].tensor.grad, (size_t)p->in[i].count * sizeof *grad);
        grad += p->in[i].count;
    }
}

void tape_runner_backward(TapeRunner *t, const Job *j, bool again, Result *r, real *grad) {
    const CheckPoint *p = j->point;
    long outputs = shape_count(r->shape), gradients = point_gradients_before(p, p->inputs);
    bool recorded = j->runs == 1 || j->ways.together;
    for (long i = 0; i < j->runs; i++) {
        long run = j->ways.together ? j->runs - 1 - i : i;
        int which = which_of(j, run);
        if (!recorded) forward(t, j, run);
        if (again) ready(t, p, which, j->ways.fill);
        tape_runner_back_from(t, t->y[which], j->dy + run * outputs);
        if (j->ways.watch) {
            name_damage(t, p, "backward", r);
            watch_output(t, j->dy, r);
        }
        take_gradients(t, p, which, grad + run * gradients);
        if (!recorded) change(t, j, run, 0, true);
    }
}

void tape_runner_do(void *where, CheckRun *run, const Job *j, Result *r) {
    (void)run;
    tape_runner_forward(where, j, r);
    long gradients = j->runs * point_gradients_before(j->point, j->point->inputs);
    if (j->dy && shape_count(r->shape) != j->outputs)
        error_bug("the output has %ld elements at one point and %ld at another", j->outputs,
                  shape_count(r->shape));
    if (j->dy) result_for_gradients(r, job_backwards(j), gradients);
    for (int time = 0; time < job_backwards(j); time++)
        tape_runner_backward(where, j, time > 0, r, r->grad + time * gradients);
}
