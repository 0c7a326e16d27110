#include "check/messages.h"
#include "check/gradcheck/report.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 128, PIPE_HOLDS = 4096 /* bytes, at least */ };

static void *room_for(long count, size_t size) {
    void *room = malloc((size_t)count * size + 1);
    if (!room) error_no_memory("an array of %ld numbers", count);
    return room;
}

/* ---- Messages ---- */

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

void program_put_array(Dtype dtype, long runs, Shape s, const void *bytes) {
    Array a = array_over(NULL, dtype, s, bytes);
    char start[NPY_START];
    if (runs) {
        memmove(a.size + 1, a.size, sizeof a.size - sizeof *a.size);
        a.size[0] = runs;
        a.rank++;
        a.count *= runs;
    }
    npy_start(&a, start);
    program_put(start, sizeof start);
    program_put(bytes, (size_t)a.count * dtype_size(dtype));
}

bool program_send(Program *p) {
    bool sent = !message.size || child_tell(p->child, message.bytes, message.size, &p->end);
    message.size = 0;
    return sent;
}

static bool is_lost(Program *p) {
    if (p->lost) p->lost(p->context, &p->end, p->run);
    return false;
}

/* Waits for bytes in the block, and returns how many there are. 0: it has ended. */
static size_t await(Program *p) {
    if (p->taken < p->filled) return p->filled - p->taken;
    p->taken = p->filled = 0;
    if (program_send(p)) p->filled = child_hear(p->child, p->block, sizeof p->block, &p->end);
    if (!p->filled) is_lost(p);
    return p->filled;
}

bool program_take(void *program, void *to, size_t size) {
    Program *p = program;
    char *at = to;
    while (size) {
        size_t ready = await(p), part = ready < size ? ready : size;
        if (!ready) return false;
        memcpy(at, p->block + p->taken, part);
        p->taken += part;
        at += part;
        size -= part;
    }
    return true;
}

bool program_line(Program *p, char *line, size_t size) {
    size_t length = 0;
    for (;;) {
        size_t ready = await(p), fits = size - 1 - length;
        const char *from = p->block + p->taken, *end = memchr(from, '\n', ready);
        size_t part = end ? (size_t)(end - from) : ready, kept = part < fits ? part : fits;
        memcpy(line + length, from, kept);
        length += kept;
        line[length] = 0;
        p->taken += end ? part + 1 : part;
        if (!ready || kept < part) return false;
        if (end) return true;
    }
}

/* Gives up a program that has said something else than it should. */
__attribute__((format(printf, 2, 3))) static void refuse(Program *p, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    p->lost(p->context, &(ChildEnd){CHILD_EXITED, STATUS_BUG, "", 0, text}, p->run);
}

/* ---- What is sent ---- */

static void put_input(const PointInput *in) {
    double *wide = room_for(in->count, sizeof *wide);
    for (long i = 0; i < in->count; i++) wide[i] = (double)in->value[i];
    program_put_array(DTYPE_F64, 0, in->shape, wide);
    free(wide);
}

static void put_changes(const Job *j) {
    long first = j->start[0], count = j->start[j->runs] - first;
    int64_t *where = room_for(3 * count, sizeof *where);
    double *value = room_for(count, sizeof *value);
    for (long run = 0; run < j->runs; run++)
        for (long i = j->start[run]; i < j->start[run + 1]; i++) {
            int64_t *at = where + 3 * (i - first);
            at[0] = run;
            at[1] = j->change[i].input;
            at[2] = j->change[i].element;
            value[i - first] = j->change[i].value;
        }
    program_put_array(DTYPE_I64, 0, SHAPE(count, 3), where);
    program_put_array(DTYPE_F64, 0, SHAPE(count), value);
    free(where);
    free(value);
}

/* Puts the ways of a job on a tape, and how its inputs lie in memory. */
static void put_ways(const JobWays *w, const CheckPoint *p) {
    double ways[PROGRAM_WAYS + 3 * CHECK_INPUTS] = {
        w->guard, w->keep, w->relayed, w->watch, w->together, (double)w->first, (double)w->fill};
    double *at = ways + PROGRAM_WAYS;
    for (const PointInput *in = p->in; in < p->in + p->inputs; in++) {
        *at++ = in->layout;
        *at++ = in->same_as;
        *at++ = in->constant;
    }
    program_put_array(DTYPE_F64, 0, SHAPE(at - ways), ways);
}

static void put_forward(Program *p, const Job *j) {
    char line[64];
    long changes = j->start ? j->start[j->runs] - j->start[0] : 0;
    snprintf(line, sizeof line, "forward %ld %ld%s\n", j->runs, changes,
             j->ways.watch ? " watch" : "");
    program_put(line, strlen(line));
    if (p->on_tape) put_ways(&j->ways, j->point);
    for (int k = 0; k < j->point->inputs; k++) {
        put_input(&j->point->in[k]);
        p->in[k] = j->point->in[k].shape;
    }
    if (changes) put_changes(j);
}

