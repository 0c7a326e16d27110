#include "check/gradcheck/comparison.h"
#include "base/append.h"
#include "check/gradcheck/numeric_derivative.h"
#include "check/gradcheck/rounding.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers ---- */

CompareNeeds compare_known(const Comparison *m) {
    if (m->e->place) return SAMPLE;
    return m->e->whole ? ROWS : ALL;
}

bool compare_counts(const Comparison *m, long at) {
    return m->e->entry[at].state != ENTRY_KINK && isfinite(m->right[at]);
}

bool compare_near(const Comparison *m, long at, double a, double b) {
    double size = fmax(fmax(fabs(a), fabs(b)), m->scale[at / m->elements]);
    if (!isfinite(size)) return a == b;
    return fabs(a - b) <= m->tolerance * size;
}

bool compare_is_wrong(const Comparison *m, long at) {
    return compare_counts(m, at) && !compare_near(m, at, m->yours[at], m->right[at]);
}

bool compare_fits(const Comparison *m) {
    bool any = false;
    for (long at = 0; at < m->entries; at++) {
        if (!compare_counts(m, at)) continue;
        double times = m->right[at] == 0 ? 0 : fabs(m->expected[at] / m->right[at]);
        double error = SWEEP_TRUST * m->e->entry[at].estimate * times;
        bool fits = compare_near(m, at, m->yours[at], m->expected[at]) ||
                    fabs(m->yours[at] - m->expected[at]) <= error;
        if (!fits) return false;
        any = true;
    }
    return any;
}

bool compare_say(Comparison *m, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(m->reason, REPORT_TEXT, format, arguments);
    va_end(arguments);
    return true;
}

/* The tolerance is sharper where all errors are small: an explanation has to be nearer than they
 * are. */
static double tolerance_of(const Comparison *m) {
    double tolerance = m->e->steps ? CHECK_COARSE / 10 : CHECK_TOLERANCE, largest = 0;
    for (long i = 0; i < m->entries; i++) {
        double off = fabs(m->yours[i] - m->right[i]) / m->scale[i / m->elements];
        if (isfinite(off)) largest = fmax(largest, off);
    }
    if (largest == 0) return tolerance;
    return fmin(tolerance, fmax(largest / 20, ROUNDINGS_OF_A_RUN * (double)REAL_EPSILON));
}

/* Takes the entries of both matrices. An entry that is not resolved is 0 in both: else the rounding
 * of a right 0 would refute an explanation. */
static void take_entries(Comparison *m) {
    for (long i = 0; i < m->entries; i++) {
        const Entry *entry = &m->e->entry[i];
        double smallest = SWEEP_TRUST * entry->estimate, *scale = &m->scale[i / m->elements];
        bool resolved = !(fabs(entry->numeric) <= smallest);
        m->right[i] = resolved ? entry->numeric : 0;
        m->yours[i] = resolved || !(fabs(entry->analytic) <= smallest) ? entry->analytic : 0;
        if (isfinite(entry->numeric)) *scale = fmax(*scale, fabs(m->right[i]));
    }
}

Comparison compare_input(const Gradients *g, int k) {
    const Entries *e = &g->element[k];
    const PointInput *in = &g->run->point->in[k];
    const Tensor *y = g->run->y;
    Comparison m = {.g = g, .e = e, .point = g->run->point, .in = in, .arena = g->arena};
    m.elements = e->coordinates;
    m.rows = e->cotangents;
    m.outputs = e->outputs;
    m.entries = m.rows * m.elements;
    m.shape = in->shape;
    m.y_shape = y->shape;
    if (in->stored < in->count) m.shape.size[0] = 1;
    m.y = arena_alloc(m.arena, (size_t)m.outputs * sizeof *m.y);
    tensor_copy_out(y, m.y);
    m.scale = arena_alloc(m.arena, (size_t)m.rows * sizeof *m.scale);
    m.yours = arena_alloc(m.arena, 3 * (size_t)m.entries * sizeof *m.yours);
    m.right = m.yours + m.entries;
    m.expected = m.right + m.entries;
    take_entries(&m);
    m.tolerance = tolerance_of(&m);
    return m;
}

void compare_number_text(char text[REPORT_WORD], double k) {
    static const struct {
        const char *text;
        double power;
    } forms[] = {{"1/", -1}, {"√", 2}, {"1/√", -2}};
    snprintf(text, REPORT_WORD, "%.*g", report_digits(k, 1, 6), k);
    if (fabs(k - round(k)) < 1e-5) return;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        double n = pow(fabs(k), forms[i].power);
        if (n < 1.5 || n > 1e6 || fabs(n - round(n)) > 1e-5 * n) continue;
        text_append(text, REPORT_WORD, " = %s%s%.0f", k < 0 ? "-" : "", forms[i].text, round(n));
        return;
    }
}

/* ---- Shapes ---- */

long compare_index(Shape s, int axis, long i) {
    for (int inner = s.rank - 1; inner > axis; inner--) i /= s.size[inner];
    return i % s.size[axis];
}

long compare_at_index(Shape s, int axis, long i, long to) {
    long step = to - compare_index(s, axis, i);
    for (int inner = s.rank - 1; inner > axis; inner--) step *= s.size[inner];
    return i + step;
}

Groups compare_groups(const Comparison *m, Shape s, unsigned axes) {
    long n = shape_count(s);
    Groups g = {axes, 1, arena_alloc(m->arena, (size_t)n * sizeof *g.of)};
    for (int axis = 0; axis < s.rank; axis++) {
        if (!(axes >> axis & 1)) continue;
        for (long i = 0; i < n; i++) g.of[i] = g.of[i] * s.size[axis] + compare_index(s, axis, i);
        g.count *= s.size[axis];
    }
    return g;
}

