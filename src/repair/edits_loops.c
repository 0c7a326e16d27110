#include "repair/edits.h"
#include <string.h>

Span edits_loop_span(const CSource *s, const Loop *l) {
    Span span = {.begin = s->piece[l->start].begin};
    while (span.begin > 0 && !token_is(s, span.begin, "for")) span.begin--;
    span.body = token_closing(s, span.begin + 1, (int)s->tokens) + 1;
    span.end = edits_statement_end(s, span.body);
    return span;
}

const Loop *edits_loop_around(const CSource *s, int at) {
    const Loop *innermost = NULL; /* they follow each other as they begin */
    for (long i = 0; i < s->loops; i++) {
        const Span span = edits_loop_span(s, &s->loop[i]);
        if (span.begin <= at && at < span.end) innermost = &s->loop[i];
    }
    return innermost;
}

/* It declares its variable. */
static bool is_plain(const CSource *s, const Loop *l) {
    const Piece *start = &s->piece[l->start];
    return start->kind == PIECE_VALUE && s->function[start->function].used;
}

static bool is_backward(const CSource *s, int piece) {
    return s->function[s->piece[piece].function].backward;
}

/* A loop that is copied to another place, and what may be computed with there. */
typedef struct Copy {
    Edits *all;
    const Loop *loop;
    int where;        /* a token: what is in scope there is so in the copy */
    const char *name; /* of its variable there; NULL: its own */
    Pool *pool;
} Copy;

static bool is_variable(const Copy *c, int i) {
    const CSource *s = c->all->s;
    return s->token[i].kind == TOKEN_NAME && tokens_same(s, i, c->loop->variable) && !token_is_member(s, i);
}

static bool has_variable(const Copy *c, int begin, int end) {
    while (begin < end && !is_variable(c, begin)) begin++;
    return begin < end;
}

/* Whether all names of tokens [begin, end) are known in the copy. */
static bool is_at_hand(const Copy *c, int begin, int end) {
    const CSource *s = c->all->s;
    for (int i = begin; i < end; i++) {
        bool name = s->token[i].kind == TOKEN_NAME && !token_is_member(s, i);
        if (name && !is_variable(c, i) && !edits_in_scope(s, i, i + 1, c->where)) return false;
    }
    return begin < end;
}

/* Tokens with the variable called as in the copy. */
static const char *renamed(const Copy *c, int begin, int end) {
    const char *text = "";
    if (!c->name) return edits_tokens(c->all, begin, end);
    for (int i = begin; i < end; i++)
        text = edits_text(c->all, "%s%s%s", text, i > begin && token_is_apart(c->all->s, i) ? " " : "",
                          is_variable(c, i) ? c->name : edits_tokens(c->all, i, i + 1));
    return text;
}

static void put(const Copy *c, Value v) {
    Pool *pool = c->pool;
    const Value **at = v.written ? pool->target : pool->value;
    int *count = v.written ? &pool->targets : &pool->values, most = v.written ? TARGETS : POOL;
    for (int i = 0; i < *count; i++)
        if (strcmp(at[i]->text, v.text) == 0) return;
    if (*count == most) return;
    Value *own = arena_alloc(c->all->s->arena, sizeof *own);
    *own = v;
    at[(*count)++] = own;
}

/* What is at hand, with the variable in it or without. */
static void put_values(const Copy *c, bool with) {
    const Edits *all = c->all;
    for (long i = 0; i < all->values; i++) {
        Value v = all->value[i];
        if (v.possible) continue; /* a copy has elements of its own */
        bool has = has_variable(c, v.begin, v.end), value = type_is_number(v.type) || type_is_integer(v.type);
        /* What is not written as it stands there, as what is transposed, is not renamed. */
        bool own = strcmp(v.text, edits_tokens(all, v.begin, v.end)) == 0;
        if (!value || v.written || v.condition || has != with || !is_at_hand(c, v.begin, v.end)) continue;
        if (has && c->name && !own) continue;
        if (has) v.text = renamed(c, v.begin, v.end);
        put(c, v);
    }
}

/* Indices with the variable in them. */
enum { MOST_INDICES = 6 };

static void find_indices(const Copy *c, const Expression *e, Texts *to) {
    bool one = e->kind == EXPRESSION_UNIT && e->stem && e->part && !e->part->next && e->type.depth == 0;
    if (one && has_variable(c, e->stem, e->end) && is_at_hand(c, e->stem, e->end))
        edits_add_text(to, edits_tokens(c->all, e->stem, e->end));
    for (const Expression *part = e->part; part; part = part->next) find_indices(c, part, to);
}

/* Whether an array of a function is an input's gradient. */
static bool is_gradient(const Edits *all, const char *array, int function) {
    for (long i = 0; i < all->values; i++) {
        const Value *v = &all->value[i];
        if (v->written && v->array && v->function == function && strcmp(v->array, array) == 0)
            return v->gradient;
    }
    return false;
}

