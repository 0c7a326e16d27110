/* Entry points of the module in double precision: checks the gradient of an operation, as it is or with a mistake
 * planted in its backward, and shows the differences element by element. */
#include "check/gradcheck/check_point.h"
#include "check/gradcheck/check_run.h"
#include "check/gradcheck/gradcheck_text.h"
#include "formats/json.h"
#include "ops/ops.h"
#include "web/web.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Mistakes in a backward. Each changes what backward adds to the gradient of an input, delta [count] ---- */

typedef void Mistake(real *delta, long count, long row);

static void wrong_sign(real *delta, long count, long row) {
    (void)row;
    for (long i = 0; i < count; i++) delta[i] = -delta[i];
}

static void wrong_factor(real *delta, long count, long row) {
    (void)row;
    for (long i = 0; i < count; i++) delta[i] *= (real)0.5;
}

/* Each row back to front. */
static void wrong_order(real *delta, long count, long row) {
    for (long at = 0; at < count; at += row)
        for (long i = 0; i < row / 2; i++) {
            real first = delta[at + i];
            delta[at + i] = delta[at + row - 1 - i], delta[at + row - 1 - i] = first;
        }
}

/* The loop ends one element too early. */
static void wrong_edge(real *delta, long count, long row) {
    (void)row;
    if (count) delta[count - 1] = 0;
}

/* = in place of +=: see planted_backward. */
static void overwrites(real *delta, long count, long row) {
    (void)delta, (void)count, (void)row;
}

static const struct {
    const char *name;
    Mistake *make;
} mistakes[] = {{"sign", wrong_sign},
                {"factor", wrong_factor},
                {"order", wrong_order},
                {"edge", wrong_edge},
                {"overwrites", overwrites}};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

/* The planted operation and case; gradcheck takes functions without a context. */
static struct {
    const Op *right;
    Op wrong;
    const CheckCase *c;
    Mistake *make;
} planted;

static void planted_backward(Node *n) {
    real *before[MAX_INPUTS] = {0};
    for (int i = 0; i < n->inputs; i++) {
        Tensor *x = n->in[i];
        bool again = false; /* passed twice: one gradient */
        for (int k = 0; k < i; k++) again = again || n->in[k] == x;
        if (!x || !x->grad || again) continue;
        size_t bytes = (size_t)shape_count(x->shape) * sizeof(real);
        before[i] = malloc(bytes + 1);
        if (!before[i]) error_no_memory("%zu bytes for a gradient", bytes);
        memcpy(before[i], x->grad, bytes), memset(x->grad, 0, bytes);
    }
    planted.right->backward(n);
    for (int i = 0; i < n->inputs; i++) {
        if (!before[i]) continue;
        Shape s = n->in[i]->shape;
        long count = shape_count(s);
        planted.make(n->in[i]->grad, count, s.rank && count ? s.size[s.rank - 1] : 1);
        for (long j = 0; planted.make != overwrites && j < count; j++) n->in[i]->grad[j] += before[i][j];
        free(before[i]);
    }
}

/* Records the case; its operation's nodes get the wrong backward. */
static Tensor *build_planted(Tape *t, Tensor **x) {
    Tensor *y = planted.c->build(t, x);
    for (Node *n = t->last; n; n = n->previous)
        if (n->op == planted.right) n->op = &planted.wrong;
    return y;
}

/* The case with a mistake; *copy is its memory. No mistake of that name: the case as it is. */
static const CheckCase *plant(const Op *op, const CheckCase *c, const char *mistake, CheckCase *copy) {
    for (int i = 0; i < MISTAKES; i++) {
        if (strcmp(mistakes[i].name, mistake) != 0) continue;
        planted.right = op, planted.wrong = *op, planted.c = c, planted.make = mistakes[i].make;
        planted.wrong.backward = planted_backward;
        planted.wrong.stores_fresh = false;
        *copy = *c, copy->build = build_planted;
        return copy;
    }
    return c;
}

