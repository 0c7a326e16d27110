#include "check/protocol.h"
#include "check/gradcheck/check_run.h"
#include "check/message.h"
#include "check/npy.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_LINE = 1024 };

static void put_changes(Message *m, const Job *j) {
    long first = j->start[0], count = j->start[j->runs] - first;
    int64_t *where = malloc(((size_t)count + 1) * 3 * sizeof *where);
    double *value = malloc(((size_t)count + 1) * sizeof *value);
    if (!where || !value) error_no_memory("%ld changes", count);
    for (long run = 0; run < j->runs; run++)
        for (long i = j->start[run]; i < j->start[run + 1]; i++) {
            int64_t *at = where + 3 * (i - first);
            at[0] = run, at[1] = j->change[i].input, at[2] = j->change[i].element;
            value[i - first] = j->change[i].value;
        }
    message_array(m, DTYPE_I64, 0, SHAPE(count, 3), where);
    message_array(m, DTYPE_F64, 0, SHAPE(count), value);
    free(where);
    free(value);
}

static bool hear(void *context, void *to, size_t size) {
    Program *p = context;
    ChildEnd end;
    if (!child_hear(p->child, to, size, &end)) p->lost(p->context, &end, p->run);
    return true;
}

typedef struct Source {
    Child *child;
    ChildEnd *end;
} Source;

static bool hear_child(void *context, void *to, size_t size) {
    const Source *s = context;
    return child_hear(s->child, to, size, s->end);
}

bool protocol_hello(Child *c, char *line, size_t size, ChildEnd *end) {
    size_t n = 0;
    for (char byte; n < size - 1; line[n++] = byte) {
        if (!child_hear(c, &byte, 1, end)) return false;
        if (byte == '\n') break;
    }
    line[n] = 0;
    return true;
}

bool protocol_array(Child *c, const char *what, Array *a, Error *e) {
    ChildEnd end;
    return npy_receive(a, what, sizeof(double) * JOB_CHANGES, hear_child, &(Source){c, &end}, e);
}

static void tell(Program *p, Message *m) {
    ChildEnd end;
    if (!child_tell(p->child, m->bytes, m->size, &end)) p->lost(p->context, &end, p->run);
    m->size = 0;
}

