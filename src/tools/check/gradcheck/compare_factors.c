/* M = s J: one factor for all entries, or one for each group of elements or of outputs. */
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A factor for each group. */
typedef struct Factors {
    bool of_outputs;
    Groups groups;
    double *factor;
    bool *known; /* the group has an entry that is not small */
    bool differ; /* not all known factors are the same */
    bool any_0;  /* a known factor is 0 */
} Factors;

static long group_of(const Comparison *m, const Factors *f, long at) {
    return f->groups.of[f->of_outputs ? at / m->elements - 1 : at % m->elements];
}

/* Takes the factor of each group from its largest entry. */
static void take_factors(const Comparison *m, Factors *f, long first) {
    size_t count = (size_t)f->groups.count;
    const double small = 1e-4; /* the digits of smaller numbers say little */
    double *largest = arena_alloc(m->arena, count * sizeof *largest), all = 0, seen = NAN;
    f->factor = arena_alloc(m->arena, count * sizeof *f->factor);
    f->known = arena_alloc(m->arena, count * sizeof *f->known);
    for (long at = first; at < m->entries; at++) {
        long g = group_of(m, f, at);
        if (!(fabs(m->right[at]) > largest[g])) continue;
        largest[g] = fabs(m->right[at]);
        f->factor[g] = m->yours[at] / m->right[at];
    }
    for (size_t g = 0; g < count; g++) all = fmax(all, largest[g]);
    for (size_t g = 0; g < count; g++) {
        f->known[g] = largest[g] > small * all;
        if (!f->known[g]) continue;
        f->any_0 |= f->factor[g] == 0;
        f->differ |= fabs(f->factor[g] - seen) > m->tolerance * fabs(seen);
        seen = f->factor[g];
    }
}

/* Finds a factor for each group of elements or outputs that share their indices along some axes.
 * Returns whether the factors predict every number. */
static bool find_factors(Comparison *m, bool of_outputs, unsigned axes, Factors *f) {
    Shape s = of_outputs ? m->y_shape : m->shape;
    long first = of_outputs ? m->elements : 0;
    *f = (Factors){.of_outputs = of_outputs};
    f->groups = compare_groups(m, s, axes);
    take_factors(m, f, first);
    for (long at = 0; at < m->entries; at++)
        m->expected[at] = at < first ? m->yours[at] : m->right[at] * f->factor[group_of(m, f, at)];
    return compare_fits(m);
}

/* ---- One factor: agreement.c finds where it comes from ---- */

bool compare_factor(Comparison *m) {
    Factors all;
    char number[REPORT_WORD];
    long effects = 0;
    if (!find_factors(m, false, 0, &all) || !isfinite(all.factor[0]) || all.any_0) return false;
    double k = all.factor[0];
    for (long q = 0; q < m->rows; q++) effects += m->right[q * m->elements] != 0;
    bool plain = fabs(k * 12 - round(k * 12)) < m->tolerance;
    if (!plain && m->elements == 1 && effects < 3)
        return false; /* any number is a multiple of another */
    m->factor = k;
    if (fabs(k + 1) < m->tolerance) return compare_say(m, "every element has the wrong sign");
    compare_number_text(number, k);
    return compare_say(m, "every element is multiplied by %s", number);
}

/* ---- Factors that are functions of values ---- */

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
    for (long i = 0; i < t->groups.count; i++) {
        if (!t->known[i]) continue;
        double found = t->factor[i] * value_of(g, value[i]), want = value_of(f, value[i]);
        if (want == 0 && value_of(g, value[i]) == 0) return false; /* any factor would fit */
        if (!(fabs(found - want) <= tolerance * fmax(fabs(found), fabs(want)))) return false;
    }
    return true;
}

/* One value everywhere is no evidence, nor is one factor, such as a wrong sign, or an infinite
 * value. */
static bool values_differ(const Factors *t, const double *value, double tolerance) {
    long first = -1;
    bool values = false, factors = false;
    for (long i = 0; i < t->groups.count; i++) {
        if (!t->known[i]) continue;
        if (!isfinite(value[i])) return false;
        if (first < 0) first = i;
        values |= value[i] != value[first];
        factors |= fabs(t->factor[i] - t->factor[first]) > tolerance * fabs(t->factor[first]);
    }
    return values && factors;
}

/* The quotient of two functions in words. */
static void say_quotient(int f, int g, const char *name, char text[REPORT_TEXT / 2]) {
    char above[64], below[64];
    snprintf(above, sizeof above, function[f], name, name);
    snprintf(below, sizeof below, function[g], name, name);
    if (g == 0)
        snprintf(text, REPORT_TEXT / 2, "multiplied by a factor %s too many", above);
    else if (f == 0)
        snprintf(text, REPORT_TEXT / 2, "missing a factor %s", below);
    else
        snprintf(text, REPORT_TEXT / 2, "multiplied by %.48s instead of %.48s", above, below);
}

