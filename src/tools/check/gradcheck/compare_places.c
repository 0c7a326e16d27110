/* The place of an error: at which indices, and for which outputs. */
#include "base/append.h"
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LIST = 72, HALF = REPORT_TEXT / 2 };

Marks compare_mark(const Comparison *m, bool of_outputs, long row) {
    Marks k = {of_outputs ? "y" : m->in->name, of_outputs ? m->y_shape : m->shape};
    long n = m->elements, first = row < 0 ? 0 : row * n, end = row < 0 ? m->entries : first + n;
    k.count = shape_count(k.shape);
    k.kind = arena_alloc(m->arena, (size_t)k.count * sizeof *k.kind + 1);
    for (long at = first; at < end; at++) {
        CompareKind *of = &k.kind[of_outputs ? at / n : at % n];
        k.mixed |= *of + m->kind[at] == COMPARE_RIGHT + COMPARE_WRONG;
        if (m->kind[at] > *of) *of = m->kind[at];
    }
    return k;
}

/* ---- Rules of indices ---- */

/* "0 to 3 and 5", "1 and every third after it": the indices of a set among n. */
static void list_indices(const bool *in, long n, char text[LIST]) {
    static const char *const every[] = {"second", "third", "fourth"};
    long first = 0, last = n - 1;
    while (!in[first]) first++;
    while (!in[last]) last--;
    text[0] = 0;
    for (long step = 2; step <= 4; step++) {
        bool even = last >= first + 2 * step && last + step >= n;
        for (long i = first; i < n; i++) even &= in[i] == ((i - first) % step == 0);
        if (even) snprintf(text, LIST, "%ld and every %s after it", first, every[step - 2]);
        if (even) return;
    }
    for (long i = first, end; i <= last; i = end) {
        end = i + 1;
        if (!in[i]) continue;
        while (end < n && in[end]) end++;
        if (end - i == 2) end--; /* two are named each */
        const char *before = end > last ? " and " : ", ";
        text_append(text, LIST, "%s%ld", *text ? before : "", i);
        if (end - i > 1) text_append(text, LIST, " to %ld", end - 1);
    }
}

/* Writes "rows 4 and 5", "rows 0 and 1 in column 2": the elements of a kind, if they are those at
 * some indices of these axes. */
static bool block_rule(const Comparison *m, const Marks *k, unsigned axes, CompareKind kind,
                       char text[HALF]) {
    static const char *const words[2][2] = {{"row", "rows"}, {"column", "columns"}};
    Shape s = k->shape;
    long inside = 0, found = 0, size = k->count;
    bool *in[MAX_RANK];
    text[0] = 0;
    for (int axis = 0; axis < s.rank; axis++) {
        char list[LIST];
        in[axis] = arena_alloc(m->arena, (size_t)s.size[axis]);
        for (long j = 0; j < size; j++)
            if (k->kind[j] == kind || !(axes >> axis & 1))
                in[axis][compare_index(s, axis, j)] = true;
        if (!(axes >> axis & 1)) continue;
        if (!memchr(in[axis], true, (size_t)s.size[axis])) return false;
        list_indices(in[axis], s.size[axis], list);
        bool many = strchr(list, ' ');
        const char *joint = *text ? " in " : "";
        if (s.rank == 1)
            text_append(text, HALF, "%.24s[%s]", k->name, list);
        else if (s.rank == 2)
            text_append(text, HALF, "%s%s %s", joint, words[axis][many], list);
        else
            text_append(text, HALF, "%s%s %s of axis %d", joint, many ? "indices" : "index", list,
                        axis);
    }
    for (long j = 0; j < size; j++) {
        bool here = k->kind[j] != COMPARE_NONE;
        for (int axis = 0; axis < s.rank; axis++) here &= in[axis][compare_index(s, axis, j)];
        inside += here;
        found += k->kind[j] == kind;
    }
    return inside == found;
}

