/* M - J, the error, in each group: a multiple of 1 or of known values, or of numbers that do not
 * depend on the upstream gradient. */
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EVIDENCE = 3 }; /* elements of a group */

/* ---- Multiples of known values ---- */

/* Sums of a group of entries. */
typedef struct Sums {
    double v, ve, vv, count;
} Sums;

/* Whether in every group the error is a multiple of v. */
static bool error_is_multiple(const Comparison *m, const Groups *g, const double *v) {
    Sums *sums = arena_alloc(m->arena, (size_t)g->count * sizeof *sums);
    for (long at = 0; at < m->entries; at++) {
        Sums *of = &sums[g->of[at]];
        of->ve += v[at] * (m->yours[at] - m->right[at]);
        of->vv += v[at] * v[at];
    }
    for (long at = 0; at < m->entries; at++) {
        const Sums *of = &sums[g->of[at]];
        double error = of->vv > 0 ? of->ve / of->vv * v[at] : 0;
        if (compare_counts(m, at) && !compare_near(m, at, m->yours[at], m->right[at] + error))
            return false;
    }
    return true;
}

/* Sets v to a form of values: themselves, e to their power, less their mean in each group. */
enum { FORMS = 3 };
static void take_form(const Comparison *m, const Groups *g, const Values *values, int form,
                      double *v) {
    Sums *sums = arena_alloc(m->arena, (size_t)g->count * sizeof *sums);
    for (long at = 0; at < m->entries; at++) {
        v[at] = compare_value(m, values, at);
        sums[g->of[at]].v += v[at];
        sums[g->of[at]].count++;
        if (form == 1) v[at] = exp(v[at]);
    }
    if (form < 2) return;
    for (long at = 0; at < m->entries; at++) v[at] -= sums[g->of[at]].v / sums[g->of[at]].count;
}

/* Groups of elements for each row. */
static bool is_known_term(Comparison *m, const Groups *g, const ValuesList *list,
                          const char *along) {
    static const char *const forms[FORMS] = {"%.40s", "exp(%.40s)", "(%.40s minus its mean)"};
    double *v = arena_alloc(m->arena, (size_t)m->entries * sizeof *v);
    char text[REPORT_NAME] = "";
    for (long at = 0; at < m->entries; at++) v[at] = 1;
    if (error_is_multiple(m, g, v))
        return compare_say(m,
                           "the error is constant along %s. A term that is the same along it, such "
                           "as a sum, is missing, wrong or one too many",
                           along);
    for (long k = 0; k < FORMS * list->count; k++) {
        const Values *values = &list->v[list->count - 1 - k / FORMS];
        take_form(m, g, values, (int)(k % FORMS), v);
        if (!error_is_multiple(m, g, v)) continue;
        snprintf(text, sizeof text, forms[k % FORMS], values->name);
        return compare_say(m,
                           "the error is %s times a number that is the same along %s. A term, such "
                           "as a sum times %s, is missing, wrong or one too many",
                           text, along, text);
    }
    return false;
}

/* ---- Multiples of unknown numbers ---- */

/* The numbers of a group of entries, as a matrix: the largest, and those that are not 0 in its row
 * and in its column. */
typedef struct Block {
    long largest, row, column;
    bool is_product; /* of one column and one row */
} Block;

static Block *find_blocks(const Comparison *m, const Groups *g, const double *a) {
    Block *block = arena_alloc(m->arena, (size_t)g->count * sizeof *block);
    long n = m->elements;
    for (long k = 0; k < g->count; k++) block[k] = (Block){-1, 0, 0, true};
    for (long at = 0; at < m->entries; at++) {
        Block *b = &block[g->of[at]];
        if (a[at] != 0 && (b->largest < 0 || fabs(a[at]) > fabs(a[b->largest]))) b->largest = at;
    }
    for (long at = 0; at < m->entries; at++) {
        Block *b = &block[g->of[at]];
        if (b->largest < 0) continue;
        long right = b->largest / n * n + at % n, above = at / n * n + b->largest % n;
        b->row += right == at && a[at] != 0;
        b->column += above == at && a[at] != 0;
        double product = a[right] * a[above] / a[b->largest];
        b->is_product &= compare_near(m, at, m->right[at] + a[at], m->right[at] + product);
    }
    return block;
}

/* Whether the error of every group is a product and no right group is: then a term is a sum over
 * the upstream gradient times numbers that do not depend on it. */
static bool is_unknown_term(Comparison *m) {
    double *error = m->expected;
    long min_rows = m->g->run->result.parts > 1 ? EVIDENCE : 2;
    unsigned x_all = compare_all_axes(m->shape), y_all = compare_all_axes(m->y_shape);
    for (long at = 0; at < m->entries; at++)
        error[at] = m->kind[at] == COMPARE_WRONG ? m->yours[at] - m->right[at] : 0;
    for (unsigned a = 0; a <= x_all; a++)
        for (unsigned b = 0; b <= (m->whole ? y_all : 0); b++) {
            Groups g = compare_groups(m, a, b);
            if (g.count * EVIDENCE * 2 > m->entries) continue;
            Block *of_error = find_blocks(m, &g, error), *of_right = find_blocks(m, &g, m->right);
            bool fits = true, any = false;
            for (long k = 0; k < g.count; k++) {
                if (of_error[k].largest < 0) continue;
                any = true;
                fits &= of_error[k].is_product && !of_right[k].is_product &&
                        of_error[k].row >= EVIDENCE && of_error[k].column >= min_rows;
            }
            if (fits && any)
                return compare_say(m, "the error is one number of the upstream gradient times "
                                      "numbers that do not depend on it. A term, such as a sum, "
                                      "is missing, wrong or one too many");
        }
    return false;
}

/* Examples are layer norm without the mean of the gradient, and softmax without Σ dy y. */
bool compare_term(Comparison *m) {
    unsigned all = compare_all_axes(m->shape);
    char along[REPORT_WORD];
    ValuesList list = compare_values(m, false);
    for (unsigned set = 1; set <= all; set++) {
        Groups g = compare_groups(m, all & ~set, 0);
        if (m->elements / g.count < EVIDENCE) continue;
        for (long at = 0; at < m->entries; at++) g.of[at] += at / m->elements * g.count;
        g.count *= m->rows;
        compare_axes_text(along, set);
        if (is_known_term(m, &g, &list, along)) return true;
    }
    return is_unknown_term(m);
}