/* Finds functions of an input or of the output whose quotients the factors are, the simplest ones
 * first. */
static bool name_factors(const Comparison *m, const Factors *t, Shape over,
                         char text[REPORT_TEXT / 2]) {
    double *v = arena_alloc(m->arena, (size_t)t->groups.count * sizeof *v);
    const char *name;
    for (int which = 0; which <= m->point->inputs; which++) {
        int functions = which == m->point->inputs ? RARE : FUNCTIONS;
        if (!compare_values_over(m, over, which, v, &name)) continue;
        if (!values_differ(t, v, m->tolerance)) continue;
        for (int k = 0; k < functions * functions * 2; k++) {
            int sum = k / functions, f = k % functions, g = sum - f;
            if (g < 0 || g >= functions || f == g) continue;
            if (!is_quotient(t, v, f, g, 10 * m->tolerance)) continue;
            say_quotient(f, g, name, text);
            return true;
        }
    }
    return false;
}

/* Sides: factors of the elements, and where the Jacobian is known of the outputs. */
static bool has_side(const Comparison *m, int side) {
    return side == 0 || (side == 1 && compare_known(m) == ROWS);
}

bool compare_factor_of_values(Comparison *m) {
    enum { EVIDENCE = 3 }; /* factors */
    char text[REPORT_TEXT / 2];
    for (int side = 0; has_side(m, side); side++) {
        Factors f;
        Shape s = side ? m->y_shape : m->shape;
        long known = 0;
        if (!find_factors(m, side, compare_all_axes(s), &f)) continue;
        for (long i = 0; i < f.groups.count; i++) {
            f.known[i] &= side || m->e->state[i] == ENTRY_WRONG;
            known += f.known[i];
        }
        if (known < EVIDENCE || !name_factors(m, &f, s, text)) continue;
        if (side) return compare_say(m, "the part of every output is %s", text);
        return compare_say(m, "every %selement is %s", known < m->elements ? "wrong " : "", text);
    }
    return false;
}

/* ---- Factors of lines ---- */

/* Whether each group has several entries that are not 0 and its factor explains all of them. */
static bool is_evidence(const Comparison *m, const Factors *f) {
    long used = 0, known = 0;
    for (long at = m->elements; at < m->entries; at++)
        used += compare_counts(m, at) && m->right[at] != 0;
    for (long g = 0; g < f->groups.count; g++) known += f->known[g];
    return compare_known(m) < ROWS || used >= 2 * known;
}

/* One factor for each line of elements, or for the part of each output, not 0 and not the same in
 * all, as when a row's 1/σ is dropped. */
bool compare_factor_of_lines(Comparison *m) {
    Factors f;
    char text[REPORT_WORD];
    for (int side = 0; has_side(m, side); side++) {
        Shape s = side ? m->y_shape : m->shape;
        for (unsigned axes = 1; axes <= compare_all_axes(s); axes++) {
            unsigned along = compare_all_axes(s) & ~axes;
            if (!side && !along) continue;
            bool fits = find_factors(m, side, axes, &f);
            if (!fits || !f.differ || f.any_0 || f.groups.count < 2 || !is_evidence(m, &f))
                continue;
            compare_axes_text(text, along);
            if (!along)
                return compare_say(m, "a factor is wrong or missing in the part of each output: it "
                                      "is the same for all elements");
            return compare_say(m,
                               "a factor is wrong or missing. It is the same along %s%s and "
                               "differs between lines",
                               text, side ? " of the output" : "");
        }
    }
    return false;
}

/* ---- Factors of 0 ---- */

/* Whether all known factors are 1 or 0; the set of those that are 0. */
static bool find_lost(const Comparison *m, const Factors *f, WrongSet *lost) {
    long zeros = 0, ones = 0;
    for (long i = 0; i < f->groups.count; i++) {
        if (!f->known[i]) continue;
        bool one = fabs(f->factor[i] - 1) <= 10 * m->tolerance;
        if (!one && f->factor[i] != 0) return false;
        zeros += !one;
        ones += one;
        lost->idle[i] = false;
        lost->wrong[i] = !one;
    }
    return zeros && ones;
}

