#include "check/gradcheck/tape_runner.h"
#include "check/message.h"
#include "check/npy.h"
#include "check/protocol.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    message_put(m, &news, sizeof news);
    if (runs) message_put(m, r->branches, (size_t)runs * sizeof *r->branches);
    child_send(m->bytes, m->size);
    m->size = 0;
}

static void serve_forward(TapeRunner *t, const Job *j, Result *r, Message *m) {
    tape_runner_forward(t, j, r);
    message_put(m, "ok 1\n", 5);
    message_reals(m, j->runs, r->shape, r->y);
    send_news(r, m, j->runs);
}

static void serve_backward(TapeRunner *t, Job *j, bool again, Arena *arena, Result *r, Message *m) {
    const CheckPoint *p = j->point;
    long gradients = point_gradients_before(p, p->inputs), count;
    Shape s;
    j->dy = read_reals(arena, &count, &s);
    result_for_gradients(r, j->runs, gradients);
    tape_runner_backward(t, j, again, r, r->grad);
    char line[LINE];
    int wanted = 0;
    for (int k = 0; k < p->inputs; k++) wanted += point_has_gradient(p, k);
    message_put(m, line, (size_t)snprintf(line, LINE, "ok %d\n", wanted));
    for (int k = 0; k < p->inputs; k++) {
        long own = p->in[k].count;
        if (!point_has_gradient(p, k)) continue;
        real *all = arena_alloc(arena, (size_t)(j->runs * own + 1) * sizeof *all);
        for (long run = 0; run < j->runs; run++)
            memcpy(all + run * own, r->grad + run * gradients + point_gradients_before(p, k),
                   (size_t)own * sizeof *all);
        message_reals(m, j->runs, p->in[k].shape, all);
    }
    send_news(r, m, 0);
}

void protocol_serve(const CheckCase *c) {
    TapeRunner t = tape_runner_new("operation", c);
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