/* Writes "the index that y gives along axis 1": the wrong ones are x[i, y[i]]. */
static bool label_rule(const Comparison *m, const Marks *k, char wrong[HALF]) {
    ValuesList list = compare_values(m, false);
    if (k->name != m->in->name) return false;
    for (const Values *v = list.v; v < list.v + list.count; v++)
        for (int axis = 0; axis < k->shape.rank; axis++) {
            bool fits = v->shape.rank == k->shape.rank - 1 && shape_count(v->shape) > 1;
            for (int i = 0; i < v->shape.rank; i++) fits &= v->along[i] != axis;
            for (long j = 0; j < k->count; j++) {
                if (!fits) break;
                bool here = compare_value(m, v, j) == (double)compare_index(k->shape, axis, j);
                fits = k->kind[j] == COMPARE_NONE || here == (k->kind[j] == COMPARE_WRONG);
            }
            if (!fits) continue;
            snprintf(wrong, HALF, "the index that %.40s gives along axis %d", v->name, axis);
            return true;
        }
    return false;
}

/* Writes which are wrong, and which are right by the same rule. False: no rule of indices tells
 * them apart. */
static bool index_rule(const Comparison *m, const Marks *k, char wrong[HALF], char right[HALF]) {
    long count[3] = {0, 0, 0}, only = -1;
    unsigned all = compare_all_axes(k->shape);
    for (long j = 0; j < k->count; j++) {
        count[k->kind[j]]++;
        if (k->kind[j] == COMPARE_WRONG) only = j;
    }
    if (!count[COMPARE_WRONG] || !count[COMPARE_RIGHT]) return false;
    for (unsigned axis = 1; axis <= all; axis *= 2)
        if (block_rule(m, k, axis, COMPARE_WRONG, wrong) &&
            block_rule(m, k, axis, COMPARE_RIGHT, right))
            return true;
    snprintf(right, HALF, "all others");
    if (label_rule(m, k, wrong)) return true;
    if (count[COMPARE_WRONG] == 1) {
        char text[INDEX_TEXT];
        snprintf(wrong, HALF, "%s", gradcheck_element_text(text, k->name, k->shape, only));
        return true;
    }
    for (unsigned axes = 3; axes <= all; axes++) {
        if (__builtin_popcount(axes) != 2) continue;
        if (block_rule(m, k, axes, COMPARE_WRONG, wrong)) return true;
        if (!block_rule(m, k, axes, COMPARE_RIGHT, right)) continue;
        snprintf(wrong, HALF, "all others");
        return true;
    }
    return false;
}

/* The same of outputs; of several tensors, those of one. */
static bool output_rule(const Comparison *m, const Marks *k, char wrong[HALF], char right[HALF]) {
    const Result *r = &m->g->run->result;
    char *text[] = {[COMPARE_RIGHT] = right, [COMPARE_WRONG] = wrong};
    if (r->parts < 2) return index_rule(m, k, wrong, right);
    *right = *wrong = 0;
    for (long part = 0, i = 0; part < r->parts; part++) {
        unsigned found = 0;
        for (long end = i + shape_count(r->part[part]); i < end; i++) found |= k->kind[i];
        if (found == (COMPARE_RIGHT | COMPARE_WRONG)) return false;
        if (found) text_append(text[found], HALF, "%sy%ld", *text[found] ? " and " : "", part);
    }
    return *right && *wrong;
}

/* ---- Rules of pairs of an element and an output ---- */

/* How the index of the output along axis b lies to that of the element along axis a. */
enum { BEFORE = 1, SAME = 2, AFTER = 4 };

/* The ways of all entries that are not 0 in a matrix, or (NULL) are of a kind. Axes -1: the places
 * in equal shapes. */
