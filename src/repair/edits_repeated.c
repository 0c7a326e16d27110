#include "repair/edits.h"
#include <string.h>

/* The same mistake at several places: places that read the same. */
typedef struct Places {
    struct {
        const Expression *e;
        int piece, begin, end;
    } at[EDIT_PARTS];
    int count; /* may be more than there is room for */
} Places;

static bool full(const Edits *all) {
    return all->edits >= MOST_EDITS;
}

static void put(Places *to, const Expression *e, int piece, int begin, int end) {
    if (to->count < EDIT_PARTS) to->at[to->count].e = e, to->at[to->count].piece = piece;
    if (to->count < EDIT_PARTS) to->at[to->count].begin = begin, to->at[to->count].end = end;
    to->count++;
}

static bool are_some(const Places *p) {
    return p->count >= 2 && p->count <= EDIT_PARTS;
}

static Edit *change(Edits *all, EditKind kind, int cost, const char *what, const Places *p,
                    const char *text) {
    Edit *e = edits_add(all, kind, cost, what, p->at[0].piece, p->at[0].begin, p->at[0].end, text);
    for (int i = 1; i < p->count; i++) edits_add_part(e, p->at[i].piece, p->at[i].begin, p->at[i].end, text);
    return e;
}

/* ---- In one piece ---- */

/* What is read there: an element, a name, an array. */
typedef enum Read { READ_VALUE, READ_INDEX, READ_ARRAY } Read;

static bool reads(const CSource *s, const Expression *e, Read what, int *end) {
    *end = what == READ_ARRAY && e->stem ? e->stem : e->end;
    if (e->kind != EXPRESSION_UNIT) return what == READ_VALUE && edits_is_pointed(s, e);
    Type type = what == READ_ARRAY && e->stem ? e->stem_type : e->type;
    if (what == READ_VALUE) return type_is_number(type);
    if (what == READ_INDEX) return type_is_integer(type);
    return !e->called && type.depth > 0 && (type.base == BASE_NUMBER || type.base == BASE_INTEGER);
}

/* Places in an expression that read as this one. */
static void find_reads(const CSource *s, const Expression *e, int piece, Read what, const Expression *like,
                       Places *to) {
    int end, like_end;
    reads(s, like, what, &like_end);
    if (reads(s, e, what, &end) && tokens_match(s, e->begin, end, like->begin, like_end))
        put(to, e, piece, e->begin, end);
    for (const Expression *part = e->part; part; part = part->next)
        find_reads(s, part, piece, what, like, to);
}

static void change_read(Edits *all, int piece, const Expression *whole, const Expression *e, Read what) {
    static const EditKind kind[] = {EDIT_VALUE, EDIT_INDEX, EDIT_ARRAY};
    Places p = {.count = 0};
    int end;
    if (!reads(all->s, e, what, &end) || full(all)) return;
    find_reads(all->s, whole, piece, what, e, &p);
    if (!are_some(&p) || p.at[0].begin != e->begin) return;
    Edit *edit = change(all, kind[what], 3,
                        what == READ_ARRAY ? "another name belongs here" : "another value belongs here", &p,
                        edits_tokens(all, e->begin, end));
    if (what == READ_ARRAY) edit->type = e->stem ? e->stem_type : e->type, edit->type.constant = true;
}

/* whole: what is read of the piece. */
static void look(Edits *all, int piece, const Expression *whole, const Expression *e) {
    for (int what = READ_VALUE; what <= READ_ARRAY; what++) change_read(all, piece, whole, e, (Read)what);
    for (const Expression *part = e->part; part; part = part->next) look(all, piece, whole, part);
}

/* ---- In several ---- */

/* Indices in a piece that read as this one. */
static void find_indices(const CSource *s, const Expression *e, int piece, const Expression *like,
                         Places *to) {
    if (e->index && tokens_match(s, e->begin, e->end, like->begin, like->end))
        put(to, e, piece, e->begin, e->end);
    for (const Expression *part = e->part; part; part = part->next) find_indices(s, part, piece, like, to);
}

