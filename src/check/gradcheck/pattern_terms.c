/* Mistakes in a formula: a factor or a term that is wrong, or the neighbour's. */
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What derivatives multiply with, a + b v^power; each may be there by mistake, or be missing. */
static const struct Form {
    const char *text; /* %s: the value's name */
    double a, b;
    int power;
} form[] = {{"%s", 0, 1, 1},
            {"%s²", 0, 1, 2},
            {"(1 - %s)", 1, -1, 1},
            {"(1 + %s)", 1, 1, 1},
            {"(1 - %s²)", 1, -1, 2}};
enum { FORMS = sizeof form / sizeof *form };

static double form_of(const struct Form *f, double v) {
    return f->a + f->b * (f->power == 2 ? v * v : v);
}

/* Elements that are wrong: what fits one or two of them may do so by chance. */
static bool evident(const Suspect *s) {
    long count = 0;
    for (long j = 0; j < s->e->coordinates; j++) count += s->e->state[j] == ENTRY_WRONG;
    return count > 2 || count == s->e->coordinates;
}

bool pattern_factor_of_values(Suspect *s) {
    if (!evident(s)) return false;
    double *v = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *v);
    double *factor = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *factor);
    for (int which = 0; which <= s->run->point->inputs; which++) {
        const char *name;
        char text[2 * REPORT_NAME];
        if (!pattern_values_beside(s, which, v, &name)) continue;
        for (int f = 0; f < FORMS; f++) {
            snprintf(text, sizeof text, form[f].text, name);
            for (long j = 0; j < s->e->coordinates; j++) factor[j] = form_of(&form[f], v[j]);
            if (pattern_fits_factors(s, factor))
                return pattern_say(s, "every element is multiplied by a factor %s too many", text);
            for (long j = 0; j < s->e->coordinates; j++) factor[j] = 1 / form_of(&form[f], v[j]);
            if (pattern_fits_factors(s, factor))
                return pattern_say(s, "a factor %s is missing at every element", text);
        }
    }
    return false;
}

/* One value where another belongs: x for y, a for b. The output may differ from an input by a factor a line, as what is
 * normalised does: then that says more; and where many of the two are the same, as a leaky slope leaves them, a mistake
 * among the others does. */
bool pattern_value_for_another(Suspect *s) {
    if (!evident(s)) return false;
    double *right = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *right);
    double *factor = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *factor);
    double *wrong = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *wrong);
    int values = s->run->point->inputs + 1;
    for (int i = 0; i < values * values; i++) {
        const char *name, *other;
        if (!pattern_values_beside(s, i / values, right, &name) ||
            !pattern_values_beside(s, i % values, wrong, &other))
            continue;
        long same = 0;
        for (long j = 0; j < s->e->coordinates; j++) {
            factor[j] = wrong[j] / right[j];
            same += fabs(factor[j] - 1) <= s->tolerance;
        }
        bool of_output = i / values == values - 1 || i % values == values - 1;
        if (4 * same > s->e->coordinates || !pattern_fits_factors(s, factor) ||
            (of_output && pattern_factor_of_lines(s)))
            continue;
        return pattern_say(s, "every element is multiplied by %s where %s belongs", other, name);
    }
    return false;
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
            for (long q = 0; q < s->e->cotangents; q++)
                for (long i = 0; i < a.n; i++) {
                    long at = q * s->e->coordinates + first + i * a.inner;
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
                s,
                "a factor is wrong or missing that is the same along axis %d and differs between its lines",
                axis);
    }
    return false;
}

/* Elements in groups: those that differ by their indices along some axes alone, a line along one of them, or a plane. */
typedef struct Groups {
    char axes[REPORT_WORD]; /* "axis 1", "axes 0 and 2" */
    long count, size;       /* of groups, of each */
    const long *of;         /* the group of each element */
    double *ve, *vv;        /* [count] */
} Groups;

