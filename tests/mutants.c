/* The checker is tested by mutants: real operations with one planted mistake each. Every one must be caught,
 * and named where its kind of mistake has a pattern. Beside it the rules that other projects check gradients
 * by judge the same mutants.
 *
 * A mutant is the operation's own source file with a piece of its text replaced, compiled and loaded as a
 * student's file is. A piece that is no longer in the source is a failure: then this table has to follow.
 *
 * Gradients are proved in double. The float build only looks whether the table fits the sources. */
#include "autograd/check_run.h"
#include "autograd/gradcheck.h"
#include "base/child.h"
#include "base/file.h"
#include "base/random.h"
#include "checking/student_op.h"
#include "ops/ops.h"
#include "test.h"
#include <ctype.h>

typedef struct Mutant {
    const char *op, *kind;
    const char *from, *to; /* in src/ops/OP.c, everywhere; runs of white space are all alike */
    const char *diagnosis; /* patterns and properties that name it, "a|b"; NULL: the kind has none */
} Mutant;

static const Mutant mutants[] = {
    /* The sign. */
    {"sub", "sign", "i * w.step[WALK_DB]] -= dy[i]", "i * w.step[WALK_DB]] += dy[i]", "constant factor"},
    {"neg", "sign", "dx[i] -= dy[i]", "dx[i] += dy[i]", "constant factor"},
    {"div", "sign", "-= dy[i] * y[i]", "+= dy[i] * y[i]", "constant factor"},
    {"softmax", "sign", "(dy[i * step] - (real)dot)", "((real)dot - dy[i * step])", "constant factor"},
    {"linear_cross_entropy", "sign", "dy, a->saved_w", "-dy, a->saved_w", "constant factor"},

    /* A constant factor. */
    {"sqrt", "factor", "(2 * y[i])", "y[i]", "constant factor"},
    {"square", "factor", "2 * x[w.at[0]", "x[w.at[0]", "constant factor"},
    {"scale", "factor", "factor * dy[i]", "dy[i]", "constant factor"},
    {"pow", "factor", "dy[i] * p * pow", "dy[i] * pow", "constant factor"},
    {"sum", "factor", "+= dy[o]", "+= dy[o] / (real)r->n", "constant factor"},
    {"mean", "factor", "dy[o] / (real)r->n", "dy[o]", "constant factor"},
    {"contiguous", "factor", "out->shape), 1, n->out->grad", "out->shape), 2, n->out->grad",
     "constant factor"},
    {"residual", "factor", "array_scale_to(a->count, 1,", "array_scale_to(a->count, 2,", "constant factor"},
    {"dropout", "factor", "dx[i] += dy[i] * dropout_factor(m, i)",
     "dx[i] += dropout_factor(m, i) > 0 ? dy[i] : 0", "constant factor"},
    {"attention", "factor", "- D) * a->scale", "- D)", "constant factor"},
    {"cross_entropy", "factor", "n->out->grad[0] / (real)a->counted", "n->out->grad[0]", "constant factor"},
    {"embedding", "factor", "scatter(a, a->ids, a->s,", "scatter(a, a->ids, 1,", "constant factor"},
    {"gelu", "factor", "dy[i] * vm_gelu_grad", "(real)1.0001 * dy[i] * vm_gelu_grad", "constant factor"},

    /* A factor that depends on the values. */
    {"exp", "wrong factor", "dx[i] += dy[i] * y[i]", "dx[i] += dy[i]", "factor of values"},
    {"log", "wrong factor", "dy[i] / x[", "dy[i] * x[", "factor of values"},
    {"tanh", "wrong factor", "(1 - y[i] * y[i])", "(1 - y[i])", "factor of values"},
    {"sigmoid", "wrong factor", "dy[i] * y[i] * (1 - y[i])", "dy[i] * (1 - y[i])", "factor of values"},
    {"pow", "wrong factor", "pow(x[w.at[0] + i * w.step[0]], p - 1)", "pow(x[w.at[0] + i * w.step[0]], p)",
     "factor of values"},
    {"div", "wrong factor", "dy[i] * y[i] / b[", "dy[i] / b[", "factor of values"},
    {"layer_norm", "wrong factor", "= r * (dy[j] * gamma[j]", "= (dy[j] * gamma[j]", "factor of lines"},

    /* Another gradient than the wanted one. */
    {"mul", "wrong operand", "dy[i] * b[w.at[WALK_B] + i * w.step[WALK_B]]",
     "dy[i] * a[w.at[WALK_A] + i * w.step[WALK_A]]", "another input's|factor of values"},
    {"concat", "wrong operand", "const real *dy = n->out->grad + start;", "const real *dy = n->out->grad;",
     NULL},
    {"permute", "transposed", "permute(n->out->shape.rank, ((Attr *)n->attr)->order, x_stride, dx_stride);",
     "contiguous_strides(n->out->shape, dx_stride);", "transposed"},
    {"linear", "transposed",
     ".m = a->d_out, .n = a->d_in, .k = a->n, .a = dz, .lda = a->d_out, .b = x->data, .ldb = x->stride[0], "
     ".c = w->grad, .ldc = a->d_in,",
     ".m = a->d_in, .n = a->d_out, .k = a->n, .a = x->data, .lda = x->stride[0], .b = dz, .ldb = a->d_out, "
     ".c = w->grad, .ldc = a->d_out,",
     "transposed"},

    /* The upstream gradient is not used as it should be. */
    {"cross_entropy", "upstream ignored", "n->out->grad[0] / (real)a->counted", "1 / (real)a->counted",
     "upstream ignored"},
    {"mul", "upstream ignored", "dy[i] * a[", "a[", "upstream ignored"},
    {"exp", "upstream squared", "dx[i] += dy[i] * y[i]", "dx[i] += dy[i] * dy[i] * y[i]", "linear"},
    {"log", "upstream made positive", "dy[i] / x[", "fabs(dy[i]) / x[", "linear"},

    /* Not every use counts. */
    {"sub", "broadcast sum missing", "i * w.step[WALK_DB]] -= dy[i]",
     "i * w.step[WALK_DB]] -= w.step[WALK_DB] || i == 0 ? dy[i] : 0", "broadcast sum missing"},
    {"linear", "broadcast sum missing", "column_sums(a->n, a->d_out, dz",
     "column_sums(a->n > 0, a->d_out, dz", "broadcast sum missing"},
    {"add", "overwritten", "+= dy[i]", "= dy[i]", "accumulates|overwritten|broadcast sum missing"},
    {"matmul", "overwritten", ".accumulate = true", ".accumulate = false",
     "accumulates|overwritten|broadcast sum missing"},
    {"embedding", "overwritten", "to[j] += s * dy[j]", "to[j] = s * dy[j]", "accumulates|overwritten"},
    {"attention", "overwritten", ".accumulate = again || !v->grad_fresh", ".accumulate = again",
     "accumulates"},
    {"residual", "overwritten", "df[i] = store ? part : df[i] + part", "df[i] = part", "accumulates"},
    {"log_softmax", "overwritten", "sum += (double)dy", "sum = (double)dy", "term missing"},

    /* A term is missing. */
    {"softmax", "term missing", "- (real)dot", "", "term missing"},
    {"softmax", "term wrong", "* (double)y[i * step]", "", "term missing"},
    {"log_softmax", "term missing", "- vm_exp(y[i * step]) * (real)sum", "", "term missing"},
    {"layer_norm", "term missing", "- mean_g - (x", "- (x", "term missing"},
    {"layer_norm", "term missing", "- (x[j] - mean) * r * mean_gx)", ")", "term missing"},
    {"gelu", "term missing", "vm_gelu_grad(x[w.at[0] + i * w.step[0]])",
     "(real)0.5 * (1 + vm_erf(x[w.at[0] + i * w.step[0]] * (real)0.70710678118654752440))", NULL},
    {"attention", "term missing", "- D) * a->scale", ") * a->scale", NULL},
    {"matmul", "term missing", ".k = s->n,", ".k = s->n > 1 ? s->n - 1 : s->n,", NULL},
    {"cross_entropy", "term missing", "a->smoothing, scale, n->scratch", "0, scale, n->scratch", NULL},

    /* No gradient, or none at all. */
    {"matmul", "no gradient", "if (b->grad)", "if (0)", "no gradient"},
    {"layer_norm", "no gradient", "if (beta->grad)", "if (0)", "no gradient"},
    {"linear_cross_entropy", "no gradient", "if (x->grad) array_scale_to", "if (0) array_scale_to",
     "no gradient"},
    {"tanh", "not a number", "(1 - y[i] * y[i])", "(1 - y[i] * y[i]) / (y[i] - y[i])", "not a number"},

    /* Wrong at some places. */
    {"relu", "wrong where masked", "y[i] > 0 ? dy[i] : 0", "dy[i]", "only somewhere"},
    {"masked_fill", "wrong where masked", "? 0 : dy[i]", "? dy[i] : dy[i]", "only somewhere"},
    {"clamp", "wrong where masked", "a->low <= v && v <= a->high", "a->low <= v", "only somewhere"},
    {"linear", "wrong where masked", "y[i] > 0 ? dz[i] : 0", "dz[i]", NULL},
    {"reshape", "last one left out", "array_scale_to(shape_count(n->out->shape), 1,",
     "array_scale_to(shape_count(n->out->shape) - 1, 1,", "only somewhere"},
    {"slice", "off by one", "a->start * dx_stride", "(a->start - 1) * dx_stride", "off by one|read-only"},
    {"max", "off by one", "dx[place] += dy[o]", "dx[(place + 1) % shape_count(n->in[0]->shape)] += dy[o]",
     "off by one"},
    {"embedding", "off by one", "c->dtable + c->row[i] * d", "c->dtable + (c->row[i] - 1) * d",
     "off by one|read-only"},
    {"transpose", "off by one", "swap(dx_stride, n->attr);", "", "transposed|read-only"},

    /* Memory. */
    {"gelu", "strides ignored", "vm_gelu_grad(x[w.at[0] + i * w.step[0]])",
     "vm_gelu_grad(n->in[0]->data[dx + i - n->in[0]->grad])", "strides ignored|any layout"},
    {"square", "strides ignored", "2 * x[w.at[0] + i * w.step[0]]",
     "2 * n->in[0]->data[dx + i - n->in[0]->grad]", "strides ignored|any layout"},
    {"residual", "fresh memory added to", "store ? part : df[i] + part", "df[i] + part", "stores fresh"},
    {"layer_norm", "fresh memory added to", "bool store = n->in[X]->grad_fresh", "bool store = false",
     "stores fresh"},
    {"sqrt", "output changed", "dx[i] += dy[i] / (2 * y[i])",
     "dx[i] += dy[i] / (2 * y[i]), n->out->data[i] = 0", "read-only"},
    {"concat", "upstream changed", "const real *dy = n->out->grad + start;",
     "real *dy = n->out->grad + start; for (long k = 0; k < shape_count(n->in[p]->shape); k++) dy[k] *= 2;",
     "read-only"},
    {"sigmoid", "not repeatable", "for (long i = 0; i < count; i++) dx[i] += dy[i]",
     "static long runs; for (long i = 0; i < count; i++) dx[i] += (1 + (real)1e-13 * runs++) * dy[i]",
     "read-only|repeatable"},
    {"scale", "constant added", "dx[i] += factor * dy[i]", "dx[i] += factor * dy[i] + (real)1e-3", "zero"},
};
enum { MUTANTS = sizeof mutants / sizeof *mutants };

