#include "repair/edits.h"
#include <string.h>

static bool same_type(Type a, Type b) {
    return (a.base == BASE_INTEGER || a.base == BASE_NUMBER) && a.base == b.base && a.depth == b.depth;
}

/* Structs as values. */
static bool same_record(const CSource *s, Type a, Type b) {
    bool both = a.base == BASE_RECORD && b.base == BASE_RECORD && a.depth == 0 && b.depth == 0;
    return both && tokens_same(s, a.record, b.record);
}

/* How often the name at token i, a struct's member or not, stands in tokens [begin, end). */
static int count_of(const CSource *s, int begin, int end, int i, bool member) {
    int count = 0;
    for (int k = begin; k < end; k++)
        count += s->token[k].kind == TOKEN_NAME && tokens_same(s, k, i) && token_is_member(s, k) == member;
    return count;
}

/* One for the other all over the piece. */
static void exchange(Edits *all, int piece, int a, int b, bool member) {
    const Piece *p = &all->s->piece[piece];
    const char *text = edits_exchanged(all, p->begin, p->end, a, b, member);
    edits_add(all, EDIT_TEXT, 2, "another name belongs here", piece, p->begin, p->end, text);
}

/* What is added to one element is added to another as well. */
static void add_for_other(Edits *all, int piece, int a, int b, bool member) {
    const Piece *p = &all->s->piece[piece];
    const Expression *left = all->tree[piece]->part, *right = left->next;
    edits_add(all, EDIT_TEXT, 4, "it has to count for another one as well", piece, p->begin, p->end,
              edits_text(all, "%s, %s += @ * (%s)", edits_tokens(all, p->begin, p->end),
                         edits_exchanged(all, left->begin, left->end, a, b, member),
                         edits_exchanged(all, right->begin, right->end, a, b, member)));
}

/* The same where the place that is added to and one that is read have each other's index. */
static void add_for_other_index(Edits *all, int piece, const Expression *read) {
    const Piece *p = &all->s->piece[piece];
    const Expression *tree = all->tree[piece], *left = tree->part;
    if (read->stem && left->stem && read->part && left->part && !read->part->next && !left->part->next) {
        const char *here = edits_tokens(all, left->part->begin, left->part->end);
        const char *there = edits_tokens(all, read->part->begin, read->part->end);
        if (strcmp(here, there) != 0)
            edits_add(all, EDIT_TEXT, 4, "it has to count for another one as well", piece, p->begin, p->end,
                      edits_text(all, "%s, %s[%s] += @ * (%s[%s]%s)", edits_tokens(all, p->begin, p->end),
                                 edits_tokens(all, left->begin, left->stem), there,
                                 edits_tokens(all, tree->part->next->begin, read->stem), here,
                                 edits_rest(all, read->end, tree->end)));
    }
    for (const Expression *part = read->part; part; part = part->next)
        if (!part->index) add_for_other_index(all, piece, part);
}

/* Whether a backward has the name in an index. */
static bool is_index(const Edits *all, const Expression *e, int name, bool member) {
    for (const Expression *part = e->part; part; part = part->next)
        if ((part->index && count_of(all->s, part->begin, part->end, name, member)) ||
            is_index(all, part, name, member))
            return true;
    return false;
}

static bool some_index(const Edits *all, int function, int name, bool member) {
    for (long i = 0; i < all->s->pieces; i++)
        if (all->tree[i] && all->s->piece[i].function == function &&
            is_index(all, all->tree[i], name, member))
            return true;
    return false;
}

/* Whether it bounds a loop: a size. */
static bool is_bound(const Edits *all, int name, bool member) {
    for (long i = 0; i < all->s->loops; i++) {
        const Expression *condition = all->tree[all->s->loop[i].condition];
        const Expression *bound = condition && condition->part ? condition->part->next : NULL;
        if (bound && count_of(all->s, bound->begin, bound->end, name, member)) return true;
    }
    return false;
}

/* A name and another of its type, which is in scope, or of the same struct. */
static void pair(Edits *all, int piece, int at, int other, bool member) {
    const CSource *s = all->s;
    const Piece *p = &s->piece[piece];
    const Expression *tree = all->tree[piece];
    bool behind = count_of(s, at, p->end, other, member) > 0,
         again = count_of(s, at + 1, p->end, at, member) > 0;
    const Name *name = c_source_find(s, at, p->begin);
    bool number = name->type.base == BASE_NUMBER && name->type.depth == 0;
    bool indices = some_index(all, p->function, at, member) && some_index(all, p->function, other, member);
    if (count_of(s, p->begin, at, at, member) || is_bound(all, at, member) || is_bound(all, other, member))
        return;
    bool adds = tree->kind == EXPRESSION_ASSIGNED && tree->type.depth == 0 && !token_is(s, tree->sign, "=");
    if (!count_of(s, p->begin, at, other, member) && (behind || (again && (indices || number))))
        exchange(all, piece, at, other, member);
    if (adds && name->type.base == BASE_INTEGER && indices && is_index(all, tree->part, at, member))
        add_for_other(all, piece, at, other, member);
}

void edits_find_names(Edits *all, int piece) {
    const CSource *s = all->s;
    const Piece *p = &s->piece[piece];
    const Expression *tree = all->tree[piece];
    if (tree->kind == EXPRESSION_ASSIGNED && tree->type.depth == 0 && !token_is(s, tree->sign, "="))
        add_for_other_index(all, piece, tree->part->next);
    for (int i = p->begin; i < p->end; i++) {
        const Name *name = s->token[i].kind == TOKEN_NAME ? c_source_find(s, i, p->begin) : NULL;
        for (long k = 0; name && k < s->names; k++) {
            const Name *n = &s->name[k];
            bool there = n->from <= p->begin && p->begin < n->to && n->record == name->record;
            if (there && same_record(s, n->type, name->type) && !tokens_same(s, i, n->token))
                edits_add(all, EDIT_TEXT, 2, "another name belongs here", piece, i, i + 1,
                          edits_tokens(all, n->token, n->token + 1));
            if (there && same_type(n->type, name->type) && !tokens_same(s, i, n->token))
                pair(all, piece, i, n->token, n->record > 0);
        }
    }
}
