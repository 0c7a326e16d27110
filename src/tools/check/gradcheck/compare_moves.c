/* Right numbers in wrong places: M is J with rows or columns moved, or with another operand. */
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READS_NOTHING = -1, READS_ONE = -2 };

static long *new_places(const Comparison *m, long count) {
    long *from = arena_alloc(m->arena, (size_t)count * sizeof *from);
    for (long i = 0; i < count; i++) from[i] = i;
    return from;
}

/* Whether element j has the gradient of element from[j] (-1: it may have any); or output i reads
 * the upstream gradient of output from[i], or 1 or nothing. */
static bool fits_move(Comparison *m, bool of_outputs, const long *from) {
    long n = m->elements, wrong = 0, predicted = 0;
    if (of_outputs) memset(m->expected, 0, (size_t)m->entries * sizeof *m->expected);
    for (long at = 0; at < m->entries; at++) {
        long j = at % n, i = at / n;
        if (!of_outputs)
            m->expected[at] = from[j] < 0 ? m->yours[at] : m->right[at - j + from[j]];
        else if (isfinite(m->right[at]) && from[i] >= 0)
            m->expected[from[i] * n + j] += m->right[at];
        if (!of_outputs || from[i] != READS_ONE) continue;
        for (long q = 0; q < m->rows; q++) m->expected[q * n + j] += m->right[at];
    }
    for (long at = 0; at < m->entries; at++) {
        if (m->kind[at] != COMPARE_WRONG) continue;
        wrong++;
        predicted += of_outputs || from[at % n] >= 0;
    }
    return 2 * predicted >= wrong && compare_fits(m);
}

/* ---- Moves of an array ---- */

/* The index from which index i of an axis of n takes its value; -1: none. */
enum { BEFORE, AFTER, REVERSED, FIRST, LAST, WAYS };
static const char *const way_text[WAYS] = {
    "the one before it", "the one after it", "the one at the other end",
    "the first. Is the index used?", "the last. Is the index used?"};
static long take_index(int way, long i, long n) {
    const long from[WAYS] = {i - 1, i + 1, n - 1 - i, 0, n - 1};
    return from[way] < n ? from[way] : -1;
}

/* Along an axis each element takes the value of another. */
static void move_along(Shape s, int axis, int way, long *from) {
    long step = 1;
    for (int inner = s.rank - 1; inner > axis; inner--) step *= s.size[inner];
    for (long j = 0; j < shape_count(s); j++) {
        long i = compare_index(s, axis, j), to = take_index(way, i, s.size[axis]);
        from[j] = to < 0 ? -1 : j + (to - i) * step;
    }
}

/* The axes in another order: a number with two bits for each. False: it is no order, or moves
 * nothing. */
static bool move_axes(Shape s, unsigned order, long *from) {
    unsigned seen = 0;
    bool moves = false;
    for (int i = 0; i < s.rank; i++) seen |= 1u << (order >> 2 * i & 3);
    if (seen != (1u << s.rank) - 1) return false;
    for (long j = 0; j < shape_count(s); j++) {
        long place = 0;
        for (int i = 0; i < s.rank; i++) {
            int axis = order >> 2 * i & 3;
            place = place * s.size[axis] + compare_index(s, axis, j);
        }
        from[place] = j;
        moves |= place != j;
    }
    return moves;
}

/* The first may have the gradient of some others by chance. */
static bool most_are_wrong(const Comparison *m) {
    long count[3] = {0, 0, 0};
    for (long at = 0; at < m->entries; at++) count[m->kind[at]]++;
    return count[COMPARE_WRONG] >= 2 * count[COMPARE_RIGHT];
}

/* Tries all moves of the elements, or of the outputs from which the upstream gradient is read. */
static bool find_move(Comparison *m, bool of_outputs) {
    static const char *const words[][2] = {
        {"it is the right gradient", "each element has the "
                                     "gradient of"},
        {"the upstream gradient is read", "the upstream gradient of each output is that of"}};
    Shape s = of_outputs ? m->y_shape : m->shape;
    long *from = new_places(m, shape_count(s));
    unsigned orders = s.rank > 1 && s.rank <= 4 ? 1u << 2 * s.rank : 0;
    for (unsigned order = 0; order < orders; order++)
        if (move_axes(s, order, from) && fits_move(m, of_outputs, from))
            return compare_say(m, "%s with its axes in another order (transposed)",
                               words[of_outputs][0]);
    int first = of_outputs ? m->stacked : 0;
    for (int axis = first; axis < s.rank; axis++)
        for (int way = 0; way < WAYS; way++) {
            bool of_two = way == REVERSED || (of_outputs && way >= FIRST);
            if (s.size[axis] < (of_two ? 2 : 3)) continue;
            move_along(s, axis, way, from);
            if (way >= FIRST && !most_are_wrong(m)) continue;
            if (fits_move(m, of_outputs, from))
                return compare_say(m, "along axis %d %s %s", axis - first, words[of_outputs][1],
                                   way_text[way]);
        }
    return false;
}

