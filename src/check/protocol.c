#include "check/protocol.h"
#include "check/gradcheck/check_run.h"
#include "check/npy.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 256, NAMES = 128 };

/* What a program on a tape is told besides, before the inputs: they are those of the point, in its layouts. */
typedef struct TapeJob {
    JobWays ways;
    CheckLayout layout[CHECK_INPUTS];
    int same_as[CHECK_INPUTS];
    bool constant[CHECK_INPUTS];
    char name[CHECK_INPUTS][NAMES];
    int inputs;
    long runs, changes;
} TapeJob;

/* What it tells besides, after its outputs or gradients. */
typedef struct TapeNews {
    bool wants_grad;
    long nodes;
    char damage[DAMAGE_TEXT];
} TapeNews;

/* ---- Messages under construction ---- */

typedef struct Message {
    char *bytes;
    size_t size, room;
} Message;

static void put(Message *m, const void *bytes, size_t size) {
    if (m->size + size > m->room) {
        m->room = 2 * (m->size + size) + 4096;
        m->bytes = realloc(m->bytes, m->room);
        if (!m->bytes) error_no_memory("a message of %zu bytes", m->size + size);
    }
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

/* Adds an array of `runs` such shapes; 0: of one, without an axis for runs. */
static void put_array(Message *m, Dtype dtype, long runs, Shape s, const void *bytes) {
    Array a = array_over(NULL, dtype, s, bytes);
    char start[NPY_START];
    if (runs) {
        memmove(a.size + 1, a.size, sizeof a.size - sizeof *a.size);
        a.size[0] = runs, a.rank++, a.count *= runs;
    }
    npy_start(&a, start);
    put(m, start, sizeof start);
    put(m, bytes, (size_t)a.count * dtype_size(dtype));
}

static void put_reals(Message *m, long runs, Shape s, const real *x) {
    long count = shape_count(s) * (runs ? runs : 1);
    double *wide = malloc(((size_t)count + 1) * sizeof *wide);
    if (!wide) error_no_memory("an array of %ld numbers", count);
    for (long i = 0; i < count; i++) wide[i] = (double)x[i];
    put_array(m, DTYPE_F64, runs, s, wide);
    free(wide);
}

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
    put_array(m, DTYPE_I64, 0, SHAPE(count, 3), where);
    put_array(m, DTYPE_F64, 0, SHAPE(count), value);
    free(where);
    free(value);
}

/* ---- The judge's side ---- */

static bool hear(void *context, void *to, size_t size) {
    Program *p = context;
    ChildEnd end;
    if (!child_hear(p->child, to, size, &end)) p->lost(p->context, &end, p->run);
    return true;
}

static void tell(Program *p, Message *m) {
    ChildEnd end;
    if (!child_tell(p->child, m->bytes, m->size, &end)) p->lost(p->context, &end, p->run);
    m->size = 0;
}

