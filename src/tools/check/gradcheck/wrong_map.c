#include "base/append.h"
#include "check/gradcheck/patterns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LIST = 72 };

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
        last = i, count++;
    }
    if (even && count > 2 && step >= 2 && step <= 4 && last + step >= n) {
        snprintf(text, LIST, "%ld and every %s after it", first, every[step]);
        return;
    }
    for (long i = 0, end; i < n; i = end) {
        for (end = i + 1; in[i] && end < n && in[end]; end++) continue;
        if (!in[i]) continue;
        if (end - i == 2) end--; /* two are named each */
        const char *before = end > last ? " and " : ", ";
        text_append(text, LIST, "%s%ld", *text ? before : "", i);
        if (end - i > 1) text_append(text, LIST, " to %ld", end - 1);
    }
}

/* "rows 4 and 5": indices of an axis in words. */
static void name_indices(const WrongSet *set, int axis, const bool *in, long n, char *text,
                         size_t size) {
    static const char *const words[2][2] = {{"row", "rows"}, {"column", "columns"}};
    char list[LIST];
    long count = 0;
    for (long i = 0; i < n; i++) count += in[i];
    list_indices(in, n, list);
    if (set->shape.rank == 1)
        snprintf(text, size, "%.24s[%s]", set->name, list);
    else if (set->shape.rank == 2)
        snprintf(text, size, "%s %s", words[axis][count > 1], list);
    else
        snprintf(text, size, "%s %s of axis %d", count > 1 ? "indices" : "index", list, axis);
}

/* The elements at some indices of one axis are wrong. */
static bool axis_rule(const WrongSet *set, int axis, Arena *arena, char *wrong, char *right,
                      size_t size) {
    long n = set->shape.size[axis], wrongs = 0, rights = 0;
    bool *bad = arena_alloc(arena, (size_t)n), *good = arena_alloc(arena, (size_t)n);
    for (long j = 0; j < set->count; j++)
        if (!set->idle[j]) (set->wrong[j] ? bad : good)[pattern_index(set->shape, axis, j)] = true;
    for (long i = 0; i < n; i++) {
        if (bad[i] && good[i]) return false;
        wrongs += bad[i], rights += good[i];
    }
    if (!wrongs || !rights) return false;
    name_indices(set, axis, bad, n, wrong, size);
    name_indices(set, axis, good, n, right, size);
    return true;
}

/* The elements at some indices of one axis and some indices of another are wrong. */
static bool block_rule(const WrongSet *set, int one, int other, Arena *arena, char *wrong,
                       size_t size) {
    Shape s = set->shape;
    bool *in_one = arena_alloc(arena, (size_t)s.size[one]),
         *in_other = arena_alloc(arena, (size_t)s.size[other]);
    char at[LIST + 64], of[LIST + 64];
    for (long j = 0; j < set->count; j++)
        if (set->wrong[j])
            in_one[pattern_index(s, one, j)] = in_other[pattern_index(s, other, j)] = true;
    for (long j = 0; j < set->count; j++) {
        bool inside = in_one[pattern_index(s, one, j)] && in_other[pattern_index(s, other, j)];
        if (!set->idle[j] && set->wrong[j] != inside) return false;
    }
    name_indices(set, one, in_one, s.size[one], at, sizeof at);
    name_indices(set, other, in_other, s.size[other], of, sizeof of);
    snprintf(wrong, size, "%s in %s", at, of);
    return true;
}

bool wrong_map_rule(const WrongSet *set, Arena *arena, char *wrong, char *right, size_t size) {
    long count = 0, live = 0, only = -1;
    for (long j = 0; j < set->count; j++) {
        live += !set->idle[j];
        if (set->wrong[j]) count++, only = j;
    }
    if (!count || count == live) return false;
    snprintf(right, size, "all others");
    for (int axis = 0; axis < set->shape.rank; axis++)
        if (axis_rule(set, axis, arena, wrong, right, size)) return true;
    if (count == 1) {
        char text[REPORT_NAME];
        snprintf(wrong, size, "%s", gradcheck_element_text(text, set->name, set->shape, only));
        return true;
    }
    for (int one = 0; one < set->shape.rank; one++)
        for (int other = one + 1; other < set->shape.rank; other++)
            if (block_rule(set, one, other, arena, wrong, size)) return true;
    return false;
}

WrongSet wrong_map_set(const Suspect *s, long which) {
    const Entries *e = s->e;
    long n = s->n, first = 0, end = s->rows;
    if (which == WRONG_OUTPUTS) first = 1;
    if (which >= 0) first = 1 + which, end = first + 1;
    WrongSet set = {s->in->name, s->shape, NULL, NULL, n};
    if (which == WRONG_OUTPUTS) set = (WrongSet){"y", s->y_shape, NULL, NULL, e->outputs};
    set.wrong = arena_alloc(s->arena, (size_t)set.count + 1),
    set.idle = arena_alloc(s->arena, (size_t)set.count + 1);
    memset(set.idle, true, (size_t)set.count);
    for (long at = first * n; at < end * n; at++) {
        long i = which == WRONG_OUTPUTS ? at / n - 1 : at % n;
        set.idle[i] &= s->analytic[at] == 0 && s->numeric[at] == 0;
        set.wrong[i] |=
            which == WRONG_ELEMENTS ? e->state[i] == ENTRY_WRONG : pattern_is_wrong(s, at);
    }
    for (long i = 0; i < set.count; i++) set.idle[i] &= !set.wrong[i];
    return set;
}

/* "x[0,1], x[2,0] and 3 more WRONG". */
static void list_elements(const WrongSet *set, char *text, size_t size) {
    enum { NAMED = 3 };
    long count = 0;
    char element[INDEX_TEXT];
    for (long j = 0; j < set->count; j++)
        if (set->wrong[j] && count++ < NAMED)
            text_append(text, size, "%s%.40s", count > 1 ? ", " : "",
                        gradcheck_element_text(element, set->name, set->shape, j));
    if (count > NAMED) text_append(text, size, " and %ld more", count - NAMED);
    if (count) text_append(text, size, " WRONG");
}

bool wrong_map(const Suspect *s, char *text, size_t size) {
    enum { HALF = REPORT_TEXT / 2 };
    char wrong[HALF] = "", right[HALF] = "";
    WrongSet elements = wrong_map_set(s, WRONG_ELEMENTS);
    long count = 0;
    for (long j = 0; j < elements.count; j++) count += elements.wrong[j];
    text[0] = 0;
    if (wrong_map_rule(&elements, s->arena, wrong, right, HALF)) {
        snprintf(text, size, "%s right, %s WRONG", right, wrong);
        return true;
    }
    if (pattern_known(s) == ROWS && s->outputs > 1) {
        WrongSet outputs = wrong_map_set(s, WRONG_OUTPUTS);
        if (wrong_map_rule(&outputs, s->arena, wrong, right, HALF)) {
            snprintf(text, size, "right for the outputs in %s, WRONG for those in %s", right,
                     wrong);
            return true;
        }
        for (long i = 0; i < s->outputs; i++) {
            WrongSet one = wrong_map_set(s, i);
            char y[REPORT_NAME];
            if (!wrong_map_rule(&one, s->arena, wrong, right, HALF)) continue;
            snprintf(text, size, "for output %.40s: %s right, %s WRONG",
                     gradcheck_element_text(y, "y", s->y_shape, i), right, wrong);
            return false;
        }
    }
    if (count < elements.count) list_elements(&elements, text, size);
    return false;
}
