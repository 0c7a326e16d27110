/* Factors of the chain rule: what they belong to, and which function of a value they are. */
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Functions of a value ---- */

static double one(double v) {
    (void)v;
    return 1;
}
static double itself(double v) {
    return v;
}
static double square(double v) {
    return v * v;
}
static double sigmoid(double v) {
    return 1 / (1 + exp(-v));
}
static double sigmoid_other(double v) {
    return sigmoid(-v);
}
static double sigmoid_slope(double v) {
    return sigmoid(v) * sigmoid(-v);
}
static double tanh_slope(double v) {
    return 1 - tanh(v) * tanh(v);
}
static double softplus(double v) {
    return log1p(exp(v));
}
static double value_slope(double v) {
    return v * (1 - v);
}
static double one_minus(double v) {
    return 1 - v;
}
static double one_minus_square(double v) {
    return 1 - v * v;
}
static double one_plus(double v) {
    return 1 + v;
}
static double size(double v) {
    return fabs(v);
}
static double size_root(double v) {
    return sqrt(fabs(v));
}

/* %s: the value's name. */
static const struct Function {
    const char *text;
    double (*of)(double v);
    bool rare; /* of an output */
} function[] = {
    {"1", one},
    {"%s", itself},
    {"%s²", square},
    {"exp(%s)", exp, true},
    {"sigmoid(%s)", sigmoid, true},
    {"(1 - sigmoid(%s))", sigmoid_other, true},
    {"sigmoid'(%s)", sigmoid_slope, true},
    {"tanh(%s)", tanh, true},
    {"tanh'(%s)", tanh_slope, true},
    {"softplus(%s)", softplus, true},
    {"(1 - %s)", one_minus},
    {"(1 - %s²)", one_minus_square},
    {"(1 + %s)", one_plus},
    {"%s (1 - %s)", value_slope},
    {"cos(%s)", cos, true},
    {"sin(%s)", sin, true},
    {"|%s|", size},
    {"√|%s|", size_root},
};
enum { FUNCTIONS = sizeof function / sizeof *function };

/* A factor at each of some places, and the value there that it may be a function of. */
typedef struct Factors {
    const double *factor, *value;
    const bool *known; /* there is a factor */
    long count;
    double tolerance;
} Factors;

/* Whether each factor is f(v) / g(v). */
static bool is_quotient(const Factors *t, double (*f)(double v), double (*g)(double v)) {
    for (long i = 0; i < t->count; i++) {
        if (!t->known[i]) continue;
        double found = t->factor[i] * g(t->value[i]), want = f(t->value[i]);
        if (!(fabs(found - want) <= t->tolerance * fmax(fabs(found), fabs(want)))) return false;
    }
    return true;
}

/* One value everywhere is no evidence, nor is what comes of an infinite one. */
static bool differ(const Factors *t) {
    const double *first = NULL;
    bool any = false;
    for (long i = 0; i < t->count; i++) {
        if (!t->known[i]) continue;
        if (!isfinite(t->value[i])) return false;
        if (!first) first = &t->value[i];
        any |= t->value[i] != *first;
    }
    return any;
}

/* "sigmoid(x) stands where sigmoid'(x) belongs": what the factors are, false if they are nothing known. simple: without
 * functions that few take of an output. */
static bool name_factors(const Factors *t, const char *name, bool simple, char *text, size_t size) {
    char f[REPORT_NAME], g[REPORT_NAME];
    if (!differ(t)) return false;
    for (int sum = 1; sum < 2 * FUNCTIONS; sum++) /* simple ones first */
        for (int i = 0; i <= sum && i < FUNCTIONS; i++) {
            int k = sum - i;
            if (k >= FUNCTIONS || k == i || (simple && (function[i].rare || function[k].rare)) ||
                !is_quotient(t, function[i].of, function[k].of))
                continue;
            snprintf(f, sizeof f, function[i].text, name, name);
            snprintf(g, sizeof g, function[k].text, name, name);
            if (k == 0)
                snprintf(text, size, "there is a factor %s too many%s", f,
                         function[i].of == exp ? " (as of sigmoid for 1 - sigmoid)" : "");
            else if (i == 0)
                snprintf(text, size, "a factor %s is missing%s", g,
                         function[k].of == exp ? " (as of 1 - sigmoid for sigmoid)" : "");
            else
                snprintf(text, size, "%s stands where %s belongs", f, g);
            return true;
        }
    return false;
}

/* ---- What a factor belongs to ---- */

/* Entries of the Jacobian in classes: those with the same indices along some axes, of the input and of the output. */
typedef struct Classes {
    unsigned axes; /* bit p: axis p of the input; bit rank + q: axis q of the output */
    long count;    /* that there may be */
    double *factor, *largest;
    long *entry;          /* the largest of each */
    long used, confirmed; /* classes that have an entry, and entries that confirm the factor of theirs */
} Classes;

