/* The place of an error: at which indices, for which outputs, or at which values. */
#include "base/append.h"
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LIST = 72, HALF = REPORT_TEXT / 2 };

/* A set of elements of a shape. `idle` elements are rightly 0 and prove nothing. */
typedef struct WrongSet {
    const char *name; /* of the array */
    Shape shape;
    bool *wrong, *idle;
    long count; /* all elements */
} WrongSet;

static WrongSet new_set(const Comparison *m, bool of_outputs) {
    WrongSet set = {of_outputs ? "y" : m->in->name, of_outputs ? m->y_shape : m->shape};
    set.count = shape_count(set.shape);
    set.wrong = arena_alloc(m->arena, (size_t)set.count + 1);
    set.idle = memset(arena_alloc(m->arena, (size_t)set.count + 1), true, (size_t)set.count);
    return set;
}

/* ---- Rules of indices ---- */

/* "0 to 3 and 5", "1 and every third after it": the indices of a set among n. */
static void list_indices(const bool *in, long n, char text[LIST]) {
    static const char *const every[] = {"second", "third", "fourth"};
    long first = (const bool *)memchr(in, true, (size_t)n) - in, last = n - 1;
    text[0] = 0;
    while (!in[last]) last--;
    for (long step = 2; step <= 4; step++) {
        bool even = last >= first + 2 * step && last + step >= n;
        for (long i = first; i < n; i++) even &= in[i] == ((i - first) % step == 0);
        if (even) snprintf(text, LIST, "%ld and every %s after it", first, every[step - 2]);
        if (even) return;
    }
    for (long i = 0, end; i < n; i = end) {
        end = i + 1;
        if (!in[i]) continue;
        while (end < n && in[end]) end++;
        if (end - i == 2) end--; /* two are named each */
        const char *before = end > last ? " and " : ", ";
        text_append(text, LIST, "%s%ld", *text ? before : "", i);
        if (end - i > 1) text_append(text, LIST, " to %ld", end - 1);
    }
}

/* Adds "rows 4 and 5": indices of an axis in words. */
static void add_indices(const WrongSet *set, int axis, const bool *in, char text[HALF]) {
    static const char *const words[2][2] = {{"row", "rows"}, {"column", "columns"}};
    char list[LIST];
    long count = 0, n = set->shape.size[axis];
    const char *joint = *text ? " in " : "";
    for (long i = 0; i < n; i++) count += in[i];
    list_indices(in, n, list);
    if (set->shape.rank == 1)
        text_append(text, HALF, "%.24s[%s]", set->name, list);
    else if (set->shape.rank == 2)
        text_append(text, HALF, "%s%s %s", joint, words[axis][count > 1], list);
    else
        text_append(text, HALF, "%s%s %s of axis %d", joint, count > 1 ? "indices" : "index", list,
                    axis);
}

/* Names the elements that are (not) wrong, if they are those at some indices of these axes. */
static bool block_rule(const Comparison *m, const WrongSet *set, unsigned axes, bool is_wrong,
                       char text[HALF]) {
    Shape s = set->shape;
    bool *inside = arena_alloc(m->arena, (size_t)set->count), any = false;
    memset(inside, true, (size_t)set->count);
    text[0] = 0;
    for (int axis = 0; axis < s.rank; axis++) {
        if (!(axes >> axis & 1)) continue;
        bool *in = arena_alloc(m->arena, (size_t)s.size[axis]);
        for (long j = 0; j < set->count; j++)
            if (!set->idle[j] && set->wrong[j] == is_wrong) in[compare_index(s, axis, j)] = true;
        for (long j = 0; j < set->count; j++) any |= inside[j] &= in[compare_index(s, axis, j)];
        if (any) add_indices(set, axis, in, text);
    }
    for (long j = 0; j < set->count; j++)
        if (!set->idle[j] && (set->wrong[j] == is_wrong) != inside[j]) return false;
    return any;
}

