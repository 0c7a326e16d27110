#include "check/student_program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_LINE = 1024, NAMES = 128 };

/* ---- What is sent ---- */

void protocol_put_array(Dtype dtype, long runs, Shape s, const void *bytes) {
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

static void *room_for(long count, size_t size) {
    void *room = malloc((size_t)count * size + 1);
    if (!room) error_no_memory("an array of %ld numbers", count);
    return room;
}

static void put_reals(Shape s, const real *x) {
    long count = shape_count(s);
    double *wide = room_for(count, sizeof *wide);
    for (long i = 0; i < count; i++) wide[i] = (double)x[i];
    protocol_put_array(DTYPE_F64, 0, s, wide);
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
    protocol_put_array(DTYPE_I64, 0, SHAPE(count, 3), where);
    protocol_put_array(DTYPE_F64, 0, SHAPE(count), value);
    free(where);
    free(value);
}

static void put_forward(Program *p, const Job *j) {
    char line[64];
    long changes = j->start ? j->start[j->runs] - j->start[0] : 0;
    p->awaited = "forward";
    const char *watch = j->ways.watch ? " watch" : "";
    int length = snprintf(line, sizeof line, "forward %ld %ld%s\n", j->runs, changes, watch);
    program_put(line, (size_t)length);
    for (int k = 0; k < j->point->inputs; k++)
        put_reals(j->point->in[k].shape, j->point->in[k].value);
    if (changes) put_changes(j);
}

/* Puts the upstream gradients of each output. */
static void put_backward(Program *p, const Job *j) {
    static const char word[] = "backward\n";
    p->awaited = "backward";
    program_put(word, strlen(word));
    long before = 0;
    for (long k = 0; k < p->outputs; k++) {
        long numbers = p->numbers[k];
        double *part = room_for(j->runs * numbers, sizeof *part);
        for (long run = 0; run < j->runs; run++)
            for (long i = 0; i < numbers; i++)
                part[run * numbers + i] = (double)j->dy[run * j->outputs + before + i];
        protocol_put_array(DTYPE_F64, j->runs, p->shape[k], part);
        free(part);
        before += numbers;
    }
}

/* ---- What is taken ---- */

bool protocol_line(Program *p, char *line, size_t size) {
    size_t length = 0;
    for (;;) {
        size_t ready = program_wait(p), fits = size - 1 - length;
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

/* Takes the line before an answer, "ok N", which N arrays follow. */
static int take_ok(Program *p) {
    char line[LONG_LINE];
    int arrays = 0;
    if (!protocol_line(p, line, sizeof line))
        program_refuse(p, "answered a line of more than %d bytes", LONG_LINE - 1);
    if (strncmp(line, "error ", 6) == 0) program_refuse(p, "%s", line + 6);
    if (sscanf(line, "ok %d", &arrays) != 1)
        program_refuse(p, "answered \"%.60s\", need \"ok N\" or \"error TEXT\"", line);
    if (arrays < 0 || arrays > PROGRAM_OUTPUTS)
        program_refuse(p, "answered %d arrays, need at most %d", arrays, PROGRAM_OUTPUTS);
    return arrays;
}

/* Tells the program which case follows. A case before that was given up may have left an answer,
 * which is skipped. */
static void begin_case(Program *p) {
    static const char want[] = "ok 0\n";
    static const size_t max_left = JOB_GRADIENTS;
    char line[LONG_LINE] = "";
    size_t n = 0, seen = 0;
    p->awaited = "case";
    program_put(p->begin, strlen(p->begin));
    p->begin = NULL;
    for (size_t skipped = 0; want[seen]; skipped++) {
        char c;
        program_take(p, &c, 1);
        seen = c == want[seen] ? seen + 1 : c == *want;
        if (n < LONG_LINE - 1) line[n++] = c;
        if (c == '\n' && strncmp(line, "error ", 6) == 0)
            program_refuse(p, "%.*s", (int)n - 7, line + 6);
        if (skipped == max_left) program_refuse(p, "answered no \"ok 0\" to a case");
    }
}

/* Takes a whole answer before it is judged, so that a program that is asked again is asked anew.
 * Returns its arrays. */
static int take_arrays(Program *p, Array a[PROGRAM_OUTPUTS]) {
    Error e = {0};
    int arrays = take_ok(p);
    for (int k = 0; k < arrays; k++)
        if (!npy_receive(&a[k], "an answer", JOB_GRADIENTS, program_take, p, &e))
            program_refuse(p, "%s", e.text);
    return arrays;
}

/* The shape of one run of an array whose first axis is that of the runs. */
static Shape shape_of_run(Program *p, const char *what, const Array *a, long runs) {
    Error e = {0};
    Shape all = {0}, s = {0};
    if (!array_shape(a, &all, &e)) program_refuse(p, "%s", e.text);
    if (all.rank < 1 || all.size[0] != runs)
        program_refuse(p, "answered %s of shape %s, need a first axis of %ld for the runs", what,
                       shape_text(all), runs);
    s.rank = all.rank - 1;
    memcpy(s.size, all.size + 1, sizeof s.size - sizeof *s.size);
    return s;
}

/* Writes the numbers of an array [runs][count], which is freed, to `to`, where those of a run are
 * `stride` apart. */
static void take_numbers(Program *p, Array *a, long runs, real *to, long stride) {
    Error e = {0};
    real *x = room_for(a->count, sizeof *x);
    if (!array_to_real(a, x, &e)) program_refuse(p, "%s", e.text);
    long count = a->count / runs;
    for (long run = 0; run < runs; run++)
        memcpy(to + run * stride, x + run * count, (size_t)count * sizeof *x);
    free(x);
    array_free(a);
}

/* Takes all outputs. Several are one, row by row: the judge knows one output of a run. */
static void take_outputs(Program *p, const Job *j, Result *r) {
    Array y[PROGRAM_OUTPUTS];
    long all = 0;
    p->outputs = take_arrays(p, y);
    if (p->outputs < 1) program_refuse(p, "answered no output");
    for (int k = 0; k < p->outputs; k++) {
        p->shape[k] = shape_of_run(p, "y", &y[k], j->runs);
        all += p->numbers[k] = y[k].count / j->runs;
    }
    program_expect_outputs(p, j, all);
    r->shape = p->outputs == 1 ? p->shape[0] : SHAPE(all);
    r->wants_grad = true;
    r->nodes = 0;
    r->damage[0] = 0;
    result_for_outputs(r, j->runs, all);
    memset(r->branches, 0, (size_t)j->runs * sizeof *r->branches);
    long before = 0;
    for (int k = 0; k < p->outputs; k++) {
        take_numbers(p, &y[k], j->runs, r->y + before, all);
        before += p->numbers[k];
    }
}

/* Takes the gradients of all runs to `grad`, [runs][numbers of all inputs that take one]. */
static void take_gradients(Program *p, const Job *j, real *grad) {
    const CheckPoint *point = j->point;
    Array a[PROGRAM_OUTPUTS];
    int arrays = take_arrays(p, a), wanted = 0, next = 0;
    for (int k = 0; k < point->inputs; k++) wanted += point_has_gradient(point, k);
    if (arrays != wanted) program_refuse(p, "answered %d gradients, need %d", arrays, wanted);
    for (int k = 0; k < point->inputs; k++) {
        const PointInput *in = &point->in[k];
        char what[NAMES];
        if (!point_has_gradient(point, k)) continue;
        snprintf(what, sizeof what, "d%s", in->name);
        Shape s = shape_of_run(p, what, &a[next], j->runs);
        if (!shape_equal(s, in->shape))
            program_refuse(p, "answered %s of shape %s, need %s", what, shape_text(s),
                           shape_text(in->shape));
        take_numbers(p, &a[next++], j->runs, grad + point_gradients_before(point, k),
                     point_gradients_before(point, point->inputs));
    }
}

void protocol_run(Program *p, const Job *j, Result *r) {
    long gradients = j->runs * point_gradients_before(j->point, j->point->inputs);
    if (p->begin) begin_case(p);
    put_forward(p, j);
    take_outputs(p, j, r);
    if (j->dy) result_for_gradients(r, job_backwards(j), gradients);
    for (int time = 0; time < job_backwards(j); time++) {
        put_backward(p, j);
        take_gradients(p, j, r->grad + time * gradients);
    }
}
