/* The place of an error: at which indices, or at which values. */
#include "base/append.h"
#include "check/gradcheck/comparison.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LIST = 72, HALF = REPORT_TEXT / 2 };

/* ---- Rules of indices ---- */

/* "0 to 3 and 5", "1 and every third after it": the indices of a set among n. */
static void list_indices(const bool *in, long n, char text[LIST]) {
    static const char *const every[] = {"", "", "second", "third", "fourth"};
    long first = -1, count = 0, last = -1, step = 0;
    bool even = true;
    text[0] = 0;
    for (long i = 0; i < n; i++) {
        if (!in[i]) continue;
        if (first < 0) first = i;
        if (count == 1) step = i - first;
        even &= count < 1 || i - last == step;
        last = i;
        count++;
    }
    if (even && count > 2 && step >= 2 && step <= 4 && last + step >= n) {
        snprintf(text, LIST, "%ld and every %s after it", first, every[step]);
        return;
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

/* "rows 4 and 5": indices of an axis in words. */
static void name_indices(const WrongSet *set, int axis, const bool *in, char text[HALF]) {
    static const char *const words[2][2] = {{"row", "rows"}, {"column", "columns"}};
    char list[LIST];
    long count = 0, n = set->shape.size[axis];
    for (long i = 0; i < n; i++) count += in[i];
    list_indices(in, n, list);
    if (set->shape.rank == 1)
        snprintf(text, HALF, "%.24s[%s]", set->name, list);
    else if (set->shape.rank == 2)
        snprintf(text, HALF, "%s %s", words[axis][count > 1], list);
    else
        snprintf(text, HALF, "%s %s of axis %d", count > 1 ? "indices" : "index", list, axis);
}

bool compare_is_one(const char *words) {
    return !strchr(words, ' ') || strncmp(words, "row ", 4) == 0 ||
           strncmp(words, "column ", 7) == 0 || strncmp(words, "index ", 6) == 0;
}

/* Names the indices of an axis at which elements are wrong or (not) right. False: an index has
 * both, or there are none of a kind. */
static bool axis_rule(const Comparison *m, const WrongSet *set, int axis, char wrong[HALF],
                      char right[HALF]) {
    long n = set->shape.size[axis], wrongs = 0, rights = 0;
    bool *bad = arena_alloc(m->arena, (size_t)n), *good = arena_alloc(m->arena, (size_t)n);
    for (long j = 0; j < set->count; j++)
        if (!set->idle[j]) (set->wrong[j] ? bad : good)[compare_index(set->shape, axis, j)] = true;
    for (long i = 0; i < n; i++) {
        if (bad[i] && good[i]) return false;
        wrongs += bad[i];
        rights += good[i];
    }
    if (!wrongs || !rights) return false;
    name_indices(set, axis, bad, wrong);
    name_indices(set, axis, good, right);
    return true;
}

/* Names the elements that are (not) wrong, if they are those at some indices of two axes. */
static bool block_rule(const Comparison *m, const WrongSet *set, const int axis[2], bool is_wrong,
                       char text[HALF]) {
    Shape s = set->shape;
    bool *in[2];
    char words[2][HALF];
    for (int k = 0; k < 2; k++) {
        in[k] = arena_alloc(m->arena, (size_t)s.size[axis[k]]);
        for (long j = 0; j < set->count; j++)
            if (!set->idle[j] && set->wrong[j] == is_wrong)
                in[k][compare_index(s, axis[k], j)] = true;
        name_indices(set, axis[k], in[k], words[k]);
    }
    for (long j = 0; j < set->count; j++) {
        bool inside = in[0][compare_index(s, axis[0], j)] && in[1][compare_index(s, axis[1], j)];
        if (!set->idle[j] && (set->wrong[j] == is_wrong) != inside) return false;
    }
    snprintf(text, HALF, "%.60s in %.60s", words[0], words[1]);
    return true;
}

/* Names the index along an axis that an input of integers gives: y[i] of x[i, y[i]]. */
static bool label_rule(const Comparison *m, const WrongSet *set, char wrong[HALF]) {
    Shape s = set->shape;
    for (int k = 0; k < m->point->inputs; k++) {
        const PointInput *in = &m->point->in[k];
        for (int axis = 0; axis < s.rank; axis++) {
            bool fits = in->count * s.size[axis] == set->count && in->count > 1;
            long inner = 1;
            for (int i = axis + 1; i < s.rank; i++) inner *= s.size[i];
            for (long j = 0; j < set->count; j++) {
                if (!fits) break;
                real label = in->value[j / (inner * s.size[axis]) * inner + j % inner];
                bool here = label == (real)compare_index(s, axis, j);
                fits = set->idle[j] || set->wrong[j] == here;
            }
            if (!fits) continue;
            snprintf(wrong, HALF, "the index that %.40s gives along axis %d", in->name, axis);
            return true;
        }
    }
    return false;
}

bool compare_set_rule(const Comparison *m, const WrongSet *set, char wrong[HALF],
                      char right[HALF]) {
    long count = 0, used = 0, only = -1;
    for (long j = 0; j < set->count; j++) {
        used += !set->idle[j];
        count += set->wrong[j];
        if (set->wrong[j]) only = j;
    }
    if (!count || count == used) return false;
    for (int axis = 0; axis < set->shape.rank; axis++)
        if (axis_rule(m, set, axis, wrong, right)) return true;
    snprintf(right, HALF, "all others");
    if (label_rule(m, set, wrong)) return true;
    if (count == 1) {
        char text[REPORT_NAME];
        snprintf(wrong, HALF, "%s", gradcheck_element_text(text, set->name, set->shape, only));
        return true;
    }
    for (int one = 0; one < set->shape.rank; one++)
        for (int other = one + 1; other < set->shape.rank; other++) {
            const int axes[2] = {one, other};
            if (block_rule(m, set, axes, true, wrong)) return true;
            if (!block_rule(m, set, axes, false, right)) continue;
            snprintf(wrong, HALF, "all others");
            return true;
        }
    return false;
}

/* ---- The map ---- */

WrongSet compare_new_set(const Comparison *m, const char *name, Shape shape) {
    WrongSet set = {.name = name, .shape = shape, .count = shape_count(shape)};
    set.wrong = arena_alloc(m->arena, (size_t)set.count + 1);
    set.idle = arena_alloc(m->arena, (size_t)set.count + 1);
    memset(set.idle, true, (size_t)set.count);
    return set;
}

/* The elements that are wrong for output `which`; for any output; or the outputs for which any
 * element is. */
enum { ELEMENTS = -1, OUTPUTS = -2 };
static WrongSet wrong_set(const Comparison *m, long which) {
    long n = m->elements, first = which == OUTPUTS ? 1 : which + 1;
    long end = which >= 0 ? first + 1 : m->rows;
    WrongSet set = which == OUTPUTS ? compare_new_set(m, "y", m->y_shape)
                                    : compare_new_set(m, m->in->name, m->shape);
    for (long at = first * n; at < end * n; at++) {
        long i = which == OUTPUTS ? at / n - 1 : at % n;
        set.idle[i] &= m->yours[at] == 0 && m->right[at] == 0;
        set.wrong[i] |= which == ELEMENTS ? m->e->state[i] == ENTRY_WRONG : compare_is_wrong(m, at);
    }
    for (long i = 0; i < set.count; i++) set.idle[i] &= !set.wrong[i];
    return set;
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
    char wrong[HALF] = "", right[HALF] = "", y[REPORT_NAME];
    WrongSet elements = wrong_set(m, ELEMENTS), outputs = wrong_set(m, OUTPUTS);
    text[0] = 0;
    if (compare_set_rule(m, &elements, wrong, right)) {
        snprintf(text, REPORT_TEXT, "%s right, %s WRONG", right, wrong);
        return true;
    }
    bool whole = compare_known(m) == ROWS && m->outputs > 1;
    if (whole && compare_set_rule(m, &outputs, wrong, right)) {
        snprintf(text, REPORT_TEXT, "right for the outputs in %s, WRONG for those in %s", right,
                 wrong);
        return true;
    }
    for (long i = 0; i < (whole ? m->outputs : 0); i++) {
        WrongSet one = wrong_set(m, i);
        if (!compare_set_rule(m, &one, wrong, right)) continue;
        snprintf(text, REPORT_TEXT, "for output %.40s: %s right, %s WRONG",
                 gradcheck_element_text(y, "y", m->y_shape, i), right, wrong);
        return false;
    }
    list_elements(&elements, text);
    return false;
}

/* ---- Conditions on values ---- */

/* A condition holds at LOOKS points: the case's own, and others drawn for the purpose. */
enum { LOOKS = 3, FIRST_DRAWN = 300, EVIDENCE = 4 };

/* The elements at a point: their values (inputs and output; NULL for those of another shape), and
 * the wrong ones. */
typedef struct Look {
    double *value[CHECK_INPUTS + 1];
    WrongSet set;
} Look;

static Look look_here(const Comparison *m) {
    Look l = {.set = wrong_set(m, ELEMENTS)};
    for (int which = 0; which <= m->point->inputs; which++) {
        double *v = arena_alloc(m->arena, (size_t)m->elements * sizeof *v);
        const char *name;
        if (compare_values_over(m, m->shape, which, v, &name)) l.value[which] = v;
    }
    return l;
}

/* Judges the same case at another point, and looks there. */
static Look look_at(const Comparison *m, const CheckPoint *there) {
    Gradients g = {
        .run = m->g->run, .differences = m->g->differences, .arena = m->arena, .seed = m->g->seed};
    g.run->point = g.differences->point = there;
    check_gradients(&g, arena_alloc(m->arena, sizeof(CaseReport)));
    check_run_forward(g.run);
    Comparison other = compare_input(&g, m->e->input);
    Look l = look_here(&other);
    g.run->point = g.differences->point = m->point;
    return l;
}

/* A condition: value `which`, or its size, is above a number (side 1) or below it (-1), which lies
 * between the nearest right and the nearest wrong value. */
typedef struct Condition {
    int which, side;
    bool size;
    double right, wrong;
} Condition;

/* Whether the wrong elements of the first looks are those of the condition. All looks together must
 * be evidence. */
static bool holds(const Comparison *m, const Look *look, int looks, Condition *c) {
    long wrongs = 0, rights = 0;
    c->wrong = INFINITY;
    c->right = -INFINITY;
    for (int k = 0; k < looks; k++)
        for (long j = 0; j < m->elements; j++) {
            if (look[k].set.idle[j]) continue;
            double v = look[k].value[c->which][j];
            v = c->side * (c->size ? fabs(v) : v);
            bool wrong = look[k].set.wrong[j];
            double *nearest = wrong ? &c->wrong : &c->right;
            *nearest = wrong ? fmin(*nearest, v) : fmax(*nearest, v);
            wrongs += wrong;
            rights += !wrong;
        }
    bool evidence = isfinite(c->wrong) && wrongs >= EVIDENCE && rights >= EVIDENCE;
    return c->wrong > c->right && (evidence || looks < LOOKS);
}

/* Finds a condition that separates wrong elements from right ones at the first looks. */
static bool separates(const Comparison *m, const Look *look, int looks, Condition *c) {
    for (int which = 0; which <= m->point->inputs; which++)
        for (int way = 0; look[0].value[which] && way < 4; way++) {
            *c = (Condition){.which = which, .side = way % 2 ? -1 : 1, .size = way / 2};
            if (holds(m, look, looks, c)) return true;
        }
    return false;
}

/* Whether a condition may be looked for: the case draws values, it is small, and some of its
 * elements are right. */
static bool may_have_condition(const Comparison *m) {
    enum { MAX_ENTRIES = 1 << 12 };
    bool drawn = false;
    long wrongs = 0;
    for (int k = 0; k < m->point->inputs; k++)
        drawn |= !m->g->run->c->in[k].values && m->point->in[k].same_as < 0;
    for (long j = 0; j < m->elements; j++) wrongs += m->e->state[j] == ENTRY_WRONG;
    return drawn && wrongs > 0 && wrongs < m->elements && m->in->stored == m->in->count &&
           m->entries <= MAX_ENTRIES;
}

/* Whether every wrong element is 0 for every upstream gradient. */
static bool are_zero(const Comparison *m, const double *matrix) {
    for (long at = 0; at < m->entries; at++)
        if (m->e->state[at % m->elements] == ENTRY_WRONG && matrix[at] != 0) return false;
    return true;
}

/* "wrong only where |x| is above about 1.5". */
static bool say_condition(Comparison *m, const Condition *c) {
    const char *name = c->which < m->point->inputs ? m->point->in[c->which].name : "the output";
    const char *bar = c->size ? "|" : "";
    double low = fmin(c->side * c->right, c->side * c->wrong);
    double high = fmax(c->side * c->right, c->side * c->wrong), number = (low + high) / 2;
    bool is_whole = false;
    for (int n = -2; n <= 2; n++) {
        if (n < low || n > high) continue;
        number = n;
        is_whole = true;
    }
    return compare_say(m, "%s where %s%.40s%s is %s %s%.3g",
                       are_zero(m, m->yours) ? "no gradient arrives" : "wrong only", bar, name, bar,
                       c->side > 0 ? "above" : "below", is_whole ? "" : "about ", number);
}

/* Whether all wrong entries are uses that forward does not have. */
static bool says_strange_uses(Comparison *m) {
    char x[REPORT_NAME], y[REPORT_NAME];
    long n = m->elements, first = -1;
    if (compare_known(m) < ROWS) return false;
    for (long at = m->entries - 1; at >= n; at--) {
        if (!compare_is_wrong(m, at)) continue;
        if (m->right[at] != 0) return false;
        first = at;
    }
    return first >= 0 &&
           compare_say(m,
                       "wrong only where an output does not depend on an element (masked, clipped, "
                       "another index): %.60s gets a gradient from %.60s",
                       gradcheck_element_text(x, m->in->name, m->shape, first % n),
                       gradcheck_element_text(y, "y", m->y_shape, first / n - 1));
}

/* Other points cost many runs: none is drawn without a condition that it may refute. */
bool compare_condition(Comparison *m) {
    const CheckRun *run = m->g->run;
    Look look[LOOKS];
    Condition c;
    if (are_zero(m, m->right))
        return compare_say(m,
                           "wrong only where the output does not depend on %s (masked, clipped, "
                           "unused). There the gradient must be 0",
                           m->in->name);
    if (says_strange_uses(m)) return true;
    if (!may_have_condition(m)) return false;
    look[0] = look_here(m);
    for (int k = 1; k < LOOKS; k++) {
        CheckPoint there;
        if (!separates(m, look, k, &c)) return false;
        point_draw(&there, m->arena, run->op, run->c, m->g->seed, POINT_DRAWN, FIRST_DRAWN + k);
        look[k] = look_at(m, &there);
    }
    return separates(m, look, LOOKS, &c) && say_condition(m, &c);
}

/* Whether a rule of indices holds at another point too, if one may be drawn. */
static bool holds_elsewhere(Comparison *m) {
    const CheckRun *run = m->g->run;
    CheckPoint there;
    char wrong[HALF], right[HALF], other[HALF];
    WrongSet here = wrong_set(m, ELEMENTS);
    if (!may_have_condition(m) || !compare_set_rule(m, &here, wrong, right)) return true;
    point_draw(&there, m->arena, run->op, run->c, m->g->seed, POINT_DRAWN, FIRST_DRAWN);
    Look look = look_at(m, &there);
    return compare_set_rule(m, &look.set, other, right) && strcmp(wrong, other) == 0;
}

bool compare_place(Comparison *m) {
    char text[REPORT_TEXT];
    return compare_map(m, text) && holds_elsewhere(m) && compare_say(m, "%s", text);
}
