/* M - J, the error, in each group of elements: a multiple of 1 or of known values, or always a
 * multiple of the same numbers; and axes along which M and J are tied differently. */
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EVIDENCE = 3 }; /* elements of a group */

/* ---- Multiples of known values ---- */

/* Sums of a group of elements. */
typedef struct Sums {
    double ve, vv;
} Sums;

/* Whether in every group the error is a multiple of v. */
static bool error_is_multiple(const Comparison *m, const Groups *g, const double *v, Sums *sums) {
    long n = m->elements;
    for (long q = 0; q < m->rows; q++) {
        memset(sums, 0, (size_t)g->count * sizeof *sums);
        for (long j = 0; j < n; j++) {
            Sums *of = &sums[g->of[j]];
            of->ve += v[j] * (m->yours[q * n + j] - m->right[q * n + j]);
            of->vv += v[j] * v[j];
        }
        for (long at = q * n; at < (q + 1) * n; at++) {
            const Sums *of = &sums[g->of[at % n]];
            double error = of->vv > 0 ? of->ve / of->vv * v[at % n] : 0;
            if (!compare_counts(m, at)) continue;
            if (!compare_near(m, at, m->yours[at], m->right[at] + error)) return false;
        }
    }
    return true;
}

/* Sets v to form `which` of the values of an input or the output: themselves, e to their power,
 * less their mean in each group; form 0 is 1. False: there is none. */
enum { FORMS = 3 };
static bool take_form(const Comparison *m, const Groups *g, int which, double *v, Sums *sums,
                      char text[REPORT_NAME]) {
    static const char *const forms[FORMS] = {"%.40s", "exp(%.40s)", "(%.40s minus its mean)"};
    long n = m->elements;
    const char *name;
    for (long j = 0; j < n; j++) v[j] = 1;
    if (which == 0) return true;
    int form = (which - 1) % FORMS, input = m->point->inputs - (which - 1) / FORMS;
    if (!compare_values_over(m, m->shape, input, v, &name)) return false;
    snprintf(text, REPORT_NAME, forms[form], name);
    if (form == 0) return true;
    if (form == 1) {
        for (long j = 0; j < n; j++) v[j] = exp(v[j]);
        return true;
    }
    double size = (double)(n / g->count);
    memset(sums, 0, (size_t)g->count * sizeof *sums);
    for (long j = 0; j < n; j++) sums[g->of[j]].ve += v[j] / size;
    for (long j = 0; j < n; j++) v[j] -= sums[g->of[j]].ve;
    return true;
}

static bool is_known_term(Comparison *m, const Groups *g, const char *along) {
    double *v = arena_alloc(m->arena, (size_t)m->elements * sizeof *v);
    Sums *sums = arena_alloc(m->arena, (size_t)g->count * sizeof *sums);
    char text[REPORT_NAME] = "";
    for (int which = 0; which <= FORMS * (m->point->inputs + 1); which++) {
        if (!take_form(m, g, which, v, sums, text) || !error_is_multiple(m, g, v, sums)) continue;
        return which == 0 ? compare_say(m,
                                        "the error is constant along %s. A term that is the same "
                                        "along it, such as a sum, is missing, wrong or one too "
                                        "many",
                                        along)
                          : compare_say(m,
                                        "the error is %s times a number that is the same along "
                                        "%s. A term, such as a sum times %s, is missing, wrong or "
                                        "one too many",
                                        text, along, text);
    }
    return false;
}

/* ---- Multiples of unknown numbers ---- */

/* A part of a matrix: the elements of one group, and the outputs of one. */
typedef struct Block {
    const Groups *elements, *outputs;
    long element, output; /* which groups */
} Block;

/* Whether entry `at` lies in the block. */
static bool is_in(const Comparison *m, const Block *b, long at) {
    long row = at / m->elements;
    if (b->elements->of[at % m->elements] != b->element || !compare_counts(m, at)) return false;
    return compare_known(m) < ROWS || (row > 0 && b->outputs->of[row - 1] == b->output);
}

/* Whether the block of a - b is one column times one row. *rows and *columns get the numbers of
 * those that are not 0. b may be NULL. */
static bool is_product(const Comparison *m, const Block *block, const double *a, const double *b,
                       long *rows, long *columns) {
    long n = m->elements, largest = -1;
    *rows = *columns = 0;
    for (long at = 0; at < m->entries; at++) {
        double difference = b ? a[at] - b[at] : a[at];
        bool is_0 = fabs(difference) <= m->tolerance * m->scale[at / n] || !is_in(m, block, at);
        m->expected[at] = is_0 ? 0 : difference;
        if (is_0 || (largest >= 0 && fabs(difference) <= fabs(m->expected[largest]))) continue;
        largest = at;
    }
    if (largest < 0) return true;
    const double *row = m->expected + largest / n * n, *column = m->expected + largest % n;
    for (long j = 0; j < n; j++) *columns += row[j] != 0;
    for (long q = 0; q < m->rows; q++) *rows += column[q * n] != 0;
    for (long at = 0; at < m->entries; at++) {
        double product = column[at / n * n] * row[at % n] / m->expected[largest];
        if (!is_in(m, block, at)) continue;
        if (!compare_near(m, at, m->right[at] + m->expected[at], m->right[at] + product))
            return false;
    }
    return true;
}

