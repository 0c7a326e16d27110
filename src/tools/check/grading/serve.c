/* A C file's end of the pipes: a process loads the file's library, lists the cases of an operation,
 * and answers the messages of PROTOCOL.md with runs on a tape. */
#include "base/append.h"
#include "check/gradcheck/tape_runner.h"
#include "check/grading/student_file.h"
#include "check/sandbox.h"
#include "formats/json.h"
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The library ---- */

/* The linker redirects malloc, calloc and realloc of a student's code to these, which report that
 * memory ran out instead of returning NULL. */
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t bytes);

static void *checked(void *p, size_t bytes) {
    if (p || !bytes) return p;
    fprintf(stderr, "\nran out of memory: asked for %zu bytes more than its limit allows\n", bytes);
    _exit(STATUS_NO_MEMORY);
}

void *__wrap_malloc(size_t bytes) {
    return checked(malloc(bytes), bytes);
}

void *__wrap_calloc(size_t count, size_t size) {
    return checked(calloc(count, size), count * size);
}

void *__wrap_realloc(void *old, size_t bytes) {
    return checked(realloc(old, bytes), bytes);
}

/* Ends the process; its last line says why. */
__attribute__((format(printf, 1, 2))) static _Noreturn void give_up(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
    _exit(STATUS_BUG);
}

/* Loads the library, which stays loaded, and finds a name in it. `whose` begins messages. */
static void *load(const char *library, int mode, const char *before, const char *name,
                  const char *whose) {
    char symbol[STUDENT_NAME + 8];
    snprintf(symbol, sizeof symbol, "%s%.*s", before, STUDENT_NAME, name);
    void *handle = dlopen(library, mode), *found = handle ? dlsym(handle, symbol) : NULL;
    if (found) return found;
    if (handle)
        give_up("%sdefines no %s that can be seen from outside%s", whose, symbol,
                *before == 't' ? ", and the cases call it" : ": is it static?");
    const char *why = dlerror(), *colon = strstr(why, ": "),
               *missing = strstr(why, "undefined symbol: tape_");
    if (!missing) give_up("%scannot be loaded: %s", whose, colon ? colon + 2 : why);
    missing = strchr(missing, ':') + 2;
    give_up("%scalls %.*s: a student's file cannot call the operations of this project", whose,
            (int)strcspn(missing, " ,:"), missing);
}

/* Loads the operation whose cases are served: the file's own; or a teacher's, whose cases call
 * tape_NAME of a solution, if one is run. */
static const Op *load_op(const ServedFile *f) {
    if (f->solution) load(f->solution, RTLD_NOW | RTLD_GLOBAL, "tape_", f->name, "");
    bool theirs = f->solution && f->folder;
    int mode = f->lazily ? RTLD_LAZY : RTLD_NOW;
    return load(f->cases, mode | RTLD_LOCAL, "op_", f->name, theirs ? "the cases: " : "");
}

/* ---- The first line: what PROTOCOL.md says, and what only cases in C have ---- */

/* Prints the members that are not 0. */
static void print_members(FILE *out, const ListedMember *m, const void *of) {
    for (; m->key; m++) {
        const void *at = (const char *)of + m->offset;
        double x = m->kind == LISTED_NUMBER ? *(const double *)at : 0;
        if (m->kind == LISTED_FLAG) x = *(const bool *)at;
        if (m->kind >= 0) x = *(const int *)at;
        if (x != 0 && isfinite(x)) fprintf(out, ", \"%s\": %.17g", m->key, x);
    }
}

static void print_case(FILE *out, const char *function, const CheckCase *c) {
    fprintf(out, "{\"function\": \"%s\", \"case\": ", function);
    json_print(out, c->name);
    print_members(out, listing_case, c);
    fprintf(out, ", \"inputs\": [");
    for (const CheckInput *in = c->in; in < c->in + CHECK_INPUTS && in->name; in++) {
        fprintf(out, in == c->in ? "{\"name\": " : ", {\"name\": ");
        json_print(out, in->name);
        fprintf(out, ", \"shape\": [");
        for (int axis = 0; axis < in->shape.rank && axis < MAX_RANK; axis++)
            fprintf(out, axis ? ", %ld" : "%ld", in->shape.size[axis]);
        fprintf(out, in->values ? "], \"values\": 1" : "]");
        print_members(out, listing_input, in);
        fprintf(out, "}");
    }
    fprintf(out, "]}");
}

void serve_list(const char *function, const CheckCase *cases, int count) {
    char *line;
    size_t size;
    FILE *out = text_open(&line, &size);
    if (count > PLAN_CASES_MAX) count = PLAN_CASES_MAX + 1; /* too many already */
    fprintf(out, "{\"cases\": [");
    for (int i = 0; i < count; i++) {
        if (i) fprintf(out, ", ");
        print_case(out, function, &cases[i]);
    }
    fprintf(out, "]}\n");
    text_close(out, &line);
    program_put(line, size);
    for (int i = 0; i < count; i++)
        for (const CheckInput *in = cases[i].in; in < cases[i].in + CHECK_INPUTS && in->name; in++)
            if (in->values) program_put_array(DTYPE_F64, 0, in->shape, in->values);
    free(line);
}

/* ---- Jobs ---- */

typedef struct Server {
    Program judge;
    const Op *op;
    TapeRunner tape;
    Arena arena; /* of the job at hand */
    Job job;
    CheckPoint point;
    Result result;
    int backwards; /* since its forward */
} Server;

/* Takes an array, whose numbers live as long as the job; ends the process if the judge has ended.
 */
