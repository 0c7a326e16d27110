#include "repair/edits.h"
#include <string.h>

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
    edits_add_part(e, l->condition, condition->begin, condition->end,
                   edits_text(all, "%s %s (%s)", name, up ? ">=" : "<=", from));
    edits_add_part(e, l->step, step->begin, step->end, edits_text(all, "%s%s", name, up ? "--" : "++"));
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
    const CSource *s = all->s;
    for (int i = 0; i < s->pieces; i++)
        if (all->tree[i] && s->function[s->piece[i].function].backward) add_before(all, i);
    for (long i = 0; i < s->loops; i++) reverse(all, &s->loop[i]), add_around(all, &s->loop[i]);
    find_resets(all);
    edits_find_moves(all);
}