static Groups group(const Suspect *s, unsigned axes) {
    Groups g = {.axes = ""};
    const char *word = pattern_axes_in(axes) > 1 ? "axes " : "axis ";
    for (int axis = 0; axis < s->shape.rank; axis++) {
        size_t used = strlen(g.axes);
        if (!(axes >> axis & 1)) continue;
        snprintf(g.axes + used, sizeof g.axes - used, "%s%d", used ? " and " : word, axis);
    }
    g.of = pattern_numbers_along(s->arena, s->shape, ~axes, s->e->coordinates, &g.count);
    g.size = s->e->coordinates / g.count;
    g.ve = arena_alloc(s->arena, (size_t)g.count * sizeof *g.ve);
    g.vv = arena_alloc(s->arena, (size_t)g.count * sizeof *g.vv);
    return g;
}

/* True if in every group the error is a multiple of v (NULL: of 1). */
static bool error_is_multiple(const Suspect *s, const Groups *g, const double *v) {
    long n = s->e->coordinates;
    for (long q = 0; q < s->e->cotangents; q++) {
        for (long k = 0; k < g->count; k++) g->ve[k] = g->vv[k] = 0;
        for (long j = 0; j < n; j++) {
            double w = v ? v[j] : 1;
            g->ve[g->of[j]] += w * (s->analytic[q * n + j] - s->numeric[q * n + j]);
            g->vv[g->of[j]] += w * w;
        }
        for (long j = 0; j < n; j++) {
            double w = v ? v[j] : 1, vv = g->vv[g->of[j]];
            double error = vv > 0 ? g->ve[g->of[j]] / vv * w : 0;
            if (!pattern_near(s, q * n + j, s->analytic[q * n + j], s->numeric[q * n + j] + error))
                return false;
        }
    }
    return true;
}

/* Subtracts its mean from every group. */
static void center(const Suspect *s, const Groups *g, double *v) {
    for (long k = 0; k < g->count; k++) g->ve[k] = 0;
    for (long j = 0; j < s->e->coordinates; j++) g->ve[g->of[j]] += v[j] / (double)g->size;
    for (long j = 0; j < s->e->coordinates; j++) v[j] -= g->ve[g->of[j]];
}

/* True if along the line that begins at entry `first` the error is one number, but for element `but`. */
static bool constant_but_for(const Suspect *s, const AlongAxis *a, long first, long but, bool *zero) {
    long one = first + (but == 0 ? a->inner : 0);
    double error = s->analytic[one] - s->numeric[one];
    *zero = pattern_near(s, one, s->analytic[one], s->numeric[one]);
    for (long i = 0; i < a->n; i++) {
        long at = first + i * a->inner;
        if (i != but && !pattern_near(s, at, s->analytic[at], s->numeric[at] + error)) return false;
    }
    return true;
}

/* True if along every line of the axis the error is one number, but for one element; and not 0, but in a few lines. */
static bool error_is_constant_but_for_one(const Suspect *s, const AlongAxis *a) {
    long lines = 0, zeros = 0;
    for (long q = 0; q < s->e->cotangents; q++)
        for (long j = 0; j < s->e->coordinates; j++) {
            if (pattern_index_along(a, j) != 0) continue;
            bool constant = false, zero = false;
            for (long but = 0; but < a->n && !constant; but++)
                constant = constant_but_for(s, a, q * s->e->coordinates + j, but, &zero);
            if (!constant) return false;
            if (q == 0) lines++, zeros += zero;
        }
    return 4 * zeros <= lines;
}

static const char a_term[] =
    "a term that is the same along it, such as a sum, is missing, wrong or one too many";

/* Values that the error is a multiple of in every group, or what is made of them. */
static bool is_term_of(Suspect *s, const Groups *g, double *v, const char *name) {
    double *power = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *power);
    if (error_is_multiple(s, g, v))
        return pattern_say(s, "the error is a multiple of %s along %s: %s", name, g->axes, a_term);
    for (long j = 0; j < s->e->coordinates; j++) power[j] = exp(v[j]);
    if (error_is_multiple(s, g, power))
        return pattern_say(s, "the error is a multiple of e to the power of %s along %s: %s", name, g->axes,
                           a_term);
    center(s, g, v);
    return error_is_multiple(s, g, v) &&
           pattern_say(s, "the error is a multiple of %s minus its mean along %s: %s", name, g->axes, a_term);
}

