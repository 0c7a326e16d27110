/* Gradients that are the right ones times a factor, or off by a little. */
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- One factor ---- */

/* "√8", "1/3": k is one of these forms of a whole number n. */
static bool is_whole(double k, double tolerance, const char **form, long *n) {
    static const struct {
        const char *form;
        double power;
    } known[] = {{"", 1}, {"1/", -1}, {"√", 2}, {"1/√", -2}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double v = pow(fabs(k), known[i].power);
        if (v < 1.5 || v > 1e6 || fabs(v - round(v)) > 10 * tolerance * v) continue;
        *form = known[i].form;
        *n = lround(v);
        return true;
    }
    return false;
}

/* "the size of axis 1 of x": where a size n may come from. A 2 may come from anywhere. */
static bool find_size(const Suspect *s, long n, char *text, size_t size) {
    const CheckPoint *p = s->run->point;
    for (int i = -1; i <= p->inputs && n > 2; i++) {
        const PointInput *in = i < 0 ? s->in : i < p->inputs ? &p->in[i] : NULL;
        Shape shape = in ? in->shape : s->y_shape;
        const char *name = in ? in->name : "the output";
        for (int axis = shape.rank - 1; axis >= 0; axis--)
            if (shape.size[axis] == n)
                return snprintf(text, size, "the size of axis %d of %.40s", axis, name) > 0;
        if (shape.rank > 1 && shape_count(shape) == n)
            return snprintf(text, size, "the number of elements of %.40s", name) > 0;
    }
    return false;
}

/* The factor of the largest entry, if it fits every coordinate; else NAN. */
static double fitting_factor(Suspect *s) {
    long n = s->e->coordinates, largest = 0;
    double *factor = arena_alloc(s->arena, (size_t)n * sizeof *factor);
    for (long i = 1; i < s->e->cotangents * n; i++)
        if (fabs(s->numeric[i]) > fabs(s->numeric[largest])) largest = i;
    double k = s->analytic[largest] / s->numeric[largest];
    for (long j = 0; j < n; j++) factor[j] = k;
    return isfinite(k) && k != 0 && pattern_fits_factors(s, factor) ? k : NAN;
}

bool pattern_constant_factor(Suspect *s) {
    char where[128], source[192] = "", name[64] = "";
    const char *form;
    double k = fitting_factor(s);
    long n, effects = 0;
    if (isnan(k)) return false;
    if (fabs(k + 1) < s->tolerance) return pattern_say(s, "every element has the wrong sign");
    bool whole = is_whole(k, s->tolerance, &form, &n);
    for (long q = 0; q < s->e->cotangents; q++) effects += s->numeric[q] != 0;
    if (!whole && s->e->coordinates == 1 && effects < 3)
        return false; /* any number is a multiple of another */
    if (whole && *form) snprintf(name, sizeof name, " = %s%s%ld", k < 0 ? "-" : "", form, n);
    if (whole && find_size(s, n, where, sizeof where))
        snprintf(source, sizeof source, ". %ld is %s", n, where);
    int digits = 6 + (int)fmin(fmax(0, -log10(fabs(k - 1))), 11);
    return pattern_say(s, "every element is multiplied by the constant factor %.*g%s%s", digits, k, name,
                       source);
}

/* ---- Functions of a value ---- */

/* %s: the value's name. Simple ones first; from RARE on not of an output. */
static const char *const function[] = {
    "1",         "%s",           "%s²",     "(1 - %s)",    "(1 + %s)",          "(1 - %s²)",    "%s (1 - %s)",
    "|%s|",      "√|%s|",        "exp(%s)", "sigmoid(%s)", "(1 - sigmoid(%s))", "sigmoid'(%s)", "tanh(%s)",
    "tanh'(%s)", "softplus(%s)", "cos(%s)", "sin(%s)"};
enum { FUNCTIONS = sizeof function / sizeof *function, RARE = 9 };

static double value_of(int which, double v) {
    double e = exp(v), s = 1 / (1 + exp(-v)), t = tanh(v), a = fabs(v);
    const double of[FUNCTIONS] = {1, v, v * v, 1 - v,       1 + v, 1 - v * v, v * (1 - v), a,      sqrt(a),
                                  e, s, 1 - s, s * (1 - s), t,     1 - t * t, log1p(e),    cos(v), sin(v)};
    return of[which];
}

/* A factor at each of some places, and the value there that it may be a function of. */
typedef struct Factors {
    const double *factor, *value;
    const bool *known; /* there is a factor */
    long count;
    double tolerance;
} Factors;