/* The tokens of an index that are its variable with 1 more or less, at token i, so that the variable may stand there alone; else
 * 0. */
static int length_of_next(const CSource *s, const Expression *e, int i, int variable, const char *sign) {
    int at = i + token_is(s, i, "(");
    if (!tokens_same(s, at, variable) || !token_is(s, at + 1, sign) || !token_is(s, at + 2, "1")) return 0;
    bool begins = at == e->begin || token_is(s, at - 1, "+"),
         ends = at + 3 == e->end || token_is(s, at + 3, "+");
    if (at > i) return token_is(s, at + 3, ")") ? 5 : 0;
    return begins && ends ? 3 : 0;
}

/* An index with its variable one more or less. */
static const char *moved(const Edits *all, const Expression *e, int variable, bool back) {
    const CSource *s = all->s;
    const char *text = "", *name = edits_tokens(all, variable, variable + 1);
    for (int i = e->begin, length; i < e->end; i += length ? length : 1) {
        bool is = tokens_same(s, i, variable) && !token_is_member(s, i);
        length = length_of_next(s, e, i, variable, back ? "+" : "-");
        const char *put = length ? name
                          : is   ? edits_text(all, "(%s %c 1)", name, back ? '-' : '+')
                                 : edits_tokens(all, i, i + 1);
        text = edits_text(all, "%s%s%s", text, i > e->begin && token_is_apart(s, i) ? " " : "", put);
    }
    return text;
}

static void move_indices(Edits *all, const Places *p) {
    const CSource *s = all->s;
    const Expression *e = p->at[0].e;
    for (long k = 0; k < s->loops && are_some(p); k++) {
        int variable = s->loop[k].variable;
        bool has = tokens_have(s, e->begin, e->end, edits_tokens(all, variable, variable + 1)), again = false;
        for (long n = 0; n < k; n++) again |= tokens_same(s, s->loop[n].variable, variable);
        for (int back = 0; back < 2 && has && !again && !full(all); back++)
            change(all, EDIT_TEXT, 2, "off by one", p, moved(all, e, variable, back));
    }
}

/* Values of one declaration: the piece behind the last of them. */
static int behind_values(const CSource *s, int piece) {
    const Piece *p = &s->piece[piece];
    int next = piece + 1;
    for (; next < s->pieces && p->kind == PIECE_VALUE; next++, p++)
        if (p[1].kind != PIECE_VALUE || p[1].shown != p->shown_end + 1 || !token_is(s, p->shown_end, ","))
            break;
    return next;
}

/* Places in pieces [from, to) of one function, where they are read. */
static Places indices_like(const Edits *all, int from, int to, const Expression *like) {
    const CSource *s = all->s;
    Places p = {.count = 0};
    for (int i = from; i < to && s->piece[i].function == s->piece[from].function; i++) {
        const Expression *tree = all->tree[i];
        if (tree) find_indices(s, tree->kind == EXPRESSION_ASSIGNED ? tree->part->next : tree, i, like, &p);
    }
    return p;
}

/* In one declaration or statement, and in the whole function, where these are not all. */
static void find_moves(Edits *all, int piece, const Expression *e) {
    const CSource *s = all->s;
    if (e->index && type_is_integer(e->type)) {
        int first = piece;
        while (first > 0 && s->piece[first - 1].function == s->piece[piece].function) first--;
        const Places here = indices_like(all, piece, behind_values(s, piece), e),
                     everywhere = indices_like(all, first, (int)s->pieces, e);
        if (here.at[0].e == e) move_indices(all, &here);
        if (everywhere.at[0].e == e && everywhere.count > here.count) move_indices(all, &everywhere);
    }
    for (const Expression *part = e->part; part; part = part->next) find_moves(all, piece, part);
}

/* Calls of one of libm's functions for another that it is often taken for. */
static void change_calls(Edits *all, int function, const char *name, const char *other) {
    const CSource *s = all->s;
    Places p = {.count = 0};
    for (int i = 0; i < s->pieces; i++)
        for (int k = s->piece[i].begin;
             k < s->piece[i].end && all->tree[i] && s->piece[i].function == function; k++)
            if (token_is(s, k, name) && token_is(s, k + 1, "(")) put(&p, NULL, i, k, k + 1);
    if (are_some(&p) && !full(all)) change(all, EDIT_TEXT, 3, "another function belongs here", &p, other);
}

