#include "repair/edits.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool edits_is_statement(const CSource *s, const Piece *p) {
    bool begins = token_is_any(s, p->begin - 1, (const char *const[]){";", "{", "}", NULL});
    return begins && p->kind == PIECE_STATEMENT && token_is(s, p->end, ";");
}

void edits_add_text(Texts *to, const char *text) {
    for (int i = 0; i < to->count; i++)
        if (strcmp(to->text[i], text) == 0) return;
    if (to->count < to->most) to->text[to->count++] = text;
}

Edit *edits_add(Edits *all, EditKind kind, int cost, const char *what, int piece, int begin, int end,
                const char *text) {
    all->edit = array_grown(all->edit, all->edits, &all->edit_room, sizeof *all->edit);
    Edit *e = &all->edit[all->edits++];
    bool forward = !all->s->function[all->s->piece[piece].function].backward;
    *e = (Edit){
        .kind = kind, .cost = cost + forward, .forward = forward, .what = what, .pool = piece, .parts = 1};
    e->part[0] = (EditPart){piece, begin, end, text};
    return e;
}

void edits_add_part(Edit *e, int piece, int begin, int end, const char *text) {
    e->part[e->parts++] = (EditPart){piece, begin, end, text};
}

const char *edits_text(const Edits *all, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = arena_alloc(all->s->arena, (size_t)length + 1);
    va_start(list, format);
    vsnprintf(text, (size_t)length + 1, format, list);
    va_end(list);
    return text;
}

const char *edits_tokens(const Edits *all, int begin, int end) {
    return begin < end ? c_source_text(all->s, begin, end) : "";
}

const char *edits_loop_head(const Edits *all, int start) {
    int begin = all->s->piece[start].begin;
    while (begin > 0 && !token_is(all->s, begin, "for")) begin--;
    return edits_tokens(all, begin, token_closing(all->s, begin + 1, (int)all->s->tokens) + 1);
}

int edits_statement_end(const CSource *s, int at) {
    static const char *const heads[] = {"for", "while", "switch", NULL};
    int end = (int)s->tokens;
    bool choice = token_is(s, at, "if");
    if (choice || token_is_any(s, at, heads)) {
        at = edits_statement_end(s, token_closing(s, at + 1, end) + 1);
        return choice && token_is(s, at, "else") ? edits_statement_end(s, at + 1) : at;
    }
    if (token_is(s, at, "do")) at = edits_statement_end(s, at + 1);
    bool block = token_is(s, at, "{");
    while (at < end && !block && !token_is(s, at, ";"))
        at = token_is(s, at, "(") || token_is(s, at, "{") ? token_closing(s, at, end) + 1 : at + 1;
    if (block) at = token_closing(s, at, end);
    return at < end ? at + 1 : end;
}

const char *edits_rest(const Edits *all, int begin, int end) {
    const char *gap = begin < end && token_is_apart(all->s, begin) ? " " : "";
    return edits_text(all, "%s%s", gap, edits_tokens(all, begin, end));
}

const char *edits_exchanged(const Edits *all, int begin, int end, int a, int b, bool member) {
    const CSource *s = all->s;
    const char *text = "";
    for (int i = begin; i < end; i++) {
        bool name = s->token[i].kind == TOKEN_NAME && token_is_member(s, i) == member;
        int from = name && tokens_same(s, i, a) ? b : name && tokens_same(s, i, b) ? a : i;
        const char *gap = i > begin && token_is_apart(s, i) ? " " : "";
        text = edits_text(all, "%s%s%s", text, gap, edits_tokens(all, from, from + 1));
    }
    return text;
}

const char *edits_without(const Edits *all, const Expression *e, const Expression *part) {
    if (part == e->part) return edits_tokens(all, part->next->begin, e->end);
    return edits_text(all, "%s%s", edits_tokens(all, e->begin, part->joint),
                      edits_rest(all, part->end, e->end));
}

/* Where an expression stands. */
typedef struct Place {
    Edits *all;
    int piece;
    bool index;   /* inside of an index or of a bound: integers alone */
    bool written; /* the left side of an assignment */
} Place;

static void plain(const Place *p, int cost, const char *what, int begin, int end, const char *text) {
    edits_add(p->all, EDIT_TEXT, cost, what, p->piece, begin, end, text);
}

/* An integer or a pointer. */
static bool is_whole(Type t) {
    return t.depth > 0 || t.base == BASE_INTEGER;
}

static void look(const Place *p, const Expression *e);

/* ---- A value: another in its place ---- */