void compare_axes_text(char text[REPORT_WORD], unsigned axes) {
    text[0] = 0;
    for (int axis = 0; axis < MAX_RANK; axis++) {
        const char *first = axes & (axes - 1) ? "axes " : "axis ";
        if (axes >> axis & 1) text_append(text, REPORT_WORD, "%s%d", *text ? " and " : first, axis);
    }
}

/* Whether shape `from` broadcasts to `over` with its first axis at axis `first`. */
static bool lies_at(Shape from, Shape over, int first) {
    if (first < 0) return false;
    for (int i = 0; i < from.rank; i++)
        if (from.size[i] != 1 && from.size[i] != over.size[first + i]) return false;
    return true;
}

bool compare_values_over(const Comparison *m, Shape over, int which, double *v, const char **name) {
    const CheckPoint *p = m->point;
    Shape from = which < p->inputs ? p->in[which].shape : m->y_shape;
    const real *value = which < p->inputs ? p->in[which].value : m->y;
    *name = which < p->inputs ? p->in[which].name : "the output";
    if (from.rank > over.rank || shape_count(from) == 0) return false;
    int first = over.rank - from.rank;
    if (!lies_at(from, over, first)) first = 0; /* as one number for each row does */
    if (!lies_at(from, over, first)) return false;
    for (long j = 0; j < shape_count(over); j++) {
        long at = 0;
        for (int axis = 0; axis < from.rank; axis++)
            at = at * from.size[axis] + compare_index(over, first + axis, j) % from.size[axis];
        v[j] = (double)value[at];
    }
    return true;
}

/* ---- Explanations ---- */

/* Returns a number that is equal for reasons that differ only in indices and numbers; numbers of
 * axes count. */
static uint64_t form_of(const char *text) {
    const uint64_t basis = 0xcbf29ce484222325, prime = 0x100000001b3; /* FNV-1a, 64 bits */
    uint64_t form = basis;
    for (const char *at = text; *at; at++) {
        bool number = isdigit((unsigned char)*at) || (*at == '-' && isdigit((unsigned char)at[1]));
        bool of_an_axis = at - text >= 5 && strncmp(at - 5, "axis ", 5) == 0;
        unsigned char c = (unsigned char)*at;
        if (*at == '[' && isdigit((unsigned char)at[1])) {
            at += strcspn(at, "]");
            continue;
        }
        if (number && !of_an_axis) {
            char *end;
            strtod(at, &end);
            at = end - 1;
            c = 0;
        }
        form = (form ^ c) * prime;
    }
    return form;
}

/* Sets the explanations of input k's report; the first gives its pattern and reason. */
static void explain(const Gradients *g, int k, InputReport *report) {
    static const struct {
        Pattern pattern;
        bool (*explains)(Comparison *m);
        CompareNeeds needs;
        bool sure;
    } tried[] = {
#define PATTERN(constant, name)
#define TRIED(constant, name, function, needs, sure)                                               \
    {PATTERN_##constant, compare_##function, needs, sure},
#include "check/gradcheck/patterns.def"
    };
    char reason[REPORT_TEXT];
    Comparison m = compare_input(g, k);
    bool sure = false;
    const CompareNeeds known = compare_known(&m);
    report->explanations = 0;
    m.reason = reason;
    if (known > SAMPLE) compare_map(&m, report->map);
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        if (report->explanations == EXPLANATIONS) break;
        if ((sure && !tried[i].sure) || tried[i].needs > known || !tried[i].explains(&m)) continue;
        Explanation *x = &report->explanation[report->explanations++];
        *x = (Explanation){.pattern = tried[i].pattern, .sure = tried[i].sure, .factor = m.factor};
        bool place = x->pattern == PATTERN_ONLY_SOMEWHERE; /* it may differ between cases */
        x->form = form_of(place ? report_pattern[x->pattern] : reason);
        REPORT_SET(x->reason, reason);
        sure |= x->sure;
    }
    report_explain_by(report, report->explanations ? report->explanation : NULL);
}

/* Why an inconclusive gradient is neither proved nor refuted. */
static void say_doubt(const Gradients *g, int k, InputReport *r) {
    Comparison m = compare_input(g, k);
    m.reason = r->reason;
    if (compare_forward(&m)) {
        text_append(r->reason, REPORT_TEXT,
                    ". Do the values lie in its domain? A case's low and high give their range");
        return;
    }
    if (r->doubt == DOUBT_NOISE && r->digits)
        snprintf(r->reason, sizeof r->reason,
                 "forward rounds to about %d digits, too few to prove the gradient. Is a number "
                 "kept in float?",
                 r->digits);
    else
        REPORT_SET(r->reason, report_doubt[r->doubt]);
}

/* Explains the gradient of input k, which has entries. */
static void diagnose(const Gradients *g, int k, InputReport *r) {
    if (r->verdict == INCONCLUSIVE && !r->reason[0]) say_doubt(g, k, r);
    if (r->verdict != FAIL || !r->wrong) return;
    counterexample_write(g, k, "", r);
    if (!r->reason[0]) explain(g, k, r);
}

void gradcheck_diagnose(const Gradients *g, CaseReport *report) {
    InputReport *r = report->in;
    for (int k = 0; k < g->run->point->inputs; k++)
        if (g->element[k].entry && r < report->in + report->inputs) diagnose(g, k, r++);
}
