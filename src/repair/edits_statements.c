#include "repair/edits.h"
#include <string.h>

static void add_part(Edit *e, int piece, int begin, int end, const char *text) {
    e->part[e->parts++] = (EditPart){piece, begin, end, text};
}

/* for (i = A; i < B; i++) from the other end, and for (i = A; i >= B; i--). */
static void reverse(Edits *all, const Loop *l) {
    const CSource *s = all->s;
    const Piece *start = &s->piece[l->start], *step = &s->piece[l->step];
    const Expression *condition = all->tree[l->condition];
    if (!condition || condition->kind != EXPRESSION_COMPARED || step->end - step->begin != 2) return;
    if (start->kind != PIECE_VALUE || !s->function[start->function].backward) return;
    const Expression *bound = condition->part->next;
    int variable = condition->begin;
    bool up = token_is(s, step->begin, "++") || token_is(s, step->begin + 1, "++");
    const char *name = edits_tokens(all, variable, variable + 1),
               *from = edits_tokens(all, start->begin, start->end);
    const char *to = edits_tokens(all, bound->begin, bound->end);
    bool below = token_is(s, bound->joint, "<"), above = token_is(s, bound->joint, ">");
    Edit *e = edits_add(all, EDIT_TEXT, 2, "the loop runs in the wrong direction", l->start, start->begin,
                        start->end,
                        edits_text(all, "(%s)%s", to,
                                   up && below    ? " - 1"
                                   : !up && above ? " + 1"
                                                  : ""));
    add_part(e, l->condition, condition->begin, condition->end,
             edits_text(all, "%s %s (%s)", name, up ? ">=" : "<=", from));
    add_part(e, l->step, step->begin, step->end, edits_text(all, "%s%s", name, up ? "--" : "++"));
}

/* Two statements that follow each other, the other way round; or their right sides. */
static void exchange(Edits *all, int first, int second) {
    const Piece *a = &all->s->piece[first], *b = &all->s->piece[second];
    Edit *e = edits_add(all, EDIT_TEXT, 1, "two statements are in the wrong order", first, a->begin, a->end,
                        edits_tokens(all, b->begin, b->end));
    add_part(e, second, b->begin, b->end, edits_tokens(all, a->begin, a->end));
    const Expression *one = all->tree[first], *two = all->tree[second];
    if (!two || one->kind != EXPRESSION_ASSIGNED || two->kind != EXPRESSION_ASSIGNED) return;
    one = one->part->next, two = two->part->next;
    e = edits_add(all, EDIT_TEXT, 3, "two values are exchanged", first, one->begin, one->end,
                  edits_tokens(all, two->begin, two->end));
    add_part(e, second, two->begin, two->end, edits_tokens(all, one->begin, one->end));
}

static bool is_start(const CSource *s, int piece) {
    for (long i = 0; i < s->loops; i++)
        if (s->loop[i].start == piece) return true;
    return false;
}

/* A statement and a declared value that follow each other. */
static void exchange_value(Edits *all, int first) {
    const CSource *s = all->s;
    const Piece *a = &s->piece[first], *b = a + 1;
    const char *one = edits_tokens(all, a->begin, a->end), *two = edits_tokens(all, b->begin, b->end);
    bool declares = a->kind == PIECE_VALUE, near = b->shown - a->end < 4 && token_is(s, a->end, ";");
    const Piece *value = declares ? a : b;
    if (a->kind == b->kind || a->kind == PIECE_CONDITION || b->kind == PIECE_CONDITION) return;
    if (!near || value->shown == value->begin || is_start(s, (int)(value - s->piece))) return;
    if (declares && !edits_in_scope(s, b->begin, b->end, a->shown)) return;
    Edit *e = edits_add(all, EDIT_TEXT, 1, "two statements are in the wrong order", first, a->begin, a->end,
                        declares ? edits_text(all, "(%s, %s)", two, one) : "(void)0");
    add_part(e, first + 1, b->begin, b->end,
             declares ? "(void)0"
                      : edits_text(all, "({ __typeof__(%s) repair_v = %s; %s; repair_v; })", two, two, one));
    e->statement = edits_text(all, "%s; %s", edits_tokens(all, b->shown, b->shown_end),
                              edits_tokens(all, a->shown, a->shown_end));
    e->from = first;
}

/* ---- Statements in another place ---- */

/* Whether two pieces stand in the same braces, the first before the second. */
static bool same_block(const CSource *s, int first, int second) {
    for (int i = s->piece[first].end; i < s->piece[second].begin; i++)
        if (token_is(s, i, "{") || token_is(s, i, "}")) return false;
    return true;
}

/* A statement that stands by itself, as the whole of a line. */
static bool is_alone(const CSource *s, const Piece *p) {
    bool begins =
        token_is(s, p->begin - 1, ";") || token_is(s, p->begin - 1, "{") || token_is(s, p->begin - 1, "}");
    return begins && p->kind == PIECE_STATEMENT && token_is(s, p->end, ";");
}

