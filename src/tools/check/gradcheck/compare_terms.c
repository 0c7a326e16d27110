/* M - J, the error: in each group a multiple of 1 or of known values, or one of a few numbers. */
#include "base/append.h"
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EVIDENCE = 3 }; /* elements of a group */

/* ---- Multiples of known values ---- */

/* Subtracts from v in every group its projection on u; NULL: on 1, so that the mean goes. */
static void remove_part(const Comparison *m, const Groups *g, double *v, const double *u) {
    double *dot = arena_alloc(m->arena, 2 * (size_t)g->count * sizeof *dot);
    double *square = dot + g->count;
    for (long at = 0; at < m->entries; at++) {
        double along = u ? u[at] : 1;
        dot[g->of[at]] += v[at] * along;
        square[g->of[at]] += along * along;
    }
    for (long at = 0; at < m->entries; at++) {
        long k = g->of[at];
        if (square[k] > 0) v[at] -= dot[k] / square[k] * (u ? u[at] : 1);
    }
}

/* Whether nothing is left of the error, or of J, without its parts along 1 (if so wanted) and v (or
 * NULL). */
static bool is_combination(const Comparison *m, const Groups *g, bool of_error, bool of_1,
                           const double *v) {
    double *rest = m->expected;
    for (long at = 0; at < m->entries; at++)
        rest[at] = of_error ? m->yours[at] - m->right[at] : m->right[at];
    if (of_1) remove_part(m, g, rest, NULL);
    if (v) remove_part(m, g, rest, v);
    for (long at = 0; at < m->entries; at++)
        if (compare_counts(m, at) && !compare_near(m, at, m->yours[at], m->yours[at] - rest[at]))
            return false;
    return true;
}

/* Whether the error is such a combination, and J is another: else coefficients of J are wrong. */
static bool is_term(const Comparison *m, const Groups *g, bool of_1, const double *v) {
    return is_combination(m, g, true, of_1, v) && !is_combination(m, g, false, of_1, v);
}

/* Forms of values of which the error is a multiple; the last with a multiple of 1 beside it. */
enum { EXP = 1, SQUARE, CENTRED, CENTRED_AND_1, FORMS };

/* Groups of elements, each of at least `size`, for each row. */
static bool is_known_term(Comparison *m, const Groups *g, long size, const ValuesList *list,
                          const char *along) {
    static const char *const forms[FORMS] = {"%.40s", "exp(%.40s)", "%.40s²",
                                             "(%.40s minus its mean)", "%.40s"};
    double *v = arena_alloc(m->arena, (size_t)m->entries * sizeof *v);
    char text[REPORT_NAME] = "";
    if (is_term(m, g, true, NULL))
        return compare_say(m,
                           "the error is constant along %s. A term that is the same along it, such "
                           "as a sum, is missing, wrong or one too many",
                           along);
    for (long k = 0; k < FORMS * list->count; k++) {
        const Values *values = &list->v[list->count - 1 - k % list->count];
        long form = k / list->count;
        if (form == CENTRED_AND_1 && size <= EVIDENCE) continue;
        for (long at = 0; at < m->entries; at++) {
            v[at] = compare_value(m, values, at);
            if (form == EXP) v[at] = exp(v[at]);
            if (form == SQUARE) v[at] *= v[at];
        }
        if (form >= CENTRED) remove_part(m, g, v, NULL);
        if (!is_term(m, g, form == CENTRED_AND_1, v)) continue;
        snprintf(text, sizeof text, forms[form], values->name);
        if (form == CENTRED_AND_1)
            return compare_say(m,
                               "along %s the error is one number plus another times %s. Two terms, "
                               "such as a sum and a sum times %s, are missing or have a wrong "
                               "factor, such as a count",
                               along, text, text);
        return compare_say(m,
                           "the error is %s times a number that is the same along %s. A term, such "
                           "as a sum times %s, is missing, wrong or one too many",
                           text, along, text);
    }
    return false;
}

/* Examples are layer norm without the mean of the gradient, and softmax without Σ dy y. */
bool compare_term(Comparison *m) {
    unsigned all = compare_all_axes(m->shape);
    char along[REPORT_WORD];
    ValuesList list = compare_values(m, m->whole);
    if (compare_are_zero(m, m->right)) return false; /* wrong only where it has to be 0 */
    for (unsigned set = 1; set <= all; set++) {
        Groups g = compare_groups(m, all & ~set, 0);
        long size = m->elements / g.count;
        if (size < EVIDENCE) continue;
        for (long at = 0; at < m->entries; at++) g.of[at] += at / m->elements * g.count;
        g.count *= m->rows;
        compare_axes_text(along, set);
        if (is_known_term(m, &g, size, &list, along)) return true;
    }
    return false;
}

/* ---- A few numbers ---- */

/* Says where the errors are near a number: marks these as WRONG, all others as RIGHT. */
static void add_error(const Comparison *m, double error, char text[REPORT_NAME]) {
    char where[REPORT_TEXT / 2];
    Comparison other = *m;
    other.kind = arena_alloc(m->arena, (size_t)m->entries * sizeof *other.kind);
    for (long at = 0; at < m->entries; at++) {
        bool here = compare_near(m, at, m->yours[at], m->right[at] + error);
        if (m->kind[at]) other.kind[at] = here ? COMPARE_WRONG : COMPARE_RIGHT;
    }
    compare_where(&other, where);
    text_append(text, REPORT_NAME, "%.6g at %.100s, ", error, where);
}

/* Returns the place of number + of in a list of known ones plus `of`; adds it if it is new. */
static long place_of(const Comparison *m, long at, double number, double of, double *known,
                     long *count, long max) {
    long k = 0;
    while (k < *count && !compare_near(m, at, number + of, known[k] + of)) k++;
    if (k == *count && k < max) known[(*count)++] = number;
    return k;
}

/* The errors are two or three numbers, one of which is 0 if they are three, and the right ones are
 * more. Examples are a label's share, and a label's index that is shifted. */
bool compare_few_numbers(Comparison *m) {
    enum { MAX = 3, MIN_NUMBERS = 6 };
    double error[MAX] = {0}, numbers[MIN_NUMBERS]; /* error 0 is 0 */
    long count[MAX] = {0}, kinds = 1, others = 0;
    char text[REPORT_NAME] = "";
    for (long at = 0; at < m->entries; at++) {
        double right = m->right[at];
        if (m->kind[at] == COMPARE_NONE) continue;
        long k = place_of(m, at, m->yours[at] - right, right, error, &kinds, MAX);
        if (k == MAX) return false;
        count[k]++;
        place_of(m, at, right, 0, numbers, &others, MIN_NUMBERS);
    }
    if (count[1] < 2 || count[2] < 2 || others < MIN_NUMBERS) return false;
    int most = count[2] > count[1] ? 2 : 1, least = 3 - most;
    add_error(m, error[least], text);
    if (count[0]) add_error(m, error[most], text);
    return compare_say(m,
                       "the error is %s%.6g at all others: a constant, such as a label's share, is "
                       "missing, wrong or at a shifted index",
                       text, count[0] ? 0 : error[most]);
}
