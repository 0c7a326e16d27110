/* The place of an error: at which indices, for which outputs, and at which values. */
#include "base/append.h"
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LIST = 72, HALF = REPORT_TEXT / 2, MAX_RANGES = 4 };

/* The elements or the outputs, each as its gravest entry. */
typedef struct Marks {
    const char *name; /* of the array */
    Shape shape;
    long count;
    CompareKind *kind;
    bool mixed; /* one has right and wrong entries */
} Marks;

/* Marks them by all entries. */
static Marks mark(const Comparison *m, bool of_outputs) {
    Marks k = {of_outputs ? "y" : m->in->name, of_outputs ? m->y_shape : m->shape};
    long n = m->elements;
    k.count = shape_count(k.shape);
    k.kind = arena_alloc(m->arena, (size_t)k.count * sizeof *k.kind + 1);
    for (long at = 0; at < m->entries; at++) {
        CompareKind *of = &k.kind[of_outputs ? at / n : at % n];
        k.mixed |= *of + m->kind[at] == COMPARE_RIGHT + COMPARE_WRONG;
        if (m->kind[at] > *of) *of = m->kind[at];
    }
    return k;
}

/* ---- Rules of indices ---- */

/* Writes "0 to 3 and 5", "1 and every third after it": the indices of a set among n. Returns the
 * number of ranges. */
static int list_indices(const bool *in, long n, char text[LIST]) {
    int ranges = 0;
    static const char *const every[] = {"second", "third", "fourth"};
    long first = 0, last = n - 1;
    while (!in[first]) first++;
    while (!in[last]) last--;
    text[0] = 0;
    for (long step = 2; step <= 4; step++) {
        bool even = last >= first + 2 * step && last + step >= n;
        for (long i = first; i < n; i++) even &= in[i] == ((i - first) % step == 0);
        if (even) snprintf(text, LIST, "%ld and every %s after it", first, every[step - 2]);
        if (even) return 1;
    }
    for (long i = first, end; i <= last; i = end) {
        end = i + 1;
        if (!in[i]) continue;
        while (end < n && in[end]) end++;
        if (end - i == 2) end--; /* two are named each */
        const char *before = end > last ? " and " : ", ";
        text_append(text, LIST, "%s%ld", *text ? before : "", i);
        if (end - i > 1) text_append(text, LIST, " to %ld", end - 1);
        ranges += i == first || !in[i - 1];
    }
    return ranges;
}

/* Writes "rows 4 and 5", "rows 0 and 1 in column 2": the elements of a kind, if they are those at
 * some indices of these axes; along two axes each a range, of which most elements have entries. */
static bool block_rule(const Comparison *m, const Marks *k, unsigned axes, CompareKind kind,
                       char text[HALF]) {
    static const char *const words[2][2] = {{"row", "rows"}, {"column", "columns"}};
    Shape s = k->shape;
    bool two = axes & (axes - 1);
    long inside = 0, found = 0, empty = 0, size = k->count;
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
        if (list_indices(in[axis], s.size[axis], list) > (two ? 1 : MAX_RANGES)) return false;
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
        bool here = true, none = k->kind[j] == COMPARE_NONE;
        for (int axis = 0; axis < s.rank; axis++) here &= in[axis][compare_index(s, axis, j)];
        inside += here && !none;
        empty += here && none;
        found += k->kind[j] == kind;
    }
    return inside == found && (!two || empty <= inside);
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

/* Writes which are wrong. False: no rule of indices tells them from right ones. */
static bool index_rule(const Comparison *m, const Marks *k, char text[HALF]) {
    long count[3] = {0, 0, 0}, only = -1;
    char block[HALF];
    unsigned all = compare_all_axes(k->shape);
    for (long j = 0; j < k->count; j++) {
        count[k->kind[j]]++;
        if (k->kind[j] == COMPARE_WRONG) only = j;
    }
    if (!count[COMPARE_WRONG] || !count[COMPARE_RIGHT]) return false;
    for (unsigned axis = 1; axis <= all; axis *= 2)
        if (block_rule(m, k, axis, COMPARE_WRONG, text)) return true;
    if (label_rule(m, k, text)) return true;
    gradcheck_element_text(text, k->name, k->shape, only);
    if (count[COMPARE_WRONG] == 1) return true;
    for (unsigned axes = 3; axes <= all; axes++) {
        if (__builtin_popcount(axes) != 2) continue;
        if (block_rule(m, k, axes, COMPARE_WRONG, text)) return true;
        if (count[COMPARE_NONE] || !block_rule(m, k, axes, COMPARE_RIGHT, block)) continue;
        snprintf(text, HALF, "all but %.200s", block);
        return true;
    }
    return false;
}

