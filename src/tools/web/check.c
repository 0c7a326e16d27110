/* Entry points of the module in double precision: checks the gradient of an operation, as it is or with a mistake
 * planted in its backward, and shows the differences element by element. */
#include "check/gradcheck/check_run.h"
#include "check/gradcheck/gradcheck.h"
#include "check/gradcheck/tape_runner.h"
#include "explain/backward.h"
#include "formats/json.h"
#include "ops/ops.h"
#include "web/web.h"
#include <stdlib.h>
#include <string.h>

/* ---- Mistakes in a backward ---- */

/* By number, as the page has them: subtracts; adds half of it; each row back to front; the loop ends one element too early;
 * = in place of +=. */
typedef enum Mistake { SIGN, FACTOR, ORDER, EDGE, OVERWRITES } Mistake;

/* The planted mistake. It is static because the checker passes no context to an operation. */
static struct {
    const Op *right;
    Op wrong;
    const CheckCase *c;
    Mistake mistake;
} planted;

/* Element i, of `count` in rows of `row`, of the gradient that the wrong backward adds. */
static real mistaken(const real *delta, long i, long count, long row) {
    switch (planted.mistake) {
    case SIGN: return -delta[i];
    case FACTOR: return delta[i] / 2;
    case ORDER: return delta[i / row * row + row - 1 - i % row];
    case EDGE: return i < count - 1 ? delta[i] : 0;
    default: return delta[i];
    }
}

static void planted_backward(Node *n) {
    Arena arena = {0};
    n->op = planted.right;
    for (int i = 0; i < n->inputs; i++) {
        if (!backward_reaches(n, i) || !n->in[i]->grad) continue;
        Shape s = n->in[i]->shape;
        long count = shape_count(s), row = s.rank && count ? s.size[s.rank - 1] : 1;
        real *grad = n->in[i]->grad;
        const real *delta = backward_part(&arena, n, i);
        for (long j = 0; j < count; j++)
            grad[j] =
                mistaken(delta, j, count, row) + (planted.mistake == OVERWRITES ? 0 : grad[j]);
    }
    n->op = &planted.wrong;
    arena_free(&arena);
}

/* Records the case; its operation's nodes get the wrong backward. */
static Tensor *build_planted(Tape *t, Tensor **x) {
    Tensor *y = planted.c->build(t, x);
    for (Node *n = t->last; n; n = n->previous)
        if (n->op == planted.right) n->op = &planted.wrong;
    return y;
}

/* The case with a mistake. */
static CheckCase plant(const Op *op, const CheckCase *c, Mistake mistake) {
    CheckCase wrong = *c;
    planted.right = op, planted.wrong = *op, planted.c = c, planted.mistake = mistake;
    planted.wrong.backward = planted_backward, planted.wrong.stores_fresh = false;
    wrong.build = build_planted;
    return wrong;
}

/* ---- The list of operations ---- */

/* Begins an object: a name and a shape. */
static void print_head(const char *name, Shape s) {
    printf("{\"name\": ");
    json_print(stdout, name);
    printf(", \"shape\": [");
    for (int i = 0; i < s.rank; i++) printf(i ? ",%ld" : "%ld", s.size[i]);
    putchar(']');
}

/* Whether the case fits on a phone, and shows something: its inputs have 2 to 32 elements in rows of at most 8, one has 6. */
static bool is_shown_well(const CheckCase *c) {
    long most = 0;
    for (const CheckInput *in = c->in; in < c->in + CHECK_INPUTS && in->name; in++) {
        long count = shape_count(in->shape),
             row = in->shape.rank ? in->shape.size[in->shape.rank - 1] : 1;
        if (count < 2 || count > 32 || row > 8) return false;
        if (count > most) most = count;
    }
    return most >= 6;
}

/* Prints all operations: how many cases each has, and the one to show. */
WEB_EXPORT(void, operations, (void)) {
    printf("{\"operations\": [");
    for (int i = 0; i < ops_count; i++) {
        const Op *op = ops_all[i].op;
        int shown = 0;
        while (shown < op->n_cases && !is_shown_well(&op->cases[shown])) shown++;
        printf(i ? ", {\"cases\": %d" : "{\"cases\": %d", op->n_cases);
        web_print_number("shown", shown < op->n_cases ? shown : 0);
        web_print_text("name", op->name);
        web_print_text("formula", ops_all[i].formula);
        putchar('}');
    }
    puts("]}");
}

/* ---- One case ---- */