/* ---- JSON ---- */

static void print_shape(Shape s) {
    printf("\"shape\": [");
    for (int i = 0; i < s.rank; i++) printf(i ? ",%ld" : "%ld", s.size[i]);
    putchar(']');
}

static void print_value(real x) {
    printf(isfinite(x) ? "%.17g" : "null", x);
}

static void print_values(const char *name, const real *x, long count) {
    printf(", \"%s\": [", name);
    for (long i = 0; i < count; i++) {
        if (i) putchar(',');
        print_value(x[i]);
    }
    putchar(']');
}

static void print_name(const char *before, const char *name) {
    fputs(before, stdout);
    json_print(stdout, name);
}

static void print_case(const CheckCase *c) {
    print_name("{\"name\": ", c->name);
    printf(", \"inputs\": [");
    for (int k = 0; k < CHECK_INPUTS && c->in[k].name; k++) {
        print_name(k ? ", {\"name\": " : "{\"name\": ", c->in[k].name);
        printf(", \"gradient\": %s, ", c->in[k].constant || c->in[k].same_as ? "false" : "true");
        print_shape(c->in[k].shape);
        putchar('}');
    }
    printf("]}");
}

/* All operations with their cases. */
WEB_EXPORT(void, operations, (void)) {
    printf("{\"operations\": [");
    for (int i = 0; i < ops_count; i++) {
        const OpEntry *o = &ops_all[i];
        print_name(i ? ",\n{\"name\": " : "{\"name\": ", o->op->name);
        print_name(", \"formula\": ", o->formula), print_name(", \"section\": ", o->section);
        printf(", \"cases\": [");
        for (int k = 0; k < o->op->n_cases; k++) {
            if (k) putchar(',');
            print_case(&o->op->cases[k]);
        }
        printf("]}");
    }
    printf("], \"mistakes\": [");
    for (int i = 0; i < MISTAKES; i++) print_name(i ? ", " : "", mistakes[i].name);
    puts("]}");
    web_end(&(Error){0});
}

/* ---- One case ---- */

/* L = Σ_i c_i y_i at the point, with all numbers of y. */
static double weighed(CheckRun *r, const real *dy, long outputs, real *y) {
    double sum = 0;
    tensor_copy_out(check_run_forward(r), y);
    for (long i = 0; i < outputs; i++) sum += dy[i] * y[i];
    return sum;
}

/* Moves every element of input k by h both ways; prints L there, the difference, and backward's gradient. */
static void print_elements(CheckRun *r, int k, const real *dy, long outputs, real *y) {
    enum { MOST = 200 };
    const double h = 1e-5;
    PointInput *in = &r->point->in[k];
    point_ready(r->point, 0);
    check_run_forward(r), check_run_backward(r, dy);
    long count = in->count < MOST ? in->count : MOST;
    real *grad = malloc((size_t)in->count * sizeof *grad + 1);
    if (!grad) error_no_memory("a gradient");
    memcpy(grad, in->tensor.grad, (size_t)in->count * sizeof *grad);
    printf(", \"h\": %g, \"elements\": [", h);
    for (long i = 0; i < count; i++) {
        real *x = point_element(in, i), value = *x;
        *x = value + h;
        double plus = weighed(r, dy, outputs, y);
        *x = value - h;
        double minus = weighed(r, dy, outputs, y);
        *x = value;
        const double number[] = {value, plus, minus, (plus - minus) / (2 * h), grad[i]};
        static const char *const name[] = {"value", "plus", "minus", "difference", "backward"};
        printf("%s{\"index\": %ld", i ? ",\n" : "", i);
        for (int n = 0; n < 5; n++) {
            printf(", \"%s\": ", name[n]);
            print_value(number[n]);
        }
        putchar('}');
    }
    putchar(']');
    free(grad);
}