/* The same of outputs; of several tensors, those of one. */
static bool output_rule(const Comparison *m, const Marks *k, char text[HALF]) {
    const Result *r = &m->g->run->result;
    bool right = false;
    if (r->parts < 2) return index_rule(m, k, text);
    text[0] = 0;
    for (long part = 0, i = 0; part < r->parts; part++) {
        unsigned found = 0;
        for (long end = i + shape_count(r->part[part]); i < end; i++) found |= k->kind[i];
        if (found == (COMPARE_RIGHT | COMPARE_WRONG)) return false;
        right |= found == COMPARE_RIGHT;
        if (found == COMPARE_WRONG) text_append(text, HALF, "%sy%ld", *text ? " and " : "", part);
    }
    return right && *text;
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
    for (int k = -1; k < m->shape.rank * m->y_shape.rank; k++) {
        int a = k < 0 ? -1 : k / m->y_shape.rank, b = k < 0 ? -1 : k % m->y_shape.rank;
        if (k < 0 ? !shape_equal(m->shape, m->y_shape) : !are_alike(m, a, b)) continue;
        int wrong = ways_of(m, a, b, NULL, COMPARE_WRONG);
        int right = ways_of(m, a, b, NULL, COMPARE_RIGHT);
        if (!wrong || !right || wrong & right) continue;
        if (k < 0 && wrong != SAME && right != SAME) continue;
        snprintf(text, HALF, "%s", words[k < 0 && wrong != SAME ? BEFORE | AFTER : wrong]);
        if (k >= 0) text_append(text, HALF, " of axis %d", b - m->stacked);
        return true;
    }
    return false;
}

static const char *tie_text(int axis, char text[REPORT_NAME]) {
    snprintf(text, REPORT_NAME, "outputs at other indices");
    if (axis >= 0)
        snprintf(text, REPORT_NAME, "the outputs at its own index of axis %d alone", axis);
    return text;
}

/* Examples are softmax without the outputs' dependence on each other, and a sum over another axis.
 * An axis of the elements is tied to an axis of the output at whose index all entries lie: in M, in
 * J, or in both to another one. */
bool compare_wrong_axis(Comparison *m) {
    for (int a = 0; a < m->shape.rank; a++) {
        int yours = -1, right = -1;
        bool both = false;
        for (int b = 0; b < m->y_shape.rank; b++) {
            if (!are_alike(m, a, b)) continue;
            int in_yours = ways_of(m, a, b, m->yours, 0), in_right = ways_of(m, a, b, m->right, 0);
            if (!in_yours || !in_right) return false; /* one of the two is 0 everywhere */
            both |= in_yours == SAME && in_right == SAME;
            if (in_yours == SAME) yours = b - m->stacked;
            if (in_right == SAME) right = b - m->stacked;
        }
        if (both || (yours < 0 && right < 0)) continue;
        char from[REPORT_NAME], of[REPORT_NAME];
        return compare_say(m,
                           "axis %d of %s: an element gets gradients from %s, and should get them "
                           "from %s. Is a sum missing or over the wrong axis, or are axes "
                           "exchanged?",
                           a, m->in->name, tie_text(yours, from), tie_text(right, of));
    }
    return false;
}

/* ---- The map ---- */

/* Writes a rule that tells wrong entries from right ones: all of some elements or outputs, those of
 * some pairs, some of some elements or outputs. */