static void replace_value(const Place *p, const Expression *e) {
    bool literal = e->kind == EXPRESSION_NUMBER,
         integer = type_is_integer(e->type) && !(literal && !p->index);
    Edit *edit = edits_add(p->all, integer ? EDIT_INDEX : EDIT_VALUE, literal ? 3 : 2,
                           literal ? "a constant stands where a value belongs" : "another value belongs here",
                           p->piece, e->begin, e->end, edits_tokens(p->all, e->begin, e->end));
    edit->literal = literal;
}

/* The pointer or array before brackets. */
static void replace_array(const Place *p, const Expression *e) {
    Type type = e->stem ? e->stem_type : e->type;
    int end = e->stem ? e->stem : e->end;
    if (e->called || type.depth < 1 || (type.base != BASE_NUMBER && type.base != BASE_INTEGER)) return;
    Edit *edit = edits_add(p->all, EDIT_ARRAY, 2, "another name belongs here", p->piece, e->begin, end,
                           edits_tokens(p->all, e->begin, end));
    edit->type = type;
    if (e->stem) edit->type.constant = !p->written;
}

static void replace_function(const Place *p, const Expression *e) {
    static const char *const pair[][2] = {{"sin", "cos"},  {"sinh", "cosh"}, {"fmax", "fmin"},
                                          {"exp", "log"},  {"tanh", "cosh"}, {"exp", "expm1"},
                                          {"log", "log1p"}};
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        for (int k = 0; k < 2; k++)
            if (token_is(p->all->s, e->begin, pair[i][k]))
                plain(p, 2, "another function belongs here", e->begin, e->begin + 1, pair[i][1 - k]);
}

/* ---- Sums and products ---- */

static void look_at_parts(const Place *p, const Expression *e) {
    bool divides = false; /* by integers, perhaps */
    for (const Expression *part = e->part; part; part = part->next)
        divides |= token_is(p->all->s, part->joint, "/") || token_is(p->all->s, part->joint, "%");
    for (const Expression *part = e->part; part; part = part->next) {
        Place inside = *p;
        inside.written = false;
        inside.index |= divides && part->kind == EXPRESSION_NUMBER && part->type.base == BASE_INTEGER;
        inside.index |= part->index || (e->kind == EXPRESSION_SUM && e->type.depth > 0);
        bool computed = part->kind == EXPRESSION_SUM || part->kind == EXPRESSION_PRODUCT;
        inside.index |= computed && type_is_integer(part->type) && e->called && edits_is_own(p->all->s, e);
        look(&inside, part);
    }
}

/* A sign before a term is its factor's; in an index it is a sign. */
static void change_joints(const Place *p, const Expression *e) {
    const CSource *s = p->all->s;
    static const char *const other[][2] = {{"+", "-"}, {"-", "+"}, {"/", "%"},
                                           {"%", "/"}, {"*", "/"}, {"/", "*"}};
    for (const Expression *part = e->part; part; part = part->next)
        for (int i = p->index ? 0 : 4; part->joint >= 0 && i < 6; i++)
            if (token_is(s, part->joint, other[i][0]))
                plain(p, 2, i < 4 ? "a sign is wrong" : "a factor stands on the wrong side of the fraction",
                      part->joint, part->joint + 1, other[i][1]);
}

static void drop_literals(const Place *p, const Expression *e) {
    for (const Expression *part = e->part; type_is_integer(e->type) && part; part = part->next)
        if (part->kind == EXPRESSION_NUMBER)
            plain(p, 0, "off by one", e->begin, e->end, edits_without(p->all, e, part));
}

/* An index as a whole: another may be added to it, or taken from it. */
static void change_index(const Place *p, const Expression *e) {
    if (p->index && type_is_integer(e->type))
        edits_add(p->all, EDIT_INDEX, 3, "another index belongs here", p->piece, e->begin, e->end,
                  edits_tokens(p->all, e->begin, e->end));
}

/* A name that is none of the file's variables: it may stand for a sum without brackets. */
static bool has_macro(const CSource *s, const Expression *e) {
    for (int i = e->begin; i < e->end; i++)
        if (s->token[i].kind == TOKEN_NAME && !token_is_member(s, i) && !token_is(s, i + 1, "(") &&
            !c_source_find(s, i, i))
            return true;
    return false;
}

/* As a part of a sum or product. */
static const char *operand(const Place *p, const Expression *e, bool factor) {
    bool loose = e->kind == EXPRESSION_CHOSEN || e->kind == EXPRESSION_LOGIC ||
                 e->kind == EXPRESSION_COMPARED || e->kind == EXPRESSION_ASSIGNED || has_macro(p->all->s, e);
    const char *own = edits_tokens(p->all, e->begin, e->end);
    return loose || (factor && e->kind == EXPRESSION_SUM) ? edits_text(p->all, "(%s)", own) : own;
}

