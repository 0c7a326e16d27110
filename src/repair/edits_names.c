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

/* Whether the piece writes to what the name at token a points to, where what the one at b points to is only read. */
static bool writes_constant(const Edits *all, int piece, int a, int b) {
    const Expression *tree = all->tree[piece];
    bool assigned = tree->kind == EXPRESSION_ASSIGNED && tree->part->stem;
    Type type = c_source_type(all->s, b, all->s->piece[piece].begin);
    return assigned && type.constant && type.depth > 0 &&
           count_of(all->s, tree->part->begin, tree->part->stem, a, false);
}

/* One for the other all over the piece. */
static void exchange(Edits *all, int piece, int a, int b, bool member) {
    const Piece *p = &all->s->piece[piece];
    if (writes_constant(all, piece, a, b) || writes_constant(all, piece, b, a)) return;
    const char *text = edits_exchanged(all, p->begin, p->end, a, b, member);
    edits_add(all, EDIT_TEXT, 2, "another name belongs here", piece, p->begin, p->end, text);
}

/* Units of an expression that have one of the names in an index. */
typedef struct Units {
    const Expression *unit[6];
    int count;
} Units;

static void find_units(const CSource *s, const Expression *e, int a, int b, Units *to) {
    bool has = e->stem && (count_of(s, e->stem, e->end, a, false) || count_of(s, e->stem, e->end, b, false));
    if (has && to->count < 6) to->unit[to->count++] = e;
    for (const Expression *part = e->part; part; part = part->next)
        if (!has) find_units(s, part, a, b, to);
}

/* The piece with the names exchanged in two of its units, which may be the same. */
static const char *exchanged_in(const Edits *all, const Piece *p, const Expression *one,
                                const Expression *two, int a, int b) {
    const char *text = "";
    for (int i = p->begin; i < p->end; i++) {
        const Expression *unit = i == one->begin ? one : i == two->begin ? two : NULL;
        int end = unit ? unit->end : i + 1;
        const char *gap = i > p->begin && token_is_apart(all->s, i) ? " " : "";
        text = edits_text(all, "%s%s%s", text, gap,
                          unit ? edits_exchanged(all, i, end, a, b, false) : edits_tokens(all, i, end));
        i = end - 1;
    }
    return text;
}

/* Indices the other way round in one element, or in two. */
static void exchange_indices(Edits *all, int piece, int a, int b) {
    const Piece *p = &all->s->piece[piece];
    Units u = {.count = 0};
    find_units(all->s, all->tree[piece], a, b, &u);
    for (int i = 0; i < u.count && u.count > 1; i++)
        for (int k = i; k < u.count; k++)
            edits_add(all, EDIT_TEXT, k > i ? 3 : 2, "an index is the wrong way round", piece, p->begin,
                      p->end, exchanged_in(all, p, u.unit[i], u.unit[k], a, b));
}

/* An array that is read more than once: another one each time. */
static void replace_all(Edits *all, int piece, int a, int b) {
    const CSource *s = all->s;
    const Piece *p = &s->piece[piece];
    const Expression *tree = all->tree[piece];
    const Expression *read = tree->kind == EXPRESSION_ASSIGNED ? tree->part->next : tree;
    if (count_of(s, read->begin, read->end, a, false) < 2 || count_of(s, read->begin, read->end, b, false))
        return;
    edits_add(all, EDIT_TEXT, 2, "another name belongs here", piece, p->begin, p->end,
              edits_text(all, "%s%s%s", edits_tokens(all, p->begin, read->begin),
                         read->begin > p->begin ? " " : "",
                         edits_exchanged(all, read->begin, p->end, a, b, false)));
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

/* Whether it bounds a loop: a size, if no loop changes it. */
static bool is_bound(const Edits *all, int name, bool member) {
    for (long i = 0; i < all->s->loops && !member; i++)
        if (tokens_same(all->s, all->s->loop[i].variable, name)) return false;
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
    bool number = type_is_number(name->type);
    bool indices = some_index(all, p->function, at, member) && some_index(all, p->function, other, member);
    if (count_of(s, p->begin, at, at, member) || is_bound(all, at, member) || is_bound(all, other, member))
        return;
    bool adds = tree->kind == EXPRESSION_ASSIGNED && tree->type.depth == 0 && !token_is(s, tree->sign, "=");
    bool first = !count_of(s, p->begin, at, other, member);
    if (first && (behind || (again && (indices || number)))) exchange(all, piece, at, other, member);
    if (first && behind && indices && !member && name->type.base == BASE_INTEGER)
        exchange_indices(all, piece, at, other);
    if (adds && name->type.base == BASE_INTEGER && indices && is_index(all, tree->part, at, member))
        add_for_other(all, piece, at, other, member);
}

/* In two statements that follow each other one has the one name, and the other the other. */
static void exchange_across(Edits *all, int piece, int a, int b, bool member) {
    const CSource *s = all->s;
    if (piece + 1 >= s->pieces || !all->tree[piece + 1]) return;
    const Piece *p = &s->piece[piece], *next = p + 1;
    bool both = p->kind == next->kind && p->kind != PIECE_CONDITION && next->shown == p->shown_end + 1;
    if (p->kind == PIECE_VALUE)
        both = p->kind == next->kind && next->begin - p->end < 6 && next->begin > p->end;
    if (!both || count_of(s, p->begin, p->end, b, member)) return;
    for (int i = next->begin; i < next->end; i++) {
        bool is_b = s->token[i].kind == TOKEN_NAME && tokens_same(s, i, b) && token_is_member(s, i) == member;
        if (!is_b || count_of(s, next->begin, next->end, a, member)) continue;
        Edit *e = edits_add(all, EDIT_TEXT, 3, "two names are exchanged", piece, p->begin, p->end,
                            edits_exchanged(all, p->begin, p->end, a, b, member));
        e->part[e->parts++] = (EditPart){piece + 1, next->begin, next->end,
                                         edits_exchanged(all, next->begin, next->end, a, b, member)};
        return;
    }
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
            if (there && same_type(n->type, name->type) && !tokens_same(s, i, n->token)) {
                pair(all, piece, i, n->token, n->record > 0);
                if (count_of(s, p->begin, i, i, n->record > 0)) continue;
                exchange_across(all, piece, i, n->token, n->record > 0);
                if (!n->record && n->type.depth == 1) replace_all(all, piece, i, n->token);
            }
        }
    }
}
