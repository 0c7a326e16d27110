/* Values that no expression of the source has, and that one may have to: names that are not used, loops at their ends, the same
 * index of two loops, and elements that nothing reads. */
#include "repair/edits.h"
#include <stdlib.h>
#include <string.h>

/* Numbers that a backward declares and does not use. */
static void collect_unused(Edits *all) {
    const CSource *s = all->s;
    for (long k = 0; k < s->names; k++) {
        const Name *n = &s->name[k];
        bool number = type_is_number(n->type) && !n->record;
        bool used = false;
        for (int i = n->from; number && i < n->to && !used; i++)
            used = s->token[i].kind == TOKEN_NAME && tokens_same(s, i, n->token) && !token_is_member(s, i);
        int f = number && !used ? edits_function_of(s, n->token) : (int)s->functions;
        if (f < s->functions && s->function[f].backward && n->token > s->function[f].open)
            edits_add_value(all, (Value){.text = edits_tokens(all, n->token, n->token + 1),
                                         .type = n->type,
                                         .begin = n->token,
                                         .end = n->token + 1,
                                         .from = n->from,
                                         .to = n->to});
    }
}

/* A loop's variable at its first value and at its last, and anywhere else; and its last. */
static void collect_ends(Edits *all, const Loop *l) {
    const CSource *s = all->s;
    const Piece *start = &s->piece[l->start], *condition = &s->piece[l->condition];
    const Expression *tree = all->tree[l->condition];
    if (!tree || tree->kind != EXPRESSION_COMPARED || start->kind != PIECE_VALUE) return;
    const Expression *bound = tree->part->next;
    const char *name = edits_tokens(all, l->variable, l->variable + 1),
               *last = edits_tokens(all, bound->begin, bound->end);
    const char *next = token_is(s, bound->joint, "<") ? " + 1" : token_is(s, bound->joint, ">") ? " - 1" : "";
    Value v = {
        .type = {.base = BASE_INTEGER}, .begin = start->begin, .end = condition->end, .condition = true};
    for (int other = 0; other < 2; other++) {
        const char *sign = other ? "!=" : "==";
        v.text = edits_text(all, "(%s %s %s)", name, sign, edits_tokens(all, start->begin, start->end));
        edits_add_value(all, v);
        v.text = edits_text(all, "(%s%s %s %s)", name, next, sign, last);
        edits_add_value(all, v);
    }
    if (token_is(s, bound->joint, "<") && bound->kind == EXPRESSION_UNIT)
        edits_add_value(all, (Value){.text = edits_text(all, "(%s - 1)", last),
                                     .type = {.base = BASE_INTEGER},
                                     .begin = bound->begin,
                                     .end = bound->end,
                                     .possible = true});
}

/* Narrows [*from, *to) to where the names of tokens [begin, end) are what they are at token `where`. False: one of them is not
 * known. */
static bool narrow(const CSource *s, int begin, int end, int where, int *from, int *to) {
    for (int i = begin; i < end; i++) {
        if (s->token[i].kind != TOKEN_NAME || token_is_member(s, i)) continue;
        const Name *n = c_source_find(s, i, where);
        if (!n) return false;
        if (n->from > *from) *from = n->from;
        if (n->to < *to) *to = n->to;
    }
    return true;
}

/* Whether a loop's variable is another index: where a term belongs to one element alone, as the 1 of a label. */
static void collect_same(Edits *all, const Loop *l) {
    const CSource *s = all->s;
    const Piece *condition = &s->piece[l->condition];
    if (!tokens_same(s, condition->begin, l->variable)) return;
    for (long i = 0, values = all->values; i < values; i++) {
        const Value *v = &all->value[i];
        int from = condition->begin, to = (int)s->tokens, at = l->variable;
        bool index = type_is_integer(v->type) && !v->size && !v->condition;
        bool other = index && !tokens_have(s, v->begin, v->end, edits_tokens(all, at, at + 1));
        /* Of two loops' variables the outer one's loop has it. */
        bool inner = v->end == v->begin + 1 && edits_has_loop_variable(s, v->begin, v->end) && v->begin < at;
        if (!other || inner || edits_function_of(s, v->begin) != condition->function) continue;
        narrow(s, condition->begin, condition->begin + 1, condition->begin, &from, &to);
        if (narrow(s, v->begin, v->end, v->begin, &from, &to) && from < to)
            edits_add_value(
                all, (Value){.text = edits_text(all, "(%s == %s)", edits_tokens(all, at, at + 1), v->text),
                             .type = {.base = BASE_INTEGER},
                             .begin = v->begin,
                             .end = v->end,
                             .from = from,
                             .to = to,
                             .condition = true});
    }
}

/* The array at the index that the element e has, where both are in scope. */
static void add_possible(Edits *all, const Value *array, const Expression *e) {
    const CSource *s = all->s;
    const Expression *index = e->part;
    int from = 0, to = (int)s->tokens;
    if (!edits_in_scope(s, array->begin, array->end, e->begin) ||
        !narrow(s, array->begin, array->end, e->begin, &from, &to) ||
        !narrow(s, index->begin, index->end, e->begin, &from, &to))
        return;
    edits_add_value(all,
                    (Value){.text = edits_text(all, "%s%s", array->text, edits_tokens(all, e->stem, e->end)),
                            .type = {.base = BASE_NUMBER},
                            .begin = index->begin,
                            .end = index->end,
                            .from = from,
                            .to = to,
                            .possible = true});
}

static void add_at_indices(Edits *all, const Value *array, const Expression *e) {
    if (e->kind == EXPRESSION_UNIT && e->stem && e->part && !e->part->next && type_is_number(e->type))
        add_possible(all, array, e);
    for (const Expression *part = e->part; part; part = part->next) add_at_indices(all, array, part);
}

static int by_length(const void *a, const void *b) {
    const Value *p = a, *q = b;
    size_t one = strlen(p->text), two = strlen(q->text);
    return one != two ? (one > two) - (one < two) : strcmp(p->text, q->text);
}

/* Those with short names first: they are locals, most often. */
void edits_find_possible(Edits *all, int function) {
    const CSource *s = all->s;
    const long values = all->values;
    for (long i = 0; i < values; i++) {
        const Value array = all->value[i];
        bool fits = array.type.base == BASE_NUMBER && array.type.depth == 1;
        if (!fits || edits_is_gradient(s, array.begin, array.end)) continue;
        for (long k = 0; k < s->pieces; k++)
            if (all->tree[k] && s->piece[k].function == function) add_at_indices(all, &array, all->tree[k]);
    }
    if (all->values > values)
        qsort(all->value + values, (size_t)(all->values - values), sizeof *all->value, by_length);
}

void edits_find_unsaid(Edits *all) {
    const CSource *s = all->s;
    collect_unused(all);
    for (long i = 0; i < s->loops; i++)
        if (s->function[s->piece[s->loop[i].start].function].backward)
            collect_ends(all, &s->loop[i]), collect_same(all, &s->loop[i]);
}