/* i * n + j as j * m + i, with each size for m: a matrix that is laid out the other way. */
static void turn_layout(const Place *p, const Expression *e) {
    const Expression *row = e->part, *column = row->next, *i = row->part, *n = i ? i->next : NULL;
    const Pool *pool = &p->all->pool[p->piece];
    bool two = row->kind == EXPRESSION_PRODUCT && n && !n->next && !column->next;
    if (!two || !p->index || !type_is_integer(e->type) || !token_is(p->all->s, column->joint, "+")) return;
    for (int k = 0; k < pool->values; k++)
        if (pool->value[k]->size)
            plain(p, 3, "the layout is another", e->begin, e->end,
                  edits_text(p->all, "%s * %s + %s", operand(p, column, true), pool->value[k]->text,
                             operand(p, i, true)));
}

/* i / n and i % n with each size of the piece's in the place of n. */
static void change_remainder(const Place *p, const Expression *e) {
    const CSource *s = p->all->s;
    const Expression *right = e->part->next;
    const Pool *pool = &p->all->pool[p->piece];
    bool divides = token_is(s, right->joint, "/"), rests = token_is(s, right->joint, "%");
    if (!type_is_integer(e->type) || right->next || !(divides || rests)) return;
    for (int i = 0; i < pool->values; i++)
        if (pool->value[i]->size)
            plain(p, 3, "another index belongs here", right->joint, right->end,
                  edits_text(p->all, "%s %s", divides ? "%" : "/", pool->value[i]->text));
}

/* A product of numbers without one of its factors; what is divided stays. */
static void drop_factors(const Place *p, const Expression *e) {
    for (const Expression *part = e->part; type_is_number(e->type) && part; part = part->next)
        if (part != e->part || token_is(p->all->s, part->next->joint, "*"))
            plain(p, 1, "a factor is one too many", e->begin, e->end, edits_without(p->all, e, part));
}

static void change_term(const Place *p, const Expression *e) {
    if (e->kind == EXPRESSION_NUMBER && e->type.base == BASE_INTEGER)
        return; /* a division by it may be one of integers */
    edits_add(p->all, EDIT_FACTOR, e->kind == EXPRESSION_NUMBER ? 5 : 2, "a factor is missing", p->piece,
              e->begin, e->end, operand(p, e, true));
}

/* The last terms of a sum, from one on that is added, with a factor that all of them lack. */
static void change_terms(const Place *p, const Expression *e) {
    for (const Expression *part = e->part->next; part; part = part->next)
        if (part->next && token_is(p->all->s, part->joint, "+"))
            edits_add(p->all, EDIT_FACTOR, 3, "a factor is missing", p->piece, part->begin, e->end,
                      edits_text(p->all, "(%s)", edits_tokens(p->all, part->begin, e->end)));
}

/* A sum of numbers, or what would be a term in one. */
static void change_sum(const Place *p, const Expression *e) {
    if (e->kind == EXPRESSION_ASSIGNED) return; /* its own right side is looked at */
    for (const Expression *part = e->kind == EXPRESSION_SUM ? e->part : NULL; part; part = part->next)
        change_term(p, part);
    if (e->kind == EXPRESSION_SUM) change_terms(p, e);
    change_term(p, e);
    edits_add(p->all, EDIT_TERM, 3, "a term is missing", p->piece, e->begin, e->end, operand(p, e, false));
}

/* ---- All kinds ---- */

static void change_assignment(const Place *p, const Expression *e) {
    const CSource *s = p->all->s;
    bool scalar = e->type.depth == 0, sets = token_is(s, e->sign, "="), adds = token_is(s, e->sign, "+="),
         takes = token_is(s, e->sign, "-=");
    int at = e->sign;
    if (sets && scalar) plain(p, 1, "it overwrites what it has to add to", at, at + 1, "+=");
    if (adds && scalar) plain(p, 1, "it adds to what it has to set", at, at + 1, "=");
    if ((adds || takes) && scalar) plain(p, 1, "a sign is wrong", at, at + 1, adds ? "-=" : "+=");
    if (s->piece[p->piece].kind != PIECE_STATEMENT) return;
    plain(p, 3, "this is one too many", e->begin, e->end, "(void)0");
    const char *own = edits_tokens(p->all, e->begin, e->end);
    if (!s->function[s->piece[p->piece].function].backward) return;
    edits_add(p->all, EDIT_GUARD, 3, "a condition is missing", p->piece, e->begin, e->end, own);
    edits_add(p->all, EDIT_ADDED, 4, "something is not added", p->piece, e->begin, e->end, own);
}