static int ways_of(const Comparison *m, int a, int b, const double *matrix, CompareKind kind) {
    int ways = 0;
    for (long at = 0; at < m->entries; at++) {
        long i = at % m->elements, o = at / m->elements;
        if (matrix ? !m->kind[at] || matrix[at] == 0 : m->kind[at] != kind) continue;
        if (a >= 0) i = compare_index(m->shape, a, i);
        if (b >= 0) o = compare_index(m->y_shape, b, o);
        if (o == i)
            ways |= SAME;
        else
            ways |= o < i ? BEFORE : AFTER;
    }
    return ways;
}

static bool are_alike(const Comparison *m, int a, int b) {
    return b >= m->stacked && m->shape.size[a] == m->y_shape.size[b] && m->shape.size[a] > 1;
}

/* Names the outputs from which entries are wrong, by their index beside the element's. False: no
 * such rule tells wrong entries from right ones. */
static bool pair_rule(const Comparison *m, char text[HALF]) {
    static const char *const words[] = {[BEFORE] = "outputs before its own index",
                                        [SAME] = "the output at its own index",
                                        [BEFORE | SAME] = "outputs up to its own index",
                                        [AFTER] = "outputs after its own index",
                                        [SAME | AFTER] = "outputs from its own index on",
                                        [BEFORE | AFTER] = "outputs at other indices"};
    if (!m->whole) return false;
    if (shape_equal(m->shape, m->y_shape)) {
        int wrong = ways_of(m, -1, -1, NULL, COMPARE_WRONG);
        int right = ways_of(m, -1, -1, NULL, COMPARE_RIGHT);
        snprintf(text, HALF, "%s", wrong == SAME ? words[SAME] : words[BEFORE | AFTER]);
        if (wrong && right && !(wrong & right) && (wrong == SAME || right == SAME)) return true;
    }
    for (int a = 0; a < m->shape.rank; a++)
        for (int b = 0; b < m->y_shape.rank; b++) {
            if (!are_alike(m, a, b)) continue;
            int wrong = ways_of(m, a, b, NULL, COMPARE_WRONG);
            int right = ways_of(m, a, b, NULL, COMPARE_RIGHT);
            if (!wrong || !right || wrong & right) continue;
            snprintf(text, HALF, "%s of axis %d", words[wrong], b - m->stacked);
            return true;
        }
    return false;
}

/* Axis a of the elements is tied to the axes of the output at whose index all entries lie: in M
 * alone, in J alone; -1: none. False: it is tied alike, or with none in both. */
static bool find_ties(const Comparison *m, int a, int *yours, int *right) {
    *yours = *right = -1;
    for (int b = 0; b < m->y_shape.rank; b++) {
        if (!are_alike(m, a, b)) continue;
        bool in_yours = ways_of(m, a, b, m->yours, 0) == SAME;
        bool in_right = ways_of(m, a, b, m->right, 0) == SAME;
        if (in_yours && in_right) return false;
        if (in_yours) *yours = b - m->stacked;
        if (in_right) *right = b - m->stacked;
    }
    return *yours >= 0 || *right >= 0;
}

/* One axis is paired with a wrong one of the output; of several, the upstream gradient is
 * transposed. */
bool compare_paired_axis(Comparison *m) {
    int yours, right, found[3] = {0}, count = 0;
    for (int a = 0; a < m->shape.rank; a++) {
        if (!find_ties(m, a, &yours, &right) || yours < 0 || right < 0) continue;
        memcpy(found, (int[]){a, yours, right}, sizeof found);
        count++;
    }
    return count == 1 &&
           compare_say(m,
                       "axis %d of %s is paired with axis %d of the output. It belongs to axis %d: "
                       "is a sum over the wrong axis?",
                       found[0], m->in->name, found[1], found[2]);
}

/* Examples are softmax without the outputs' dependence on each other, and a sum over another
 * axis. */
bool compare_mixed_axes(Comparison *m) {
    int yours, right;
    for (int a = 0; a < m->shape.rank; a++) {
        if (!find_ties(m, a, &yours, &right)) continue;
        if (yours >= 0)
            return compare_say(m,
                               "each gradient arrives only from the outputs at its own index of "
                               "axis %d. The outputs at other indices also depend on the element",
                               yours);
        return compare_say(m,
                           "gradients arrive from outputs at other indices of axis %d, which do "
                           "not depend on the element: is a sum over the wrong axis?",
                           right);
    }
    return false;
}