/* --- Sources and libraries. --- */

static const char *directory; /* of the mutants' files */

/* Where `pattern` begins in text, runs of white space being all alike; *end is set behind it. */
static const char *find(const char *text, const char *pattern, const char **end) {
    for (; *text; text++) {
        const char *t = text, *p = pattern;
        while (*p) {
            if (isspace((unsigned char)*p)) {
                if (!isspace((unsigned char)*t)) break;
                while (isspace((unsigned char)*p)) p++;
                while (isspace((unsigned char)*t)) t++;
            } else if (*p++ != *t++) {
                break;
            }
        }
        if (*p == 0 && (p == pattern || p[-1] == t[-1])) {
            *end = t;
            return text;
        }
    }
    return NULL;
}

static char *read_source(const char *op) {
    char path[256], *text;
    size_t size;
    Error e = {0};
    snprintf(path, sizeof path, "src/ops/%s.c", op);
    if (file_read(path, 0, &text, &size, &e)) return text;
    printf("  %s\n", e.text);
    exit(1);
}

/* Writes the mutant's source to path. How many replacements were made. */
static int write_source(const Mutant *m, const char *path) {
    char *text = read_source(m->op);
    FILE *out = fopen(path, "w");
    int replaced = 0;
    const char *at = text, *end;
    for (const char *hit; out && (hit = find(at, m->from, &end)); at = end, replaced++) {
        fwrite(at, 1, (size_t)(hit - at), out);
        fputs(m->to, out);
    }
    if (out) fputs(at, out), fclose(out);
    free(text);
    return replaced;
}