/* Elements of the arrays in scope: to be added to, and to be computed with. */
static void put_elements(const Copy *c, int function) {
    const Edits *all = c->all;
    Texts to = {.most = MOST_INDICES};
    for (long i = 0; i < all->s->pieces; i++)
        if (all->tree[i]) find_indices(c, all->tree[i], &to);
    edits_add_text(&to, edits_text(all, "[%s]", edits_tokens(all, c->loop->variable, c->loop->variable + 1)));
    for (long i = 0; i < all->values; i++) {
        Value v = all->value[i];
        bool there =
            v.written && v.array && v.function == function && c_source_find(all->s, v.name, c->where);
        bool element = there && strncmp(v.text, v.array, strlen(v.array)) == 0;
        bool made = strstr(v.text, "in[") && strstr(v.text, "grad");
        bool array = !v.written && !made && v.type.base == BASE_NUMBER && v.type.depth == 1 &&
                     !is_gradient(all, v.text, function) && is_at_hand(c, v.begin, v.end);
        for (int k = 0; k < to.count && (element || array); k++) {
            Value own = v;
            own.text = edits_text(all, "%s%s", element ? v.array : v.text, to.text[k]);
            own.type = (Type){.base = BASE_NUMBER};
            put(c, own);
        }
    }
}

/* Takes up a copy at a piece. NULL: there are too many. */
static Edit *add_copy(Edits *all, Copy *c, int piece, int cost, const char *what, const char *own) {
    const Piece *p = &all->s->piece[piece];
    if (all->copies == MOST_COPIES || !all->tree[piece]) return NULL;
    Edit *e = edits_add(all, EDIT_ADDED, cost, what, piece, p->begin, p->end, own);
    e->pool = (int)(all->s->pieces + all->copies++);
    Span span = edits_loop_span(all->s, c->loop);
    e->head = renamed(c, span.begin, span.body);
    c->pool = &all->pool[e->pool];
    return e;
}

/* ---- A loop beside another ---- */

/* Whatever its variable is called. */
static const char *head_of(Edits *all, const Loop *l) {
    const Span span = edits_loop_span(all->s, l);
    return renamed(&(Copy){.all = all, .loop = l, .name = "_"}, span.begin, span.body);
}

static bool same_head(Edits *all, const Loop *a, const Loop *b) {
    return strcmp(head_of(all, a), head_of(all, b)) == 0;
}

/* What a loop of its own would add at a piece; `where` is in the same scope. */
static void add_loop(Edits *all, int piece, int where, const Loop *l, const char *own) {
    const CSource *s = all->s;
    const Piece *p = &s->piece[l->start], *condition = &s->piece[l->condition];
    Copy c = {.all = all, .loop = l, .where = where};
    bool known = is_at_hand(&c, p->begin, p->end) && is_at_hand(&c, condition->begin, condition->end);
    if (!known || c_source_find(s, l->variable, where)) return;
    if (!add_copy(all, &c, piece, 5, "a loop is missing", own)) return;
    put_elements(&c, s->piece[piece].function);
    put_values(&c, true), put_values(&c, false);
}

/* Whether there is a loop in it. */
static bool has_loop(const CSource *s, const Loop *l) {
    const Span span = edits_loop_span(s, l);
    return tokens_have(s, span.body, span.end, "for");
}

/* A statement that is not one of several between commas. */
static bool is_whole(const CSource *s, const Piece *p) {
    return p->kind == PIECE_STATEMENT && token_is(s, p->end, ";") && !token_is(s, p->begin - 1, ",");
}

/* Behind statements that call something, before loops and behind them. */
static void find_places(Edits *all, const Loop *l) {
    const CSource *s = all->s;
    for (int i = 0; i < s->pieces; i++) {
        const Piece *p = &s->piece[i];
        const Expression *tree = all->tree[i];
        bool calls = tree && is_whole(s, p) && tree->kind == EXPRESSION_UNIT && tree->called;
        if (calls && is_backward(s, i)) add_loop(all, i, p->begin, l, edits_tokens(all, p->begin, p->end));
    }
    for (long i = 0; i < s->loops; i++) {
        const Loop *at = &s->loop[i];
        int where = edits_loop_span(s, at).begin;
        if (!is_backward(s, at->start) || (same_head(all, at, l) && !has_loop(s, at))) continue;
        add_loop(all, at->condition, where, l, "");
        add_loop(all, at->start, where, l, "");
    }
}

static void find_beside(Edits *all) {
    const CSource *s = all->s;
    for (long k = 0; k < s->loops; k++) {
        bool first = is_plain(s, &s->loop[k]);
        for (long n = 0; n < k && first; n++) first = !same_head(all, &s->loop[n], &s->loop[k]);
        if (first) find_places(all, &s->loop[k]);
    }
}

/* ---- A sum over the loop around a statement ---- */

/* A name that the file has not. */
static const char *new_name(const CSource *s) {
    static const char *const names[] = {"k", "l", "i2", "j2", "k2"};
    size_t count = sizeof names / sizeof *names;
    for (size_t n = 0; n < count; n++) {
        bool there = false;
        for (int i = 0; i < s->tokens && !there; i++) there = token_is(s, i, names[n]);
        if (!there) return names[n];
    }
    return NULL;
}

