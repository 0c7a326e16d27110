/* M = s J: one factor for all entries, one for each group of them, or functions of values. */
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- One factor for each group ---- */

typedef struct Factors {
    Groups groups;
    double *factor;
    bool *known; /* the group has an entry that is not small */
    long count;  /* of known factors */
    bool differ; /* not all of them are the same */
    bool any_0;
} Factors;

/* Takes the factor of each group from its largest entry. Returns whether the factors predict every
 * number. */
static bool find_factors(Comparison *m, unsigned axes, unsigned y_axes, Factors *f) {
    const double small = 1e-4; /* the digits of smaller numbers say little */
    double all = 0, seen = NAN;
    *f = (Factors){.groups = compare_groups(m, axes, y_axes)};
    size_t count = (size_t)f->groups.count;
    double *largest = arena_alloc(m->arena, count * sizeof *largest);
    f->factor = arena_alloc(m->arena, count * sizeof *f->factor);
    f->known = arena_alloc(m->arena, count * sizeof *f->known);
    for (long at = 0; at < m->entries; at++) {
        long g = f->groups.of[at];
        if (!(fabs(m->right[at]) > largest[g])) continue;
        largest[g] = fabs(m->right[at]);
        f->factor[g] = m->yours[at] / m->right[at];
        all = fmax(all, largest[g]);
    }
    for (size_t g = 0; g < count; g++) {
        f->known[g] = largest[g] > small * all;
        if (!f->known[g]) continue;
        f->count++;
        f->any_0 |= f->factor[g] == 0;
        f->differ |= fabs(f->factor[g] - seen) > m->tolerance * fabs(seen);
        seen = f->factor[g];
    }
    for (long at = 0; at < m->entries; at++)
        m->expected[at] = m->right[at] * f->factor[f->groups.of[at]];
    return compare_fits(m);
}

/* agreement.c finds where a constant factor comes from. */
bool compare_factor(Comparison *m) {
    Factors all;
    char number[REPORT_WORD];
    long effects = 0;
    if (!find_factors(m, 0, 0, &all) || !isfinite(all.factor[0]) || all.any_0) return false;
    double k = all.factor[0];
    if (fabs(k - 1) < 5e-5) return false; /* it is nearly right */
    for (long q = 0; q < m->rows; q++) effects += m->right[q * m->elements] != 0;
    bool plain = fabs(k * 12 - round(k * 12)) < m->tolerance;
    if (!plain && m->elements == 1 && effects < 2)
        return false; /* any number is a multiple of another */
    m->factor = k;
    if (fabs(k + 1) < m->tolerance) return compare_say(m, "every element has the wrong sign");
    compare_number_text(number, k);
    return compare_say(m, "every element is multiplied by %s", number);
}

/* One factor for each line of elements, or for the part of each output, not 0 and not the same in
 * all, as when a row's 1/σ is dropped. Groups have several entries that are not 0. */