static void *take_array(Server *s, Shape *shape, bool integers) {
    Array a;
    Error e = {0};
    if (!npy_receive(&a, "a message", LONG_MAX, program_take, &s->judge, &e)) _exit(STATUS_IO);
    void *numbers = arena_alloc(&s->arena, (size_t)a.count * sizeof(int64_t) + 1);
    if (integers)
        memcpy(numbers, a.bytes, (size_t)a.count * sizeof(int64_t));
    else
        array_to_real(&a, numbers, &e);
    if (shape) array_shape(&a, shape, &e);
    array_free(&a);
    return numbers;
}

/* Takes the elements that differ between runs. */
static void take_changes(Server *s, long changes) {
    Job *j = &s->job;
    const int64_t *where = take_array(s, NULL, true);
    const real *value = take_array(s, NULL, false);
    JobChange *change = arena_alloc(&s->arena, (size_t)changes * sizeof *change);
    long *start = arena_alloc(&s->arena, (size_t)(j->runs + 1) * sizeof *start);
    for (long i = 0; i < changes; i++) {
        change[i] = (JobChange){(long)where[3 * i + 1], (long)where[3 * i + 2], (double)value[i]};
        start[where[3 * i] + 1]++;
    }
    for (long run = 0; run < j->runs; run++) start[run + 1] += start[run];
    j->change = change;
    j->start = start;
}

/* Takes the inputs, whose layouts are given: as messages.c puts them. */
static void take_inputs(Server *s, const real *given) {
    CheckPoint *p = &s->point;
    *p = (CheckPoint){0};
    for (const CheckInput *of = s->tape.c->in; of < s->tape.c->in + CHECK_INPUTS; of++) {
        if (!of->name) break;
        PointInput *in = &p->in[p->inputs++];
        in->name = of->name;
        in->layout = (CheckLayout)*given++;
        in->same_as = (int)*given++;
        in->constant = *given++ != 0;
        in->value = take_array(s, &in->shape, false);
        in->count = in->stored = shape_count(in->shape);
        bool repeated = in->layout == REPEATED && in->shape.rank && in->shape.size[0];
        if (repeated) in->stored /= in->shape.size[0];
    }
}

/* Takes the job that the rest of a line describes. */
static void take_job(Server *s, const char *line) {
    Job *j = &s->job;
    long changes = 0;
    arena_reset(&s->arena);
    *j = (Job){.point = &s->point};
    sscanf(line, "%ld %ld", &j->runs, &changes);
    const real *ways = take_array(s, NULL, false);
    j->ways = (JobWays){.guard = ways[0] != 0,
                        .keep = ways[1] != 0,
                        .relayed = ways[2] != 0,
                        .watch = ways[3] != 0,
                        .together = ways[4] != 0,
                        .first = (long)ways[5],
                        .fill = ways[6]};
    take_inputs(s, ways + PROGRAM_WAYS);
    if (changes) take_changes(s, changes);
}

__attribute__((format(printf, 1, 2))) static void put_line(const char *format, ...) {
    char line[PROGRAM_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    program_put(line, strlen(line));
}

static void answer_forward(Server *s, const char *line) {
    Result *r = &s->result;
    take_job(s, line);
    tape_runner_forward(&s->tape, &s->job, r);
    put_line("ok 2 %d %ld %s\n", r->wants_grad, r->nodes, r->damage);
    program_put_array(DTYPE_REAL, s->job.runs, r->shape, r->y);
    program_put_array(DTYPE_I64, 0, SHAPE(s->job.runs), r->branches);
    s->job.outputs = shape_count(r->shape);
    s->backwards = 0;
}

static void answer_backward(Server *s) {
    Job *j = &s->job;
    const CheckPoint *p = &s->point;
    long stride = point_gradients_before(p, p->inputs);
    int wanted = 0;
    j->dy = take_array(s, NULL, false);
    result_for_gradients(&s->result, j->runs, stride);
    tape_runner_backward(&s->tape, j, s->backwards++ > 0, &s->result, s->result.grad);
    for (int k = 0; k < p->inputs; k++) wanted += point_has_gradient(p, k);
    put_line("ok %d %s\n", wanted, s->result.damage);
    for (int k = 0; k < p->inputs; k++) {
        const PointInput *in = &p->in[k];
        if (!point_has_gradient(p, k)) continue;
        real *all = arena_alloc(&s->arena, (size_t)(j->runs * in->count + 1) * sizeof *all);
        for (long run = 0; run < j->runs; run++)
            memcpy(all + run * in->count,
                   s->result.grad + run * stride + point_gradients_before(p, k),
                   (size_t)in->count * sizeof *all);
        program_put_array(DTYPE_REAL, j->runs, in->shape, all);
    }
}

static void answer_case(Server *s, const char *line) {
    int number = 0;
    sscanf(line, "{\"number\": %d", &number);
    if (number >= s->op->n_cases) give_up("a case is missing");
    s->tape = tape_runner_new(s->op->name, &s->op->cases[number]);
    put_line("ok 0\n");
}

void serve_file(void *context, long i) {
    const ServedFile *f = context;
    static char line[1 << 16];
    static Server s;
    (void)i;
    if (f->folder) sandbox_enter(f->folder, &(SandboxNeeds){0});
    s.op = load_op(f);
    if (s.op->n_cases < 1) give_up("has no check cases: found no CASES(…) in op_%s", f->name);
    s.judge.child = child_parent();
    serve_list(f->name, s.op->cases, s.op->n_cases);
    while (program_line(&s.judge, line, sizeof line)) {
        if (strncmp(line, "case ", 5) == 0)
            answer_case(&s, line + 5);
        else if (strncmp(line, "forward ", 8) == 0)
            answer_forward(&s, line + 8);
        else
            answer_backward(&s);
    }
    _exit(STATUS_IO); /* the judge has ended, or the pipe is closed here */
}