/* Values of names that are declared in the loop. */
static void put_declared(const Copy *c) {
    const CSource *s = c->all->s;
    const Span span = edits_loop_span(s, c->loop);
    for (long i = 0; i < s->pieces; i++) {
        const Piece *p = &s->piece[i];
        bool value = p->kind == PIECE_VALUE && type_is_number(p->type) && p->begin > span.body;
        if (value && p->end < span.end && has_variable(c, p->begin, p->end) &&
            is_at_hand(c, p->begin, p->end))
            put(c, (Value){.text = edits_text(c->all, "(%s)", renamed(c, p->begin, p->end)),
                           .type = p->type,
                           .begin = p->begin,
                           .end = p->end});
    }
}

/* What a number or an element lacks that is a sum over all runs of the loop around it: behind a statement, or before the piece
 * that follows a declared value. */
static void add_sum(Edits *all, int piece, const char *name) {
    const CSource *s = all->s;
    const Piece *p = &s->piece[piece];
    const Expression *tree = all->tree[piece];
    bool declared = p->kind == PIECE_VALUE;
    bool adds = is_whole(s, p) && tree->kind == EXPRESSION_ASSIGNED && type_is_number(tree->type);
    if (!adds && !(declared && type_is_number(p->type) && !p->type.constant)) return;
    const Loop *around = edits_loop_around(s, p->begin);
    int place = declared ? piece + 1 : piece;
    bool there =
        place < s->pieces && s->piece[place].function == p->function &&
        (!declared || (token_is(s, p->end, ";") && c_source_find(s, p->begin - 2, s->piece[place].begin)));
    if (!around || !is_plain(s, around) || !there ||
        !has_variable(&(Copy){.all = all, .loop = around}, p->shown, p->end))
        return;
    Copy c = {.all = all, .loop = around, .where = s->piece[place].begin, .name = name};
    Edit *e = add_copy(all, &c, place, 5, "a sum over the loop is missing",
                       declared ? "" : edits_tokens(all, p->begin, p->end));
    if (!e) return;
    e->before = declared;
    int begin = declared ? p->begin - 2 : tree->part->begin, end = declared ? begin + 1 : tree->part->end;
    const char *text = edits_tokens(all, begin, end), *array = NULL;
    if (!declared && tree->part->stem) array = edits_tokens(all, begin, tree->part->stem);
    put(&c, (Value){.text = text,
                    .array = array,
                    .type = {.base = BASE_NUMBER},
                    .gradient = array && is_gradient(all, array, p->function),
                    .written = true});
    put_values(&c, true);
    put_declared(&c);
    c.name = NULL;
    put_values(&c, true), put_values(&c, false);
}

/* ---- What forward computes in a loop ---- */

/* Whether a loop's body sets an element of an array, and nothing else. */
static bool sets_one(const Edits *all, Span span, int *array) {
    const CSource *s = all->s;
    for (long i = 0; i < s->pieces; i++) {
        const Expression *tree = all->tree[i];
        if (s->piece[i].begin != span.body || s->piece[i].end + 1 != span.end || !tree) continue;
        *array = tree->begin;
        return tree->kind == EXPRESSION_ASSIGNED && type_is_number(tree->type) &&
               tree->part->stem == *array + 1;
    }
    return false;
}

static void add_copied(Edits *all, const Loop *l) {
    const CSource *s = all->s;
    const Span span = edits_loop_span(s, l);
    int array;
    if (!sets_one(all, span, &array)) return;
    const char *text = edits_tokens(all, span.begin, span.end - 1);
    for (long i = 0; i < s->loops; i++) {
        const Loop *at = &s->loop[i];
        const Piece *start = &s->piece[at->start];
        int where = edits_loop_span(s, at).begin;
        Copy c = {.all = all, .loop = l, .where = where};
        const Name *written = c_source_find(s, array, where);
        bool known = is_at_hand(&c, s->piece[l->condition].begin, s->piece[l->condition].end) &&
                     is_at_hand(&c, span.body, span.end - 1);
        if (!is_backward(s, at->start) || !all->tree[at->start] || !known || !written ||
            written->type.constant)
            continue;
        Edit *e = edits_add(all, EDIT_TEXT, 4, "forward does this, and backward does not", at->start,
                            start->begin, start->end,
                            edits_text(all, start->kind == PIECE_VALUE ? "(({ %s; }), %s)" : "({ %s; }), %s",
                                       text, edits_tokens(all, start->begin, start->end)));
        e->statement = text, e->from = -1;
    }
}

void edits_find_loops(Edits *all, const Edits *from) {
    const CSource *s = from->s;
    const char *name = new_name(s);
    *all = *from;
    all->edit = NULL, all->edits = all->edit_room = 0;
    for (long i = 0; i < s->loops; i++)
        if (is_plain(s, &s->loop[i]) && !is_backward(s, s->loop[i].start)) add_copied(all, &s->loop[i]);
    for (int i = 0; i < s->pieces && name; i++)
        if (all->tree[i] && is_backward(s, i)) add_sum(all, i, name);
    find_beside(all);
}