/* Names the index along an axis that an input gives: y[i] of x[i, y[i]]. */
static bool label_rule(const Comparison *m, const WrongSet *set, char wrong[HALF]) {
    ValuesList list = compare_values(m, false);
    if (set->name != m->in->name) return false;
    for (const Values *v = list.v; v < list.v + list.count; v++)
        for (int axis = 0; axis < set->shape.rank; axis++) {
            bool fits = v->shape.rank == set->shape.rank - 1 && shape_count(v->shape) > 1;
            for (int k = 0; k < v->shape.rank; k++) fits &= v->along[k] != axis;
            for (long j = 0; fits && j < set->count; j++) {
                bool here = compare_value(m, v, j) == (double)compare_index(set->shape, axis, j);
                fits = set->idle[j] || set->wrong[j] == here;
            }
            if (!fits) continue;
            snprintf(wrong, HALF, "the index that %.40s gives along axis %d", v->name, axis);
            return true;
        }
    return false;
}

/* Writes "rows 4 and 5", "column 0", "x[1,2]": the wrong elements, and the right ones by the same
 * rule. False: no rule of indices tells them apart. */
static bool set_rule(const Comparison *m, const WrongSet *set, char wrong[HALF], char right[HALF]) {
    long count = 0, used = 0, only = -1;
    unsigned all = compare_all_axes(set->shape);
    for (long j = 0; j < set->count; j++) {
        used += !set->idle[j];
        count += set->wrong[j];
        if (set->wrong[j]) only = j;
    }
    if (!count || count == used) return false;
    for (unsigned axis = 1; axis <= all; axis *= 2)
        if (block_rule(m, set, axis, true, wrong) && block_rule(m, set, axis, false, right))
            return true;
    snprintf(right, HALF, "all others");
    if (label_rule(m, set, wrong)) return true;
    if (count == 1) {
        char text[INDEX_TEXT];
        snprintf(wrong, HALF, "%s", gradcheck_element_text(text, set->name, set->shape, only));
        return true;
    }
    for (unsigned axes = 1; axes <= all; axes++) {
        if (__builtin_popcount(axes) != 2) continue;
        if (block_rule(m, set, axes, true, wrong)) return true;
        if (!block_rule(m, set, axes, false, right)) continue;
        snprintf(wrong, HALF, "all others");
        return true;
    }
    return false;
}

/* Names outputs by a rule; of several tensors, those of one. */
static bool output_rule(const Comparison *m, const WrongSet *set, char wrong[HALF],
                        char right[HALF]) {
    const Result *r = &m->g->run->result;
    char *text[2] = {right, wrong};
    if (r->parts < 2) return set_rule(m, set, wrong, right);
    *right = *wrong = 0;
    for (long k = 0, first = 0; k < r->parts; k++) {
        bool any[2] = {false, false};
        long end = first + shape_count(r->part[k]);
        for (; first < end; first++) any[set->wrong[first]] |= !set->idle[first];
        if (any[0] && any[1]) return false;
        for (int i = 0; i < 2; i++)
            if (any[i]) text_append(text[i], HALF, "%sy%ld", *text[i] ? " and " : "", k);
    }
    return *right && *wrong;
}

/* ---- Rules of pairs of an element and an output ---- */

/* How the index of the output along an axis lies to that of the element. */
enum { BEFORE = 1, SAME = 2, AFTER = 4 };

/* Names the outputs from which entries are wrong, by their index beside the element's; NULL: no
 * such rule tells wrong entries from right ones. Axis -1: the place in equal shapes. */
static const char *pair_rule(const Comparison *m, int *axis) {
    static const char *const words[] = {[BEFORE] = "outputs before its own index",
                                        [SAME] = "the output at its own index",
                                        [BEFORE | SAME] = "outputs up to its own index",
                                        [AFTER] = "outputs after its own index",
                                        [SAME | AFTER] = "outputs from its own index on",
                                        [BEFORE | AFTER] = "outputs at other indices"};
    Shape x = m->shape, y = m->y_shape;
    long n = m->elements;
    for (int a = shape_equal(x, y) ? -1 : 0; m->whole && a < x.rank; a++)
        for (int b = a < 0 ? -1 : 0; b < (a < 0 ? 0 : y.rank); b++) {
            if (a >= 0 && (x.size[a] != y.size[b] || x.size[a] < 2)) continue;
            int wrong = 0, right = 0;
            for (long at = 0; at < m->entries; at++) {
                if (!compare_counts(m, at) || (m->right[at] == 0 && m->yours[at] == 0)) continue;
                long i = a < 0 ? at % n : compare_index(x, a, at % n);
                long o = a < 0 ? at / n : compare_index(y, b, at / n);
                int way = o < i ? BEFORE : o == i ? SAME : AFTER;
                *(compare_is_wrong(m, at) ? &wrong : &right) |= way;
            }
            *axis = b;
            if (a < 0 && (wrong | right) != SAME && (wrong == SAME || right == SAME))
                return wrong == SAME ? words[SAME] : words[BEFORE | AFTER];
            if (a >= 0 && wrong && right && !(wrong & right)) return words[wrong];
        }
    return NULL;
}