bool compare_factor_of_lines(Comparison *m) {
    Factors f;
    char text[REPORT_WORD];
    long used = 0;
    unsigned x_all = compare_all_axes(m->shape), y_all = compare_all_axes(m->y_shape);
    for (long at = 0; at < m->entries; at++) used += compare_counts(m, at) && m->right[at] != 0;
    for (unsigned set = 1; set <= x_all + (m->whole ? y_all : 0); set++) {
        bool of_y = set > x_all;
        unsigned axes = of_y ? set - x_all : set, along = (of_y ? y_all : x_all) & ~axes;
        if (!of_y && !along) continue;
        bool fits = find_factors(m, of_y ? 0 : axes, of_y ? axes : 0, &f);
        if (!fits || !f.differ || f.any_0 || f.groups.count < 2) continue;
        if (m->whole && used < 2 * f.count) continue;
        if (of_y) along >>= m->stacked;
        compare_axes_text(text, along);
        if (!along)
            return compare_say(m, "a factor is wrong or missing in the part of each output: it "
                                  "is the same for all elements");
        return compare_say(m,
                           "a factor is wrong or missing. It is the same along %s%s and differs "
                           "between lines",
                           text, of_y ? " of the output" : "");
    }
    return false;
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

/* Entries of which quotients are taken, and one value beside each. */
typedef struct Sides {
    long count;
    double *yours, *right;
} Sides;

/* Takes the entries that are not small, of elements that are wrong. */
static Sides take_sides(const Comparison *m, long **at) {
    const double small = 1e-4;
    Sides s = {0, arena_alloc(m->arena, 2 * (size_t)m->entries * sizeof *s.yours), NULL};
    s.right = s.yours + m->entries;
    *at = arena_alloc(m->arena, (size_t)m->entries * sizeof **at);
    for (long i = 0; i < m->entries; i++) {
        double size = fmax(fabs(m->yours[i]), fabs(m->right[i]));
        if (!compare_counts(m, i) || size <= small * m->scale[i / m->elements]) continue;
        if (m->e->state[i % m->elements] != ENTRY_WRONG) continue;
        s.yours[s.count] = m->yours[i];
        s.right[s.count] = m->right[i];
        (*at)[s.count++] = i;
    }
    return s;
}

/* Whether M g(u) = J f(v) in all entries. */
static bool is_quotient(const Sides *s, int f, const double *v, int g, const double *u,
                        double tolerance) {
    for (long i = 0; i < s->count; i++) {
        double below = value_of(g, u[i]), above = value_of(f, v[i]);
        double found = s->yours[i] * below, want = s->right[i] * above;
        if (found == 0 && want == 0) return false; /* any factor would fit */
        if (!(fabs(found - want) <= tolerance * fmax(fabs(found), fabs(want)))) return false;
    }
    return true;
}

/* The quotient of two functions in words. */
static void say_quotient(int f, const char *v, int g, const char *u, bool turned,
                         char text[REPORT_TEXT / 2]) {
    char above[64], below[64];
    snprintf(above, sizeof above, function[f], v, v);
    snprintf(below, sizeof below, function[g], u, u);
    if (g == 0)
        snprintf(text, REPORT_TEXT / 2, "multiplied by a factor %s too many", above);
    else if (f == 0)
        snprintf(text, REPORT_TEXT / 2, "missing a factor %s", below);
    else
        snprintf(text, REPORT_TEXT / 2, "multiplied by %.32s%s instead of %.32s", above,
                 turned ? " transposed" : "", below);
}

/* Three wrong numbers, of values and factors that differ, are evidence. */
static bool is_evidence(const Sides *s, const double *v, double tolerance) {
    bool values = false, factors = false;
    for (long i = 0; i < s->count; i++) {
        if (!isfinite(v[i])) return false;
        double other = s->yours[i] * s->right[0] - s->yours[0] * s->right[i];
        values |= v[i] != v[0];
        factors |= fabs(other) > tolerance * fabs(s->yours[i] * s->right[0]);
    }
    return s->count >= 3 && values && factors;
}

/* Tries two functions of one array (one of them may be 1), then two arrays in place of each other.
 * The simplest functions come first. */
bool compare_factor_of_values(Comparison *m) {
    char text[REPORT_TEXT / 2] = "";
    long *at;
    Sides s = take_sides(m, &at);
    ValuesList list = compare_values(m, m->whole);
    const Values *found = NULL, *a = list.v, *end = list.v + list.count;
    double **v = arena_alloc(m->arena, (size_t)list.count * sizeof *v + 1);
    bool *evident = arena_alloc(m->arena, (size_t)list.count + 1);
    for (; a < end; a++) {
        double *of = v[a - list.v] = arena_alloc(m->arena, (size_t)s.count * sizeof *of + 1);
        for (long i = 0; i < s.count; i++) of[i] = compare_value(m, a, at[i]);
        int functions = a->which == m->point->inputs ? RARE : FUNCTIONS;
        evident[a - list.v] = is_evidence(&s, of, m->tolerance);
        if (found || !evident[a - list.v]) continue;
        for (int k = 0; !found && k < functions * functions * 2; k++) {
            int sum = k / functions, f = k % functions, g = sum - f;
            if (g < 0 || g >= functions || f == g) continue;
            if (!is_quotient(&s, f, of, g, of, 10 * m->tolerance)) continue;
            say_quotient(f, a->name, g, a->name, false, text);
            found = a;
        }
    }
    for (long k = 0; !found && k < list.count * list.count; k++) {
        const Values *above = &list.v[k / list.count], *below = &list.v[k % list.count];
        const double *u = v[k % list.count];
        if (above == below || !evident[k / list.count]) continue;
        if (!is_quotient(&s, 1, v[k / list.count], 1, u, 10 * m->tolerance)) continue;
        say_quotient(1, above->name, 1, below->name, above->which == below->which, text);
        found = below;
    }
    if (!found) return false;
    if (found->of_outputs && !found->of_elements)
        return compare_say(m, "the part of every output is %s", text);
    bool some = false;
    for (long j = 0; j < m->elements; j++) some |= m->e->state[j] != ENTRY_WRONG;
    return compare_say(m, "every %selement is %s", some ? "wrong " : "", text);
}

/* ---- Wrong slopes, and slopes that are off by a little ---- */

/* Numbers that are wrong are of one size, which is the largest, and should be larger; also for a
 * random upstream gradient. */
bool compare_clipped(Comparison *m) {
    double top = 0, low = INFINITY, high = 0;
    for (long at = 0; at < m->entries; at++) top = fmax(top, fabs(m->yours[at]));
    for (long at = 0; at < m->entries; at++) {
        if (m->kind[at] != COMPARE_WRONG) continue;
        double yours = m->yours[at], right = m->right[at];
        if (fabs(yours) < top * (1 - 1e-12) || fabs(right) < top || yours * right < 0) return false;
        low = fmin(low, fabs(right));
        high = fmax(high, fabs(right));
    }
    double random = 0; /* for which the right number is another */
    for (long j = 0; j < m->elements; j++) random = fmax(random, fabs(m->e->entry[j].analytic));
    if (fabs(random - top) > 1e-12 * top) return false;
    return low < 0.999 * high &&
           compare_say(m,
                       "every number whose size should be larger than %.6g is ±%.6g: "
                       "is the gradient clipped?",
                       top, top);
}

/* The factors of wrong numbers of an elementwise operation, or of the gradient of one output. */
bool compare_slope(Comparison *m) {
    double low = INFINITY, high = -INFINITY;
    long wrong = 0, used = 0;
    for (long at = 0; at < m->entries; at++) {
        if (m->right[at] == 0 && m->yours[at] != 0) return false;
        used += m->right[at] != 0;
        if (m->kind[at] != COMPARE_WRONG) continue;
        low = fmin(low, m->yours[at] / m->right[at]);
        high = fmax(high, m->yours[at] / m->right[at]);
        wrong++;
    }
    bool elementwise = m->rows > 1 && used <= m->rows && used <= m->elements;
    bool one_sided = m->rows == 1 && (high < 0 || low > 1 || (low > 0 && high < 1));
    return wrong > 1 && (elementwise || one_sided) &&
           compare_say(m,
                       "the formula of the derivative is wrong: each gradient arrives at the right "
                       "element, and is %.3g to %.3g times the right one",
                       low, high);
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
    static const struct {
        double part, of_itself, share;
        const char *says;
    } near[] = {
        {4 * (double)FLT_EPSILON, INFINITY, 0.25,
         "right to the digits of a float. Is a number computed or kept in single precision?"},
        {1e-4, INFINITY, 0,
         "right to four digits. Does an epsilon differ from forward's or stand elsewhere (inside "
         "or "
         "outside of a root), or has a constant too few digits?"},
        {0.01, 0.01, 0.75, "right to 1 % of the largest. Is a small term or factor left out?"}};
    for (int i = sizeof(real) == sizeof(float); i < 3; i++)
        if (is_nearly_right(m, near[i].part, near[i].of_itself, near[i].share))
            return compare_say(m, "%s", near[i].says);
    return false;
}
