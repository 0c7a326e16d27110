/* Entry points of the module in double precision that judge a visitor's functions: ./gradcheck
 * --program, whose program is a host in the worker (host.js). The functions of check/child.h reach
 * it by imports instead of pipes. */
#include "check/child.h"
#include "check/directories.h"
#include "check/gradcheck/gradcheck.h"
#include "check/grading/gradcheck_show.h"
#include "check/grading/plan.h"
#include "check/grading/student_file.h"
#include "check/sandbox.h"
#include "web/web.h"
#include <stdlib.h>
#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define IMPORT(name) __attribute__((import_module("host"), import_name(#name)))
/* A new host. It is told bytes; its answer is heard, up to `size` bytes. Returns how many. */
IMPORT(start) void host_start(void);
IMPORT(tell) void host_tell(const void *bytes, size_t size);
IMPORT(hear) size_t host_hear(void *to, size_t size);
/* Calls the export `attempted`, and returns when that returns or calls `leave`. */
IMPORT(attempt) void host_attempt(void);
IMPORT(leave) _Noreturn void host_leave(void);

/* ---- check/child.h: the host is the child, and jobs run in this process ---- */

struct Child {
    int started;
};
static Child host;

Child *child_start(long i, const ChildLimits *limits, void (*job)(void *context, long i),
                   void *context) {
    host_start();
    return &host;
}

bool child_tell(Child *c, const void *bytes, size_t size, ChildEnd *end) {
    host_tell(bytes, size);
    return true;
}

size_t child_hear(Child *c, void *to, size_t size, ChildEnd *end) {
    size_t heard = host_hear(to, size);
    if (!heard) *end = (ChildEnd){.fate = CHILD_EXITED, .result = "", .printed = ""};
    return heard;
}

/* The job at work, and what it has sent. */
static struct {
    void (*job)(void *context, long i);
    void *context;
    long index;
    ChildEnd end;
    char *sent;
} attempt;

WEB_EXPORT(void, attempted, (void)) {
    attempt.job(attempt.context, attempt.index);
}

bool child_send(const void *bytes, size_t size) {
    attempt.sent = realloc(attempt.sent, attempt.end.size + size);
    if (!attempt.sent) error_no_memory("a report");
    memcpy(attempt.sent + attempt.end.size, bytes, size);
    attempt.end.size += size;
    return true;
}

void child_finish(void) {
    host_leave();
}

void child_run_all(long jobs, int at_once, const ChildLimits *limits,
                   void (*job)(void *context, long i),
                   void (*done)(void *context, long i, const ChildEnd *end), void *context) {
    for (long i = 0; i < jobs; i++) {
        attempt.job = job;
        attempt.context = context;
        attempt.index = i;
        attempt.end = (ChildEnd){.printed = ""};
        host_attempt();
        attempt.end.result = attempt.sent;
        done(context, i, &attempt.end);
    }
}

/* Nothing is stopped, attached, confined or loaded here. */
void child_again(Child *c) {}
void child_stop(Child *c) {}
void child_become(char *const argument[]) {
    abort();
}
const char *child_directory(void) {
    return NULL;
}
Child *child_attach(int from, int to, const ChildLimits *limits) {
    return NULL;
}
void sandbox_enter(const char *folder, const SandboxNeeds *needs) {}
size_t directory_free_bytes(const char *path) {
    return 0;
}
void serve_file(void *file, long i) {}

/* ---- The elements of a case's gradients ---- */

/* L = Σ_i c_i y_i at the point. */
static double weighed(CheckRun *r, const real *c) {
    const Tensor *y = check_run_forward(r);
    double sum = 0;
    for (long i = 0; i < r->outputs; i++) sum += c[i] * y->data[i];
    return sum;
}

/* The numeric derivative by one element: fourth order in h. */
static double slope(CheckRun *r, real *x, const real *c) {
    const double h = 1e-3, value = *x;
    double at[4];
    for (int k = 0; k < 4; k++) {
        *x = value + (k < 2 ? k - 2 : k - 1) * h;
        at[k] = weighed(r, c);
    }
    *x = value;
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h);
}

/* The case whose elements are shown. */
typedef struct Shown {
    const Plan *plan;
    Program program;
} Shown;

static void lost(void *context, const ChildEnd *end, const CheckRun *r) {
    host_leave();
}

/* Prints the gradients of the first case: what backward returns, and the numeric derivative. */
static void print_gradients(void *context, long i) {
    Shown *s = context;
    const PlanItem *item = &s->plan->item[i];
    Arena arena = {0};
    CheckPoint p;
    s->program = (Program){
        .child = child_start(0, NULL, NULL, NULL), .lost = lost, .begin = functions_line(item)};
    point_draw(&p, &arena, item->op, &item->c, s->plan->seed, POINT_DRAWN, 0);
    CheckRun r = {
        .op = item->op, .c = &item->c, .point = &p, .runner = program_run, .where = &s->program};
    check_run_forward(&r);
    real *c = arena_alloc(&arena, (size_t)(r.outputs + 1) * sizeof *c);
    check_run_cotangent(c, r.outputs, s->plan->seed, 0);
    check_run_job(&r, (Job){.runs = 1, .dy = c, .outputs = r.outputs});
    long count = point_gradients_before(&p, p.inputs), done = 0;
    real *grad = arena_alloc(&arena, (size_t)(count + 1) * sizeof *grad);
    memcpy(grad, r.result.grad, (size_t)count * sizeof *grad);
    for (PointInput *in = p.in; in < p.in + p.inputs; in++) {
        if (in->constant) continue;
        real *right = arena_alloc(&arena, (size_t)(in->count + 1) * sizeof *right);
        for (long k = 0; k < in->count; k++) right[k] = slope(&r, &in->value[k], c);
        printf("{\"shape\": %s", shape_text(in->shape));
        json_text(stdout, "name", in->name);
        json_reals(stdout, "yours", grad + done, in->count);
        json_reals(stdout, "right", right, in->count);
        puts("}");
        done += in->count;
    }
}

static void ignore(void *context, long i, const ChildEnd *end) {}

/* Judges the host's functions: prints what ./gradcheck --program prints, after a form feed the
 * lines of --json, and after another the gradients of the first case. */
WEB_EXPORT(void, judge, (void)) {
    Plan plan = {.seed = 1, .seeds = 1, .limits = {.seconds = 2}};
    ShowOptions how = {.own_cases = true, .reports = "reports"};
    Error e = {0};
    Show show;
    functions_use(&plan, "page", &e);
    functions_add_cases(&plan, "program");
    show_begin(&show, &how);
    plan_run(&plan, show_report, &show);
    show_finish(&show, &e);
    printf("\f%s\f", web_file_data("reports"));
    Shown shown = {.plan = &plan};
    if (plan.item[0].index >= 0) child_run_all(1, 1, NULL, print_gradients, ignore, &shown);
    plan_free(&plan);
}
