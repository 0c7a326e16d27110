/* Gradients that are the right ones times a factor, or off by a little. */
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A factor for each of `count` groups of entries. */
typedef struct Factors {
    long count;
    double *factor;
    bool *known;
} Factors;

/* Takes the factor of each group from its largest entry; group[at] is that of entry `at`. Returns whether the factors
 * predict every number from entry `first` on. */
static bool find_factors(Suspect *s, const long *group, long first, Factors *f) {
    long entries = s->entries;
    double *largest = arena_alloc(s->arena, (size_t)f->count * sizeof *largest);
    f->factor = arena_alloc(s->arena, (size_t)f->count * sizeof *f->factor);
    f->known = arena_alloc(s->arena, (size_t)f->count * sizeof *f->known);
    for (long at = first; at < entries; at++) {
        long g = group[at];
        if (!(fabs(s->numeric[at]) > largest[g])) continue;
        largest[g] = fabs(s->numeric[at]);
        f->factor[g] = s->analytic[at] / s->numeric[at];
        f->known[g] = true;
    }
    for (long at = 0; at < entries; at++)
        s->expected[at] = at < first ? s->analytic[at] : s->numeric[at] * f->factor[group[at]];
    return pattern_fits(s);
}

/* Allocates the group of each entry; all are 0. */
static long *new_groups(const Suspect *s) {
    return arena_alloc(s->arena, (size_t)(s->entries) * sizeof(long));
}

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

/* "the size of axis 1 of x": a source of the size n. A 2 may come from anywhere. */
static bool find_size(const Suspect *s, long n, char *text, size_t size) {
    const CheckPoint *p = s->point;
    for (int i = -1; i <= p->inputs && n > 2; i++) {
        bool output = i == p->inputs;
        const PointInput *in = i < 0 ? s->in : &p->in[i]; /* its own first */
        Shape shape = output ? s->y_shape : in->shape;
        const char *name = output ? "the output" : in->name;
        for (int axis = shape.rank - 1; axis >= 0; axis--)
            if (shape.size[axis] == n)
                return snprintf(text, size, "the size of axis %d of %.40s", axis, name) > 0;
        if (shape.rank > 1 && shape_count(shape) == n)
            return snprintf(text, size, "the number of elements of %.40s", name) > 0;
    }
    return false;
}

bool pattern_constant_factor(Suspect *s) {
    char where[128], source[192] = "", name[64] = "";
    const char *form;
    Factors all = {.count = 1};
    long n, effects = 0;
    if (!find_factors(s, new_groups(s), 0, &all) || !isfinite(all.factor[0]) || all.factor[0] == 0)
        return false;
    double k = all.factor[0];
    if (fabs(k + 1) < s->tolerance) return pattern_say(s, "every element has the wrong sign");
    bool whole = is_whole(k, s->tolerance, &form, &n);
    for (long q = 0; q < s->rows; q++) effects += s->numeric[q] != 0;
    if (!whole && s->n == 1 && effects < 3) return false; /* any number is a multiple of another */
    if (whole && *form) snprintf(name, sizeof name, " = %s%s%ld", k < 0 ? "-" : "", form, n);
    if (whole && find_size(s, n, where, sizeof where))
        snprintf(source, sizeof source, ". %ld is %s", n, where);
    int digits = 6 + (int)fmin(fmax(0, -log10(fabs(k - 1))), 11);
    return pattern_say(s, "every element is multiplied by the constant factor %.*g%s%s", digits, k,
                       name, source);
}

/* ---- Functions of a value ---- */

/* %s: the value's name. Simple ones first; from RARE on not of an output. */
static const char *const function[] = {"1",
                                       "%s",
                                       "%s²",
                                       "(1 - %s)",
                                       "(1 + %s)",
                                       "(1 - %s²)",
                                       "%s (1 - %s)",
                                       "|%s|",
                                       "√|%s|",
                                       "exp(%s)",
                                       "sigmoid(%s)",
                                       "(1 - sigmoid(%s))",
                                       "sigmoid'(%s)",
                                       "tanh(%s)",
                                       "tanh'(%s)",
                                       "softplus(%s)",
                                       "cos(%s)",
                                       "sin(%s)"};
enum { FUNCTIONS = sizeof function / sizeof *function, RARE = 9 };

static double value_of(int which, double v) {
    double e = exp(v), s = 1 / (1 + exp(-v)), t = tanh(v), a = fabs(v);
    const double of[FUNCTIONS] = {1,           v, v * v,     1 - v,    1 + v,  1 - v * v,
                                  v * (1 - v), a, sqrt(a),   e,        s,      1 - s,
                                  s * (1 - s), t, 1 - t * t, log1p(e), cos(v), sin(v)};
    return of[which];
}

/* Whether each factor is f(v) / g(v). */
static bool is_quotient(const Factors *t, const double *value, int f, int g, double tolerance) {
    for (long i = 0; i < t->count; i++) {
        if (!t->known[i]) continue;
        double found = t->factor[i] * value_of(g, value[i]), want = value_of(f, value[i]);
        if (want == 0 && value_of(g, value[i]) == 0) return false; /* any factor would fit */
        if (!(fabs(found - want) <= tolerance * fmax(fabs(found), fabs(want)))) return false;
    }
    return true;
}

