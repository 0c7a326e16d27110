#include "repair/edits.h"
#include <stdlib.h>
#include <string.h>

/* The function that a token stands in, or the next one. */
int edits_function_of(const CSource *s, int token) {
    int f = 0;
    while (f < s->functions && token > s->function[f].close) f++;
    return f;
}

bool edits_has_loop_variable(const CSource *s, int begin, int end) {
    for (int i = begin; i < end; i++)
        for (long k = 0; s->token[i].kind == TOKEN_NAME && k < s->loops; k++)
            if (tokens_same(s, s->loop[k].variable, i)) return true;
    return false;
}

/* Whether to compute it changes something. */
static bool changes(const CSource *s, int begin, int end) {
    static const char *const sign[] = {"++", "--", "=", "+=", "-=", "*=", "/=", "%=", NULL};
    for (int i = begin; i < end; i++)
        if (token_is_any(s, i, sign)) return true;
    return false;
}

void edits_add_value(Edits *all, Value v) {
    if (all->values == MOST_VALUES || changes(all->s, v.begin, v.end)) return;
    for (long i = 0; i < all->values; i++) {
        const Value *o = &all->value[i];
        bool same = o->type.base == v.type.base && o->written == v.written && o->function == v.function;
        if (same && strcmp(o->text, v.text) == 0) return;
    }
    all->value = array_grown(all->value, all->values, &all->value_room, sizeof *all->value);
    all->value[all->values++] = v;
}

static void add_value(Edits *all, const char *text, Type type, int begin, int end) {
    bool size = type_is_integer(type) && !edits_has_loop_variable(all->s, begin, end);
    edits_add_value(all, (Value){.text = text, .type = type, .begin = begin, .end = end, .size = size});
}

/* Whether a struct of the file has such a member. */
static bool has_member(const CSource *s, const char *name) {
    for (long i = 0; i < s->names; i++)
        if (s->name[i].record && token_is(s, s->name[i].token, name)) return true;
    return false;
}

/* An array; where it is a tensor's data its gradient, too, and the other way round; or of a struct that has both. */
static void add_array(Edits *all, const Expression *e) {
    const char *text = edits_tokens(all, e->begin, e->stem);
    bool data = token_is(all->s, e->stem - 1, "data"), grad = token_is(all->s, e->stem - 1, "grad");
    add_value(all, text, e->stem_type, e->begin, e->stem);
    if (!token_is_member(all->s, e->stem - 1) || !(data || grad)) return;
    if (has_member(all->s, "data") == has_member(all->s, "grad"))
        add_value(all,
                  edits_text(all, "%s%s", edits_tokens(all, e->begin, e->stem - 1), data ? "grad" : "data"),
                  e->stem_type, e->begin, e->stem);
}

/* An element whose index, or a call that, has two of the loops' variables, with these exchanged: a matrix read the other way. */
static void add_transposed(Edits *all, const Expression *e) {
    const CSource *s = all->s;
    int variable[2], count = 0, stem = e->stem ? e->stem : e->begin + 1;
    for (int i = stem; i < e->end; i++)
        for (long k = 0; s->token[i].kind == TOKEN_NAME && !token_is_member(s, i) && k < s->loops; k++) {
            bool again = count && tokens_same(s, variable[0], i);
            if (count == 2 || again || !tokens_same(s, s->loop[k].variable, i)) continue;
            variable[count++] = i;
        }
    if (count < 2) return;
    const char *text = edits_text(all, "%s%s", edits_tokens(all, e->begin, stem),
                                  edits_exchanged(all, stem, e->end, variable[0], variable[1], false));
    add_value(all, text, e->type, e->begin, e->end);
}

static bool has_variable(const CSource *s, const Expression *e) {
    for (int i = e->begin; i < e->end; i++)
        if (s->token[i].kind == TOKEN_NAME && !token_is(s, i + 1, "(")) return true;
    return false;
}

/* The name that a piece gives the gradient of an input: to be added to, and not there for a constant. 0: none. */
static int names_gradient(const CSource *s, const Piece *p) {
    bool named = p->kind == PIECE_VALUE && tokens_have(s, p->shown, p->begin, "=");
    bool gradient = tokens_have(s, p->begin, p->end, "grad") && tokens_have(s, p->begin, p->end, "in");
    return named && gradient ? p->begin - 2 : 0;
}

