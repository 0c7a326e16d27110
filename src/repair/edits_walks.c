#include "repair/edits.h"
#include <string.h>

/* A pointer, or an integer that counts, that a loop has to move on. By how much: what is written, and where. */
enum { MOST_AMOUNTS = 8, MOST_WALKS = 60 };
typedef struct Walks {
    Edits *all;
    long most; /* edits */
} Walks;

static bool is_name(const CSource *s, int i, int name) {
    return s->token[i].kind == TOKEN_NAME && tokens_same(s, i, name) && !token_is_member(s, i);
}

/* Whether something is added to the name at token i there, or it is set. */
static bool is_changed(const CSource *s, int i) {
    static const char *const behind[] = {"++", "--", "+=", "-=", "=", NULL}, *const before[] = {"++", "--",
                                                                                                NULL};
    return token_is_any(s, i + 1, behind) || token_is_any(s, i - 1, before);
}

/* A piece that moves a pointer on: p++, p += n and the like. The token of its name; 0: it does not. */
static int walker(const Edits *all, int piece) {
    const CSource *s = all->s;
    const Piece *p = &s->piece[piece];
    if (p->kind != PIECE_STATEMENT || !all->tree[piece]) return 0;
    int name = s->token[p->begin].kind == TOKEN_NAME ? p->begin : p->begin + 1;
    bool moves = p->end - p->begin == 2 ? is_changed(s, name)
                                        : token_is(s, name + 1, "+=") || token_is(s, name + 1, "-=");
    return moves && s->token[name].kind == TOKEN_NAME && c_source_type(s, name, p->begin).depth > 0 ? name
                                                                                                    : 0;
}

/* What other pointers move on by, sizes, and products of the bounds of two loops in each other. */
static void find_amounts(const Edits *all, int piece, Span inside, Texts *to) {
    const CSource *s = all->s;
    const Pool *pool = &all->pool[piece];
    int where = s->piece[piece].begin;
    const char *bound = NULL;
    edits_add_text(to, "1");
    for (int i = 0; i < s->pieces; i++) {
        const Piece *p = &s->piece[i];
        bool more = walker(all, i) && p->end - p->begin > 2;
        if (more && edits_in_scope(s, p->begin + 2, p->end, where))
            edits_add_text(to, edits_tokens(all, p->begin + 2, p->end));
    }
    for (long i = 0; i < s->loops; i++) {
        const Expression *condition = all->tree[s->loop[i].condition];
        if (!condition || condition->kind != EXPRESSION_COMPARED) continue;
        const Expression *e = condition->part->next;
        if (e->begin < inside.body || e->begin >= inside.end || !edits_in_scope(s, e->begin, e->end, where))
            continue;
        const char *text = edits_tokens(all, e->begin, e->end);
        edits_add_text(to, text);
        if (bound) edits_add_text(to, edits_text(all, "(%s) * (%s)", bound, text));
        bound = text;
    }
    for (int i = 0; i < pool->values; i++)
        if (pool->value[i]->size) edits_add_text(to, pool->value[i]->text);
}

static const char *walk(const Edits *all, int name, const char *amount, bool back) {
    const char *text = edits_tokens(all, name, name + 1);
    if (strcmp(amount, "1") == 0) return edits_text(all, "%s%s", text, back ? "--" : "++");
    return edits_text(all, "%s %s %s", text, back ? "-=" : "+=", amount);
}

/* Whether a loop reads or writes by way of the name, which it does not change, and the same in each of its turns. */
static bool stands_still(const CSource *s, const Loop *l, Span loop, int name) {
    static const char *const ends[] = {",", ";", ")", NULL};
    bool used = false;
    for (int i = loop.begin; i < loop.end; i++) {
        if (!is_name(s, i, name)) continue;
        if (is_changed(s, i)) return false;
        int end = i + 1;
        if (token_is(s, end, "[")) end = token_closing(s, end, loop.end);
        while (token_is(s, i + 1, "+") && end < loop.end && !token_is_any(s, end, ends)) end++;
        for (int k = i + 1; k < end; k++)
            if (is_name(s, k, l->variable)) return false;
        used |= i >= loop.body;
    }
    return used;
}

/* A pointer, or an integer that begins at a constant and is none of the loops' variables. */
static bool may_walk(const CSource *s, const Name *n) {
    if (n->record || token_is(s, n->token + 1, "[") || token_is(s, n->token - 1, "const")) return false;
    for (long i = 0; i < s->loops; i++)
        if (tokens_same(s, s->loop[i].variable, n->token)) return false;
    bool counts = type_is_integer(n->type) && !n->type.constant && token_is(s, n->token + 1, "=") &&
                  s->token[n->token + 2].kind == TOKEN_NUMBER;
    return counts || (n->type.depth == 1 && (n->type.base == BASE_NUMBER || n->type.base == BASE_INTEGER));
}