/* Puts the upstream gradients of each output. */
static void put_backward(Program *p, const Job *j) {
    static const char word[] = "backward\n";
    program_put(word, strlen(word));
    long before = 0;
    for (long k = 0; k < p->outputs; k++) {
        long numbers = p->numbers[k];
        double *part = room_for(j->runs * numbers, sizeof *part);
        for (long run = 0; run < j->runs; run++)
            for (long i = 0; i < numbers; i++)
                part[run * numbers + i] = (double)j->dy[run * j->outputs + before + i];
        program_put_array(DTYPE_F64, j->runs, p->shape[k], part);
        free(part);
        before += numbers;
    }
}

/* Whether backward can be sent behind forward, before that is answered: the shapes of the outputs
 * are known from the last point, and what a pipe holds is enough for the numbers. */
static bool may_send_both(const Program *p, const Job *j) {
    long numbers = 0;
    if (!j->dy || j->runs * j->outputs * (long)sizeof(double) > PIPE_HOLDS / 2) return false;
    for (int k = 0; k < j->point->inputs; k++)
        if (!shape_equal(p->in[k], j->point->in[k].shape)) return false;
    for (int k = 0; k < p->outputs; k++) numbers += p->numbers[k];
    return p->outputs && p->outputs <= PIPE_HOLDS / (4 * NPY_START) && numbers == j->outputs;
}

/* ---- What is taken ---- */

/* Takes an answer "ok N" and its N arrays, whole before it is judged, so that a program that is
 * asked again is asked anew. Returns N; `more` gets the rest of the line. */
static int take_answer(Program *p, Array a[PROGRAM_OUTPUTS], char more[PROGRAM_LINE]) {
    char line[PROGRAM_LINE];
    Error e = {0};
    int arrays = 0, end = 0;
    bool fits = program_line(p, line, sizeof line),
         ok = sscanf(line, "ok %d%n", &arrays, &end) == 1;
    if (p->on_tape && !(fits && ok)) refuse(p, "wrote to a descriptor that is not its own");
    if (!fits) refuse(p, "answered a line of more than %d bytes", PROGRAM_LINE - 1);
    if (strncmp(line, "error ", 6) == 0) refuse(p, "%s", line + 6);
    if (!ok) refuse(p, "answered \"%.60s\", need \"ok N\" or \"error TEXT\"", line);
    if (arrays < 0 || arrays > PROGRAM_OUTPUTS)
        refuse(p, "answered %d arrays, need at most %d", arrays, PROGRAM_OUTPUTS);
    for (int k = 0; k < arrays; k++)
        if (!npy_receive(&a[k], "an answer", JOB_GRADIENTS, program_take, p, &e))
            refuse(p, "%s", e.text);
    strcpy(more, line + end);
    return arrays;
}

/* Tells the program which case follows, and skips what it has sent before: its first line, or the
 * answer to a case that was given up. */
static void begin_case(Program *p) {
    static const char want[] = "ok 0\n";
    static const size_t max_skipped = 16 * (size_t)JOB_GRADIENTS;
    char line[PROGRAM_LINE] = "";
    size_t n = 0, seen = 0;
    p->awaited = "case";
    p->outputs = 0;
    child_again(p->child);
    program_put(p->begin, strlen(p->begin));
    free(p->begin);
    p->begin = NULL;
    for (size_t skipped = 0; want[seen]; skipped++) {
        await(p);
        char c = p->block[p->taken++];
        seen = c == want[seen] ? seen + 1 : c == *want;
        if (n < PROGRAM_LINE - 1) line[n++] = c;
        if (c == '\n' && strncmp(line, "error ", 6) == 0 && !p->goes_on)
            refuse(p, "%.*s", (int)n - 7, line + 6);
        if (skipped == max_skipped) refuse(p, "answered no \"ok 0\" to a case");
    }
    child_again(p->child);
}

/* The shape of one run of an array whose first axis is that of the runs. */
static Shape shape_of_run(Program *p, const char *what, const Array *a, long runs) {
    Shape all = {.rank = a->rank < MAX_RANK ? a->rank : MAX_RANK}, s = {.rank = a->rank - 1};
    memcpy(all.size, a->size, sizeof all.size);
    memcpy(s.size, a->size + 1, sizeof s.size);
    if (a->rank < 1 || a->size[0] != runs)
        refuse(p, "answered %s of shape %s, need a first axis of %ld for the runs", what,
               shape_text(all), runs);
    if (s.rank > MAX_RANK) refuse(p, "answered %s of more than %d axes", what, MAX_RANK);
    return s;
}

/* Writes the numbers of an array [runs][count], which is freed, to `to`, where those of a run are
 * `stride` apart. */
static void take_numbers(Program *p, Array *a, long runs, real *to, long stride) {
    Error e = {0};
    real *x = room_for(a->count, sizeof *x);
    if (!array_to_real(a, x, &e)) refuse(p, "%s", e.text);
    long count = a->count / runs;
    for (long run = 0; run < runs; run++)
        memcpy(to + run * stride, x + run * count, (size_t)count * sizeof *x);
    free(x);
    array_free(a);
}