/* Whether a name, or the way to an array, is one. */
bool edits_is_gradient(const CSource *s, int begin, int end) {
    if (tokens_have(s, begin, end, "grad") && tokens_have(s, begin, end, "in")) return true;
    for (long i = 0; end == begin + 1 && i < s->pieces; i++) {
        int name = names_gradient(s, &s->piece[i]);
        if (name && tokens_same(s, name, begin)) return true;
    }
    return false;
}

/* The input that tokens [begin, end) have as in[k]; -1: none, or not by a number. */
static int input_of(const CSource *s, int begin, int end) {
    for (int i = begin; i + 3 < end; i++)
        if (token_is(s, i, "in") && token_is(s, i + 1, "[") && token_is(s, i + 3, "]") &&
            s->token[i + 2].kind == TOKEN_NUMBER)
            return (int)strtol(s->text + s->token[i + 2].begin, NULL, 0);
    return -1;
}

/* The tokens of the array that a unit is an element of: what stands before brackets, or a macro's first argument. False: it is
 * none. */
static bool find_array(const Expression *e, int *begin, int *end) {
    bool called = e->called && e->part && e->part->type.depth > 0;
    *begin = called ? e->part->begin : e->begin;
    *end = called ? e->part->end : e->stem;
    return called || e->stem;
}

static bool is_of_gradient(const CSource *s, const Expression *e) {
    int begin, end;
    return find_array(e, &begin, &end) && edits_is_gradient(s, begin, end);
}

int edits_gradient_of(const Edits *all, int piece) {
    const CSource *s = all->s;
    const Expression *tree = all->tree[piece], *left = tree->part;
    int begin, end;
    if (tree->kind != EXPRESSION_ASSIGNED || !is_of_gradient(s, left)) return -1;
    find_array(left, &begin, &end);
    for (long i = 0; end == begin + 1 && i < s->pieces; i++) {
        const Piece *p = &s->piece[i];
        int name = p->function == s->piece[piece].function ? names_gradient(s, p) : 0;
        if (name && tokens_same(s, name, begin)) return input_of(s, p->begin, p->end);
    }
    return input_of(s, begin, end);
}

/* What a function is called with, and what it has for its derivative. */
static void add_of_call(Edits *all, const Expression *e) {
    static const char *const pair[][2] = {{"sin", "cos"}, {"sinh", "cosh"}};
    const CSource *s = all->s;
    for (const Expression *part = e->part; part; part = part->next)
        if (type_is_number(part->type) && part->kind != EXPRESSION_UNIT && part->kind != EXPRESSION_NUMBER &&
            part->kind != EXPRESSION_GROUP)
            add_value(all, edits_text(all, "(%s)", edits_tokens(all, part->begin, part->end)), part->type,
                      part->begin, part->end);
    for (int i = 0; i < 4; i++)
        if (token_is(s, e->begin, pair[i / 2][i % 2]))
            add_value(
                all, edits_text(all, "%s%s", pair[i / 2][1 - i % 2], edits_tokens(all, e->begin + 1, e->end)),
                e->type, e->begin, e->end);
}

/* Units, what is pointed to, and sums in brackets; of integers those outside of an index. */
static void collect(Edits *all, const Expression *e, bool index) {
    bool value = type_is_number(e->type) || type_is_integer(e->type);
    bool grouped = e->kind == EXPRESSION_GROUP && (e->type.base == BASE_NUMBER || !index) &&
                   e->part->kind != EXPRESSION_UNIT && e->end - e->begin < 16;
    if (value && is_of_gradient(all->s, e)) value = false;
    if (e->called && !has_variable(all->s, e)) value = false;
    bool pointed = edits_is_pointed(all->s, e) && !edits_is_gradient(all->s, e->begin + 1, e->end);
    if (value && (e->kind == EXPRESSION_UNIT || grouped || pointed))
        add_value(all, edits_tokens(all, e->begin, e->end), e->type, e->begin, e->end);
    if (value && e->called && e->type.base == BASE_NUMBER) add_of_call(all, e);
    if (e->stem && e->stem_type.depth > 0) add_array(all, e);
    if (e->kind == EXPRESSION_UNIT && !e->stem && e->type.depth > 0)
        add_value(all, edits_tokens(all, e->begin, e->end), e->type, e->begin, e->end);
    if ((e->stem || e->called) && value && e->type.base == BASE_NUMBER) add_transposed(all, e);
    for (const Expression *part = e->part; part; part = part->next) collect(all, part, index || part->index);
}

