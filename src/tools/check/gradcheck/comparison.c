#include "check/gradcheck/comparison.h"
#include "base/append.h"
#include "check/gradcheck/numeric_derivative.h"
#include "check/gradcheck/rounding.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Numbers ---- */

bool compare_counts(const Comparison *m, long at) {
    return m->entry[at].state != ENTRY_KINK && isfinite(m->right[at]);
}

bool compare_near(const Comparison *m, long at, double a, double b) {
    double size = fmax(fmax(fabs(a), fabs(b)), m->scale[at / m->elements]);
    if (!isfinite(size)) return a == b;
    return fabs(a - b) <= m->tolerance * size;
}

bool compare_fits(const Comparison *m) {
    bool any = false;
    for (long at = 0; at < m->entries; at++) {
        if (!compare_counts(m, at)) continue;
        double times = m->right[at] == 0 ? 0 : fabs(m->expected[at] / m->right[at]);
        double error = SWEEP_TRUST * m->entry[at].estimate * times;
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
        const Entry *entry = &m->entry[i];
        double smallest = SWEEP_TRUST * entry->estimate, *scale = &m->scale[i / m->elements];
        bool resolved = !(fabs(entry->numeric) <= smallest);
        m->right[i] = resolved ? entry->numeric : 0;
        m->yours[i] = resolved || !(fabs(entry->analytic) <= smallest) ? entry->analytic : 0;
        if (isfinite(entry->numeric)) *scale = fmax(*scale, fabs(m->right[i]));
    }
}

/* Several outputs of one shape have an axis more, the first; others are flat. */
static Shape shape_of_outputs(const CheckRun *run) {
    const Result *r = &run->result;
    Shape s = r->part[0];
    for (int k = 1; k < r->parts; k++)
        if (!shape_equal(r->part[k], s) || s.rank == MAX_RANK) return run->y->shape;
    if (r->parts < 2) return s;
    memmove(s.size + 1, s.size, (size_t)s.rank++ * sizeof *s.size);
    s.size[0] = r->parts;
    return s;
}