enum { ELEMENTS, OUTPUTS, PAIRS, SOME_OF_ELEMENTS, SOME_OF_OUTPUTS, RULES };
static bool entry_rule(const Comparison *m, int which, char text[REPORT_TEXT]) {
    static const char *const before[] = {"", "what comes from the outputs in ",
                                         "what each element gets from "};
    char wrong[HALF];
    int of = which > PAIRS ? which - SOME_OF_ELEMENTS : which;
    text[0] = 0;
    if (of == OUTPUTS && (!m->whole || m->rows < 2)) return false;
    Marks k = mark(m, of == OUTPUTS);
    if (which != PAIRS && k.mixed != (which > PAIRS)) return false;
    bool found = of == PAIRS ? pair_rule(m, wrong)
                             : (of == OUTPUTS ? output_rule : index_rule)(m, &k, wrong);
    if (found)
        snprintf(text, REPORT_TEXT, "%s%s%s", before[of], wrong,
                 of == ELEMENTS ? " WRONG, others right" : " is WRONG, all else is right");
    return found;
}

/* Lists some of the wrong elements. Returns the number of all. */
static long list_wrong(const Marks *k, char text[HALF]) {
    enum { NAMED = 3 };
    char name[INDEX_TEXT];
    long count = 0;
    text[0] = 0;
    for (long j = 0; j < k->count; j++)
        if (k->kind[j] == COMPARE_WRONG && count++ < NAMED)
            text_append(text, HALF, "%s%.40s", count > 1 ? ", " : "",
                        gradcheck_element_text(name, k->name, k->shape, j));
    if (count > NAMED) text_append(text, HALF, " and %ld more", count - NAMED);
    return count;
}

void compare_where(const Comparison *m, char text[REPORT_TEXT / 2]) {
    Marks k = mark(m, false);
    if (k.mixed || !index_rule(m, &k, text)) list_wrong(&k, text);
}

bool compare_map(const Comparison *m, char text[REPORT_TEXT]) {
    char wrong[HALF];
    for (int which = 0; which < RULES; which++)
        if (entry_rule(m, which, text)) return true;
    Marks k = mark(m, false);
    long count = list_wrong(&k, wrong);
    bool some = count && count < k.count;
    snprintf(text, REPORT_TEXT, "%s%s", some ? wrong : "", some ? " WRONG" : "");
    return false;
}

/* ---- What all wrong entries have in common ---- */

bool compare_are_zero(const Comparison *m, const double *matrix) {
    for (long at = 0; at < m->entries; at++)
        if (m->kind[at] == COMPARE_WRONG && matrix[at] != 0) return false;
    return true;
}

/* Writes the factor or the term that all wrong entries have in common; "": there is none. */
static void common_text(const Comparison *m, char text[REPORT_NAME]) {
    enum { EVIDENCE = 3 };
    long count = 0;
    double ratio = 0, off = 0;
    bool factor = true, term = m->whole;
    char number[REPORT_WORD];
    text[0] = 0;
    if (compare_are_zero(m, m->yours) || compare_are_zero(m, m->right)) return;
    for (long at = 0; at < m->entries; at++) {
        if (m->kind[at] != COMPARE_WRONG) continue;
        if (count++ == 0) {
            ratio = m->yours[at] / m->right[at];
            off = m->yours[at] - m->right[at];
        }
        factor &= compare_near(m, at, m->yours[at], ratio * m->right[at]);
        term &= compare_near(m, at, m->yours[at], m->right[at] + off);
    }
    if (count < EVIDENCE || !(factor || term)) return;
    compare_number_text(number, factor ? ratio : off);
    snprintf(text, REPORT_NAME, "%s %s", factor ? "multiplied by" : "each off by", number);
    if (factor && fabs(ratio + 1) < m->tolerance) snprintf(text, REPORT_NAME, "of the wrong sign");
}

bool compare_part(Comparison *m) {
    char text[REPORT_TEXT], common[REPORT_NAME];
    common_text(m, common);
    for (int which = 0; *common && which <= PAIRS; which++)
        if (entry_rule(m, which, text))
            return compare_say(m, "%s. The wrong ones are %s", text, common);
    return false;
}

/* An example is a loop that ends early or skips a remainder. */
bool compare_lost_elements(Comparison *m) {
    char text[REPORT_TEXT];
    return compare_are_zero(m, m->yours) && (m->elements > 2 || m->shape.rank > 1) &&
           entry_rule(m, ELEMENTS, text) &&
           compare_say(m, "%s. No gradient arrives at the wrong ones", text);
}