static void every_mutant_fits_its_source(void) {
    for (int i = 0; i < MUTANTS; i++) {
        char *text = read_source(mutants[i].op);
        const char *end;
        CHECK(find(text, mutants[i].from, &end), "src/ops/%s.c has no `%s`", mutants[i].op, mutants[i].from);
        free(text);
    }
}

/* --- The rules used elsewhere: a difference of fixed step, one cotangent, one tolerance. --- */

typedef struct Rule {
    const char *name;
    bool plain_sum;   /* the loss is Σ y: a cotangent of ones; else a random one */
    bool one_element; /* of each input, at random; else all */
    bool absolute;    /* compares |analytic| with |numeric| */
    bool mean;        /* judges the mean of |a - n| / |a + n| over an input */
    double tolerance; /* |a - n| <= tolerance (1 + |n|), or of the mean */
} Rule;

static const Rule rules[] = {
    {"plain-sum loss", .plain_sum = true, .tolerance = 1e-5},
    {"one random element", .one_element = true, .tolerance = 1e-5},
    {"absolute values", .absolute = true, .tolerance = 1e-5},
    {"tolerance 1e-2", .tolerance = 1e-2},
    {"mean relative error", .mean = true, .tolerance = 1e-4},
};
enum { RULES = sizeof rules / sizeof *rules };