static void print_point(const char *op, const CheckCase *c, int k, uint64_t seed) {
    Arena arena = {0};
    CheckPoint p;
    point_draw(&p, &arena, NULL, op, c, seed, POINT_DRAWN, 0);
    CheckRun r = {.op = op, .c = c, .point = &p, .tape = tape_new(), .keep = true};
    point_ready(&p, 0);
    Tensor *first = check_run_forward(&r);
    Shape shape = first->shape;
    long outputs = shape_count(shape);
    real *y = arena_alloc(&arena, (size_t)outputs * sizeof *y),
         *dy = arena_alloc(&arena, (size_t)outputs * sizeof *dy);
    tensor_copy_out(first, y);
    check_run_cotangent(dy, outputs, seed, 0);
    printf(", \"inputs\": [");
    for (int i = 0; i < p.inputs; i++) {
        print_name(i ? ", {\"name\": " : "{\"name\": ", p.in[i].name);
        putchar(','), print_shape(p.in[i].shape);
        real *x = arena_alloc(&arena, (size_t)p.in[i].count * sizeof *x);
        for (long j = 0; j < p.in[i].count; j++) x[j] = *point_element(&p.in[i], j);
        print_values("values", x, p.in[i].count);
        putchar('}');
    }
    printf("], \"output\": {"), print_shape(shape), print_values("values", y, outputs);
    putchar('}');
    print_values("cotangent", dy, outputs);
    if (k >= 0 && k < p.inputs && point_has_gradient(&p, k)) print_elements(&r, k, dy, outputs, y);
    tape_free(r.tape);
    arena_free(&arena);
}

static bool check(int number, int input, uint64_t seed, Error *e) {
    const char *name = web_file_data("operation"), *mistake = web_file_data("mistake");
    const OpEntry *o = ops_find(name);
    if (!o) return error_set(e, STATUS_USAGE, "found no operation \"%.60s\", need one of the list", name);
    if (number < 0 || number >= o->op->n_cases)
        return error_set(e, STATUS_USAGE, "%s: found case %d, need one below %d", name, number,
                         o->op->n_cases);
    CheckCase copy;
    const CheckCase *c = plant(o->op, &o->op->cases[number], mistake ? mistake : "", &copy);
    CaseReport *r = calloc(1, sizeof *r);
    char *report = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&report, &size);
    if (!r || !out) error_no_memory("a report");
    gradcheck_case(name, c, seed, r);
    gradcheck_heading(out), gradcheck_rows(out, r), gradcheck_explain(out, r);
    fclose(out);
    printf("{\"verdict\": \"%s\", \"report\": ", gradcheck_verdict_text(r->verdict));
    json_print(stdout, report);
    print_point(name, c, input, seed);
    puts("}");
    free(report), free(r);
    return true;
}

/* The operation's and the mistake's name are files. */
WEB_EXPORT(void, check, (int number, int input, int seed)) {
    Error e = {0};
    check(number, input, (uint64_t)seed, &e);
    web_end(&e);
}

/* Every case of every operation. */
WEB_EXPORT(void, checkAll, (void)) {
    int passed = 0, failed = 0;
    char *report = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&report, &size);
    CaseReport *r = malloc(sizeof *r);
    if (!out || !r) error_no_memory("a report");
    for (int i = 0; i < ops_count; i++)
        for (int k = 0; k < ops_all[i].op->n_cases; k++) {
            *r = (CaseReport){0};
            gradcheck_case(ops_all[i].op->name, &ops_all[i].op->cases[k], 1, r);
            if (r->verdict == PASS) {
                passed++;
                continue;
            }
            failed++;
            gradcheck_rows(out, r), gradcheck_explain(out, r);
        }
    fclose(out);
    printf("{\"passed\": %d, \"failed\": %d, \"report\": ", passed, failed);
    json_print(stdout, report);
    puts("}");
    free(report), free(r);
    web_end(&(Error){0});
}