/* Takes the branches of all runs, and the facts in the line. */
static void take_facts(Program *p, const Job *j, Array *branches, const char *facts, Result *r) {
    int wants_grad = 0, end = 0;
    bool told = branches->dtype == DTYPE_I64 && branches->count == j->runs &&
                sscanf(facts, "%d %ld %n", &wants_grad, &r->nodes, &end) == 2;
    if (!told) refuse(p, "wrote to a descriptor that is not its own");
    r->wants_grad = wants_grad;
    REPORT_SET(r->damage, facts + end);
    memcpy(r->branches, branches->bytes, (size_t)j->runs * sizeof *r->branches);
    array_free(branches);
}

/* Takes all outputs. Several are one, row by row: the judge knows one output of a run. Their shapes
 * may be those for which backward was sent already. */
static void take_outputs(Program *p, const Job *j, bool sent, Result *r) {
    Array y[PROGRAM_OUTPUTS];
    char facts[PROGRAM_LINE];
    long all = 0, before = 0;
    int outputs = take_answer(p, y, facts) - p->on_tape;
    if (outputs < 1) refuse(p, "answered no output");
    for (int k = 0; k < outputs; k++) {
        Shape s = shape_of_run(p, "y", &y[k], j->runs);
        if (sent && (outputs != p->outputs || !shape_equal(s, p->shape[k])))
            refuse(p, "the output has another shape at one point than at another");
        p->shape[k] = s;
        all += p->numbers[k] = y[k].count / j->runs;
    }
    p->outputs = outputs;
    if (j->dy && all != j->outputs)
        refuse(p, "the output has %ld elements at one point and %ld at another", j->outputs, all);
    if (all > JOB_OUTPUTS) refuse(p, "an output of %ld elements is too large to be checked", all);
    r->parts = p->outputs;
    memcpy(r->part, p->shape, sizeof r->part);
    r->shape = p->outputs == 1 ? p->shape[0] : SHAPE(all);
    r->wants_grad = true;
    r->nodes = 0;
    r->damage[0] = 0;
    result_for_outputs(r, j->runs, all);
    memset(r->branches, 0, (size_t)j->runs * sizeof *r->branches);
    if (p->on_tape)
        take_facts(p, j, &y[p->outputs], facts, r);
    else if (*facts)
        REPORT_SET(r->damage, facts + 1);
    for (int k = 0; k < p->outputs; k++) {
        take_numbers(p, &y[k], j->runs, r->y + before, all);
        before += p->numbers[k];
    }
}

/* Takes the gradients of all runs to `grad`, [runs][numbers of all inputs that take one]. */
static void take_gradients(Program *p, const Job *j, Result *r, real *grad) {
    const CheckPoint *point = j->point;
    Array a[PROGRAM_OUTPUTS];
    char damage[PROGRAM_LINE];
    int arrays = take_answer(p, a, damage), wanted = 0, next = 0;
    long numbers = point_gradients_before(point, point->inputs);
    for (int k = 0; k < point->inputs; k++) wanted += point_has_gradient(point, k);
    if (arrays != wanted) refuse(p, "answered %d gradients, need %d", arrays, wanted);
    if (*damage) REPORT_SET(r->damage, damage + 1);
    for (int k = 0; k < point->inputs; k++) {
        const PointInput *in = &point->in[k];
        char what[NAMES];
        if (!point_has_gradient(point, k)) continue;
        snprintf(what, sizeof what, "d%s", in->name);
        Shape s = shape_of_run(p, what, &a[next], j->runs);
        real *to = grad + point_gradients_before(point, k);
        r->misfit[k][0] = 0;
        if (shape_equal(s, in->shape)) {
            take_numbers(p, &a[next++], j->runs, to, numbers);
            continue;
        }
        snprintf(r->misfit[k], MISFIT_TEXT, "answered %s of shape %s, need %s", what, shape_text(s),
                 shape_text(in->shape));
        for (long run = 0; run < j->runs; run++)
            memset(to + run * numbers, 0, (size_t)in->count * sizeof *to);
        array_free(&a[next++]);
    }
}

void program_run(void *where, CheckRun *run, const Job *j, Result *r) {
    Program *p = where;
    long gradients = j->runs * point_gradients_before(j->point, j->point->inputs);
    p->run = run;
    if (p->begin) begin_case(p);
    p->awaited = "forward";
    put_forward(p, j);
    bool sent = may_send_both(p, j);
    if (sent) put_backward(p, j);
    take_outputs(p, j, sent, r);
    p->awaited = "backward";
    if (j->dy) result_for_gradients(r, job_backwards(j), gradients);
    for (int time = 0; time < job_backwards(j); time++) {
        if (time || !sent) put_backward(p, j);
        take_gradients(p, j, r, r->grad + time * gradients);
    }
}