/* ---- The map ---- */

/* The elements that are wrong for output `which`; for any output; or the outputs for which any
 * element is. */
enum { ELEMENTS = -1, OUTPUTS = -2 };
static WrongSet wrong_set(const Comparison *m, long which) {
    long n = m->elements, first = which >= 0 ? which : 0, end = which >= 0 ? which + 1 : m->rows;
    WrongSet set = new_set(m, which == OUTPUTS);
    for (long at = first * n; at < end * n; at++) {
        long i = which == OUTPUTS ? at / n : at % n;
        set.idle[i] &= m->yours[at] == 0 && m->right[at] == 0;
        set.wrong[i] |= which == ELEMENTS ? m->e->state[i] == ENTRY_WRONG : compare_is_wrong(m, at);
    }
    for (long i = 0; i < set.count; i++) set.idle[i] &= !set.wrong[i];
    return set;
}

/* Adds the factor or the term that all wrong entries have in common. */
static bool add_common(const Comparison *m, char text[REPORT_TEXT]) {
    enum { EVIDENCE = 3 };
    long first = -1, count = 0;
    bool factor = true, term = m->whole;
    char number[REPORT_WORD];
    for (long at = 0; at < m->entries; at++) {
        if (!compare_is_wrong(m, at)) continue;
        if (first < 0) first = at;
        double ratio = m->yours[first] / m->right[first], off = m->yours[first] - m->right[first];
        factor &= isfinite(ratio) && compare_near(m, at, m->yours[at], ratio * m->right[at]);
        term &= compare_near(m, at, m->yours[at], m->right[at] + off);
        count++;
    }
    if (count < EVIDENCE || !(factor || term) || !m->yours[first] || !m->right[first]) return false;
    double k = factor ? m->yours[first] / m->right[first] : m->yours[first] - m->right[first];
    compare_number_text(number, k);
    if (factor && fabs(k + 1) < m->tolerance)
        text_append(text, REPORT_TEXT, " (of the wrong sign)");
    else
        text_append(text, REPORT_TEXT, " (%s %s)", factor ? "multiplied by" : "each off by",
                    number);
    return true;
}

/* Writes a rule that tells wrong entries from right ones: of elements, of outputs, of both. */
enum { RULES = 3 };
static bool entry_rule(const Comparison *m, int which, char text[REPORT_TEXT]) {
    char wrong[HALF] = "", right[HALF] = "";
    int axis;
    WrongSet set = wrong_set(m, which == 0 ? ELEMENTS : OUTPUTS);
    text[0] = 0;
    if (which == 0 && set_rule(m, &set, wrong, right))
        return snprintf(text, REPORT_TEXT, "%.110s right, %.110s WRONG", right, wrong) > 0;
    if (!m->whole || m->rows < 2) return false;
    if (which == 1 && output_rule(m, &set, wrong, right))
        return snprintf(text, REPORT_TEXT,
                        "right for the outputs in %.90s, WRONG for those in %.90s", right,
                        wrong) > 0;
    const char *pairs = which == 2 ? pair_rule(m, &axis) : NULL;
    if (!pairs) return false;
    snprintf(text, REPORT_TEXT, "what each element gets from %s ", pairs);
    if (axis >= 0) text_append(text, REPORT_TEXT, "of axis %d ", axis);
    text_append(text, REPORT_TEXT, "is WRONG, all else is right");
    return true;
}