bool compare_moved_elements(Comparison *m) {
    return find_move(m, false);
}

bool compare_moved_outputs(Comparison *m) {
    long n = m->rows, *from = new_places(m, n);
    if (find_move(m, true)) return true;
    for (long by = 1 - n; by < n; by++) {
        if (by == 0) continue;
        for (long i = 0; i < n; i++) from[i] = i + by >= 0 && i + by < n ? i + by : READS_NOTHING;
        if (fits_move(m, true, from))
            return compare_say(m, "the upstream gradient is read %ld element%s too %s", labs(by),
                               PLURAL(labs(by)), by < 0 ? "early" : "late");
    }
    return false;
}

/* ---- Another gradient, or another upstream gradient ---- */

bool compare_another_input(Comparison *m) {
    for (int k = 0; k < m->point->inputs; k++) {
        const Entries *other = &m->g->element[k];
        if (other == m->e || !other->entry || other->coordinates != m->elements) continue;
        const Entry *entry = other->entry + (m->entry - m->e->entry);
        for (long i = 0; i < m->entries; i++) m->expected[i] = entry[i].numeric;
        if (compare_fits(m))
            return compare_say(m, "it is the gradient of %s", m->point->in[k].name);
    }
    return false;
}

bool compare_upstream_ignored(Comparison *m) {
    long n = m->elements, *from = new_places(m, m->rows);
    const Entry *random = m->e->entry; /* the answer to a random upstream gradient */
    for (long i = 0; i < m->rows; i++) from[i] = READS_ONE;
    for (long j = 0; j < n; j++) {
        double sum = 0;
        for (long at = j; at < m->entries; at += n) sum += m->right[at];
        if (!compare_near(m, j, random[j].analytic, sum)) return false;
    }
    return (m->rows == 1 || fits_move(m, true, from)) &&
           compare_say(m, "the upstream gradient is not used: the result is that for an upstream "
                          "gradient of 1");
}

/* An example is a cumulative sum, rotation or matrix product that goes the same way in backward as
 * in forward. */
bool compare_jacobian(Comparison *m) {
    long n = m->elements;
    if (m->rows != n || n < 2) return false;
    for (long i = 0; i < n * n; i++) m->expected[i] = m->right[i % n * n + i / n];
    return compare_fits(m) &&
           compare_say(m, "the Jacobian is used in place of its transpose: backward goes the same "
                          "way as forward (A for Aᵀ, or a cumulative sum in forward's direction)");
}

/* ---- Another operand of a product ---- */

/* A matrix [n][d] of an input or the output: of one with more axes, one for each of its slices;
 * -1: the unit matrix. */
typedef struct Operand {
    int which;
    bool turned;
    Shape shape;
    const real *value;
} Operand;

static double operand_at(const Operand *a, long slice, long row, long column) {
    Shape s = a->shape;
    if (a->which < 0) return row == column;
    long n = s.size[s.rank - 2], d = s.size[s.rank - 1];
    return (double)a->value[slice * n * d + (a->turned ? column * d + row : row * d + column)];
}

/* Finds all matrices of lines of d numbers along an axis of the elements: all have n lines, and as
 * many slices as the elements have before this axis. */
static int operands(const Comparison *m, int axis, long n, Operand a[4 * CHECK_INPUTS]) {
    long d = m->shape.size[axis];
    int count = 0;
    if (n == d) a[count++] = (Operand){.which = -1};
    for (int k = 0; k <= m->point->inputs; k++) {
        bool is_y = k == m->point->inputs;
        Shape s = is_y ? m->y_shape : m->point->in[k].shape;
        const real *value = is_y ? m->y : m->point->in[k].value;
        bool fits = s.rank >= 2 && s.rank - 2 <= axis;
        for (int i = 0; fits && i < s.rank - 2; i++) fits = s.size[i] == m->shape.size[i];
        for (int turned = 0; fits && turned < 2; turned++)
            if (s.size[s.rank - 2 + turned] == n && s.size[s.rank - 1 - turned] == d)
                a[count++] = (Operand){k, turned, s, value};
    }
    return count;
}