/* Names the first wrong entry: "x[1] gets nothing from y[2]". */
static const char *first_text(const Comparison *m, const char *what, char text[HALF]) {
    char x[INDEX_TEXT], y[INDEX_TEXT];
    long at = 0;
    while (m->kind[at] != COMPARE_WRONG) at++;
    snprintf(text, HALF, "%.40s %.30s from %.40s",
             gradcheck_element_text(x, m->in->name, m->shape, at % m->elements), what,
             compare_output_text(m, y, at / m->elements));
    return text;
}

/* Examples are a broadcast that is not summed, a gradient that is overwritten, and softmax of which
 * the diagonal alone is used. */
bool compare_lost_uses(Comparison *m) {
    char text[REPORT_TEXT], first[HALF];
    if (!compare_are_zero(m, m->yours) || !mark(m, false).mixed) return false;
    bool outputs = entry_rule(m, OUTPUTS, text);
    if (outputs || entry_rule(m, PAIRS, text))
        return compare_say(m, "%s. The wrong terms are missing: %s?", text,
                           outputs
                               ? "is a sum overwritten, missing or ended early"
                               : "is the diagonal of a Jacobian alone used, or a part of a sum");
    return compare_say(m,
                       "some uses of an element are lost: is it overwritten instead of "
                       "accumulated, or does a loop end early? %s",
                       first_text(m, "gets nothing", first));
}

/* Entries are wrong only where they have to be 0. */
bool compare_strange_uses(Comparison *m) {
    char from[HALF], first[HALF] = "";
    if (!compare_are_zero(m, m->right)) return false;
    bool pairs = pair_rule(m, from);
    if (m->whole) first_text(m, "gets one", first);
    return compare_say(m,
                       "a gradient arrives%s%s where an output does not depend on an element "
                       "(masked, clipped, unused, another index), so that it must be 0%s%s",
                       pairs ? " from " : "", pairs ? from : "", *first ? ": " : "", first);
}

/* ---- Values at which elements are wrong ---- */

/* Whether the wrong elements are those of which values, or their sizes, are above (side 1) or below
 * (-1) a number, which lies between *low and *high. */
static bool are_beyond(const Comparison *m, const Values *values, int side, bool size, double *low,
                       double *high) {
    enum { EVIDENCE = 4 };
    long count[3] = {0, 0, 0};
    double wrong = INFINITY, right = -INFINITY;
    Marks k = mark(m, false);
    for (long j = 0; j < k.count; j++) {
        double v = compare_value(m, values, j);
        v = side * (size ? fabs(v) : v);
        if (k.kind[j] == COMPARE_WRONG) wrong = fmin(wrong, v);
        if (k.kind[j] == COMPARE_RIGHT) right = fmax(right, v);
        count[k.kind[j]]++;
    }
    *low = fmin(side * right, side * wrong);
    *high = fmax(side * right, side * wrong);
    return wrong > right && count[COMPARE_WRONG] >= EVIDENCE && count[COMPARE_RIGHT] >= EVIDENCE;
}

/* An example is "wrong only where |x| is above about 1.5". */
bool compare_condition(Comparison *m) {
    double low, high;
    ValuesList list = compare_values(m, false);
    if (m->in->stored < m->in->count) return false;
    for (long way = 0; way < 4 * list.count; way++) {
        const Values *v = &list.v[way / 4];
        bool below = way % 2, size = way / 2 % 2;
        if (!are_beyond(m, v, below ? -1 : 1, size, &low, &high)) continue;
        double number = (low + high) / 2, whole = round(number) + 0; /* not -0 */
        bool is_whole = whole >= low && whole <= high;
        return compare_say(m, "%s where %s%.40s%s is %s %s%.3g",
                           compare_are_zero(m, m->yours) ? "no gradient arrives" : "wrong only",
                           size ? "|" : "", v->name, size ? "|" : "", below ? "below" : "above",
                           is_whole ? "" : "about ", is_whole ? whole : number);
    }
    return false;
}

/* One element may be wrong by its value: its place says nothing. */
bool compare_place(Comparison *m) {
    char text[REPORT_TEXT];
    Marks k = mark(m, false);
    return list_wrong(&k, text) > 1 && compare_map(m, text) && compare_say(m, "%s", text);
}