/* += for -= in two statements that follow each other, or the other way round. */
static void change_signs(Edits *all, int piece) {
    const CSource *s = all->s;
    Places p = {.count = 0};
    for (int i = piece; i < piece + 2 && i < s->pieces; i++) {
        const Expression *tree = all->tree[i];
        bool sums = tree && tree->kind == EXPRESSION_ASSIGNED && tree->type.depth == 0 &&
                    s->piece[i].kind == PIECE_STATEMENT;
        if (sums && (token_is(s, tree->sign, "+=") || token_is(s, tree->sign, "-=")))
            put(&p, tree, i, tree->sign, tree->sign + 1);
    }
    if (p.count < 2 || full(all)) return;
    Edit *e = change(all, EDIT_TEXT, 3, "two signs are wrong", &p, "");
    for (int i = 0; i < 2; i++) e->part[i].text = token_is(s, e->part[i].begin, "+=") ? "-=" : "+=";
}

/* A number that the file has a name for, outside of its functions. */
static bool is_constant(const CSource *s, int i) {
    if (s->token[i].kind != TOKEN_NAME || token_is_member(s, i)) return false;
    if (c_source_macro(s, i, false)) return true;
    const Name *n = c_source_find(s, i, i);
    if (!n || !(type_is_number(n->type) || type_is_integer(n->type))) return false;
    for (long f = 0; f < s->functions; f++)
        if (s->function[f].name < n->token && n->token < s->function[f].close) return false;
    return true;
}

/* Two of them, each in the place of the other throughout a function. */
static void exchange_constants(Edits *all, int function, int one, int two) {
    const CSource *s = all->s;
    Places p = {.count = 0};
    for (int i = 0; i < s->pieces; i++)
        for (int k = s->piece[i].begin;
             k < s->piece[i].end && all->tree[i] && s->piece[i].function == function; k++)
            if (!token_is_member(s, k) && (tokens_same(s, k, one) || tokens_same(s, k, two)))
                put(&p, NULL, i, k, k + 1);
    if (!are_some(&p) || full(all)) return;
    Edit *e = change(all, EDIT_TEXT, 2, "two constants are exchanged", &p, "");
    for (int i = 0; i < p.count; i++) {
        int other = tokens_same(s, p.at[i].begin, one) ? two : one;
        e->part[i].text = edits_tokens(all, other, other + 1);
    }
}

static void find_constants(Edits *all, int function) {
    enum { MOST = 6 };
    const CSource *s = all->s;
    int constant[MOST], count = 0;
    for (int i = s->function[function].open; i < s->function[function].close && count < MOST; i++) {
        int k = 0;
        while (k < count && !tokens_same(s, constant[k], i)) k++;
        if (k < count || !is_constant(s, i)) continue;
        for (k = 0; k < count; k++) exchange_constants(all, function, constant[k], i);
        constant[count++] = i;
    }
}

void edits_find_repeated(Edits *all) {
    static const char *const pair[][2] = {
        {"sin", "cos"}, {"sinh", "cosh"}, {"fmax", "fmin"}, {"exp", "expm1"}, {"log", "log1p"}};
    const CSource *s = all->s;
    for (int i = 0; i < s->pieces; i++) {
        const Expression *tree = all->tree[i];
        if (!tree || !s->function[s->piece[i].function].backward || full(all)) continue;
        const Expression *read = tree->kind == EXPRESSION_ASSIGNED ? tree->part->next : tree;
        look(all, i, read, read);
        find_moves(all, i, read);
        change_signs(all, i);
    }
    for (int f = 0; f < s->functions; f++) {
        if (!s->function[f].backward || !s->function[f].used) continue;
        find_constants(all, f);
        for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
            for (int k = 0; k < 2; k++) change_calls(all, f, pair[i][k], pair[i][1 - k]);
    }
}