/* Makes v of 2 d numbers orthogonal to `count` vectors of length 1; returns its length. */
static double orthogonal(double *v, const double *basis, long count, long d2) {
    double length = 0;
    for (int twice = 0; twice < 2; twice++)
        for (long k = 0; k < count; k++) {
            double dot = 0;
            for (long i = 0; i < d2; i++) dot += v[i] * basis[k * d2 + i];
            for (long i = 0; i < d2; i++) v[i] -= dot * basis[k * d2 + i];
        }
    for (long i = 0; i < d2; i++) length += v[i] * v[i];
    return sqrt(length);
}

/* Whether each line of J along the axis is a combination of the lines of a, and that of M is the
 * same combination of the lines of b. */
static bool is_same_combination(const Comparison *m, int axis, long n, const Operand *a,
                                const Operand *b) {
    enum { EVIDENCE = 4 };
    long d = m->shape.size[axis], step = 1, slices = 1, evidence = 0;
    int lead = (a->which < 0 ? b : a)->shape.rank - 2;
    for (int i = m->shape.rank - 1; i > axis; i--) step *= m->shape.size[i];
    for (int i = 0; i < lead; i++) slices *= m->shape.size[i];
    double *basis = arena_alloc(m->arena, (size_t)(2 * (n + 1) * d) * sizeof *basis);
    for (long slice = 0; slice < slices; slice++) {
        long count = 0;
        for (long row = 0; row < n; row++) {
            double *v = basis + 2 * count * d, size = 0;
            for (long i = 0; i < d; i++) {
                v[i] = operand_at(a, slice, row, i);
                v[d + i] = operand_at(b, slice, row, i);
                size = fmax(size, fmax(fabs(v[i]), fabs(v[d + i])));
            }
            double length = orthogonal(v, basis, count, 2 * d);
            if (length <= 1e-9 * size) continue;
            for (long i = 0; i < 2 * d; i++) v[i] /= length;
            count++;
        }
        if (count >= 2 * d) return false;
        double *line = basis + 2 * count * d;
        for (long at = 0; at < m->entries; at++) {
            long j = at % m->elements;
            if (compare_index(m->shape, axis, j) || j / (m->elements / slices) != slice) continue;
            double right = 0, yours = 0;
            for (long i = 0; i < d; i++) {
                if (!compare_counts(m, at + i * step)) return false;
                line[i] = m->right[at + i * step];
                line[d + i] = m->yours[at + i * step];
                right = fmax(right, fabs(line[i]));
                yours = fmax(yours, fabs(line[d + i]));
            }
            double off = orthogonal(line, basis, count, 2 * d);
            if (off > 10 * m->tolerance * fmax(right, yours)) return false;
            if ((right == 0) != (yours == 0)) return false; /* any combination may give 0 */
            evidence += right > 0 ? 2 * d - count : 0;
        }
    }
    return evidence >= EVIDENCE;
}

static void name_operand(const Comparison *m, const Operand *a, char text[REPORT_NAME]) {
    const char *name = a->which < m->point->inputs ? m->point->in[a->which].name : "the output";
    snprintf(text, REPORT_NAME, "%.40s%s", name, a->turned ? " transposed" : "");
}

/* Whether each output depends on one element at most: then forward is no product of matrices. */
static bool is_elementwise(const Comparison *m) {
    for (long row = 0; row < m->rows; row++) {
        long used = 0;
        for (long i = 0; i < m->elements; i++) used += m->right[row * m->elements + i] != 0;
        if (used > 1) return false;
    }
    return m->whole;
}

bool compare_operand(Comparison *m) {
    char wrong[REPORT_NAME], right[REPORT_NAME];
    Operand a[4 * CHECK_INPUTS];
    if (is_elementwise(m)) return false;
    for (int axis = 0; axis < m->shape.rank; axis++)
        for (long n = 2; m->shape.size[axis] > 1 && n < 2 * m->shape.size[axis]; n++) {
            int count = operands(m, axis, n, a);
            for (int k = 0; k < count * count; k++) {
                const Operand *need = &a[k / count], *found = &a[k % count];
                bool one = need->which < 0 || found->which < 0;
                if (need == found || (!one && need->shape.rank != found->shape.rank)) continue;
                if (!is_same_combination(m, axis, n, need, found)) continue;
                if (need->which >= 0) name_operand(m, need, right);
                if (found->which >= 0) name_operand(m, found, wrong);
                if (found->which < 0)
                    return compare_say(m, "the product with %s is missing", right);
                if (need->which < 0)
                    return compare_say(m, "there is a product with %s too many", wrong);
                return compare_say(m, "the product uses %s in place of %s", wrong, right);
            }
        }
    return false;
}

