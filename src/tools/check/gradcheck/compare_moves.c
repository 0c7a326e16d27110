/* Right numbers in wrong places: M is J with rows or columns moved, or rows left out. */
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

/* Whether element j has the gradient of element from[j]; -1: it may have any. */
static bool fits_columns(Comparison *m, const long *from) {
    for (long at = 0; at < m->entries; at++) {
        long j = at % m->elements;
        m->expected[at] = from[j] < 0 ? m->yours[at] : m->right[at - j + from[j]];
    }
    return compare_fits(m);
}

/* Whether the gradient comes from a Jacobian if output i reads the upstream gradient of output
 * from[i], or 1 or nothing. */
static bool fits_rows(Comparison *m, const double *jacobian, const long *from) {
    long n = m->elements;
    for (long q = 0; q < m->rows; q++) {
        const real *dy = m->e->cotangent + q * m->outputs;
        double *row = memset(m->expected + q * n, 0, (size_t)n * sizeof *row);
        for (long i = 0; i < m->outputs; i++) {
            double w = from[i] < 0 ? from[i] == READS_ONE : (double)dy[from[i]];
            for (long j = 0; w != 0 && j < n; j++) row[j] += w * jacobian[i * n + j];
        }
        for (long at = q * n; at < (q + 1) * n; at++)
            if (compare_counts(m, at) && !compare_near(m, at, m->yours[at], m->expected[at]))
                return false;
    }
    return true;
}

/* Copies the Jacobian, [outputs][elements]. */
static double *copy_jacobian(const Comparison *m) {
    long n = m->elements, count = m->outputs * n;
    double *copy = arena_alloc(m->arena, (size_t)count * sizeof *copy);
    for (long at = 0; at < count; at++)
        if (isfinite(m->right[n + at])) copy[at] = m->right[n + at];
    return copy;
}

/* ---- Moves of an array ---- */

/* The index from which index i of an axis of n takes its value; -1: none. */
enum { BEFORE, AFTER, REVERSED, FIRST, LAST, WAYS };
static const char *const way_text[WAYS] = {"the one before it", "the one after it",
                                           "the one at the other end", "the first", "the last"};
static long take_index(int way, long i, long n) {
    const long from[WAYS] = {i - 1, i + 1, n - 1 - i, 0, n - 1};
    return from[way] < n ? from[way] : -1;
}