/* Whether a name is a macro that is not defined at token `where`, or that may mean something else in another function. */
static bool is_other_macro(const CSource *s, int i, int where) {
    bool called = token_is(s, i + 1, "(");
    const Macro *m = c_source_macro(s, i, called);
    return m && (m->end > s->token[where].begin ||
                 (called && edits_function_of(s, i) != edits_function_of(s, where)));
}

bool edits_in_scope(const CSource *s, int begin, int end, int where) {
    for (int i = begin; i < end; i++) {
        if (s->token[i].kind != TOKEN_NAME || token_is_member(s, i)) continue;
        Type own = c_source_type(s, i, i), there = c_source_type(s, i, where);
        if (own.base != there.base || own.depth != there.depth) return false;
        if (own.base == BASE_RECORD && !tokens_same(s, own.record, there.record)) return false;
        bool function = token_is(s, i + 1, "(");
        if (is_other_macro(s, i, where)) return false;
        if (own.base == BASE_UNKNOWN && !function && i == begin) return false;
    }
    return true;
}

/* ---- What a statement may add to ---- */

/* An array, or a number without an index. */
typedef struct Target {
    const char *array, *there; /* there: NULL, or what is not to be NULL while a program runs */
    int function, name;        /* that it is written in; the token of its name */
    Type type;
    bool gradient;
} Target;

static void add_target(Edits *all, Target t, const char *index, const Expression *where) {
    edits_add_value(all, (Value){.text = edits_text(all, "%s%s", t.array, index),
                                 .array = t.there,
                                 .type = t.type,
                                 .gradient = t.gradient,
                                 .function = t.function,
                                 .name = t.name,
                                 .begin = where->begin,
                                 .end = where->end,
                                 .written = true});
}

/* The array with the indices of other elements. */
static void add_elements(Edits *all, Target t, const Expression *e) {
    if (e->kind == EXPRESSION_UNIT && e->stem && e->part && !e->part->next && e->type.depth == 0)
        add_target(all, t, edits_tokens(all, e->stem, e->end), e);
    for (const Expression *part = e->part; part; part = part->next) add_elements(all, t, part);
}

/* With the indices of its own function, or of the others. */
static void add_all_elements(Edits *all, Target t, bool own) {
    for (long i = 0; i < all->s->pieces; i++)
        if (all->tree[i] && (all->s->piece[i].function == t.function) == own)
            add_elements(all, t, all->tree[i]);
}

static void collect_targets(Edits *all, int piece, bool own) {
    const CSource *s = all->s;
    const Expression *tree = all->tree[piece], *left = tree->part;
    if (tree->kind != EXPRESSION_ASSIGNED || left->kind != EXPRESSION_UNIT) return;
    if (!type_is_number(left->type)) return;
    int end = left->stem ? left->stem : left->end, begin, behind;
    bool element = find_array(left, &begin, &behind);
    Target t = {.array = edits_tokens(all, left->begin, end),
                .there = element ? edits_tokens(all, begin, behind) : NULL,
                .function = s->piece[piece].function,
                .name = begin,
                .type = left->type,
                .gradient = is_of_gradient(s, left)};
    add_target(all, t, edits_tokens(all, end, left->end), left);
    if (left->stem && left->part && !left->part->next) add_all_elements(all, t, own);
}

/* Whether a function adds something to an array, or sets it. */
static bool is_written(const Edits *all, int function, int name) {
    for (long i = 0; i < all->s->pieces; i++) {
        const Expression *tree = all->s->piece[i].function == function ? all->tree[i] : NULL;
        int begin, end;
        if (tree && tree->kind == EXPRESSION_ASSIGNED && find_array(tree->part, &begin, &end) &&
            tokens_same(all->s, begin, name))
            return true;
    }
    return false;
}

/* A gradient that nothing is added to. */
static void collect_unwritten(Edits *all, const Piece *p) {
    const CSource *s = all->s;
    int name = names_gradient(s, p);
    const char *array = name ? edits_tokens(all, name, name + 1) : "";
    if (name && is_written(all, p->function, name)) return;
    for (int own = 1; name && own >= 0; own--)
        add_all_elements(all, (Target){array, array, p->function, name, {.base = BASE_NUMBER}, true}, own);
}