/* One value everywhere is no evidence, nor is one factor, such as a wrong sign, or an infinite value. */
static bool values_differ(const Factors *t, const double *value, double tolerance) {
    long first = -1;
    bool values = false, factors = false;
    for (long i = 0; i < t->count; i++) {
        if (!t->known[i]) continue;
        if (!isfinite(value[i])) return false;
        if (first < 0) first = i;
        values |= value[i] != value[first];
        factors |= fabs(t->factor[i] - t->factor[first]) > tolerance * fabs(t->factor[first]);
    }
    return values && factors;
}

/* "multiplied by sigmoid(x) instead of sigmoid'(x)": the factors of the elements of a shape in words, as functions of an
 * input or of the output. False: they are no known functions. */
static bool name_factors(const Suspect *s, const Factors *t, Shape over, char *text, size_t size) {
    double *v = arena_alloc(s->arena, (size_t)t->count * sizeof *v);
    char f[64], g[64];
    const char *name;
    for (int which = 0, inputs = s->point->inputs; which <= inputs; which++) {
        int functions = which == inputs ? RARE : FUNCTIONS;
        if (!pattern_values_over(s, over, which, v, &name) || !values_differ(t, v, s->tolerance))
            continue;
        for (int sum = 1; sum < 2 * functions; sum++)
            for (int i = 0; i <= sum && i < functions; i++) {
                int k = sum - i;
                if (k >= functions || k == i || !is_quotient(t, v, i, k, 10 * s->tolerance))
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
    }
    return false;
}

enum { MIN = 3 }; /* factors that are evidence */

bool pattern_factor_of_values(Suspect *s) {
    Factors t = {.count = s->n};
    long *group = new_groups(s), wrong = 0;
    char text[REPORT_TEXT / 2];
    for (long at = 0; at < s->rows * t.count; at++) group[at] = at % t.count;
    if (!find_factors(s, group, 0, &t)) return false;
    for (long j = 0; j < t.count; j++) wrong += t.known[j] &= s->e->state[j] == ENTRY_WRONG;
    return wrong >= MIN && name_factors(s, &t, s->shape, text, sizeof text) &&
           pattern_say(s, "every %selement is %s", wrong < t.count ? "wrong " : "", text);
}

/* A factor for each output, the same for all elements: something of the output is missing or too many. */
bool pattern_factor_of_outputs(Suspect *s) {
    Factors t = {.count = s->outputs};
    long *group = new_groups(s), n = s->n, known = 0;
    char text[REPORT_TEXT / 2];
    for (long at = n; at < (1 + t.count) * n; at++) group[at] = at / n - 1;
    if (!find_factors(s, group, n, &t)) return false;
    for (long i = 0; i < t.count; i++) known += t.known[i];
    return known >= MIN && name_factors(s, &t, s->y_shape, text, sizeof text) &&
           pattern_say(s, "the part of every output is %s", text);
}

/* One factor for each line, not 0 and not the same in all, as when a row's 1/σ is dropped. */
bool pattern_factor_of_lines(Suspect *s) {
    long n = s->n, *group = new_groups(s);
    for (int axis = s->shape.rank - 1; axis >= 0; axis--) {
        Factors t = {.count = n};
        double seen = 0; /* a factor */
        bool differ = false, zero = false;
        if (s->shape.size[axis] < 2 || s->shape.size[axis] == n) continue;
        for (long at = 0; at < s->rows * n; at++)
            group[at] = pattern_at_index(s->shape, axis, at % n, 0); /* the line's first element */
        bool fits = find_factors(s, group, 0, &t);
        for (long g = 0; g < n; g++) {
            if (!t.known[g]) continue;
            zero |= t.factor[g] == 0;
            differ |= seen != 0 && fabs(t.factor[g] - seen) > s->tolerance * fabs(seen);
            seen = t.factor[g];
        }
        if (fits && differ && !zero)
            return pattern_say(s,
                               "a factor is wrong or missing. It is the same along axis %d and "
                               "differs between lines",
                               axis);
    }
    return false;
}

/* An example is softmax without the outputs' dependence on each other. */
bool pattern_diagonal_alone(Suspect *s) {
    long n = s->n, lost = 0;
    if (s->outputs != n) return false;
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) {
            if (i != j && s->analytic[(1 + i) * n + j] != 0) return false;
            lost += i != j && s->numeric[(1 + i) * n + j] != 0;
        }
    return lost > 1 &&
           pattern_say(s,
                       "each output's gradient arrives at the element in its own place alone. The "
                       "output also depends on other elements");
}

/* Each output depends on one element, as of an elementwise operation, and the gradients of all other elements are 0. */
bool pattern_wrong_slope(Suspect *s) {
    long n = s->n, wrong = 0;
    if (s->outputs < 2) return false;
    for (long i = 1; i <= s->outputs; i++) {
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
    for (long at = 0; at < s->entries; at++) {
        double size = s->scale[at / s->n], need = fabs(s->numeric[at]);
        double error = fabs(s->analytic[at] - s->numeric[at]);
        if (!(error <= part * size) || (need > small * size && error > of_itself * need))
            return false;
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
        return pattern_say(s,
                           "right to four digits. Is an epsilon different from forward's, or has a "
                           "constant too few digits?");
    return is_nearly_right(s, 0.01, 0.01, 0.75) &&
           pattern_say(s, "right to 1 %% of the largest. Is a small term or factor left out?");
}