static double loss(CheckRun *run, const real *c, real *y, long outputs) {
    double sum = 0;
    point_ready(run->point, 0);
    tensor_copy_out(run_forward(run), y);
    for (long i = 0; i < outputs; i++) sum += (double)c[i] * (double)y[i];
    return sum;
}

/* Whether the rule finds nothing wrong with one input's gradient. */
static bool input_passes(const Rule *rule, CheckRun *run, int k, const real *gradient, const real *c, real *y,
                         long outputs) {
    const PointInput *in = &run->point->in[k];
    const double h = 1e-5;
    long own = in->count / in->repeats, one = own ? random_below(random_key(7, (uint64_t)k), 0, own) : 0;
    double mean = 0;
    for (long j = rule->one_element ? one : 0; j < (rule->one_element && own ? one + 1 : own); j++) {
        real *x = point_element(in, j), at = *x;
        double a = 0;
        for (long i = j; i < in->count; i += own) a += (double)gradient[i];
        *x = (real)((double)at + h);
        double above = loss(run, c, y, outputs);
        *x = (real)((double)at - h);
        double n = (above - loss(run, c, y, outputs)) / (2 * h);
        *x = at;
        if (rule->absolute) a = fabs(a), n = fabs(n);
        mean += fabs(a - n) / fabs(a + n) / (double)own;
        if (!rule->mean && !(fabs(a - n) <= rule->tolerance * (1 + fabs(n)))) return false;
    }
    return !rule->mean || !(mean > rule->tolerance);
}