/* ---- Where they are in scope ---- */

/* Whether a value is made of the name that the piece is the first value of, which has none before. */
static bool has_no_value(const CSource *s, const Value *v, const Piece *piece) {
    bool named = piece->kind == PIECE_VALUE && piece->shown < piece->begin;
    for (int i = v->begin; i < v->end && named; i++)
        if (tokens_same(s, i, piece->begin - 2) && !token_is_member(s, i)) return true;
    return false;
}

/* Those of its own function first, arrays behind, of which no product has any, and last what nothing reads. */
enum { OWN_NUMBERS, NUMBERS, OWN_ARRAYS, ARRAYS, POSSIBLE, POOL_KINDS, MOST_POSSIBLE = 12 };

static int kind_of(const Edits *all, const Value *v, const Piece *piece) {
    bool own = edits_function_of(all->s, v->begin) == piece->function;
    if (v->possible) return POSSIBLE;
    return v->type.depth > 0 ? (own ? OWN_ARRAYS : ARRAYS) : own ? OWN_NUMBERS : NUMBERS;
}

static bool is_there(const Edits *all, const Value *v, const Piece *piece) {
    const CSource *s = all->s;
    if (v->written && (v->function != piece->function || !c_source_find(s, v->name, piece->begin)))
        return false;
    bool there = v->to ? v->from <= piece->begin && piece->begin < v->to
                       : edits_in_scope(s, v->begin, v->end, piece->begin);
    return there && (v->written || !has_no_value(s, v, piece));
}

static void fill(const Edits *all, Pool *pool, const Piece *piece, int kind) {
    int most = kind == POSSIBLE && pool->values + MOST_POSSIBLE < POOL ? pool->values + MOST_POSSIBLE : POOL;
    for (long i = 0; i < all->values; i++) {
        const Value *v = &all->value[i];
        bool full = v->written ? pool->targets == TARGETS : pool->values == most;
        if (full || kind_of(all, v, piece) != kind || !is_there(all, v, piece)) continue;
        if (v->written)
            pool->target[pool->targets++] = v;
        else
            pool->value[pool->values++] = v;
    }
}

/* Conditions, in brackets. */
static void collect_conditions(Edits *all, const Expression *e) {
    enum { LONGEST = 16 };
    const CSource *s = all->s;
    bool both = e->kind == EXPRESSION_LOGIC &&
                (token_is(s, e->part->next->joint, "&&") || token_is(s, e->part->next->joint, "||"));
    bool asked = token_is(s, e->begin - 2, "if") && e->called; /* a function of the file, most often */
    if ((both || asked || e->kind == EXPRESSION_COMPARED) && e->end - e->begin <= LONGEST)
        edits_add_value(all, (Value){.text = edits_text(all, "(%s)", edits_tokens(all, e->begin, e->end)),
                                     .type = {.base = BASE_INTEGER},
                                     .begin = e->begin,
                                     .end = e->end,
                                     .condition = true});
    for (const Expression *part = e->part; part; part = part->next) collect_conditions(all, part);
}

void edits_find_pools(Edits *all) {
    const CSource *s = all->s;
    for (int back = 1; back >= 0; back--)
        for (long i = 0; i < s->pieces; i++)
            if (all->tree[i] && s->function[s->piece[i].function].backward == back)
                collect(all, all->tree[i],
                        s->piece[i].kind != PIECE_STATEMENT && !type_is_number(s->piece[i].type));
    for (long i = 0; i < s->pieces; i++)
        if (all->tree[i]) collect_conditions(all, all->tree[i]);
    edits_find_unsaid(all);
    for (int i = 0; i < s->pieces; i++)
        if (all->tree[i] && s->function[s->piece[i].function].backward) collect_unwritten(all, &s->piece[i]);
    for (int own = 1; own >= 0; own--)
        for (int i = 0; i < s->pieces; i++)
            if (all->tree[i] && s->function[s->piece[i].function].backward) collect_targets(all, i, own);
    for (int f = 0; f < s->functions; f++)
        if (s->function[f].backward) edits_find_possible(all, f);
    for (long i = 0; i < s->pieces; i++) {
        if (!all->tree[i]) continue;
        for (int kind = 0; kind < POOL_KINDS; kind++) fill(all, &all->pool[i], &s->piece[i], kind);
    }
}