/* Along an axis of at least `min` indices each element takes the value of another. */
static bool move_along(Shape s, int axis, int way, long min, long *from) {
    long n = s.size[axis];
    if (n < min) return false;
    for (long j = 0; j < shape_count(s); j++) {
        long to = take_index(way, compare_index(s, axis, j), n);
        from[j] = to < 0 ? -1 : compare_at_index(s, axis, j, to);
    }
    return true;
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

/* Tries all moves of the elements, or of the outputs from which the upstream gradient is read. */
static bool find_move(Comparison *m, bool of_outputs) {
    Shape s = of_outputs ? m->y_shape : m->shape;
    const double *jacobian = of_outputs ? copy_jacobian(m) : NULL;
    long *from = new_places(m, shape_count(s));
    unsigned orders = s.rank > 1 && s.rank <= 4 ? 1u << 2 * s.rank : 0;
    for (unsigned order = 0; order < orders; order++) {
        if (!move_axes(s, order, from)) continue;
        if (of_outputs ? fits_rows(m, jacobian, from) : fits_columns(m, from))
            return compare_say(
                m, of_outputs ? "the upstream gradient is read with its axes in another order "
                                "(transposed)"
                              : "it is the right gradient with its axes in another order "
                                "(transposed)");
    }
    for (int axis = 0; axis < s.rank; axis++)
        for (int way = 0; way < WAYS; way++) {
            if (!move_along(s, axis, way, of_outputs && way >= FIRST ? 2 : 3, from)) continue;
            if (of_outputs ? fits_rows(m, jacobian, from) : fits_columns(m, from))
                return compare_say(m, "along axis %d %s %s%s", axis,
                                   of_outputs ? "the upstream gradient of each output is that of"
                                              : "each element has the gradient of",
                                   way_text[way], way < FIRST ? "" : ". Is the index used?");
        }
    return false;
}

bool compare_moved_elements(Comparison *m) {
    return find_move(m, false);
}

bool compare_moved_outputs(Comparison *m) {
    long n = m->outputs, *from = new_places(m, n);
    if (find_move(m, true)) return true;
    const double *jacobian = copy_jacobian(m);
    for (long by = 1 - n; by < n; by++) {
        if (by == 0) continue;
        for (long i = 0; i < n; i++) from[i] = i + by >= 0 && i + by < n ? i + by : READS_NOTHING;
        if (fits_rows(m, jacobian, from))
            return compare_say(m, "the upstream gradient is read %ld element%s too %s", labs(by),
                               labs(by) == 1 ? "" : "s", by < 0 ? "early" : "late");
    }
    return false;
}

/* ---- Another gradient, or another upstream gradient ---- */

bool compare_another_input(Comparison *m) {
    for (int k = 0; k < m->point->inputs; k++) {
        const Entries *other = &m->g->element[k];
        if (other == m->e || !other->entry || other->coordinates != m->elements) continue;
        for (long i = 0; i < m->entries; i++) m->expected[i] = other->entry[i].numeric;
        if (compare_fits(m))
            return compare_say(m, "it is the gradient of %s", m->point->in[k].name);
    }
    return false;
}

bool compare_upstream_ignored(Comparison *m) {
    long *from = new_places(m, m->outputs);
    for (long i = 0; i < m->outputs; i++) from[i] = READS_ONE;
    return fits_rows(m, copy_jacobian(m), from) &&
           compare_say(m, "the upstream gradient is not used: the result is that for an upstream "
                          "gradient of 1");
}

/* An example is a cumulative sum, rotation or matrix product that goes the same way in backward as
 * in forward. */
bool compare_jacobian(Comparison *m) {
    long n = m->elements;
    if (m->outputs != n || n < 2) return false;
    const double *jacobian = copy_jacobian(m);
    double *transposed = copy_jacobian(m);
    for (long i = 0; i < n * n; i++) transposed[i % n * n + i / n] = jacobian[i];
    return fits_rows(m, transposed, new_places(m, n)) &&
           compare_say(m, "the Jacobian is used in place of its transpose: backward goes the same "
                          "way as forward (A for Aᵀ, or a cumulative sum in forward's direction)");
}

/* ---- Wrong indices ---- */

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
 * input or 0 and are such numbers. Entry -1: there is none. */
static Misread find_misread(const Comparison *m, const PointInput *in) {
    enum { EVIDENCE = 4 };
    long numbers = 0, last = -1;
    double tolerance = fmin(m->tolerance, 1e-6);
    Misread first = {-1, -1, -1};
    for (long at = m->elements; at < m->entries; at++) {
        bool is_zero = compare_near(m, at, m->right[at], 0) && compare_near(m, at, m->yours[at], 0);
        if (!compare_counts(m, at) || is_zero) continue;
        long found = find(in, m->yours[at], tolerance), need = find(in, m->right[at], tolerance);
        bool other = (m->right[at] != 0 && need < 0) || (m->yours[at] != 0 && found < 0);
        if (other) return (Misread){-1, -1, -1};
        numbers += need >= 0 && need != last;
        last = need;
        if (first.entry < 0 && found >= 0 && need >= 0 && found != need)
            first = (Misread){at, need, found};
    }
    return numbers >= EVIDENCE ? first : (Misread){-1, -1, -1};
}

/* An example is a product whose backward reads an operand at another index. */
bool compare_operand_elsewhere(Comparison *m) {
    char element[REPORT_NAME], right[REPORT_NAME], wrong[REPORT_NAME];
    for (int k = 0; k < m->point->inputs; k++) {
        const PointInput *in = &m->point->in[k];
        if (k == m->e->input || in->count < 3) continue;
        Misread first = find_misread(m, in);
        if (first.entry < 0) continue;
        return compare_say(
            m, "%.40s is read at a wrong index: the gradient of %.60s uses %.60s instead of %.60s",
            in->name,
            gradcheck_element_text(element, m->in->name, m->shape, first.entry % m->elements),
            gradcheck_element_text(wrong, in->name, in->shape, first.found),
            gradcheck_element_text(right, in->name, in->shape, first.need));
    }
    return false;
}