static bool rule_passes(const Rule *rule, const char *op, const CheckCase *check) {
    Arena arena = {0};
    CheckPoint point;
    CheckRun run = {.op = op, .c = check, .tape = tape_new(), .point = &point};
    point_draw(&point, &arena, op, check, 1, 0);
    point_ready(&point, 0);
    long outputs = shape_count(run_forward(&run)->shape);
    real *c = arena_alloc(&arena, (size_t)outputs * sizeof *c),
         *y = arena_alloc(&arena, (size_t)outputs * sizeof *y);
    run_cotangent(c, outputs, 1, 0);
    for (long i = 0; rule->plain_sum && i < outputs; i++) c[i] = 1;
    bool passes = true, wanted = run.y->needs_grad;
    real *gradient[CHECK_INPUTS] = {0};
    if (wanted) run_backward(&run, c);
    for (int k = 0; wanted && k < point.inputs; k++) {
        size_t bytes = (size_t)point.in[k].count * sizeof(real);
        if (point.in[k].same_as < 0 && !point.in[k].constant)
            gradient[k] = memcpy(arena_alloc(&arena, bytes), point.in[k].tensor.grad, bytes);
    }
    for (int k = 0; k < point.inputs && passes; k++)
        passes = !gradient[k] || input_passes(rule, &run, k, gradient[k], c, y, outputs);
    tape_free(run.tape);
    arena_free(&arena);
    return passes;
}

/* --- One mutant's trial, in a child. --- */

typedef struct Finding {
    bool built, caught, named; /* named: no other diagnosis is given to more of its cases */
    int failing, named_cases;  /* of its cases: how many fail, and how many of these are named rightly */
    char said[REPORT_TEXT];    /* the diagnosis of the first that fails */
    int rule_cases[RULES];     /* in how many of them a rule finds it */
} Finding;

static Finding finding[MUTANTS];
static int false_alarms[RULES]; /* correct operations that a rule accuses */

/* Whether one of "a|b|c" is the word. */
static bool among(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; at && (at = strstr(at, word)); at++)
        if ((at == words || at[-1] == '|') && (at[length] == 0 || at[length] == '|')) return true;
    return false;
}

enum { CASES_MOST = 32 };

static void try_mutant(void *context, long i) {
    const Mutant *m = &mutants[i];
    Finding f = {0};
    char source[256], library[256];
    Error e = {0};
    (void)context;
    snprintf(source, sizeof source, "%s/mutant%ld.c", directory, i);
    snprintf(library, sizeof library, "%s/mutant%ld.so", directory, i);
    const Op *op = write_source(m, source) && student_compile(source, library, "src", &e)
                       ? student_load(library, m->op, &e)
                       : NULL;
    f.built = op != NULL;
    snprintf(f.said, sizeof f.said, "%.*s", REPORT_TEXT - 1, e.text);
    unlink(source), unlink(library);
    const Op *correct = ops_find(m->op)->op;
    char said[CASES_MOST][REPORT_WORD];
    for (int k = 0; op && k < op->n_cases; k++) {
        CaseReport r;
        gradcheck_case(m->op, &op->cases[k], 1, &r);
        if (r.verdict == FAIL) {
            bool right = among(m->diagnosis, r.diagnosis);
            if (f.failing < CASES_MOST)
                snprintf(said[f.failing], REPORT_WORD, "%s", right ? "" : r.diagnosis);
            if (!f.failing++) snprintf(f.said, sizeof f.said, "%s", r.diagnosis);
            f.named_cases += right;
        }
        for (int rule = 0; rule < RULES; rule++)
            if (rule_passes(&rules[rule], m->op, &correct->cases[k]))
                f.rule_cases[rule] += !rule_passes(&rules[rule], m->op, &op->cases[k]);
    }
    f.caught = f.failing > 0;
    f.named = f.named_cases > 0;
    for (int k = 0; k < f.failing && k < CASES_MOST; k++) {
        int same = 0;
        for (int j = 0; j < f.failing && j < CASES_MOST; j++) same += strcmp(said[j], said[k]) == 0;
        if (same > f.named_cases) f.named = false;
    }
    child_send(&f, sizeof f);
}