bool compare_part(Comparison *m) {
    char text[REPORT_TEXT];
    for (int which = 0; which < RULES; which++)
        if (entry_rule(m, which, text) && add_common(m, text)) return compare_say(m, "%s", text);
    return false;
}

/* "x[0,1], x[2,0] and 3 more WRONG", unless all are. */
static void list_elements(const WrongSet *set, char text[REPORT_TEXT]) {
    enum { NAMED = 3 };
    long count = 0;
    char element[INDEX_TEXT];
    for (long j = 0; j < set->count; j++)
        if (set->wrong[j] && count++ < NAMED)
            text_append(text, REPORT_TEXT, "%s%.40s", count > 1 ? ", " : "",
                        gradcheck_element_text(element, set->name, set->shape, j));
    if (count > NAMED) text_append(text, REPORT_TEXT, " and %ld more", count - NAMED);
    if (count) text_append(text, REPORT_TEXT, " WRONG");
    if (count == set->count) text[0] = 0;
}

bool compare_map(const Comparison *m, char text[REPORT_TEXT]) {
    char wrong[HALF], right[HALF], y[INDEX_TEXT];
    for (int which = 0; which < RULES; which++)
        if (entry_rule(m, which, text)) return true;
    for (long i = 0; i < (m->whole && m->rows > 1 ? m->rows : 0); i++) {
        WrongSet one = wrong_set(m, i);
        if (!set_rule(m, &one, wrong, right)) continue;
        snprintf(text, REPORT_TEXT, "for output %.40s: %.90s right, %.90s WRONG",
                 compare_output_text(m, y, i), right, wrong);
        return false;
    }
    WrongSet elements = wrong_set(m, ELEMENTS);
    list_elements(&elements, text);
    return false;
}

/* ---- What is lost: M is J here and 0 there ---- */

/* Takes the elements (or outputs) of which all entries are lost. False: an entry is neither right
 * nor lost. *mixed: an element has entries of both kinds. *first: a lost one. */
static bool lost_set(const Comparison *m, WrongSet *lost, bool of_outputs, bool *mixed,
                     long *first) {
    *lost = new_set(m, of_outputs);
    *mixed = false;
    *first = -1;
    for (long at = m->entries - 1; at >= 0; at--) {
        long i = of_outputs ? at / m->elements : at % m->elements;
        if (!compare_counts(m, at) || (m->right[at] == 0 && m->yours[at] == 0)) continue;
        bool wrong = compare_is_wrong(m, at);
        if (wrong && m->yours[at] != 0) return false;
        if (wrong) *first = at;
        *mixed |= !lost->idle[i] && lost->wrong[i] != wrong;
        lost->wrong[i] = wrong;
        lost->idle[i] = false;
    }
    return *first >= 0;
}

static bool is_one(const char *words) {
    return !strchr(words, ' ') || strncmp(words, "row ", 4) == 0 ||
           strncmp(words, "column ", 7) == 0 || strncmp(words, "index ", 6) == 0;
}

/* An example is a loop that ends early or skips a remainder. */
bool compare_lost_elements(Comparison *m) {
    char wrong[HALF], right[HALF];
    WrongSet lost;
    bool mixed;
    long first;
    return (m->elements > 2 || m->shape.rank > 1) && lost_set(m, &lost, false, &mixed, &first) &&
           !mixed && set_rule(m, &lost, wrong, right) &&
           compare_say(m, "no gradient arrives at %s. %s %s right", wrong, right,
                       is_one(right) ? "is" : "are");
}

/* Examples are a broadcast that is not summed, a gradient that is overwritten, and softmax of which
 * the diagonal alone is used. */
