#include "repair/edits.h"

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

/* Two statements that follow each other, the other way round. */
static void exchange(Edits *all, int first, int second) {
    const Piece *a = &all->s->piece[first], *b = &all->s->piece[second];
    Edit *e = edits_add(all, EDIT_TEXT, 2, "two statements are in the wrong order", first, a->begin, a->end,
                        edits_tokens(all, b->begin, b->end));
    add_part(e, second, b->begin, b->end, edits_tokens(all, a->begin, a->end));
}

void edits_find_statements(Edits *all) {
    const CSource *s = all->s;
    for (long i = 0; i < s->loops; i++) reverse(all, &s->loop[i]);
    for (int i = 0; i + 1 < s->pieces; i++) {
        const Piece *a = &s->piece[i], *b = &s->piece[i + 1];
        bool begins = token_is(s, a->begin - 1, ";") || token_is(s, a->begin - 1, "{") ||
                      token_is(s, a->begin - 1, "}");
        bool both = begins && a->kind == PIECE_STATEMENT && b->kind == PIECE_STATEMENT &&
                    b->begin == a->end + 1 && !token_is(s, a->end, ")");
        if (both && all->tree[i] && s->function[a->function].backward) exchange(all, i, i + 1);
    }
}