bool edits_is_pointed(const CSource *s, const Expression *e) {
    bool moves = tokens_have(s, e->begin, e->end, "++") || tokens_have(s, e->begin, e->end, "--");
    return e->kind == EXPRESSION_OTHER && token_is(s, e->begin, "*") && type_is_number(e->type) && !moves;
}

static void look(const Place *p, const Expression *e) {
    Place inside = *p;
    switch (e->kind) {
    case EXPRESSION_ASSIGNED:
        change_assignment(p, e);
        inside.written = true;
        look(&inside, e->part);
        inside = *p;
        inside.index |= is_whole(e->type);
        if (type_is_number(e->type)) change_sum(&inside, e->part->next);
        look(&inside, e->part->next);
        return;
    case EXPRESSION_UNIT:
        if (e->called && !type_is_number(e->type) && !type_is_integer(e->type) && !edits_is_own(p->all->s, e))
            return; /* memory, most often */
        if (!p->written && (type_is_number(e->type) || type_is_integer(e->type))) replace_value(p, e);
        if (e->called) replace_function(p, e);
        replace_array(p, e);
        break;
    case EXPRESSION_NUMBER: replace_value(p, e); break;
    case EXPRESSION_OTHER:
        if (edits_is_pointed(p->all->s, e) && !p->written) replace_value(p, e);
        break;
    case EXPRESSION_SUM:
        drop_literals(p, e);
        change_joints(p, e);
        change_index(p, e);
        turn_layout(p, e);
        break;
    case EXPRESSION_PRODUCT:
        change_joints(p, e);
        change_index(p, e);
        change_remainder(p, e);
        drop_factors(p, e);
        break;
    case EXPRESSION_COMPARED: edits_of_comparison(p->all, p->piece, e); break;
    case EXPRESSION_LOGIC: edits_of_logic(p->all, p->piece, e); break;
    case EXPRESSION_CHOSEN: edits_of_choice(p->all, p->piece, e); break;
    case EXPRESSION_SIGNED:
        if (token_is(p->all->s, e->sign, "-") || token_is(p->all->s, e->sign, "!"))
            plain(p, 2, "a sign is wrong", e->sign, e->sign + 1, "");
        break;
    case EXPRESSION_GROUP:
        if (type_is_number(e->type) && !p->index) change_sum(p, e->part);
        if (e->part->kind == EXPRESSION_SUM && e->type.depth == 0)
            plain(p, 3, "an absolute value is missing", e->begin, e->end,
                  edits_text(p->all, "%s%s", type_is_integer(e->type) ? "labs" : "fabs",
                             edits_tokens(p->all, e->begin, e->end)));
        break;
    default: break;
    }
    for (const Expression *part = e->part; e->called && part; part = part->next)
        if (type_is_number(part->type) && !p->index) change_sum(p, part);
    look_at_parts(p, e);
}

bool edits_are_saved(const CSource *s, const Expression *tree) {
    if (tree->kind != EXPRESSION_ASSIGNED) return false;
    int begin = tree->begin, end = tree->part->end;
    return tokens_have(s, begin, end, "->") && !tokens_have(s, begin, end, "data");
}

bool edits_read(Edits *all, const CSource *s) {
    *all = (Edits){.s = s};
    all->tree = arena_alloc(s->arena, (size_t)(s->pieces + 1) * sizeof *all->tree);
    all->pool = arena_alloc(s->arena, (size_t)(s->pieces + MOST_COPIES) * sizeof *all->pool);
    for (long i = 0; i < s->pieces; i++) {
        const Piece *p = &s->piece[i];
        bool read = p->end - p->begin <= MOST_IN_PIECE && tokens_unbroken(s, p->begin, p->end);
        if (read && s->function[p->function].used) all->tree[i] = c_expression_read(s, p->begin, p->end);
    }
    edits_find_pools(all);
    for (int i = 0; i < s->pieces && all->edits <= MOST_EDITS; i++) {
        const Piece *piece = &s->piece[i];
        const Expression *tree = all->tree[i];
        if (!tree || !(s->function[piece->function].backward || edits_are_saved(s, tree))) continue;
        Place p = {.all = all, .piece = i, .index = piece->kind == PIECE_VALUE && is_whole(piece->type)};
        if (piece->kind == PIECE_VALUE && type_is_number(piece->type)) change_sum(&p, tree);
        look(&p, tree);
        if (piece->kind == PIECE_CONDITION && !edits_end_loop(s, i)) edits_of_condition(all, i, tree);
        edits_find_names(all, i);
    }
    if (all->edits <= MOST_EDITS) edits_find_statements(all);
    edits_find_walks(all), edits_find_calls(all), edits_find_repeated(all);
    return all->edits <= MOST_EDITS;
}

void edits_free(Edits *all) {
    free(all->edit);
    free(all->value);
}