Comparison compare_input(const Gradients *g, int k) {
    const Entries *e = &g->element[k];
    const PointInput *in = &g->run->point->in[k];
    Comparison m = {.g = g, .e = e, .point = g->run->point, .in = in, .arena = g->arena};
    m.whole = e->whole;
    m.elements = e->coordinates;
    m.entry = e->entry + (e->whole ? m.elements : 0); /* not the random row */
    m.rows = e->cotangents - e->whole;
    m.entries = m.rows * m.elements;
    m.shape = in->shape;
    m.y_shape = shape_of_outputs(g->run);
    m.stacked = m.y_shape.rank > g->run->result.part[0].rank;
    if (in->stored < in->count) m.shape.size[0] = 1;
    m.y = arena_alloc(m.arena, (size_t)e->outputs * sizeof *m.y);
    tensor_copy_out(g->run->y, m.y);
    m.scale = arena_alloc(m.arena, (size_t)m.rows * sizeof *m.scale);
    m.yours = arena_alloc(m.arena, 3 * (size_t)m.entries * sizeof *m.yours);
    m.right = m.yours + m.entries;
    m.expected = m.right + m.entries;
    take_entries(&m);
    m.tolerance = tolerance_of(&m);
    m.kind = arena_alloc(m.arena, (size_t)m.entries * sizeof *m.kind);
    for (long at = 0; at < m.entries; at++)
        if (compare_counts(&m, at) && (m.yours[at] != 0 || m.right[at] != 0))
            m.kind[at] =
                compare_near(&m, at, m.yours[at], m.right[at]) ? COMPARE_RIGHT : COMPARE_WRONG;
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

const char *compare_output_text(const Comparison *m, char text[INDEX_TEXT], long i) {
    const Result *r = &m->g->run->result;
    return report_output_text(text, r->part, r->parts, i);
}

Groups compare_groups(const Comparison *m, unsigned axes, unsigned y_axes) {
    Groups g = {1, arena_alloc(m->arena, (size_t)m->entries * sizeof *g.of)};
    for (int k = 0; k < m->shape.rank + m->y_shape.rank; k++) {
        bool of_y = k >= m->shape.rank;
        Shape s = of_y ? m->y_shape : m->shape;
        int axis = of_y ? k - m->shape.rank : k;
        if (!((of_y ? y_axes : axes) >> axis & 1)) continue;
        for (long at = 0; at < m->entries; at++)
            g.of[at] = g.of[at] * s.size[axis] +
                       compare_index(s, axis, of_y ? at / m->elements : at % m->elements);
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

/* ---- Values beside the entries ---- */

double compare_value(const Comparison *m, const Values *v, long at) {
    long i = 0;
    for (int k = 0; k < v->shape.rank; k++) {
        int axis = v->along[k], of_y = axis - m->shape.rank;
        i *= v->shape.size[k];
        if (axis >= 0 && of_y < 0) i += compare_index(m->shape, axis, at % m->elements);
        if (of_y >= 0) i += compare_index(m->y_shape, of_y, at / m->elements);
    }
    return (double)v->value[i];
}

/* Adds all ways to lay the axes of *v from `axis` on along axes that are not `used`. */
static void lay_along(const Comparison *m, Values *v, int axis, unsigned used, int axes,
                      ValuesList *list) {
    if (axis == v->shape.rank) {
        v->of_elements = used & compare_all_axes(m->shape);
        v->of_outputs = used >> m->shape.rank;
        list->v[list->count] = *v;
        list->count += list->count + 1 < list->capacity;
        return;
    }
    v->along[axis] = -1;
    if (v->shape.size[axis] == 1) lay_along(m, v, axis + 1, used, axes, list);
    for (int k = 0; k < axes && v->shape.size[axis] > 1; k++) {
        long size = k < m->shape.rank ? m->shape.size[k] : m->y_shape.size[k - m->shape.rank];
        if (used >> k & 1 || size != v->shape.size[axis]) continue;
        v->along[axis] = k;
        lay_along(m, v, axis + 1, used | 1u << k, axes, list);
    }
}

ValuesList compare_values(const Comparison *m, bool beside_outputs) {
    enum { MAX_VALUES = 256 };
    ValuesList list = {.capacity = MAX_VALUES};
    int axes = m->shape.rank + (beside_outputs ? m->y_shape.rank : 0);
    list.v = arena_alloc(m->arena, MAX_VALUES * sizeof *list.v);
    for (int which = 0; which <= m->point->inputs; which++) {
        const PointInput *in = &m->point->in[which];
        bool is_y = which == m->point->inputs;
        Values v = {which, "the output", m->y_shape, m->y, {0}, false, false};
        if (!is_y) v = (Values){which, in->name, in->shape, in->value, {0}, false, false};
        if (shape_count(v.shape) > 0) lay_along(m, &v, 0, 0, axes, &list);
    }
    return list;
}

/* ---- Explanations ---- */

/* Returns a number that is equal for reasons that differ only in indices and numbers; numbers of
 * axes count. */
static uint64_t form_of(const char *text) {
    const uint64_t basis = 0xcbf29ce484222325, prime = 0x100000001b3; /* FNV-1a, 64 bits */
    uint64_t form = basis;
    for (const char *at = text; *at; at++) {
        bool of_an_axis = at - text >= 5 && strncmp(at - 5, "axis ", 5) == 0;
        if (of_an_axis || !strchr("0123456789.-[],", *at))
            form = (form ^ (unsigned char)*at) * prime;
    }
    return form;
}

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

/* Adds the explanations that fit, of those that are sure or not; `where` ends a reason that is about
 * parts of an axis. Each has memory of its own. */
static void add_explanations(Comparison *m, InputReport *report, bool sure, const char *where) {
    bool wrong = false;
    for (long at = 0; at < m->entries; at++)
        wrong |= m->kind[at] == COMPARE_WRONG || !compare_counts(m, at);
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        bool random_alone = tried[i].pattern == PATTERN_UPSTREAM_IGNORED;
        if (report->explanations == EXPLANATIONS) break;
        if (tried[i].sure != sure || tried[i].needs > report->known) continue;
        if (!wrong && !random_alone) continue;
        Arena own = {0}, *kept = m->arena;
        m->arena = &own;
        bool explains = tried[i].explains(m);
        m->arena = kept;
        arena_free(&own);
        if (!explains) continue;
        Explanation *x = &report->explanation[report->explanations++];
        *x = (Explanation){.pattern = tried[i].pattern,
                           .sure = sure,
                           .needs = tried[i].needs,
                           .factor = m->factor};
        bool place = x->pattern == PATTERN_ONLY_SOMEWHERE; /* it may differ between cases */
        text_append(m->reason, REPORT_TEXT, "%s", where);
        x->form = form_of(place ? report_pattern[x->pattern] : m->reason);
        REPORT_SET(x->reason, m->reason);
    }
}

/* Splits an axis of a shape into `parts` equal ones; false: it has no such axis. */
static bool split(Shape *s, int axis, long parts) {
    if (axis >= s->rank || s->rank == MAX_RANK) return false;
    long *n = &s->size[axis];
    if (*n % parts || *n / parts < 2) return false;
    memmove(n + 1, n, (size_t)(s->rank++ - axis) * sizeof *n);
    n[0] = parts;
    n[1] /= parts;
    return true;
}

/* Adds explanations by groups that no axis has, such as attention's heads: those of parts of an
 * axis. */
static void explain_parts(const Comparison *m, InputReport *report) {
    char where[REPORT_TEXT / 2];
    for (int axis = m->shape.rank - 1; axis >= 0; axis--)
        for (long parts = 2; parts <= m->shape.size[axis] / 2; parts++) {
            Comparison of_parts = *m;
            if (!split(&of_parts.shape, axis, parts) || report->explanations) continue;
            split(&of_parts.y_shape, axis + m->stacked, parts);
            snprintf(where, sizeof where, " (with axis %d as %ld parts: shape %s)", axis, parts,
                     shape_text(of_parts.shape));
            add_explanations(&of_parts, report, true, where);
        }
}

/* Sets the explanations of input k's report; the first gives its pattern and reason. */
static void explain(const Gradients *g, int k, InputReport *report) {
    char reason[REPORT_TEXT];
    Comparison m = compare_input(g, k);
    m.reason = reason;
    report->explanations = 0;
    report->known = m.whole ? ROWS : ALL;
    if (m.e->place) report->known = SAMPLE;
    if (!m.e->place) compare_map(&m, report->map);
    add_explanations(&m, report, true, "");
    if (!report->explanations && !m.e->place) explain_parts(&m, report);
    if (!report->explanations) add_explanations(&m, report, false, "");
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