/* ---- Wrong indices ---- */

/* The place in row `at` of the right number that yours is, first its own; -1: there is none left. */
static long find_place(const Comparison *m, long at, const bool *taken) {
    long n = m->elements, place = at / n * n;
    if (!taken[at] && compare_near(m, at, m->yours[at], m->right[at])) return at;
    for (long end = place + n; place < end; place++)
        if (!taken[place] && m->right[place] != 0 &&
            compare_near(m, at, m->yours[at], m->right[place]))
            return place;
    return -1;
}

/* Examples are a pool whose gradient goes to a window's first element, gates in another order, and
 * rows of a table that are off by one. */
bool compare_scattered(Comparison *m) {
    long n = m->elements, first = -1, to = -1;
    char y[INDEX_TEXT], x[INDEX_TEXT], other[INDEX_TEXT];
    bool *taken = arena_alloc(m->arena, (size_t)m->entries);
    if (m->rows < 3 || (double)n * (double)m->entries > 1 << 24) return false;
    for (long at = 0; at < m->entries; at++) {
        if (m->yours[at] == 0) continue;
        long place = compare_counts(m, at) ? find_place(m, at, taken) : -1;
        if (place < 0) return false;
        taken[place] = true;
        if (place == at || first >= 0) continue;
        first = at;
        to = place;
    }
    for (long at = 0; at < m->entries; at++)
        if (m->right[at] != 0 && !taken[at]) return false;
    return first >= 0 &&
           compare_say(m,
                       "right numbers arrive at wrong elements: %.50s gives %.50s the gradient of "
                       "%.50s",
                       compare_output_text(m, y, first / n),
                       gradcheck_element_text(x, m->in->name, m->shape, first % n),
                       gradcheck_element_text(other, m->in->name, m->shape, to % n));
}

/* Returns the place of ±value in an input; -1: it is not there. */
static long find(const PointInput *in, double value, double tolerance) {
    for (long i = 0; i < in->count; i++)
        if (value != 0 && fabs(fabs((double)in->value[i]) - fabs(value)) <= tolerance * fabs(value))
            return i;
    return -1;
}

/* An entry that needs one number of an input and has another. */
typedef struct Misread {
    long entry, need, found;
} Misread;

/* Returns the first entry that is not in its place, if all entries have to be ± numbers of the
 * input or 0 and are such numbers of `other`. Entry -1: there is none. */
static Misread find_misread(const Comparison *m, const PointInput *in, const PointInput *other) {
    enum { EVIDENCE = 4 };
    long numbers = 0, last = -1;
    double tolerance = fmin(m->tolerance, 1e-6);
    Misread first = {-1, -1, -1};
    for (long at = 0; at < m->entries; at++) {
        bool is_zero = compare_near(m, at, m->right[at], 0) && compare_near(m, at, m->yours[at], 0);
        if (!compare_counts(m, at) || is_zero) continue;
        long found = find(other, m->yours[at], tolerance), need = find(in, m->right[at], tolerance);
        if ((m->right[at] != 0 && need < 0) || (m->yours[at] != 0 && found < 0))
            return (Misread){-1, -1, -1};
        numbers += need >= 0 && need != last;
        last = need;
        bool elsewhere = found >= 0 && need >= 0 && (found != need || other != in);
        if (first.entry < 0 && elsewhere) first = (Misread){at, need, found};
    }
    return numbers >= EVIDENCE ? first : (Misread){-1, -1, -1};
}

/* An example is a product whose backward reads an operand at another index, or another operand. */
bool compare_operand_elsewhere(Comparison *m) {
    char element[INDEX_TEXT], right[INDEX_TEXT], wrong[INDEX_TEXT];
    int inputs = m->point->inputs;
    for (int k = 0; k < inputs * inputs; k++) {
        const PointInput *in = &m->point->in[k / inputs];
        const PointInput *other = &m->point->in[(k / inputs + k % inputs) % inputs];
        if (in == m->in || in->count < 3) continue;
        Misread first = find_misread(m, in, other);
        if (first.entry < 0) continue;
        return compare_say(
            m, "%.40s is read at a wrong index: the gradient of %.60s uses %.60s instead of %.60s",
            in->name,
            gradcheck_element_text(element, m->in->name, m->shape, first.entry % m->elements),
            gradcheck_element_text(wrong, other->name, other->shape, first.found),
            gradcheck_element_text(right, in->name, in->shape, first.need));
    }
    return false;
}
