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
    size_t size, capacity;
} message;

void program_put(const void *bytes, size_t size) {
    if (message.size + size > message.capacity) {
        message.capacity = 2 * (message.size + size) + 4096;
        message.bytes = realloc(message.bytes, message.capacity);
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

/* ---- An operation on a tape: the same functions pass a job and its result at both ends ---- */

/* Followed by the values of each input that has its own, where the changes of each run start, the
 * changes, and the upstream gradients. Of pointers it only matters whether they are NULL. */
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

/* Sends bytes, or takes them: the judge from its program, the program from the judge. */
typedef struct Wire {
    bool takes;
    Program *from; /* NULL: the judge */
    Arena *arena;  /* of arrays that are taken */
} Wire;

static void pass(const Wire *w, void *bytes, size_t size) {
    if (!w->takes)
        program_put(bytes, size);
    else if (w->from)
        program_take(w->from, bytes, size);
    else if (!child_read(bytes, size))
        _exit(STATUS_IO); /* the judge has ended, or the pipe is closed here */
}

/* Passes an array; `at` is the address of a pointer to it. */
static void pass_array(const Wire *w, void *at, long count, size_t size) {
    void *array;
    memcpy(&array, at, sizeof array);
    if (w->takes) {
        array = arena_alloc(w->arena, (size_t)count * size + 1);
        memcpy(at, &array, sizeof array);
    }
    pass(w, array, (size_t)count * size);
}

static void pass_job(const Wire *w, SentJob *s) {
    Job *j = &s->job;
    pass(w, s, sizeof *s);
    for (int k = 0; k < s->point.inputs; k++) {
        PointInput *in = &s->point.in[k];
        if (in->same_as < 0) pass_array(w, &in->value, in->count, sizeof *in->value);
    }
    if (j->start) {
        pass_array(w, &j->start, j->runs + 1, sizeof *j->start);
        pass_array(w, &j->change, s->changes, sizeof *j->change);
    }
    if (j->dy) pass_array(w, &j->dy, j->runs * j->outputs, sizeof *j->dy);
}

static long gradients_of(const Job *j) {
    return job_backwards(j) * j->runs * point_gradients_before(j->point, j->point->inputs);
}

static void pass_numbers(const Wire *w, const Job *j, const Result *r, long outputs) {
    pass(w, r->y, (size_t)(j->runs * outputs) * sizeof *r->y);
    pass(w, r->branches, (size_t)j->runs * sizeof *r->branches);
    if (j->dy) pass(w, r->grad, (size_t)gradients_of(j) * sizeof *r->grad);
}

void tape_program_run(Program *p, const Job *j, Result *r) {
    SentJob sent = {.job = *j, .point = *j->point};
    SentResult s;
    long outputs = 0;
    if (j->start) {
        sent.changes = j->start[j->runs] - j->start[0];
        sent.job.change += j->start[0];
    }
    pass_job(&(Wire){.takes = false}, &sent);
    program_take(p, &s, sizeof s);
    if (s.mark != MARK || s.shape.rank < 0 || s.shape.rank > MAX_RANK ||
        !shape_fits(s.shape.rank, s.shape.size, sizeof(real), &outputs))
        program_refuse(p, "wrote to a descriptor that is not its own");
    program_expect_outputs(p, j, outputs);
    r->shape = s.shape;
    r->wants_grad = s.wants_grad;
    r->nodes = s.nodes;
    snprintf(r->damage, sizeof r->damage, "%.*s", DAMAGE_TEXT - 1, s.damage);
    result_for_outputs(r, j->runs, outputs);
    if (j->dy) result_for_gradients(r, 1, gradients_of(j));
    pass_numbers(&(Wire){.takes = true, .from = p}, j, r, outputs);
}

/* Takes a job, whose point has the pointers of this process. */
static const Job *take_job(Arena *arena, const CheckCase *c) {
    SentJob *s = arena_alloc(arena, sizeof *s);
    Job *j = &s->job;
    pass_job(&(Wire){.takes = true, .arena = arena}, s);
    j->point = &s->point;
    for (int k = 0; k < s->point.inputs; k++) {
        PointInput *in = &s->point.in[k];
        in->name = c->in[k].name;
        if (in->same_as >= 0) in->value = s->point.in[in->same_as].value;
    }
    if (j->start) j->change -= j->start[0];
    return j;
}

void tape_program_serve(const CheckCase *c) {
    TapeRunner t = tape_runner_new("operation", c);
    Arena arena = {0};
    Result r = {{0}};
    for (;; arena_reset(&arena)) {
        const Job *j = take_job(&arena, c);
        tape_runner_do(&t, NULL, j, &r);
        SentResult s = {
            .mark = MARK, .shape = r.shape, .wants_grad = r.wants_grad, .nodes = r.nodes};
        memcpy(s.damage, r.damage, DAMAGE_TEXT);
        program_put(&s, sizeof s);
        pass_numbers(&(Wire){.takes = false}, j, &r, shape_count(r.shape));
        program_send();
    }
}