/* Whether the error of every block is a product and no right block is: then a term is a sum over
 * the upstream gradient times numbers that do not depend on it. */
static bool is_product_everywhere(const Comparison *m, const Groups *elements,
                                  const Groups *outputs) {
    bool any = false;
    long rows, columns;
    for (long i = 0; i < elements->count; i++)
        for (long o = 0; o < outputs->count; o++) {
            const Block b = {elements, outputs, i, o};
            if (!is_product(m, &b, m->yours, m->right, &rows, &columns)) return false;
            if (rows == 0) continue;
            if (rows < 2 || columns < EVIDENCE) return false;
            if (is_product(m, &b, m->right, NULL, &rows, &columns)) return false;
            any = true;
        }
    return any;
}

static bool is_unknown_term(Comparison *m) {
    bool whole = compare_known(m) == ROWS;
    Shape one = {0}, y = whole ? m->y_shape : one;
    for (unsigned a = 0; a <= compare_all_axes(m->shape); a++)
        for (unsigned b = 0; b <= compare_all_axes(y); b++) {
            Groups elements = compare_groups(m, m->shape, a), outputs = compare_groups(m, y, b);
            const double limit = 1 << 22;
            if ((double)elements.count * (double)outputs.count * (double)m->entries > limit)
                continue;
            if (is_product_everywhere(m, &elements, &outputs))
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
    for (unsigned set = 1; set <= all; set++) {
        Groups g = compare_groups(m, m->shape, all & ~set);
        if (m->elements / g.count < EVIDENCE) continue;
        compare_axes_text(along, set);
        if (is_known_term(m, &g, along)) return true;
    }
    return is_unknown_term(m);
}

/* ---- Axes ---- */

/* Whether all entries that are not 0 have the same index along axis a of the elements and axis b of
 * the outputs: 1: yes, at several indices, 0: at one index, -1: no. */
static int is_tied(const Comparison *m, const double *matrix, int a, int b) {
    long n = m->elements, first = -1;
    bool several = false;
    for (long at = n; at < m->entries; at++) {
        if (matrix[at] == 0 || !isfinite(matrix[at]) || !compare_counts(m, at)) continue;
        long index = compare_index(m->shape, a, at % n);
        if (index != compare_index(m->y_shape, b, at / n - 1)) return -1;
        several |= first >= 0 && index != first;
        first = index;
    }
    return several;
}

/* The axes of the output with which axis a of the elements is tied: in M alone, in J alone; -1:
 * none. False: it is tied alike, or with none in both. */
typedef struct Ties {
    int yours, right;
} Ties;
static bool find_ties(const Comparison *m, int a, Ties *ties) {
    *ties = (Ties){-1, -1};
    for (int b = 0; b < m->y_shape.rank; b++) {
        if (m->shape.size[a] != m->y_shape.size[b] || m->shape.size[a] < 2) continue;
        int yours = is_tied(m, m->yours, a, b), right = is_tied(m, m->right, a, b);
        if (yours >= 0 && right >= 0) return false;
        if (yours > 0) ties->yours = b;
        if (right > 0) ties->right = b;
    }
    return ties->yours >= 0 || ties->right >= 0;
}

/* One axis is paired with a wrong one of the output; of several, the upstream gradient is
 * transposed. */
bool compare_paired_axis(Comparison *m) {
    Ties ties, wrong = {0};
    int count = 0, axis = 0;
    for (int a = 0; a < m->shape.rank; a++) {
        if (!find_ties(m, a, &ties) || ties.yours < 0 || ties.right < 0) continue;
        wrong = ties;
        axis = a;
        count++;
    }
    return count == 1 &&
           compare_say(m,
                       "axis %d of %s is paired with axis %d of the output. It belongs to axis %d: "
                       "is a sum over the wrong axis?",
                       axis, m->in->name, wrong.yours, wrong.right);
}

/* Examples are softmax without the outputs' dependence on each other, and a sum over another
 * axis. */
bool compare_mixed_axes(Comparison *m) {
    Ties ties;
    for (int a = 0; a < m->shape.rank; a++) {
        if (!find_ties(m, a, &ties)) continue;
        if (ties.yours >= 0)
            return compare_say(m,
                               "each gradient arrives only from the outputs at its own index of "
                               "axis %d. The outputs at other indices also depend on the element",
                               ties.yours);
        return compare_say(m,
                           "gradients arrive from outputs at other indices of axis %d, which do "
                           "not depend on the element: is a sum over the wrong axis?",
                           ties.right);
    }
    return false;
}