/* At the end of each turn of a loop, which is where it goes on. */
static void add_walk(Walks *w, const Loop *l, const Name *n) {
    Edits *all = w->all;
    const CSource *s = all->s;
    const Piece *step = &s->piece[l->step];
    Span loop = edits_loop_span(s, l);
    Texts amounts = {.most = MOST_AMOUNTS};
    bool outside = n->from <= loop.begin && loop.end <= n->to && n->token > s->function[step->function].name;
    if (!outside || !all->tree[l->step] || !stands_still(s, l, loop, n->token)) return;
    find_amounts(all, l->step, loop, &amounts);
    bool down = tokens_have(s, step->begin, step->end, "--") || tokens_have(s, step->begin, step->end, "-=");
    for (int back = 0; back <= down; back++)
        for (int i = 0; i < amounts.count && all->edits < w->most; i++)
            edits_add(all, EDIT_TEXT, 3, "this is not moved on", l->step, step->begin, step->end,
                      edits_text(all, "%s, %s", edits_tokens(all, step->begin, step->end),
                                 walk(all, n->token, amounts.text[i], back)));
}

/* By another amount, or the other way. */
static void change_walk(Walks *w, int piece, int name) {
    Edits *all = w->all;
    const CSource *s = all->s;
    const Piece *p = &s->piece[piece];
    bool one = p->end - p->begin == 2,
         back = tokens_have(s, p->begin, p->end, "--") || tokens_have(s, p->begin, p->end, "-=");
    const char *own = one ? "1" : edits_tokens(all, p->begin + 2, p->end);
    Texts amounts = {.most = MOST_AMOUNTS};
    find_amounts(all, piece, (Span){0}, &amounts);
    for (int i = -1; i < amounts.count && all->edits < w->most; i++) {
        const char *amount = i < 0 ? own : amounts.text[i];
        if (i >= 0 && strcmp(amount, own) == 0) continue;
        edits_add(all, EDIT_TEXT, 2, "this is moved on by the wrong amount", piece, p->begin, p->end,
                  walk(all, name, amount, back != (i < 0)));
    }
}

/* In a loop around that, or inside of it. */
static void move_walk(Walks *w, int piece) {
    Edits *all = w->all;
    const CSource *s = all->s;
    const Piece *p = &s->piece[piece];
    const char *own = edits_tokens(all, p->begin, p->end);
    const Loop *innermost = edits_loop_around(s, p->begin);
    if (!innermost) return;
    const Span here = edits_loop_span(s, innermost);
    for (long i = 0; i < s->loops && all->edits < w->most; i++) {
        const Loop *l = &s->loop[i];
        const Piece *step = &s->piece[l->step];
        const Span loop = edits_loop_span(s, l);
        bool around = loop.begin <= p->begin && p->begin < loop.end;
        bool inside = here.begin <= loop.begin && loop.end <= here.end;
        bool known = all->tree[l->step] && edits_in_scope(s, p->begin, p->end, step->begin);
        if (!known || loop.begin == here.begin || !(around || inside)) continue;
        const EditPart gone = {piece, p->begin, p->end, "(void)0"},
                       put = {l->step, step->begin, step->end,
                              edits_text(all, "%s, %s", edits_tokens(all, step->begin, step->end), own)};
        bool first = p->begin < step->begin;
        Edit *e = edits_add(all, EDIT_TEXT, 3, "this is moved on in the wrong loop", first ? piece : l->step,
                            first ? p->begin : step->begin, first ? p->end : step->end,
                            first ? gone.text : put.text);
        const EditPart *second = first ? &put : &gone;
        edits_add_part(e, second->piece, second->begin, second->end, second->text);
    }
}

void edits_find_walks(Edits *all) {
    const CSource *s = all->s;
    long most = all->edits + MOST_WALKS;
    Walks w = {all, most < MOST_EDITS ? most : MOST_EDITS};
    for (int i = 0; i < s->pieces; i++) {
        int name = s->function[s->piece[i].function].backward ? walker(all, i) : 0;
        if (name) change_walk(&w, i, name), move_walk(&w, i);
    }
    for (long i = 0; i < s->loops; i++)
        for (long k = 0; k < s->names && s->function[s->piece[s->loop[i].start].function].backward; k++)
            if (may_walk(s, &s->name[k])) add_walk(&w, &s->loop[i], &s->name[k]);
}
