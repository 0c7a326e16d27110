#include "check/student_program.h"
#include "check/gradcheck/tape_runner.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void program_run(void *where, CheckRun *run, const Job *j, Result *r) {
    Program *p = where;
    p->run = run;
    p->runner(p, j, r);
}

static struct {
    char *bytes;
    size_t size, room;
} message;

void program_put(const void *bytes, size_t size) {
    if (message.size + size > message.room) {
        message.room = 2 * (message.size + size) + 4096;
        message.bytes = realloc(message.bytes, message.room);
        if (!message.bytes) error_no_memory("a message of %zu bytes", message.size + size);
    }
    memcpy(message.bytes + message.size, bytes, size);
    message.size += size;
}

void program_send(void) {
    child_send(message.bytes, message.size);
    message.size = 0;
}

/* Sends the message, unless it is sent. */
static bool tell(Program *p) {
    bool sent = !message.size || child_tell(p->child, message.bytes, message.size, &p->end);
    message.size = 0;
    return sent;
}

static bool is_lost(Program *p) {
    if (p->lost) p->lost(p->context, &p->end, p->run);
    return false;
}

size_t program_wait(Program *p) {
    if (p->taken < p->filled) return p->filled - p->taken;
    p->taken = p->filled = 0;
    if (tell(p)) p->filled = child_hear_some(p->child, p->block, sizeof p->block, &p->end);
    if (!p->filled) is_lost(p);
    return p->filled;
}

bool program_take(void *program, void *to, size_t size) {
    Program *p = program;
    char *at = to;
    while (size && (size < PROGRAM_BLOCK || p->taken < p->filled)) {
        size_t ready = program_wait(p), part = ready < size ? ready : size;
        if (!ready) return false;
        memcpy(at, p->block + p->taken, part);
        p->taken += part;
        at += part;
        size -= part;
    }
    if (!size || (tell(p) && child_hear(p->child, at, size, &p->end))) return true;
    return is_lost(p);
}

void program_refuse(Program *p, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    p->lost(p->context, &(ChildEnd){CHILD_EXITED, STATUS_BUG, "", 0, text}, p->run);
}

void program_expect_outputs(Program *p, const Job *j, long found) {
    if (j->dy && found != j->outputs)
        program_refuse(p, "the output has %ld elements at one point and %ld at another", j->outputs,
                       found);
    if (found > JOB_OUTPUTS)
        program_refuse(p, "an output of %ld elements is too large to be checked", found);
}

/* ---- An operation on a tape ---- */

/* Followed by the values of each input that has its own, the changes and where those of each run start, and the upstream
 * gradients. Of pointers it only matters whether they are NULL. */
typedef struct SentJob {
    Job job;
    CheckPoint point;
    long changes;
} SentJob;

/* Followed by the outputs, the branches of each run, and the gradients. */
typedef struct SentResult {
    long mark; /* other bytes are none that the program has sent */
    Shape shape;
    unsigned wants_grad;
    long nodes;
    char damage[DAMAGE_TEXT];
} SentResult;

static const long MARK = 0x7A9E;

static void put_job(const Job *j) {
    const CheckPoint *p = j->point;
    SentJob s = {.job = *j, .point = *p};
    long first = j->start ? j->start[0] : 0;
    if (j->start) s.changes = j->start[j->runs] - first;
    program_put(&s, sizeof s);
    for (int k = 0; k < p->inputs; k++)
        if (p->in[k].same_as < 0)
            program_put(p->in[k].value, (size_t)p->in[k].count * sizeof(real));
    if (j->start) {
        program_put(j->change + first, (size_t)s.changes * sizeof *j->change);
        program_put(j->start, (size_t)(j->runs + 1) * sizeof *j->start);
    }
    if (j->dy) program_put(j->dy, (size_t)(j->runs * j->outputs) * sizeof *j->dy);
}

void tape_program_run(Program *p, const Job *j, Result *r) {
    SentResult s;
    long outputs = 0, gradients = j->runs * point_gradients_before(j->point, j->point->inputs);
    put_job(j);
    program_take(p, &s, sizeof s);
    if (s.mark != MARK || s.shape.rank < 0 || s.shape.rank > MAX_RANK ||
        !shape_fits(s.shape.rank, s.shape.size, sizeof(real), &outputs))
        program_refuse(p, "wrote to a descriptor that is not its own");
    program_expect_outputs(p, j, outputs);
    r->shape = s.shape;
    r->wants_grad = s.wants_grad;
    r->nodes = s.nodes;
    memcpy(r->damage, s.damage, DAMAGE_TEXT);
    r->damage[DAMAGE_TEXT - 1] = 0;
    result_for_outputs(r, j->runs, outputs);
    program_take(p, r->y, (size_t)(j->runs * outputs) * sizeof *r->y);
    program_take(p, r->branches, (size_t)j->runs * sizeof *r->branches);
    if (!j->dy) return;
    result_for_gradients(r, job_backwards(j), gradients);
    program_take(p, r->grad, (size_t)(job_backwards(j) * gradients) * sizeof *r->grad);
}

/* ---- In the program ---- */

/* Takes elements that belong to the arena. */
static void *take(Arena *arena, long count, size_t size) {
    void *to = arena_alloc(arena, (size_t)count * size + 1);
    if (!child_read(to, (size_t)count * size))
        _exit(STATUS_IO); /* the judge has ended, or the pipe is closed here */
    return to;
}

static Job *take_job(Arena *arena, const CheckCase *c) {
    SentJob *s = take(arena, 1, sizeof *s);
    Job *j = &s->job;
    j->point = &s->point;
    for (int k = 0; k < s->point.inputs; k++) {
        PointInput *in = &s->point.in[k];
        in->name = c->in[k].name;
        in->value =
            in->same_as < 0 ? take(arena, in->count, sizeof(real)) : s->point.in[in->same_as].value;
    }
    if (j->start) {
        j->change = take(arena, s->changes, sizeof *j->change);
        long *start = take(arena, j->runs + 1, sizeof *start), first = start[0];
        for (long run = 0; run <= j->runs; run++) start[run] -= first;
        j->start = start;
    }
    if (j->dy) j->dy = take(arena, j->runs * j->outputs, sizeof *j->dy);
    return j;
}

static void send_result(const Job *j, const Result *r) {
    SentResult s = {
        .mark = MARK, .shape = r->shape, .wants_grad = r->wants_grad, .nodes = r->nodes};
    long gradients = j->runs * point_gradients_before(j->point, j->point->inputs);
    memcpy(s.damage, r->damage, DAMAGE_TEXT);
    program_put(&s, sizeof s);
    program_put(r->y, (size_t)(j->runs * shape_count(r->shape)) * sizeof *r->y);
    program_put(r->branches, (size_t)j->runs * sizeof *r->branches);
    if (j->dy) program_put(r->grad, (size_t)(job_backwards(j) * gradients) * sizeof *r->grad);
    program_send();
}

void tape_program_serve(const CheckCase *c) {
    TapeRunner t = tape_runner_new("operation", c);
    Arena arena = {0};
    Result r = {{0}};
    for (;; arena_reset(&arena)) {
        const Job *j = take_job(&arena, c);
        tape_runner_do(&t, NULL, j, &r);
        send_result(j, &r);
    }
}
