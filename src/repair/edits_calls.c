#include "repair/edits.h"
#include <string.h>

/* What a function takes and returns. */
enum { MOST_PARAMETERS = 12 };
typedef struct Signature {
    Type result, parameter[MOST_PARAMETERS];
    int count;
} Signature;

static Signature signature_of(const CSource *s, const Function *f) {
    Signature g = {.count = 0};
    int before = f->name - 1, at = before;
    bool named =
        before >= 0 && !c_source_declares(s, &at, f->name, &g.result) && s->token[before].kind == TOKEN_NAME;
    if (named) g.result = (Type){.base = BASE_RECORD, .record = before};
    for (long k = 0; k < s->names && g.count < MOST_PARAMETERS; k++) {
        const Name *n = &s->name[k];
        if (!n->record && f->name < n->token && n->token < f->open) g.parameter[g.count++] = n->type;
    }
    return g;
}

static bool same_type(const CSource *s, Type a, Type b) {
    bool same = a.base == b.base && a.depth == b.depth && (a.depth == 0 || a.constant == b.constant);
    return same && (a.base != BASE_RECORD || tokens_same(s, a.record, b.record));
}

static bool same_signature(const CSource *s, const Signature *a, const Signature *b) {
    bool same = a->count == b->count && same_type(s, a->result, b->result);
    for (int i = 0; i < a->count && same; i++) same = same_type(s, a->parameter[i], b->parameter[i]);
    return same;
}

static const Function *function_at(const CSource *s, int name) {
    for (long f = 0; f < s->functions; f++)
        if (tokens_same(s, s->function[f].name, name)) return &s->function[f];
    return NULL;
}

bool edits_is_own(const CSource *s, const Expression *call) {
    return function_at(s, call->begin) || c_source_macro(s, call->begin, true);
}

/* One argument for another that may stand there as well. */
static void exchange_arguments(Edits *all, int piece, const Expression *e, const Signature *g) {
    const CSource *s = all->s;
    int i = 0;
    for (const Expression *a = e->part; a && !a->index; a = a->next, i++) {
        int k = i + 1;
        for (const Expression *b = a->next; b && !b->index; b = b->next, k++) {
            const char *one = edits_tokens(all, a->begin, a->end), *two = edits_tokens(all, b->begin, b->end);
            bool same = g ? k < g->count && same_type(s, g->parameter[i], g->parameter[k])
                          : same_type(s, a->type, b->type);
            if (same && strcmp(one, two) != 0)
                edits_add(all, EDIT_TEXT, 2, "two arguments are exchanged", piece, a->begin, b->end,
                          edits_text(all, "%s%s%s%s", two, edits_tokens(all, a->end, b->begin),
                                     token_is_apart(s, b->begin) ? " " : "", one));
        }
    }
}

/* Another that takes and returns the same, and does not call the function that it is called in. */
static void replace_function(Edits *all, int piece, const Expression *e, const Function *own,
                             const Signature *g) {
    const CSource *s = all->s;
    for (const Function *f = s->function; f < s->function + s->functions && f->open < e->begin; f++) {
        const Signature other = signature_of(s, f);
        bool inside = f - s->function == s->piece[piece].function;
        if (f != own && !inside && same_signature(s, g, &other))
            edits_add(all, EDIT_TEXT, 2, "another function belongs here", piece, e->begin, e->begin + 1,
                      edits_tokens(all, f->name, f->name + 1));
    }
}

static void look(Edits *all, int piece, const Expression *e) {
    static const char *const ordered[] = {"pow", "atan2", "fmod", "copysign", NULL};
    const CSource *s = all->s;
    const Function *own = e->called ? function_at(s, e->begin) : NULL;
    const Signature g = own ? signature_of(s, own) : (Signature){.count = 0};
    if (own || (e->called && (edits_is_own(s, e) || token_is_any(s, e->begin, ordered))))
        exchange_arguments(all, piece, e, own ? &g : NULL);
    if (own) replace_function(all, piece, e, own, &g);
    for (const Expression *part = e->part; part; part = part->next) look(all, piece, part);
}