/* Gives up a program that has said something else than it should. */
static void refuse(Program *p, const char *format, ...) {
    char text[LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    p->lost(p->context, &(ChildEnd){CHILD_EXITED, STATUS_BUG, "", 0, text}, p->run);
}

static void hear_ok(Program *p) {
    char line[LINE] = "";
    size_t n = 0;
    for (char c; hear(p, &c, 1) && c != '\n';)
        if (n < LINE - 1) line[n++] = c;
    if (strncmp(line, "error ", 6) == 0) refuse(p, "%s", line + 6);
    if (strcmp(line, "ok") != 0) refuse(p, "answered \"%.60s\", need \"ok\" or \"error …\"", line);
}

/* Takes an array whose first axis is that of the runs; *s gets the shape of one. To be freed. */
static Array hear_array(Program *p, const char *what, long runs, Shape *s) {
    Array a;
    Error e = {0};
    Shape all = {0};
    if (!npy_receive(&a, what, sizeof(double) * JOB_GRADIENTS, hear, p, &e) || !array_shape(&a, &all, &e))
        refuse(p, "%s", e.text);
    if (all.rank < 1 || all.size[0] != runs)
        refuse(p, "answered %s of shape %s, need a first axis of %ld for the runs", what, shape_text(all),
               runs);
    s->rank = all.rank - 1;
    memcpy(s->size, all.size + 1, sizeof s->size - sizeof *s->size);
    return a;
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

static void hear_outputs(Program *p, const Job *j, Result *r) {
    hear_ok(p);
    Array y = hear_array(p, "y", j->runs, &r->shape);
    if (y.count > JOB_OUTPUTS) refuse(p, "an output of %ld elements is too large to be checked", y.count);
    result_for_outputs(r, j->runs, shape_count(r->shape));
    size_t bytes = (size_t)y.count * sizeof *r->y;
    real *numbers = take_numbers(p, "y", &y);
    memcpy(r->y, numbers, bytes);
    free(numbers);
    r->wants_grad = true, r->nodes = 0, r->damage[0] = 0;
    memset(r->branches, 0, (size_t)j->runs * sizeof *r->branches);
    if (p->on_tape) hear_news(p, r, r->branches, j->runs);
}

/* Takes the gradients of all runs to `grad`, [runs][numbers of all inputs that take one]. */
static void hear_gradients(Program *p, const Job *j, Result *r, real *grad) {
    const CheckPoint *point = j->point;
    long gradients = point_gradients_before(point, point->inputs);
    hear_ok(p);
    for (int k = 0; k < point->inputs; k++) {
        char what[NAMES + 2];
        Shape s;
        if (!point_has_gradient(point, k)) continue;
        snprintf(what, sizeof what, "d%s", point->in[k].name);
        Array a = hear_array(p, what, j->runs, &s);
        if (!shape_equal(s, point->in[k].shape))
            refuse(p, "answered %s of shape %s, need %s", what, shape_text(s),
                   shape_text(point->in[k].shape));
        long count = point->in[k].count;
        real *all = take_numbers(p, what, &a);
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
    put(m, "tape\n", 5);
    put(m, &t, sizeof t);
}

void protocol_run(void *where, CheckRun *run, const Job *j, Result *r) {
    static Message m;
    Program *p = where;
    char line[LINE];
    long changes = j->start ? j->start[j->runs] - j->start[0] : 0;
    p->run = run;
    if (p->on_tape) put_tape_job(&m, j);
    put(&m, line, (size_t)snprintf(line, LINE, "forward %ld %ld\n", j->runs, changes));
    for (int k = 0; k < j->point->inputs; k++)
        if (j->point->in[k].same_as < 0 || !p->on_tape)
            put_reals(&m, 0, j->point->in[k].shape, j->point->in[k].value);
    if (changes) put_changes(&m, j);
    tell(p, &m);
    hear_outputs(p, j, r);
    long gradients = j->runs * point_gradients_before(j->point, j->point->inputs);
    if (j->dy) result_for_gradients(r, job_backwards(j), gradients);
    for (int time = 0; time < job_backwards(j); time++) {
        put(&m, "backward\n", 9);
        put_reals(&m, j->runs, r->shape, j->dy);
        tell(p, &m);
        hear_gradients(p, j, r, r->grad + time * gradients);
    }
}

/* ---- The program's side ---- */

static bool read_more(void *context, void *to, size_t size) {
    (void)context;
    if (!child_read(to, size)) _exit(STATUS_IO); /* the judge has ended, or the pipe is closed here */
    return true;
}

static void read_line(char line[LINE]) {
    size_t n = 0;
    while (n < LINE - 1 && read_more(NULL, line + n, 1) && line[n] != '\n') n++;
    line[n] = 0;
}

/* Reads an array from the judge, which is trusted. Belongs to the arena. */
static void *read_numbers(Arena *arena, Dtype dtype, long *count, Shape *s) {
    Array a;
    Error e = {0};
    if (!npy_receive(&a, "judge", SIZE_MAX / 2, read_more, NULL, &e) || !array_shape(&a, s, &e) ||
        a.dtype != dtype)
        error_bug("a message cannot be read: %s", e.text);
    size_t bytes = (size_t)a.count * dtype_size(dtype);
    void *copy = memcpy(arena_alloc(arena, bytes + 1), a.bytes, bytes);
    *count = a.count;
    array_free(&a);
    return copy;
}

static real *read_reals(Arena *arena, long *count, Shape *s) {
    double *wide = read_numbers(arena, DTYPE_F64, count, s);
    real *x = arena_alloc(arena, (size_t)(*count + 1) * sizeof *x);
    for (long i = 0; i < *count; i++) x[i] = (real)wide[i];
    return x;
}

static void read_changes(Arena *arena, Job *j) {
    long count, all;
    Shape s;
    int64_t *where = read_numbers(arena, DTYPE_I64, &all, &s);
    double *value = read_numbers(arena, DTYPE_F64, &count, &s);
    JobChange *change = arena_alloc(arena, (size_t)count * sizeof *change);
    long *start = arena_alloc(arena, (size_t)(j->runs + 1) * sizeof *start);
    for (long i = 0; i < count; i++) {
        change[i] = (JobChange){(long)where[3 * i + 1], (long)where[3 * i + 2], value[i]};
        start[where[3 * i] + 1] = i + 1;
    }
    for (long run = 1; run <= j->runs; run++)
        if (start[run] < start[run - 1]) start[run] = start[run - 1];
    j->change = change, j->start = start;
}

/* Reads a job up to its upstream gradients, after "tape\n". */
static void read_job(Arena *arena, CheckPoint *p, Job *j) {
    char line[LINE];
    TapeJob *t = arena_alloc(arena, sizeof *t);
    long changes = 0;
    read_more(NULL, t, sizeof *t);
    read_line(line);
    *j = (Job){.point = p, .ways = t->ways};
    if (sscanf(line, "forward %ld %ld", &j->runs, &changes) != 2)
        error_bug("a message cannot be read: %s", line);
    *p = (CheckPoint){.inputs = t->inputs};
    for (int k = 0; k < t->inputs; k++) {
        PointInput *in = &p->in[k];
        if (t->same_as[k] >= 0)
            *in = p->in[t->same_as[k]];
        else
            in->value = read_reals(arena, &in->count, &in->shape);
        in->name = t->name[k];
        in->layout = t->layout[k], in->same_as = t->same_as[k], in->constant = t->constant[k];
        bool repeated = in->layout == REPEATED && in->shape.rank && in->shape.size[0];
        in->stored = repeated ? in->count / in->shape.size[0] : in->count;
    }
    if (changes) read_changes(arena, j);
}

static void send_news(const Result *r, Message *m, long runs) {
    TapeNews news = {.wants_grad = r->wants_grad, .nodes = r->nodes};
    memcpy(news.damage, r->damage, DAMAGE_TEXT);
    put(m, &news, sizeof news);
    if (runs) put(m, r->branches, (size_t)runs * sizeof *r->branches);
    child_send(m->bytes, m->size);
    m->size = 0;
}

static void serve_forward(CaseTape *t, const Job *j, Result *r, Message *m) {
    case_tape_forward(t, j, r);
    put(m, "ok\n", 3);
    put_reals(m, j->runs, r->shape, r->y);
    send_news(r, m, j->runs);
}

static void serve_backward(CaseTape *t, Job *j, bool again, Arena *arena, Result *r, Message *m) {
    const CheckPoint *p = j->point;
    long gradients = point_gradients_before(p, p->inputs), count;
    Shape s;
    j->dy = read_reals(arena, &count, &s);
    result_for_gradients(r, j->runs, gradients);
    case_tape_backward(t, j, again, r, r->grad);
    put(m, "ok\n", 3);
    for (int k = 0; k < p->inputs; k++) {
        long own = p->in[k].count;
        if (!point_has_gradient(p, k)) continue;
        real *all = arena_alloc(arena, (size_t)(j->runs * own + 1) * sizeof *all);
        for (long run = 0; run < j->runs; run++)
            memcpy(all + run * own, r->grad + run * gradients + point_gradients_before(p, k),
                   (size_t)own * sizeof *all);
        put_reals(m, j->runs, p->in[k].shape, all);
    }
    send_news(r, m, 0);
}

void protocol_serve(const CheckCase *c) {
    CaseTape t = case_tape_new("operation", c);
    Arena arena = {0};
    CheckPoint point;
    Job job;
    Result r = {{0}};
    Message m = {0};
    char line[LINE];
    for (long backwards = 0;;) {
        read_line(line);
        if (*line == 't') {
            arena_reset(&arena);
            read_job(&arena, &point, &job);
            serve_forward(&t, &job, &r, &m);
            backwards = 0;
        } else {
            serve_backward(&t, &job, backwards++ > 0, &arena, &r, &m);
        }
    }
}
