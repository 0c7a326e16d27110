#include "repair/edits.h"
#include <string.h>

static void plain(Edits *all, int piece, int cost, const char *what, int begin, int end, const char *text) {
    edits_add(all, EDIT_TEXT, cost, what, piece, begin, end, text);
}

void edits_of_comparison(Edits *all, int piece, const Expression *e) {
    static const char *const other[][2] = {{"<", "<="},  {"<", ">"},  {"<=", "<"}, {"<=", ">="},
                                           {">", ">="},  {">", "<"},  {">=", ">"}, {">=", "<="},
                                           {"==", "!="}, {"!=", "=="}};
    const Expression *right = e->part->next;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (token_is(all->s, right->joint, other[i][0]))
            plain(all, piece, 2, "a comparison is wrong", right->joint, right->joint + 1, other[i][1]);
    if (type_is_number(e->part->type))
        plain(all, piece, 2, "an absolute value is missing", e->part->begin, e->part->end,
              edits_text(all, "fabs(%s)", edits_tokens(all, e->part->begin, e->part->end)));
}

void edits_of_logic(Edits *all, int piece, const Expression *e) {
    const CSource *s = all->s;
    bool both = token_is(s, e->part->next->joint, "&&"), either = token_is(s, e->part->next->joint, "||");
    for (const Expression *part = e->part; part && (both || either); part = part->next) {
        if (part->joint >= 0)
            plain(all, piece, 4, "a condition is wrong", part->joint, part->joint + 1, both ? "||" : "&&");
        plain(all, piece, 1, "a condition is one too many", e->begin, e->end, edits_without(all, e, part));
        if (e->part->next->next)
            plain(all, piece, 1, "a condition is one too many", e->begin, e->end,
                  edits_tokens(all, part->begin, part->end));
    }
}

/* What other statements depend on, in its place. */
static void replace_condition(Edits *all, int piece, const Expression *e) {
    const CSource *s = all->s;
    const Pool *pool = &all->pool[piece];
    const char *own = edits_tokens(all, e->begin, e->end);
    for (int i = 0; i < pool->values; i++) {
        const Value *v = pool->value[i];
        const char *other = edits_tokens(all, v->begin, v->end);
        bool whole = v->condition && token_is(s, v->begin - 2, "if") && token_is(s, v->end, ")");
        if (whole && strcmp(own, other) != 0)
            plain(all, piece, 3, "another condition belongs here", e->begin, e->end, other);
    }
}

/* What a statement depends on. */
void edits_of_condition(Edits *all, int piece, const Expression *e) {
    replace_condition(all, piece, e);
    plain(all, piece, 1, "a condition is one too many", e->begin, e->end, "1");
    plain(all, piece, 3, "a condition is the wrong way round", e->begin, e->end,
          edits_text(all, "!(%s)", edits_tokens(all, e->begin, e->end)));
}

void edits_of_choice(Edits *all, int piece, const Expression *e) {
    const Expression *a = e->part->next, *b = a->next;
    const char *one = edits_tokens(all, a->begin, a->end), *two = edits_tokens(all, b->begin, b->end);
    const char *condition = edits_tokens(all, e->part->begin, e->part->end);
    plain(all, piece, 2, "a choice is the wrong way round", e->begin, e->end,
          edits_text(all, "(%s ? %s : %s)", condition, two, one));
    plain(all, piece, 0, "a choice is one too many", e->begin, e->end, edits_text(all, "(%s)", one));
    plain(all, piece, 0, "a choice is one too many", e->begin, e->end, edits_text(all, "(%s)", two));
}

bool edits_end_loop(const CSource *s, int piece) {
    for (long i = 0; i < s->loops; i++)
        if (s->loop[i].condition == piece) return true;
    return false;
}