/* x = E as x = f(x, E), where f makes one struct of two of its kind: what += is to numbers. */
static void add_to_record(Edits *all, int piece) {
    const CSource *s = all->s;
    const Expression *tree = all->tree[piece], *left = tree->part;
    if (tree->kind != EXPRESSION_ASSIGNED || left->type.base != BASE_RECORD || left->type.depth) return;
    const Expression *right = left->next;
    for (const Function *f = s->function; f < s->function + s->functions && f->open < tree->begin; f++) {
        const Signature g = signature_of(s, f);
        bool fits = g.count == 2 && same_type(s, g.result, left->type) &&
                    same_type(s, g.parameter[0], left->type) && same_type(s, g.parameter[1], left->type);
        if (fits)
            edits_add(all, EDIT_TEXT, 1, "it overwrites what it has to add to", piece, right->begin,
                      right->end,
                      edits_text(all, "%s(%s, %s)", edits_tokens(all, f->name, f->name + 1),
                                 edits_tokens(all, left->begin, left->end),
                                 edits_tokens(all, right->begin, right->end)));
    }
}

/* ---- Calls that are missing ---- */

enum { MOST_CALLS = 6, MOST_ADDED = 80 };
typedef struct Calls {
    const Piece *call[MOST_CALLS];
    int count, added;
} Calls;

static bool is_start(const CSource *s, int piece) {
    for (long i = 0; i < s->loops; i++)
        if (s->loop[i].start == piece) return true;
    return false;
}

static bool same_call(const CSource *s, const Piece *a, const Piece *b) {
    return tokens_match(s, a->begin, a->end, b->begin, b->end);
}

static void find_calls(const Edits *all, Calls *to) {
    const CSource *s = all->s;
    for (int i = 0; i < s->pieces && to->count < MOST_CALLS; i++) {
        const Piece *p = &s->piece[i];
        const Expression *tree = all->tree[i];
        bool calls = tree && p->kind == PIECE_STATEMENT && tree->called && edits_is_own(s, tree);
        for (int k = 0; k < to->count && calls; k++) calls = !same_call(s, p, to->call[k]);
        if (calls) to->call[to->count++] = p;
    }
}

/* Behind a statement, before a declared value or before a loop. */
static void add_call(Edits *all, Calls *c, const Piece *call, int piece) {
    const CSource *s = all->s;
    const Piece *p = &s->piece[piece];
    bool before = p->kind == PIECE_VALUE, start = is_start(s, piece);
    if (!before && !start && !edits_is_statement(s, p)) return;
    if (!edits_in_scope(s, call->begin, call->end, p->shown) || same_call(s, call, p)) return;
    const char *added = edits_tokens(all, call->begin, call->end), *own = edits_tokens(all, p->begin, p->end);
    Edit *e = edits_add(all, EDIT_TEXT, 4, "a call is missing", piece, p->begin, p->end,
                        before  ? edits_text(all, "(%s, %s)", added, own)
                        : start ? edits_text(all, "%s, %s", added, own)
                                : edits_text(all, "%s, %s", own, added));
    if (start) e->statement = added, e->from = -1;
    c->added++;
}

void edits_find_calls(Edits *all) {
    const CSource *s = all->s;
    Calls c = {.count = 0};
    for (int i = 0; i < s->pieces && all->edits < MOST_EDITS; i++) {
        if (!all->tree[i] || !s->function[s->piece[i].function].backward) continue;
        look(all, i, all->tree[i]);
        add_to_record(all, i);
    }
    find_calls(all, &c);
    for (int k = 0; k < c.count; k++)
        for (int i = 0; i < s->pieces && all->edits < MOST_EDITS && c.added < MOST_ADDED; i++)
            if (all->tree[i] && s->function[s->piece[i].function].backward) add_call(all, &c, c.call[k], i);
}