/* Whether each factor is f(v) / g(v). */
static bool is_quotient(const Factors *t, int f, int g) {
    for (long i = 0; i < t->count; i++) {
        if (!t->known[i]) continue;
        double found = t->factor[i] * value_of(g, t->value[i]), want = value_of(f, t->value[i]);
        if (!(fabs(found - want) <= t->tolerance * fmax(fabs(found), fabs(want)))) return false;
    }
    return true;
}

/* One value everywhere is no evidence, nor is an infinite one. */
static bool values_differ(const Factors *t) {
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

/* "multiplied by sigmoid(x) instead of sigmoid'(x)": the factors in words, false if they are no known
 * functions. */
static bool name_factors(const Factors *t, const char *name, bool of_output, char *text, size_t size) {
    char f[64], g[64];
    if (!values_differ(t)) return false;
    for (int sum = 1; sum < 2 * FUNCTIONS; sum++)
        for (int i = 0; i <= sum && i < FUNCTIONS; i++) {
            int k = sum - i;
            if (k >= FUNCTIONS || k == i || (of_output && (i >= RARE || k >= RARE)) || !is_quotient(t, i, k))
                continue;
            snprintf(f, sizeof f, function[i], name, name);
            snprintf(g, sizeof g, function[k], name, name);
            if (k == 0)
                snprintf(text, size, "multiplied by a factor %s too many", f);
            else if (i == 0)
                snprintf(text, size, "missing a factor %s", g);
            else
                snprintf(text, size, "multiplied by %.48s instead of %.48s", f, g);
            return true;
        }
    return false;
}

/* Names the factors by functions of an input or of the output. */
static bool name_values(Suspect *s, Factors t, Shape over, char *text, size_t size) {
    double *v = arena_alloc(s->arena, (size_t)t.count * sizeof *v);
    const char *name;
    t.value = v;
    for (int which = 0, inputs = s->run->point->inputs; which <= inputs; which++)
        if (pattern_values_over(s, over, which, v, &name) &&
            name_factors(&t, name, which == inputs, text, size))
            return true;
    return false;
}

/* The factor of each wrong element, from its largest entry. Returns how many there are. */
static long find_factors(const Suspect *s, double *factor, bool *known, double *largest) {
    long n = s->e->coordinates, count = 0;
    for (long at = 0; at < s->e->cotangents * n; at++) {
        long i = at % n;
        if (!(fabs(s->numeric[at]) > largest[i]) || s->e->state[at % n] != ENTRY_WRONG) continue;
        largest[i] = fabs(s->numeric[at]);
        factor[i] = s->analytic[at] / s->numeric[at];
        count += !known[i];
        known[i] = true;
    }
    return count;
}

bool pattern_factor_of_values(Suspect *s) {
    enum { LEAST = 3 };
    size_t n = (size_t)s->e->coordinates;
    double *factor = arena_alloc(s->arena, n * sizeof *factor);
    double *largest = arena_alloc(s->arena, n * sizeof *largest);
    bool *known = arena_alloc(s->arena, n);
    char text[REPORT_TEXT / 2];
    long count = find_factors(s, factor, known, largest);
    for (size_t j = 0; j < n; j++)
        if (!known[j]) factor[j] = 1;
    Factors t = {factor, NULL, known, (long)n, 10 * s->tolerance};
    return count >= LEAST && pattern_fits_factors(s, factor) &&
           name_values(s, t, s->shape, text, sizeof text) &&
           pattern_say(s, "every %selement is %s", count < (long)n ? "wrong " : "", text);
}

/* A factor for each output, the same for all elements: something of the output is missing or too many. */
bool pattern_factor_of_outputs(Suspect *s) {
    enum { LEAST = 3 };
    long n = s->e->coordinates, outputs = s->e->outputs, count = 0;
    if (!pattern_has_jacobian(s) || outputs < LEAST) return false;
    double *factor = arena_alloc(s->arena, (size_t)outputs * sizeof *factor);
    bool *known = arena_alloc(s->arena, (size_t)outputs);
    char text[REPORT_TEXT / 2];
    for (long i = 0; i < outputs; i++) {
        const double *right = s->numeric + (1 + i) * n, *found = s->analytic + (1 + i) * n;
        long largest = 0;
        for (long j = 1; j < n; j++)
            if (fabs(right[j]) > fabs(right[largest])) largest = j;
        if (right[largest] != 0) factor[i] = found[largest] / right[largest], known[i] = true, count++;
        for (long j = 0; j < n; j++)
            if (!pattern_near(s, (1 + i) * n + j, found[j], factor[i] * right[j])) return false;
    }
    Factors t = {factor, NULL, known, outputs, 10 * s->tolerance};
    return count >= LEAST && name_values(s, t, s->y_shape, text, sizeof text) &&
           pattern_say(s, "the part of every output is %s", text);
}

/* One factor for each line, not 0 and not the same in all, as when a row's 1/σ is dropped. */
bool pattern_factor_of_lines(Suspect *s) {
    double *factor = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *factor);
    for (int axis = s->shape.rank - 1; axis >= 0; axis--) {
        AlongAxis a = pattern_along(s->shape, axis);
        if (a.n < 2 || a.n == s->e->coordinates) continue;
        double seen = 0; /* a factor */
        bool differ = false, zero = false;
        for (long j = 0; j < s->e->coordinates; j++) {
            long first = j - pattern_index_along(&a, j) * a.inner;
            double largest = 0;
            factor[j] = 0;
            for (long i = 0; i < a.n * s->e->cotangents; i++) {
                long at = i / a.n * s->e->coordinates + first + i % a.n * a.inner;
                if (!(fabs(s->numeric[at]) > largest)) continue;
                largest = fabs(s->numeric[at]);
                factor[j] = s->analytic[at] / s->numeric[at];
            }
            if (largest == 0) continue;
            zero |= factor[j] == 0;
            differ |= seen != 0 && fabs(factor[j] - seen) > s->tolerance * fabs(seen);
            seen = factor[j];
        }
        if (differ && !zero && pattern_fits_factors(s, factor))
            return pattern_say(
                s, "a factor is wrong or missing. It is the same along axis %d and differs between lines",
                axis);
    }
    return false;
}