/* Entries of elements that are wrong, large enough to show a factor. */
static bool counts(const Suspect *s, long i, long j) {
    const double small = 1e-3;
    long at = (1 + i) * s->e->coordinates + j;
    return s->e->state[j] == ENTRY_WRONG && s->e->entry[at].state != ENTRY_KINK &&
           fabs(s->numeric[at]) > small * s->scale[1 + i];
}

/* Whether every entry of a wrong element is the right one times the factor of its class, and the classes are confirmed by
 * as many entries more as there are of them. */
static bool fits_classes(Suspect *s, Classes *c) {
    const Entries *e = s->e;
    long inputs, outputs;
    const long *of_input = pattern_numbers_along(s->arena, s->shape, c->axes, e->coordinates, &inputs);
    const long *of_output =
        pattern_numbers_along(s->arena, s->y_shape, c->axes >> s->shape.rank, e->outputs, &outputs);
    c->count = inputs * outputs;
    c->factor = arena_alloc(s->arena, (size_t)c->count * sizeof *c->factor);
    c->largest = arena_alloc(s->arena, (size_t)c->count * sizeof *c->largest);
    c->entry = arena_alloc(s->arena, (size_t)c->count * sizeof *c->entry);
    c->used = c->confirmed = 0;
    for (long i = 0; i < e->outputs; i++)
        for (long j = 0; j < e->coordinates; j++) {
            long at = (1 + i) * e->coordinates + j, k = of_input[j] * outputs + of_output[i];
            if (!counts(s, i, j)) continue;
            c->used += c->largest[k] == 0;
            if (!(fabs(s->numeric[at]) > c->largest[k])) continue;
            c->largest[k] = fabs(s->numeric[at]);
            c->factor[k] = s->analytic[at] / s->numeric[at];
            c->entry[k] = i * e->coordinates + j;
        }
    unsigned own = (1u << s->shape.rank) - 1;
    bool mixed = (c->axes & own) &&
                 (c->axes & ~own); /* then entries that are the same in all runs of a batch say nothing */
    if (c->used < 2) return false;
    for (long i = 0; i < e->outputs; i++)
        for (long j = 0; j < e->coordinates; j++) {
            long at = (1 + i) * e->coordinates + j, k = of_input[j] * outputs + of_output[i];
            if (e->state[j] != ENTRY_WRONG || e->entry[at].state == ENTRY_KINK) continue;
            if (!pattern_near(s, at, s->analytic[at], c->factor[k] * s->numeric[at])) return false;
            bool another =
                i * e->coordinates + j != c->entry[k] &&
                (!mixed || fabs(fabs(s->numeric[at]) - c->largest[k]) > s->tolerance * c->largest[k]);
            c->confirmed += counts(s, i, j) && another;
        }
    return c->confirmed >= c->used;
}

/* "the index along axis 0 of the output and axis 1 of U". */
static void say_axes(const Suspect *s, unsigned axes, char *text, size_t size) {
    snprintf(text, size, "the index along");
    const char *comma = "";
    for (int pass = 0; pass < 2; pass++)
        for (int axis = 0; axis < s->shape.rank + s->y_shape.rank; axis++) {
            bool own = axis < s->shape.rank;
            size_t used = strlen(text);
            if (own == (pass == 0) || !(axes >> axis & 1)) continue;
            snprintf(text + used, size - used, "%s axis %d of %.24s", comma,
                     own ? axis : axis - s->shape.rank, own ? s->in->name : "the output");
            comma = " and";
        }
}

/* Which function of a value beside the classes their factors are, where these are the elements (or the outputs). */
static bool name_classes(Suspect *s, const Classes *c, bool of_elements, char *text, size_t size) {
    Shape over = of_elements ? s->shape : s->y_shape;
    double *v = arena_alloc(s->arena, (size_t)c->count * sizeof *v);
    bool *known = arena_alloc(s->arena, (size_t)c->count);
    const char *name;
    for (long k = 0; k < c->count; k++) known[k] = c->largest[k] > 0;
    for (int which = 0; which <= s->run->point->inputs; which++) {
        Factors t = {c->factor, v, known, c->count, 10 * s->tolerance};
        if (pattern_values_over(s, over, which, v, &name) &&
            name_factors(&t, name, which == s->run->point->inputs, text, size))
            return true;
    }
    return false;
}

/* Examples of factors: of elements or of outputs two, of both together one. */
static void examples(const Suspect *s, const Classes *c, bool of_elements, bool of_outputs, char *text,
                     size_t size) {
    char at[INDEX_TEXT];
    double before = NAN;
    int said = 0;
    text[0] = 0;
    for (long k = 0; k < c->count && said < (of_elements && of_outputs ? 1 : 2); k++) {
        double factor = c->factor[k];
        if (c->largest[k] == 0 || fabs(factor - 1) <= s->tolerance || fabs(factor - before) <= s->tolerance)
            continue;
        long i = c->entry[k] / s->e->coordinates, j = c->entry[k] % s->e->coordinates;
        size_t used = strlen(text);
        int digits = 4 + (int)fmax(0, -log10(fabs(factor - 1)));
        snprintf(text + used, size - used, "%s %.*g", said++ ? "," : ":", digits > 12 ? 12 : digits, factor);
        before = factor;
        if (of_elements) {
            used = strlen(text);
            snprintf(text + used, size - used, " for %.24s%s", s->in->name,
                     gradcheck_index_text(at, s->shape, j));
        }
        used = strlen(text);
        if (of_outputs)
            snprintf(text + used, size - used, " at output%s", gradcheck_index_text(at, s->y_shape, i));
    }
}