static void take_finding(void *context, long i, const ChildEnd *end) {
    (void)context;
    if (end->fate == CHILD_DONE && end->size == sizeof finding[i])
        memcpy(&finding[i], end->result, end->size);
    else
        printf("  mutant %ld ended %d %d: %s\n", i, end->fate, end->number, end->printed);
}

/* With VERBOSE set, a line for each mutant; then what README's table is made of. */
static void print_table(void) {
    int failing = 0, caught[RULES] = {0}, cases[RULES] = {0};
    for (int i = 0; i < MUTANTS; i++) {
        if (getenv("VERBOSE")) printf("  %-22s %-24s %-22s", mutants[i].op, mutants[i].kind, finding[i].said);
        for (int r = 0; r < RULES; r++) {
            if (getenv("VERBOSE")) printf(" %-8s", finding[i].rule_cases[r] ? "caught" : "-");
            caught[r] += finding[i].rule_cases[r] > 0;
            cases[r] += finding[i].rule_cases[r];
        }
        if (getenv("VERBOSE")) printf("\n");
        failing += finding[i].failing;
    }
    printf("  %-22s %14s %22s %28s\n", "rule", "mutants caught", "cases that show them",
           "correct operations accused");
    printf("  %-22s %11d/%d %18d/%d %25d/%d\n", "gradcheck", MUTANTS, MUTANTS, failing, failing, 0,
           ops_count);
    for (int r = 0; r < RULES; r++)
        printf("  %-22s %11d/%d %18d/%d %25d/%d\n", rules[r].name, caught[r], MUTANTS, cases[r], failing,
               false_alarms[r], ops_count);
}

static void every_mutant_is_caught_and_named(void) {
    if (sizeof(real) < sizeof(double)) return; /* proofs are for double */
    char path[] = "/tmp/mutants-XXXXXX";
    directory = mkdtemp(path);
    CHECK(directory, "no directory %s", path);
    if (!directory) return;
    for (int r = 0; r < RULES; r++)
        for (int i = 0; i < ops_count; i++) {
            bool accused = false;
            for (int k = 0; k < ops_all[i].op->n_cases; k++)
                accused |= !rule_passes(&rules[r], ops_all[i].op->name, &ops_all[i].op->cases[k]);
            false_alarms[r] += accused;
        }
    children_run(MUTANTS, 2, &(ChildLimits){.seconds = 60}, try_mutant, take_finding, NULL);
    rmdir(directory);
    print_table();
    int named = 0, nameable = 0;
    for (int i = 0; i < MUTANTS; i++) {
        const Mutant *m = &mutants[i];
        CHECK(finding[i].built, "%s, %s: %s", m->op, m->kind, finding[i].said);
        CHECK(finding[i].caught, "%s, %s: passes", m->op, m->kind);
        nameable += m->diagnosis != NULL;
        named += m->diagnosis && finding[i].named;
        if (m->diagnosis && !finding[i].named)
            printf("  %s, %s: named %s, want %s\n", m->op, m->kind, finding[i].said, m->diagnosis);
    }
    printf("  named rightly: %d of %d whose kind has a pattern\n", named, nameable);
    CHECK(named * 100 >= nameable * 95, "%d of %d mutants are named rightly", named, nameable);
}

TEST_MAIN({"every mutant fits its source", every_mutant_fits_its_source},
          {"every mutant is caught and named", every_mutant_is_caught_and_named, 170})