/* ---- The map ---- */

/* Adds the factor or the term that all wrong entries have in common. */
static bool add_common(const Comparison *m, char text[REPORT_TEXT]) {
    enum { EVIDENCE = 3 };
    long first = -1, count = 0;
    double ratio = 0, off = 0;
    bool factor = true, term = m->whole;
    char number[REPORT_WORD];
    for (long at = 0; at < m->entries; at++) {
        if (m->kind[at] != COMPARE_WRONG) continue;
        if (count++ == 0) {
            first = at;
            ratio = m->yours[at] / m->right[at];
            off = m->yours[at] - m->right[at];
        }
        factor &= compare_near(m, at, m->yours[at], ratio * m->right[at]);
        term &= compare_near(m, at, m->yours[at], m->right[at] + off);
    }
    if (count < EVIDENCE || !(factor || term)) return false;
    if (m->yours[first] == 0 || m->right[first] == 0) return false;
    compare_number_text(number, factor ? ratio : off);
    if (factor && fabs(ratio + 1) < m->tolerance)
        text_append(text, REPORT_TEXT, " (of the wrong sign)");
    else
        text_append(text, REPORT_TEXT, " (%s %s)", factor ? "multiplied by" : "each off by",
                    number);
    return true;
}

/* Writes a rule that tells wrong entries from right ones: all of some elements or outputs, those of
 * some pairs, some of some elements or outputs. */
enum { RULES = 5, EXACT_RULES = 3 };
static bool entry_rule(const Comparison *m, int which, char text[REPORT_TEXT]) {
    char wrong[HALF], right[HALF];
    bool of_outputs = which == 1 || which == 4;
    text[0] = 0;
    if (of_outputs && (!m->whole || m->rows < 2)) return false;
    if (which == 2) {
        bool found = pair_rule(m, wrong);
        if (found)
            snprintf(text, REPORT_TEXT,
                     "what each element gets from %s is WRONG, all else is right", wrong);
        return found;
    }
    Marks k = compare_mark(m, of_outputs, -1);
    if (k.mixed != (which > 2)) return false;
    if (of_outputs ? !output_rule(m, &k, wrong, right) : !index_rule(m, &k, wrong, right))
        return false;
    snprintf(text, REPORT_TEXT,
             of_outputs ? "right for the outputs in %.90s, WRONG for those in %.90s"
                        : "%.90s right, %.90s WRONG",
             right, wrong);
    return true;
}

bool compare_part(Comparison *m) {
    char text[REPORT_TEXT];
    for (int which = 0; which < EXACT_RULES; which++)
        if (entry_rule(m, which, text) && add_common(m, text)) return compare_say(m, "%s", text);
    return false;
}

bool compare_map(const Comparison *m, char text[REPORT_TEXT]) {
    enum { NAMED = 3 };
    char wrong[HALF], right[HALF], name[INDEX_TEXT];
    long count = 0;
    for (int which = 0; which < RULES; which++)
        if (entry_rule(m, which, text)) return true;
    for (long i = 0; i < (m->whole && m->rows > 1 ? m->rows : 0); i++) {
        Marks one = compare_mark(m, false, i);
        if (!index_rule(m, &one, wrong, right)) continue;
        snprintf(text, REPORT_TEXT, "for output %.40s: %.90s right, %.90s WRONG",
                 compare_output_text(m, name, i), right, wrong);
        return false;
    }
    Marks k = compare_mark(m, false, -1);
    for (long j = 0; j < k.count; j++)
        if (k.kind[j] == COMPARE_WRONG && count++ < NAMED)
            text_append(text, REPORT_TEXT, "%s%.40s", count > 1 ? ", " : "",
                        gradcheck_element_text(name, k.name, k.shape, j));
    if (count > NAMED) text_append(text, REPORT_TEXT, " and %ld more", count - NAMED);
    text_append(text, REPORT_TEXT, " WRONG");
    if (count == 0 || count == k.count) text[0] = 0;
    return false;
}