static bool say_classes(Suspect *s, const Classes *c) {
    char text[REPORT_TEXT], more[REPORT_TEXT];
    unsigned own = (1u << s->shape.rank) - 1, all = (1u << (s->shape.rank + s->y_shape.rank)) - 1;
    bool elements = c->axes == own, outputs = c->axes == (all & ~own);
    bool named = (elements || outputs) && name_classes(s, c, elements, more, sizeof more);
    if (named)
        return pattern_say(s, "%s: %s",
                           elements ? "at each element" : "at each output, before the sum over them", more);
    if (elements)
        snprintf(text, sizeof text, "belongs to the element (a derivative of what is made of %s?)",
                 s->in->name);
    else if (outputs)
        snprintf(text, sizeof text, "belongs to the output");
    else
        say_axes(s, c->axes, text, sizeof text);
    examples(s, c, c->axes & own, c->axes & ~own, more, sizeof more);
    if ((c->axes & own) && (c->axes & ~own)) {
        pattern_say(s,
                    "each effect on an output is a product in which one number is wrong, one that has %s: it "
                    "is times%s",
                    text, more + (*more == ':'));
        s->said.form = pattern_form(text);
        return true;
    }
    return pattern_say(s, "each effect on an output is the right one times a factor that %s%s%s",
                       elements || outputs ? "" : "depends on ", text, more);
}

/* As when a link of the chain rule is left out: that of an element's own function, of an output's saved value, or of a hidden
 * number that lies between them. */
bool pattern_factor_of_axes(Suspect *s) {
    enum { MOST_AXES = 6 };
    int axes = s->shape.rank + s->y_shape.rank;
    if (!pattern_has_jacobian(s) || axes > MOST_AXES) return false;
    for (int n = 1; n < axes; n++)
        for (unsigned set = 1; set < 1u << axes; set++) {
            Classes c = {.axes = set};
            if (pattern_axes_in(set) == n && fits_classes(s, &c)) return say_classes(s, &c);
        }
    return false;
}

/* The same where each element goes to one output alone, and the factors are known functions of values. */
bool pattern_function_of_values(Suspect *s) {
    enum { LEAST = 3 };
    long n = s->e->coordinates, count = 0;
    double *factor = arena_alloc(s->arena, (size_t)n * sizeof *factor);
    double *largest = arena_alloc(s->arena, (size_t)n * sizeof *largest);
    double *v = arena_alloc(s->arena, (size_t)n * sizeof *v);
    bool *known = arena_alloc(s->arena, (size_t)n);
    const char *name;
    char text[REPORT_TEXT];
    for (long at = 0; at < s->e->cotangents * n; at++) {
        long j = at % n;
        if (!(fabs(s->numeric[at]) > largest[j]) || s->e->state[j] != ENTRY_WRONG) continue;
        largest[j] = fabs(s->numeric[at]);
        factor[j] = s->analytic[at] / s->numeric[at];
        count += !known[j];
        known[j] = true;
    }
    for (long j = 0; j < n; j++)
        if (!known[j]) factor[j] = 1;
    if (count < LEAST || !pattern_fits_factors(s, factor)) return false;
    for (int which = 0; which <= s->run->point->inputs; which++) {
        Factors t = {factor, v, known, n, 10 * s->tolerance};
        if (pattern_values_beside(s, which, v, &name) &&
            name_factors(&t, name, which == s->run->point->inputs, text, sizeof text))
            return pattern_say(s, "at each element%s %s", count < n ? " that is wrong" : "", text);
    }
    return false;
}

bool pattern_name_factor(const Suspect *s, double k, char *text, size_t size) {
    const CheckPoint *p = s->run->point;
    const bool known = true;
    for (int i = 0; i < p->inputs; i++) {
        if (p->in[i].count != 1) continue;
        double v = (double)p->in[i].value[0];
        Factors t = {&k, &v, &known, 1, 10 * s->tolerance};
        for (int f = 1; f < FUNCTIONS; f++)
            for (int missing = 0; missing < 2; missing++) {
                if (!is_quotient(&t, function[missing ? 0 : f].of, function[missing ? f : 0].of)) continue;
                size_t used = (size_t)snprintf(text, size, " = %s", missing ? "1/" : "");
                snprintf(text + used, size - used, function[f].text, p->in[i].name, p->in[i].name);
                return true;
            }
    }
    return false;
}