bool compare_lost_uses(Comparison *m) {
    char wrong[HALF], right[HALF], x[INDEX_TEXT], y[INDEX_TEXT], of[REPORT_WORD] = "";
    WrongSet lost;
    bool mixed;
    long first;
    int axis;
    if (!lost_set(m, &lost, false, &mixed, &first) || !mixed) return false;
    if (lost_set(m, &lost, true, &mixed, &first) && !mixed && output_rule(m, &lost, wrong, right))
        return compare_say(m,
                           "a sum over the outputs is overwritten, missing or ends early: those in "
                           "%s count, those in %s do not",
                           right, wrong);
    const char *pairs = pair_rule(m, &axis);
    if (pairs && axis >= 0) snprintf(of, sizeof of, " of axis %d", axis);
    if (pairs && strstr(pairs, "other"))
        return compare_say(m,
                           "the diagonal alone is used: an element gets a gradient only from the "
                           "output at its own index%s. The outputs at other indices also depend on "
                           "it: their terms are missing",
                           of);
    if (pairs)
        return compare_say(m,
                           "the gradient that each element gets from %s%s is missing; all others "
                           "are right",
                           pairs, of);
    return compare_say(
        m,
        "some uses of an element are lost: is it overwritten instead of accumulated, "
        "or does a loop end early? %.60s gets nothing from %.60s",
        gradcheck_element_text(x, m->in->name, m->shape, first % m->elements),
        compare_output_text(m, y, first / m->elements));
}

/* ---- Conditions on values ---- */

/* A condition holds at LOOKS points: the case's own, and others drawn for the purpose. */
enum { LOOKS = 3, FIRST_DRAWN = 300, EVIDENCE = 4 };

/* The elements at some points: values beside them, and which are wrong. */
typedef struct Looks {
    ValuesList list[LOOKS];
    Comparison at[LOOKS];
    WrongSet set[LOOKS];
    int count;
} Looks;

/* Looks at the case's point first, then judges the same case at others. */
static void look(const Comparison *m, Looks *l) {
    CheckPoint *there = arena_alloc(m->arena, sizeof *there);
    Gradients *g = arena_alloc(m->arena, sizeof *g);
    CheckRun *run = m->g->run;
    *g = (Gradients){run, m->g->differences, m->arena, m->g->seed};
    l->at[l->count] = *m;
    if (l->count > 0) {
        point_draw(there, m->arena, run->op, run->c, g->seed, POINT_DRAWN, FIRST_DRAWN + l->count);
        run->point = g->differences->point = there;
        check_gradients(g, arena_alloc(m->arena, sizeof(CaseReport)));
        check_run_forward(run);
        l->at[l->count] = compare_input(g, m->e->input);
        run->point = g->differences->point = m->point;
    }
    l->list[l->count] = compare_values(&l->at[l->count], false);
    l->set[l->count] = wrong_set(&l->at[l->count], ELEMENTS);
    l->count++;
}

/* A condition: values, or their sizes, are above a number (side 1) or below it (-1), which lies
 * between the nearest right and the nearest wrong value. */
typedef struct Condition {
    long values;
    int side;
    bool size;
    double right, wrong;
} Condition;

/* Whether the wrong elements are those of the condition. The last look must make it evidence. */
static bool holds(const Looks *l, int last, Condition *c) {
    long wrongs = 0, rights = 0;
    c->wrong = INFINITY;
    c->right = -INFINITY;
    for (int k = 0; k < l->count; k++)
        for (long j = 0; j < l->set[k].count; j++) {
            if (l->set[k].idle[j]) continue;
            double v = compare_value(&l->at[k], &l->list[k].v[c->values], j);
            v = c->side * (c->size ? fabs(v) : v);
            bool wrong = l->set[k].wrong[j];
            if (wrong) c->wrong = fmin(c->wrong, v);
            if (!wrong) c->right = fmax(c->right, v);
            wrongs += wrong;
            rights += !wrong;
        }
    bool evidence = isfinite(c->wrong) && wrongs >= EVIDENCE && rights >= EVIDENCE;
    return c->wrong > c->right && (evidence || l->count < last);
}

static bool separates(const Looks *l, int last, Condition *c) {
    for (long way = 0; way < 4 * l->list[0].count; way++) {
        *c = (Condition){.values = way / 4, .side = way % 2 ? -1 : 1, .size = way / 2 % 2};
        if (holds(l, last, c)) return true;
    }
    return false;
}

static bool is_drawn(const Comparison *m) {
    bool drawn = false;
    for (int k = 0; k < m->point->inputs; k++)
        drawn |= !m->g->run->c->in[k].values && m->point->in[k].same_as < 0;
    return drawn;
}