static bool is_term_along(Suspect *s, const Groups *g) {
    int inputs = s->run->point->inputs;
    double *v = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *v);
    double *other = arena_alloc(s->arena, (size_t)s->e->coordinates * sizeof *other);
    const char *name, *beside;
    char both[2 * REPORT_NAME];
    if (error_is_multiple(s, g, NULL))
        return pattern_say(s, "the error is constant along %s: %s", g->axes, a_term);
    for (int which = inputs; which >= 0; which--)
        if (pattern_values_beside(s, which, v, &name) && is_term_of(s, g, v, name)) return true;
    for (int which = 0; which < inputs * inputs; which++)
        for (int sign = -1; sign <= 1 && which / inputs < which % inputs; sign += 2) {
            if (!pattern_values_beside(s, which / inputs, v, &name) ||
                !pattern_values_beside(s, which % inputs, other, &beside))
                continue;
            for (long j = 0; j < s->e->coordinates; j++) v[j] += sign * other[j];
            snprintf(both, sizeof both, "(%s %c %s)", name, sign > 0 ? '+' : '-', beside);
            if (is_term_of(s, g, v, both)) return true;
        }
    return false;
}

/* As when layer norm's mean of the gradient is dropped, or softmax's Σ dy y: the error is one number a line, or a group of lines,
 * times 1 or times values that are known. */
bool pattern_term(Suspect *s) {
    enum { LEAST = 3 };
    unsigned all = 1u << s->shape.rank;
    for (int axes = 1; axes <= s->shape.rank; axes++)
        for (unsigned set = all - 1; set > 0; set--) {
            if (pattern_axes_in(set) != axes) continue;
            Groups g = group(s, set);
            if (g.size >= LEAST && is_term_along(s, &g)) return true;
        }
    return false;
}

/* As when a target's row is smoothed in forward and not in backward. */
bool pattern_term_but_for_one(Suspect *s) {
    for (int axis = s->shape.rank - 1; axis >= 0; axis--) {
        AlongAxis a = pattern_along(s->shape, axis);
        if (a.n > 3 && error_is_constant_but_for_one(s, &a))
            return pattern_say(
                s,
                "the error is constant along axis %d but for one element of each line (a target?): a "
                "term is missing or wrong",
                axis);
    }
    return false;
}

/* Each position has what belongs to its neighbour; at the edge anything. */
bool pattern_shifted(Suspect *s) {
    for (int axis = 0; axis < s->shape.rank; axis++) {
        AlongAxis a = pattern_along(s->shape, axis);
        if (a.n < 3) continue;
        for (int by = -1; by <= 1; by += 2) {
            for (long at = 0; at < s->e->cotangents * s->e->coordinates; at++) {
                long there = pattern_index_along(&a, at % s->e->coordinates) + by;
                bool edge = there < 0 || there >= a.n;
                s->expected[at] = edge ? s->analytic[at] : s->numeric[at + by * a.inner];
            }
            if (pattern_fits(s))
                return pattern_say(
                    s, "off by one position along axis %d: each element has its neighbour's gradient", axis);
        }
    }
    return false;
}

/* Where each output depends on one element and each element goes to one output: right upstream gradient, wrong
 * derivative. */
bool pattern_slope(Suspect *s) {
    const Entries *e = s->e;
    if (!pattern_has_jacobian(s) || e->coordinates < 2) return false;
    long worst = -1;
    for (long j = 0; j < e->coordinates; j++) {
        long own = -1;
        for (long i = 0; i < e->outputs; i++) {
            long at = (1 + i) * e->coordinates + j;
            if (s->numeric[at] == 0 && s->analytic[at] == 0) continue;
            if (own >= 0) return false;
            own = at;
        }
        for (long other = 0; own >= 0 && other < e->coordinates; other++)
            if (other != j && s->numeric[own - j + other] != 0) return false;
        double off = own < 0 ? -1 : fabs(s->analytic[own] - s->numeric[own]);
        if (off > (worst < 0 ? 0 : fabs(s->analytic[worst] - s->numeric[worst]))) worst = own;
    }
    if (worst < 0) return false;
    char at[INDEX_TEXT];
    long j = worst % e->coordinates;
    return pattern_say(s, "the derivative itself is wrong: for %s%s = %.6g it is %.6g, and should be %.6g",
                       s->in->name, s->shape.rank ? gradcheck_index_text(at, s->shape, j) : "",
                       (double)s->in->value[j], s->analytic[worst], s->numeric[worst]);
}