/* ---- What is lost, and what must be 0 ---- */

bool compare_are_zero(const Comparison *m, const double *matrix) {
    for (long at = 0; at < m->entries; at++)
        if (m->kind[at] == COMPARE_WRONG && matrix[at] != 0) return false;
    return true;
}

/* Names the first wrong entry: "x[1] gets nothing from y[2]". */
static const char *say_first(const Comparison *m, const char *what, char text[REPORT_TEXT / 2]) {
    char x[INDEX_TEXT], y[INDEX_TEXT];
    long at = 0;
    while (m->kind[at] != COMPARE_WRONG) at++;
    snprintf(text, REPORT_TEXT / 2, "%.40s %.30s from %.40s",
             gradcheck_element_text(x, m->in->name, m->shape, at % m->elements), what,
             compare_output_text(m, y, at / m->elements));
    return text;
}

/* An example is a loop that ends early or skips a remainder. */
bool compare_lost_elements(Comparison *m) {
    char wrong[HALF], right[HALF];
    Marks k = compare_mark(m, false, -1);
    if (k.mixed || !compare_are_zero(m, m->yours) || (m->elements < 3 && m->shape.rank < 2))
        return false;
    if (!index_rule(m, &k, wrong, right)) return false;
    bool many = strncmp(right, "rows", 4) == 0 || strncmp(right, "columns", 7) == 0 ||
                strncmp(right, "indices", 7) == 0 || strncmp(right, "all", 3) == 0 ||
                (strchr(right, '[') && strchr(right, ' '));
    return compare_say(m, "no gradient arrives at %s. %s %s right", wrong, right,
                       many ? "are" : "is");
}

/* Examples are a broadcast that is not summed, a gradient that is overwritten, and softmax of which
 * the diagonal alone is used. */
bool compare_lost_uses(Comparison *m) {
    char wrong[HALF], right[HALF];
    Marks outputs = compare_mark(m, true, -1);
    if (!compare_mark(m, false, -1).mixed || !compare_are_zero(m, m->yours)) return false;
    if (!outputs.mixed && output_rule(m, &outputs, wrong, right))
        return compare_say(m,
                           "a sum over the outputs is overwritten, missing or ends early: those in "
                           "%s count, those in %s do not",
                           right, wrong);
    bool pairs = pair_rule(m, wrong);
    if (pairs && strstr(wrong, "other"))
        return compare_say(m,
                           "the diagonal alone is used: an element gets no gradient from %s, which "
                           "also depend on it. Their terms are missing",
                           wrong);
    if (pairs) return compare_say(m, "an element gets no gradient from %s", wrong);
    return compare_say(
        m,
        "some uses of an element are lost: is it overwritten instead of accumulated, "
        "or does a loop end early? %s",
        say_first(m, "gets nothing", right));
}

/* Entries are wrong only where they have to be 0. */
bool compare_strange_uses(Comparison *m) {
    char from[HALF] = "", first[HALF];
    bool elements = true;
    if (!compare_are_zero(m, m->right)) return false;
    Marks k = compare_mark(m, false, -1);
    for (long at = 0; at < m->entries; at++)
        elements &= m->right[at] == 0 || k.kind[at % m->elements] != COMPARE_WRONG;
    if (elements)
        return compare_say(m,
                           "wrong only where the output does not depend on %s (masked, clipped, "
                           "unused). There the gradient must be 0",
                           m->in->name);
    if (!m->whole) return false;
    bool pairs = pair_rule(m, from);
    return compare_say(m,
                       "a gradient arrives%s%s where an output does not depend on an element "
                       "(masked, clipped, another index): %s",
                       pairs ? " from " : "", pairs ? from : "",
                       say_first(m, "gets a gradient", first));
}