/* For example softmax without the outputs' dependence on each other. */
bool pattern_diagonal_alone(Suspect *s) {
    long n = s->e->coordinates, lost = 0;
    if (!pattern_has_jacobian(s) || s->e->outputs != n) return false;
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            if (i != j && s->analytic[(1 + i) * n + j] != 0) return false;
            lost += i != j && s->numeric[(1 + i) * n + j] != 0;
        }
    return lost > 1 &&
           pattern_say(s, "each output's gradient arrives at the element in its own place alone. The "
                          "output also depends on other elements");
}

/* Each output depends on one element, as of an elementwise operation, and the gradients of all other elements are 0. */
bool pattern_wrong_slope(Suspect *s) {
    long n = s->e->coordinates, wrong = 0;
    if (!pattern_has_jacobian(s) || s->e->outputs < 2) return false;
    for (long i = 1; i <= s->e->outputs; i++) {
        long used = 0;
        for (long at = i * n; at < (i + 1) * n; at++) {
            if (s->numeric[at] == 0 && s->analytic[at] != 0) return false;
            used += s->numeric[at] != 0, wrong += pattern_is_wrong(s, at);
        }
        if (used > 1) return false;
    }
    return wrong > 1 &&
           pattern_say(s, "the formula of the derivative is wrong: each gradient arrives from the "
                          "right output at the right element, with a wrong slope");
}

/* Mistakes in a formula show in the first digits. If only later digits are wrong, a share of
 * all entries is wrong, each by a small part of the largest and of itself. */
static bool is_nearly_right(const Suspect *s, double part, double of_itself, double share) {
    const double small = 1e-3;
    long seen = 0, off = 0;
    for (long at = 0; at < s->e->cotangents * s->e->coordinates; at++) {
        double size = s->scale[at / s->e->coordinates], need = fabs(s->numeric[at]);
        double error = fabs(s->analytic[at] - s->numeric[at]);
        if (!(error <= part * size) || (need > small * size && error > of_itself * need)) return false;
        if (!(need > small * size)) continue;
        seen++, off += !pattern_near(s, at, s->analytic[at], s->numeric[at]);
    }
    return (double)off >= share * (double)seen;
}

bool pattern_nearly_right(Suspect *s) {
    if (sizeof(real) > sizeof(float) && is_nearly_right(s, 4 * (double)FLT_EPSILON, INFINITY, 0.25))
        return pattern_say(
            s, "right to the digits of a float. Is a number computed or kept in single precision?");
    if (is_nearly_right(s, 1e-4, INFINITY, 0.25))
        return pattern_say(s, "right to four digits. Is an epsilon different from forward's, or has a "
                              "constant too few digits?");
    return is_nearly_right(s, 0.01, 0.01, 0.75) &&
           pattern_say(s, "right to 1 %% of the largest. Is a small term or factor left out?");
}