/* Whether a condition may be looked for: the case is small, and some of its elements are right. */
static bool may_have_condition(const Comparison *m) {
    enum { MAX_ENTRIES = 1 << 12 };
    long wrongs = 0;
    for (long j = 0; j < m->elements; j++) wrongs += m->e->state[j] == ENTRY_WRONG;
    return wrongs > 0 && wrongs < m->elements && m->in->stored == m->in->count &&
           m->entries <= MAX_ENTRIES;
}

/* Whether all wrong entries are 0 in a matrix. */
static bool are_zero(const Comparison *m, const double *matrix) {
    for (long at = 0; at < m->entries; at++)
        if (compare_is_wrong(m, at) && matrix[at] != 0) return false;
    return true;
}

/* "wrong only where |x| is above about 1.5". */
static bool say_condition(Comparison *m, const Looks *l, const Condition *c) {
    enum { NEAR = 2 };
    const char *name = l->list[0].v[c->values].name, *bar = c->size ? "|" : "";
    double low = fmin(c->side * c->right, c->side * c->wrong);
    double high = fmax(c->side * c->right, c->side * c->wrong), number = (low + high) / 2;
    bool is_whole = false;
    for (int n = -NEAR; n <= NEAR; n++) {
        if (n < low || n > high) continue;
        number = n;
        is_whole = true;
    }
    if (l->count < LOOKS && number != 0) return false;
    return compare_say(m, "%s where %s%.40s%s is %s %s%.3g",
                       are_zero(m, m->yours) ? "no gradient arrives" : "wrong only", bar, name, bar,
                       c->side > 0 ? "above" : "below", is_whole ? "" : "about ", number);
}

/* Entries are wrong only where they have to be 0. */
static bool say_strange_uses(Comparison *m) {
    char x[INDEX_TEXT], y[INDEX_TEXT], from[REPORT_TEXT / 2] = "";
    int axis;
    long first = 0;
    bool elements = true;
    while (!compare_is_wrong(m, first)) first++;
    for (long at = 0; at < m->entries; at++)
        elements &= m->right[at] == 0 || m->e->state[at % m->elements] != ENTRY_WRONG;
    if (elements)
        return compare_say(m,
                           "wrong only where the output does not depend on %s (masked, clipped, "
                           "unused). There the gradient must be 0",
                           m->in->name);
    if (!m->whole) return false;
    const char *pairs = pair_rule(m, &axis);
    if (pairs && axis >= 0) snprintf(from, sizeof from, " from %s of axis %d", pairs, axis);
    return compare_say(m,
                       "a gradient arrives%s where an output does not depend on an element "
                       "(masked, clipped, another index): %.60s gets a gradient from %.60s",
                       from, gradcheck_element_text(x, m->in->name, m->shape, first % m->elements),
                       compare_output_text(m, y, first / m->elements));
}

/* Other points cost many runs: none is drawn without a condition that it may refute. */
bool compare_condition(Comparison *m) {
    Looks *l = arena_alloc(m->arena, sizeof *l);
    Condition c = {0};
    if (are_zero(m, m->right) && say_strange_uses(m)) return true;
    if (!may_have_condition(m)) return false;
    while (l->count < (is_drawn(m) ? LOOKS : 1)) {
        look(m, l);
        if (!separates(l, is_drawn(m) ? LOOKS : 1, &c)) return false;
    }
    return say_condition(m, l, &c);
}

/* Whether a rule of indices holds at another point too, if one may be drawn. */
static bool holds_elsewhere(Comparison *m) {
    char wrong[HALF], right[HALF], other[HALF];
    Looks *l = arena_alloc(m->arena, sizeof *l);
    look(m, l);
    if (!is_drawn(m) || !may_have_condition(m) || !set_rule(m, &l->set[0], wrong, right))
        return true;
    look(m, l);
    return set_rule(m, &l->set[1], other, right) && strcmp(wrong, other) == 0;
}

bool compare_place(Comparison *m) {
    char text[REPORT_TEXT];
    return compare_map(m, text) && holds_elsewhere(m) && compare_say(m, "%s", text);
}