/* Gives up a program that has said something else than it should. */
static void refuse(Program *p, const char *format, ...) {
    char text[LONG_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    p->lost(p->context, &(ChildEnd){CHILD_EXITED, STATUS_BUG, "", 0, text}, p->run);
}

/* Takes the line before an answer: "ok N" for N arrays. Returns N. */
static int hear_ok(Program *p) {
    char line[LONG_LINE] = "";
    size_t n = 0;
    int arrays = 0;
    for (char c; hear(p, &c, 1) && c != '\n';)
        if (n < LONG_LINE - 1) line[n++] = c;
    if (strncmp(line, "error ", 6) == 0) refuse(p, "%s", line + 6);
    if (sscanf(line, "ok %d", &arrays) != 1)
        refuse(p, "answered \"%.60s\", need \"ok N\" or \"error TEXT\"", line);
    return arrays;
}

/* Takes the answer to the line that begins a case. A case before that was given up may have left an answer, which is
 * skipped. */
static void hear_begin(Program *p) {
    static const char want[] = "ok 0\n";
    char line[LONG_LINE] = "";
    size_t n = 0, seen = 0;
    for (char c; want[seen] && hear(p, &c, 1);) {
        seen = c == want[seen] ? seen + 1 : c == *want;
        if (n < LONG_LINE - 1) line[n++] = c;
        if (c == '\n' && strncmp(line, "error ", 6) == 0) refuse(p, "%.*s", (int)n - 7, line + 6);
    }
}

/* Takes a whole answer before it is judged, so that a program that is asked again is asked anew. Returns its arrays. */
static int hear_arrays(Program *p, Array a[PROTOCOL_OUTPUTS]) {
    Error e = {0};
    int arrays = hear_ok(p);
    if (arrays < 0 || arrays > PROTOCOL_OUTPUTS)
        refuse(p, "answered %d arrays, need at most %d", arrays, PROTOCOL_OUTPUTS);
    for (int k = 0; k < arrays; k++)
        if (!npy_receive(&a[k], "an answer", sizeof(double) * JOB_GRADIENTS, hear, p, &e))
            refuse(p, "%s", e.text);
    return arrays;
}

/* The shape of one run of an array whose first axis is that of the runs. */
static Shape shape_of_run(Program *p, const char *what, const Array *a, long runs) {
    Error e = {0};
    Shape all = {0}, s = {0};
    if (!array_shape(a, &all, &e)) refuse(p, "%s", e.text);
    if (all.rank < 1 || all.size[0] != runs)
        refuse(p, "answered %s of shape %s, need a first axis of %ld for the runs", what, shape_text(all),
               runs);
    s.rank = all.rank - 1;
    memcpy(s.size, all.size + 1, sizeof s.size - sizeof *s.size);
    return s;
}

/* The numbers of an array, which is freed; to be freed. */
static real *take_numbers(Program *p, const char *what, Array *a) {
    Error e = {0};
    real *x = malloc(((size_t)a->count + 1) * sizeof *x);
    if (!x) error_no_memory("%s of %ld numbers", what, a->count);
    if (a->dtype < DTYPE_F16) refuse(p, "answered %s of integers, need floating-point numbers", what);
    if (!array_to_real(a, x, &e)) refuse(p, "%s", e.text);
    array_free(a);
    return x;
}

static void hear_news(Program *p, Result *r, uint64_t *branches, long runs) {
    TapeNews news;
    hear(p, &news, sizeof news);
    if (branches) hear(p, branches, (size_t)runs * sizeof *branches);
    unsigned char wants;
    memcpy(&wants, &news.wants_grad, 1); /* reading another value as bool is undefined */
    r->wants_grad = wants != 0, r->nodes = news.nodes;
    memcpy(r->damage, news.damage, DAMAGE_TEXT);
    r->damage[DAMAGE_TEXT - 1] = 0;
}

/* Takes all outputs. Several are one, row by row: the judge knows one output of a run. */
static void hear_outputs(Program *p, const Job *j, Result *r) {
    real *part[PROTOCOL_OUTPUTS];
    Array y[PROTOCOL_OUTPUTS];
    long all = 0;
    p->outputs = hear_arrays(p, y);
    if (p->outputs < 1) refuse(p, "answered no output");
    for (int k = 0; k < p->outputs; k++) {
        p->shape[k] = shape_of_run(p, "y", &y[k], j->runs);
        if (y[k].count > JOB_OUTPUTS)
            refuse(p, "an output of %ld elements is too large to be checked", y[k].count);
        part[k] = take_numbers(p, "y", &y[k]);
        all += p->numbers[k] = shape_count(p->shape[k]);
    }
    r->shape = p->outputs == 1 ? p->shape[0] : SHAPE(all);
    result_for_outputs(r, j->runs, all);
    for (long run = 0, at = 0; run < j->runs; run++)
        for (int k = 0; k < p->outputs; at += p->numbers[k++])
            memcpy(r->y + at, part[k] + run * p->numbers[k], (size_t)p->numbers[k] * sizeof *r->y);
    for (int k = 0; k < p->outputs; k++) free(part[k]);
    r->wants_grad = true, r->nodes = 0, r->damage[0] = 0;
    memset(r->branches, 0, (size_t)j->runs * sizeof *r->branches);
    if (p->on_tape) hear_news(p, r, r->branches, j->runs);
}

/* Adds the upstream gradients of each output. */
static void put_upstream(Message *m, const Program *p, const Job *j) {
    long all = 0, before = 0;
    for (int k = 0; k < p->outputs; k++) all += p->numbers[k];
    for (int k = 0; k < p->outputs; before += p->numbers[k++]) {
        size_t bytes = (size_t)p->numbers[k] * sizeof(real);
        real *part = malloc((size_t)j->runs * bytes + 1);
        if (!part) error_no_memory("upstream gradients of %ld runs", j->runs);
        for (long run = 0; run < j->runs; run++)
            memcpy(part + run * p->numbers[k], j->dy + run * all + before, bytes);
        message_reals(m, j->runs, p->shape[k], part);
        free(part);
    }
}

/* Takes the gradients of all runs to `grad`, [runs][numbers of all inputs that take one]. */
static void hear_gradients(Program *p, const Job *j, Result *r, real *grad) {
    const CheckPoint *point = j->point;
    long gradients = point_gradients_before(point, point->inputs);
    Array a[PROTOCOL_OUTPUTS];
    int arrays = hear_arrays(p, a), wanted = 0, next = 0;
    for (int k = 0; k < point->inputs; k++) wanted += point_has_gradient(point, k);
    if (arrays != wanted) refuse(p, "answered %d gradients, need %d", arrays, wanted);
    for (int k = 0; k < point->inputs; k++) {
        char what[NAMES + 2];
        long count = point->in[k].count;
        if (!point_has_gradient(point, k)) continue;
        snprintf(what, sizeof what, "d%s", point->in[k].name);
        Shape s = shape_of_run(p, what, &a[next], j->runs);
        if (!shape_equal(s, point->in[k].shape))
            refuse(p, "answered %s of shape %s, need %s", what, shape_text(s),
                   shape_text(point->in[k].shape));
        real *all = take_numbers(p, what, &a[next++]);
        for (long run = 0; run < j->runs; run++)
            memcpy(grad + run * gradients + point_gradients_before(point, k), all + run * count,
                   (size_t)count * sizeof *all);
        free(all);
    }
    if (p->on_tape) hear_news(p, r, NULL, 0);
}

static void put_tape_job(Message *m, const Job *j) {
    const CheckPoint *p = j->point;
    TapeJob t = {.ways = j->ways, .inputs = p->inputs};
    for (int k = 0; k < p->inputs; k++) {
        t.layout[k] = p->in[k].layout, t.same_as[k] = p->in[k].same_as, t.constant[k] = p->in[k].constant;
        snprintf(t.name[k], NAMES, "%s", p->in[k].name);
    }
    message_put(m, "tape\n", 5);
    message_put(m, &t, sizeof t);
}

void protocol_run(void *where, CheckRun *run, const Job *j, Result *r) {
    static Message m;
    Program *p = where;
    char line[LINE];
    long changes = j->start ? j->start[j->runs] - j->start[0] : 0;
    p->run = run;
    if (p->begin) {
        message_put(&m, p->begin, strlen(p->begin));
        p->begin = NULL;
        tell(p, &m);
        hear_begin(p);
    }
    if (p->on_tape) put_tape_job(&m, j);
    message_put(
        &m, line,
        (size_t)snprintf(line, LINE, "forward %ld %ld%s\n", j->runs, changes, j->ways.watch ? " watch" : ""));
    for (int k = 0; k < j->point->inputs; k++)
        if (j->point->in[k].same_as < 0 || !p->on_tape)
            message_reals(&m, 0, j->point->in[k].shape, j->point->in[k].value);
    if (changes) put_changes(&m, j);
    tell(p, &m);
    hear_outputs(p, j, r);
    long gradients = j->runs * point_gradients_before(j->point, j->point->inputs);
    if (j->dy) result_for_gradients(r, job_backwards(j), gradients);
    for (int time = 0; time < job_backwards(j); time++) {
        message_put(&m, "backward\n", 9);
        put_upstream(&m, p, j);
        tell(p, &m);
        hear_gradients(p, j, r, r->grad + time * gradients);
    }
}