/* L = Σ_i c_i y_i at the point. */
static double weighed(CheckRun *r, const real *c, long outputs, real *y) {
    double sum = 0;
    tensor_copy_out(check_run_forward(r), y);
    for (long i = 0; i < outputs; i++) sum += c[i] * y[i];
    return sum;
}

/* Moves every element of an input by h both ways; prints L there, the difference, and backward's gradient. */
static void print_elements(CheckRun *r, PointInput *in, const real *c, long outputs, real *y) {
    enum { MAX = 200 };
    const double h = 1e-5;
    real grad[MAX];
    long count = in->count < MAX ? in->count : MAX;
    check_run_job(r, (Job){.runs = 1, .dy = c});
    memcpy(grad, r->result.grad + point_gradients_before(r->point, (int)(in - r->point->in)),
           (size_t)count * sizeof *grad);
    web_print_number("h", h), printf(", \"elements\": [");
    for (long i = 0; i < count; i++) {
        real *x = &in->value[i], value = *x;
        double plus = (*x = value + h, weighed(r, c, outputs, y)),
               minus = (*x = value - h, weighed(r, c, outputs, y));
        *x = value;
        printf("%s{\"index\": %ld", i ? ", " : "", i), web_print_number("value", value);
        web_print_number("plus", plus), web_print_number("minus", minus);
        web_print_number("difference", (plus - minus) / (2 * h)),
            web_print_number("backward", grad[i]);
        putchar('}');
    }
    putchar(']');
}

/* Prints the case at a point, and the elements of input k, or of the first that has a gradient. */
static void print_point(const char *op, const CheckCase *c, int k, uint64_t seed) {
    Arena arena = {0};
    CheckPoint p;
    point_draw(&p, &arena, op, c, seed, POINT_DRAWN, 0);
    TapeRunner tape = tape_runner_new(op, c);
    CheckRun r = {.op = op, .c = c, .point = &p, .runner = tape_runner_do, .where = &tape};
    Tensor *first = check_run_forward(&r);
    Shape shape = first->shape;
    long outputs = shape_count(shape);
    real *y = arena_alloc(&arena, (size_t)outputs * sizeof *y);
    real *cotangent = arena_alloc(&arena, (size_t)outputs * sizeof *cotangent);
    tensor_copy_out(first, y);
    check_run_cotangent(cotangent, outputs, seed, 0);
    printf(", \"inputs\": [");
    for (PointInput *in = p.in; in < p.in + p.inputs; in++) {
        if (in > p.in) putchar(',');
        print_head(in->name, in->shape);
        web_print_numbers("values", in->value, in->count);
        printf(", \"moves\": %s}", point_has_gradient(&p, (int)(in - p.in)) ? "true" : "false");
    }
    printf("], \"output\": "), print_head("y", shape), web_print_numbers("values", y, outputs),
        putchar('}');
    web_print_numbers("cotangent", cotangent, outputs);
    if (k < 0 || k >= p.inputs || !point_has_gradient(&p, k))
        for (k = 0; k < p.inputs && !point_has_gradient(&p, k);) k++;
    web_print_number("input", k);
    if (k < p.inputs) print_elements(&r, &p.in[k], cotangent, outputs, y);
    check_run_free(&r);
    tape_runner_free(&tape);
    arena_free(&arena);
}

/* Checks a case of the operation in the file `operation`, with a mistake; -1: with none. */
WEB_EXPORT(void, check, (int number, int input, int seed, int mistake)) {
    const char *name = web_file_data("operation");
    const OpEntry *o = ops_find(name);
    if (!o || number < 0 || number >= o->op->n_cases) {
        error_set(&web_error, STATUS_USAGE, "found case %d of \"%.60s\", need one of the list",
                  number, name);
        return;
    }
    CheckCase c = o->op->cases[number];
    if (mistake >= 0) c = plant(o->op, &o->op->cases[number], (Mistake)mistake);
    char *report = NULL;
    size_t size = 0;
    CaseReport *r = calloc(1, sizeof *r);
    FILE *out = open_memstream(&report, &size);
    if (!r || !out) error_no_memory("a report");
    gradcheck_case(name, &c, (uint64_t)seed, r);
    gradcheck_heading(out);
    gradcheck_rows(out, r);
    gradcheck_explain(out, r);
    fclose(out);
    printf("{\"verdict\": \"%s\"", gradcheck_verdict_text(r->verdict));
    web_print_text("report", report);
    print_point(name, &c, input, (uint64_t)seed);
    puts("}");
    free(report), free(r);
}