/* Sets the words of the elements or outputs whose part is missing. */
static bool name_lost(Comparison *m, bool of_outputs, char wrong[REPORT_TEXT / 2],
                      char right[REPORT_TEXT / 2]) {
    Factors f;
    Shape s = of_outputs ? m->y_shape : m->shape;
    WrongSet lost = compare_new_set(m, of_outputs ? "y" : m->in->name, s);
    return find_factors(m, of_outputs, compare_all_axes(s), &f) && find_lost(m, &f, &lost) &&
           compare_set_rule(m, &lost, wrong, right);
}

/* An example is a loop that ends early or skips a remainder. */
bool compare_lost_elements(Comparison *m) {
    char wrong[REPORT_TEXT / 2], right[REPORT_TEXT / 2];
    return (m->elements > 2 || m->shape.rank > 1) && name_lost(m, false, wrong, right) &&
           compare_say(m, "no gradient arrives at %s. %s %s right", wrong, right,
                       compare_is_one(right) ? "is" : "are");
}

/* Finds the first entry that is lost; -1: an entry is neither right nor lost, or no element has
 * entries of both kinds. */
static long first_lost(const Comparison *m) {
    long n = m->elements, first = -1;
    bool in_part = false;
    for (long j = 0; j < n; j++) {
        bool lost = false, kept = false;
        for (long at = n + j; at < m->entries; at += n) {
            if (!compare_counts(m, at) || (m->right[at] == 0 && m->yours[at] == 0)) continue;
            bool wrong = compare_is_wrong(m, at);
            if (wrong && m->yours[at] != 0) return -1;
            if (wrong && (first < 0 || at < first)) first = at;
            lost |= wrong;
            kept |= !wrong;
        }
        in_part |= lost && kept;
    }
    return in_part ? first : -1;
}

/* Examples are a broadcast that is not summed, and a gradient that is overwritten. */
bool compare_lost_uses(Comparison *m) {
    char wrong[REPORT_TEXT / 2], right[REPORT_TEXT / 2], x[REPORT_NAME], y[REPORT_NAME];
    long first = first_lost(m), n = m->elements;
    if (first < 0) return false;
    if (name_lost(m, true, wrong, right))
        return compare_say(m,
                           "a sum over the outputs is overwritten, missing or ends early: those in "
                           "%s count, those in %s do not",
                           right, wrong);
    return compare_say(
        m,
        "some uses of an element are lost: is it overwritten instead of accumulated, "
        "or does a loop end early? %.60s gets nothing from %.60s",
        gradcheck_element_text(x, m->in->name, m->shape, first % n),
        gradcheck_element_text(y, "y", m->y_shape, first / n - 1));
}

/* ---- Wrong slopes, and slopes that are off by a little ---- */

/* Each output depends on one element, as of an elementwise operation, and all other entries are
 * 0. */
bool compare_slope(Comparison *m) {
    long n = m->elements, wrong = 0;
    if (m->outputs < 2) return false;
    for (long i = 1; i <= m->outputs; i++) {
        long used = 0;
        for (long at = i * n; at < (i + 1) * n; at++) {
            if (m->right[at] == 0 && m->yours[at] != 0) return false;
            used += m->right[at] != 0;
            wrong += compare_is_wrong(m, at);
        }
        if (used > 1) return false;
    }
    return wrong > 1 &&
           compare_say(m, "the formula of the derivative is wrong: each gradient arrives from the "
                          "right output at the right element, with a wrong slope");
}

/* Mistakes in a formula show in the first digits. If only later digits are wrong, a share of all
 * entries is wrong, each by a small part of the largest and of itself. */
static bool is_nearly_right(const Comparison *m, double part, double of_itself, double share) {
    const double small = 1e-3;
    long seen = 0, off = 0;
    for (long at = 0; at < m->entries; at++) {
        double size = m->scale[at / m->elements], need = fabs(m->right[at]);
        double error = fabs(m->yours[at] - m->right[at]);
        if (!(error <= part * size) || (need > small * size && error > of_itself * need))
            return false;
        if (!(need > small * size)) continue;
        seen++;
        off += !compare_near(m, at, m->yours[at], m->right[at]);
    }
    return (double)off >= share * (double)seen;
}

bool compare_nearly_right(Comparison *m) {
    if (sizeof(real) > sizeof(float) && is_nearly_right(m, 4 * (double)FLT_EPSILON, INFINITY, 0.25))
        return compare_say(
            m, "right to the digits of a float. Is a number computed or kept in single precision?");
    if (is_nearly_right(m, 1e-4, INFINITY, 0.25))
        return compare_say(m,
                           "right to four digits. Is an epsilon different from forward's, or has a "
                           "constant too few digits?");
    return is_nearly_right(m, 0.01, 0.01, 0.75) &&
           compare_say(m, "right to 1 %% of the largest. Is a small term or factor left out?");
}