/* What forward saves, some statements or declared values earlier or later. */
static void move(Edits *all, int from) {
    enum { FAR = 4 };
    const CSource *s = all->s;
    const Piece *p = &s->piece[from];
    const char *own = edits_tokens(all, p->begin, p->end);
    for (int to = from - FAR < 0 ? 0 : from - FAR; to <= from + FAR && to < s->pieces; to++) {
        const Piece *other = &s->piece[to];
        bool declared = other->kind == PIECE_VALUE && other->shown < other->begin && to < from;
        if (to == from || !same_block(s, to < from ? to : from, to < from ? from : to)) continue;
        if (!declared && !is_alone(s, other)) continue;
        if (to < from && !edits_in_scope(s, p->begin, p->end, other->shown)) continue;
        const char *its = edits_tokens(all, other->begin, other->end);
        int first = to < from ? to : from;
        Edit *e = edits_add(all, EDIT_TEXT, 3, to < from ? "this is too late" : "this is too early", first,
                            s->piece[first].begin, s->piece[first].end, "(void)0");
        if (to < from) e->part[0].text = edits_text(all, declared ? "(%s, %s)" : "%s, %s", own, its);
        if (to < from)
            add_part(e, from, p->begin, p->end, "(void)0");
        else
            add_part(e, to, other->begin, other->end, edits_text(all, "%s, %s", its, own));
        const char *beside = declared && is_start(s, to) ? edits_loop_head(all, to)
                                                         : edits_tokens(all, other->shown, other->shown_end);
        e->statement = edits_text(all, "%s; %s", to < from ? own : beside, to < from ? beside : own);
        e->from = from;
    }
}

/* ---- Sums that begin anew ---- */

/* A statement that another loop has, or none: before a loop, and behind it. */
static void add_reset(Edits *all, const Loop *l, int piece, const char *reset) {
    const Piece *p = &all->s->piece[piece];
    const Piece *start = &all->s->piece[l->start], *condition = &all->s->piece[l->condition];
    const char *value = edits_tokens(all, start->begin, start->end);
    int end = token_is(all->s, p->begin, "memset") ? p->end : p->begin + 1;
    if (start->function != p->function || !edits_in_scope(all->s, p->begin, end, start->shown)) return;
    Edit *e = edits_add(all, EDIT_TEXT, 4, "before this loop something is not set to 0", l->start,
                        start->begin, start->end,
                        edits_text(all, start->kind == PIECE_VALUE ? "(%s, %s)" : "%s, %s", reset, value));
    e->statement = reset, e->from = -1;
    e = edits_add(
        all, EDIT_TEXT, 4, "behind this loop something is not set to 0", l->condition, condition->begin,
        condition->end,
        edits_text(all, "(%s) || (%s, 0)", edits_tokens(all, condition->begin, condition->end), reset));
    e->statement = reset, e->from = -1;
}

/* What a statement adds up: a number, or an array that is set to 0 somewhere. NULL: nothing. */
static const char *reset_of(const Edits *all, int piece) {
    const CSource *s = all->s;
    const Expression *tree = all->tree[piece];
    const Piece *p = &s->piece[piece];
    if (!tree || p->kind != PIECE_STATEMENT || !s->function[p->function].backward) return NULL;
    if (token_is(s, p->begin, "memset")) return edits_tokens(all, p->begin, p->end);
    bool adds = tree->kind == EXPRESSION_ASSIGNED && !token_is(s, tree->sign, "=");
    bool plain = adds && tree->part->end == tree->part->begin + 1 && tree->type.depth == 0;
    return plain ? edits_text(all, "%s = 0", edits_tokens(all, tree->part->begin, tree->part->end)) : NULL;
}

static void find_resets(Edits *all) {
    enum { MOST = 6 };
    const CSource *s = all->s;
    const char *done[MOST];
    int count = 0;
    for (int i = 0; i < s->pieces && count < MOST; i++) {
        const char *reset = reset_of(all, i);
        int k = 0;
        while (reset && k < count && strcmp(done[k], reset) != 0) k++;
        if (!reset || k < count) continue;
        done[count++] = reset;
        for (long l = 0; l < s->loops; l++) add_reset(all, &s->loop[l], i, reset);
    }
}

/* What is missing may have to stand before a loop or behind it. */
static void add_around(Edits *all, const Loop *l) {
    const Piece *start = &all->s->piece[l->start], *condition = &all->s->piece[l->condition];
    if (!all->s->function[start->function].backward || !all->tree[l->start] || !all->tree[l->condition])
        return;
    edits_add(all, EDIT_ADDED, 4, "before this loop something is not added", l->start, start->begin,
              start->end, "");
    edits_add(all, EDIT_ADDED, 4, "behind this loop something is not added", l->condition, condition->begin,
              condition->end, "");
}

/* Or before a statement that depends on something, and is run whatever that is. */
static void add_before(Edits *all, int piece) {
    const CSource *s = all->s;
    const Piece *p = &s->piece[piece];
    if (p->kind == PIECE_CONDITION && token_is(s, p->begin - 2, "if") && !token_is(s, p->begin - 3, "else"))
        edits_add(all, EDIT_ADDED, 4, "before this something is not added", piece, p->begin, p->end, "");
}

void edits_find_statements(Edits *all) {
    static const char *const copies[] = {"memcpy", "memmove", NULL};
    const CSource *s = all->s;
    for (int i = 0; i < s->pieces; i++)
        if (all->tree[i] && s->function[s->piece[i].function].backward) add_before(all, i);
    for (long i = 0; i < s->loops; i++) reverse(all, &s->loop[i]), add_around(all, &s->loop[i]);
    find_resets(all);
    for (int i = 0; i + 1 < s->pieces; i++)
        if (all->tree[i] && all->tree[i + 1] && s->function[s->piece[i].function].backward)
            exchange_value(all, i);
    for (int i = 0; i < s->pieces; i++) {
        const Piece *a = &s->piece[i];
        if (!all->tree[i] || !is_alone(s, a)) continue;
        bool back = s->function[a->function].backward;
        bool both = i + 1 < s->pieces && a[1].begin == a->end + 1 && a[1].kind == PIECE_STATEMENT;
        if (back && both) exchange(all, i, i + 1);
        bool saves = edits_are_saved(s, a, all->tree[i]) || token_is_any(s, a->begin, copies);
        if (!back && s->function[a->function].used && saves) move(all, i);
    }
}
