#include "repair/c_source.h"
#include <limits.h>
#include <stddef.h>
#include <string.h>

static const char *const qualifiers[] = {"static", "const",    "register", "volatile", "extern",
                                         "inline", "restrict", "auto",     NULL};
static const char *const integers[] = {
    "int",      "long",     "short",     "char",     "unsigned",     "signed",  "size_t",  "ssize_t",
    "bool",     "_Bool",    "ptrdiff_t", "int8_t",   "int16_t",      "int32_t", "int64_t", "uint8_t",
    "uint16_t", "uint32_t", "uint64_t",  "intptr_t", "int_fast32_t", NULL};
static const char *const numbers[] = {"double", "float", "real", NULL};
static const char *const statements[] = {"return",   "if",      "else",   "for",   "while",   "do",
                                         "switch",   "case",    "goto",   "break", "default", "sizeof",
                                         "continue", "typedef", "struct", "union", "enum",    NULL};

bool c_source_declares(const CSource *s, int *i, int end, Type *type) {
    int at = *i;
    *type = (Type){0};
    for (bool any = true; any && at < end;) {
        any = true;
        if (token_is_any(s, at, qualifiers))
            type->constant |= token_is(s, at++, "const");
        else if (token_is_any(s, at, numbers))
            type->base = BASE_NUMBER, at++;
        else if (token_is_any(s, at, integers))
            type->base = type->base ? type->base : BASE_INTEGER, at++;
        else
            any = false;
    }
    if (!type->base) {
        if (token_is(s, at, "struct") || token_is(s, at, "enum") || token_is(s, at, "union")) at++;
        if (at >= end || s->token[at].kind != TOKEN_NAME || token_is_any(s, at, statements)) return false;
        /* A type's name is followed by the name that is declared. */
        int next = at + 1;
        while (token_is(s, next, "*") || token_is_any(s, next, qualifiers)) next++;
        bool plain = next == at + 1, named = next < end && s->token[next].kind == TOKEN_NAME;
        bool declares = plain || token_is(s, next + 1, "=") || token_is(s, next + 1, ";") ||
                        token_is(s, next + 1, ",") || token_is(s, next + 1, ")") || next + 1 == end;
        if (!named || !declares) return false;
        type->base = BASE_RECORD, type->record = at++;
    }
    while (token_is_any(s, at, qualifiers)) at++;
    *i = at;
    return true;
}

bool token_is_member(const CSource *s, int i) {
    return token_is(s, i - 1, ".") || token_is(s, i - 1, "->");
}

bool type_is_number(Type t) {
    return t.base == BASE_NUMBER && t.depth == 0;
}

bool type_is_integer(Type t) {
    return t.base == BASE_INTEGER && t.depth == 0;
}

const Name *c_source_find(const CSource *s, int i, int where) {
    bool member = token_is_member(s, i);
    for (long k = s->names - 1; k >= 0; k--) {
        const Name *n = &s->name[k];
        if ((n->record > 0) == member && n->from <= where && where < n->to && tokens_same(s, n->token, i))
            return n;
    }
    return NULL;
}

Type c_source_type(const CSource *s, int i, int where) {
    const Name *n = c_source_find(s, i, where);
    if (n) return n->type;
    const Macro *m = token_is_member(s, i) ? NULL : c_source_macro(s, i, false);
    if (m) return (Type){.base = macro_has(s, m, ".") ? BASE_NUMBER : BASE_UNKNOWN};
    if (!token_is_member(s, i)) return (Type){0};
    if (token_is(s, i, "data") || token_is(s, i, "grad")) return (Type){.base = BASE_NUMBER, .depth = 1};
    if (token_is(s, i, "size")) return (Type){.base = BASE_INTEGER, .depth = 1};
    return (Type){.base = token_is(s, i, "rank") ? BASE_INTEGER : BASE_UNKNOWN};
}

/* One declarator: stars, a name, brackets. Returns the token behind it; false in *ok: it is something else. */
static int declarator(CSource *s, int at, int end, Type type, int from, int to, int record, bool *ok) {
    while (at < end && (token_is(s, at, "*") || token_is_any(s, at, qualifiers)))
        type.depth += token_is(s, at++, "*");
    *ok = at < end && s->token[at].kind == TOKEN_NAME;
    if (!*ok) return at;
    int name = at++;
    while (token_is(s, at, "[")) at = token_closing(s, at, end) + 1, type.depth++;
    *(Name *)c_source_grow(s, 1) = (Name){name, type, from < 0 ? at : from, to, record};
    return at;
}

/* Behind what stands at `at` up to one of the signs that is outside of all brackets. */
static int up_to(const CSource *s, int at, int end, const char *const *signs) {
    while (at < end && !token_is_any(s, at, signs))
        at = token_is(s, at, "(") || token_is(s, at, "[") || token_is(s, at, "{")
                 ? token_closing(s, at, end) + 1
                 : at + 1;
    return at < end ? at : end;
}

static const char *const comma_or_end[] = {",", ";", NULL};

/* ---- Statements ---- */

typedef struct Walk {
    CSource *s;
    int function;
    int depth; /* of statements in each other */
} Walk;

static int add_piece(Walk *w, PieceKind kind, int begin, int end, int shown) {
    if (begin >= end) return -1;
    *(Piece *)c_source_grow(w->s, 3) = (Piece){kind, begin, end, shown, end, w->function, {0}};
    return (int)w->s->pieces - 1;
}

/* Expressions between commas, up to `end`; the first one's number. */
static int add_pieces(Walk *w, int at, int end) {
    int first = -1;
    while (at < end) {
        int stop = up_to(w->s, at, end, comma_or_end), added = add_piece(w, PIECE_STATEMENT, at, stop, at);
        if (first < 0) first = added;
        at = stop + 1;
    }
    return first;
}

/* The values between braces. */
static void add_elements(Walk *w, int open, int shown, Type type) {
    int close = token_closing(w->s, open, (int)w->s->tokens);
    type.depth--;
    for (int at = open + 1, stop; at < close; at = stop + 1) {
        stop = up_to(w->s, at, close, comma_or_end);
        bool plain = !token_is(w->s, at, "{") && !token_is(w->s, at, ".") && !token_is(w->s, at, "[");
        int added = plain ? add_piece(w, PIECE_VALUE, at, stop, shown) : -1;
        if (added >= 0) w->s->piece[added].type = type, w->s->piece[added].shown_end = close + 1;
    }
}

/* A declaration up to `end`, its sign of the end. The first value's number, or -1. */
static int add_declaration(Walk *w, int at, int end, Type type) {
    CSource *s = w->s;
    int first = -1;
    for (bool ok = true; ok && at < end;) {
        int shown = at;
        at = declarator(s, at, end, type, -1, INT_MAX, 0, &ok);
        if (!ok || !token_is(s, at, "=")) {
            at = up_to(s, at, end, comma_or_end) + 1;
            continue;
        }
        int stop = up_to(s, at, end, comma_or_end);
        if (token_is(s, at + 1, "{")) {
            add_elements(w, at + 1, shown, s->name[s->names - 1].type);
        } else {
            int added = add_piece(w, PIECE_VALUE, at + 1, stop, shown);
            if (added >= 0) s->piece[added].type = s->name[s->names - 1].type;
            if (first < 0) first = added;
        }
        at = stop + 1;
    }
    return first;
}

/* Names since this one are in scope up to `to`. */
static void close_scope(CSource *s, long since, int to) {
    for (long i = since; i < s->names; i++)
        if (s->name[i].to == INT_MAX) s->name[i].to = to;
}

static int statement(Walk *w, int at, int end);

static int for_statement(Walk *w, int at, int end) {
    CSource *s = w->s;
    int close = token_closing(s, at + 1, end);
    int start_at = at + 2, start_end = up_to(s, start_at, close, comma_or_end + 1);
    int condition_end = up_to(s, start_end + 1, close, comma_or_end + 1);
    long since = s->names;
    Type type;
    int variable = start_at;
    Loop loop = {-1, -1, -1, -1};
    if (c_source_declares(s, &variable, start_end, &type)) {
        loop.start = add_declaration(w, variable, start_end, type);
    } else {
        loop.start = add_pieces(w, start_at, start_end);
    }
    loop.variable = variable;
    loop.condition = add_piece(w, PIECE_CONDITION, start_end + 1, condition_end, start_end + 1);
    loop.step = add_pieces(w, condition_end + 1, close);
    if (loop.start >= 0 && loop.condition >= 0 && loop.step >= 0) *(Loop *)c_source_grow(s, 4) = loop;
    at = statement(w, close + 1, end);
    close_scope(s, since, at);
    return at;
}

static int block(Walk *w, int at, int end) {
    CSource *s = w->s;
    long since = s->names;
    int close = token_closing(s, at, end);
    for (at++; at < close;) at = statement(w, at, close);
    close_scope(s, since, close);
    return close + 1;
}

static int any_statement(Walk *w, int at, int end) {
    CSource *s = w->s;
    Type type;
    if (token_is(s, at, "{")) return block(w, at, end);
    if (token_is(s, at, ";") || token_is(s, at, "else") || token_is(s, at, "do")) return at + 1;
    if (token_is(s, at, "for")) return for_statement(w, at, end);
    if (token_is(s, at, "if") || token_is(s, at, "while") || token_is(s, at, "switch")) {
        int close = token_closing(s, at + 1, end);
        if (!token_is(s, at, "switch")) add_piece(w, PIECE_CONDITION, at + 2, close, at + 2);
        return statement(w, close + 1, end);
    }
    if (token_is(s, at, "case") || token_is(s, at, "default") || token_is(s, at + 1, ":")) {
        static const char *const colon[] = {":", ";", NULL};
        return up_to(s, at, end, colon) + 1;
    }
    int stop = up_to(s, at, end, comma_or_end + 1), begin = at;
    if (token_is(s, at, "return"))
        add_piece(w, PIECE_VALUE, at + 1, stop, at);
    else if (c_source_declares(s, &begin, stop, &type))
        add_declaration(w, token_is(s, at, "static") ? stop : begin, stop, type);
    else if (!token_is(s, at, "break") && !token_is(s, at, "continue") && !token_is(s, at, "goto"))
        add_pieces(w, at, stop);
    return stop + 1;
}

/* What is nested more deeply than a person writes is left out. */
static int statement(Walk *w, int at, int end) {
    if (at >= end || w->depth == MOST_NESTED) return end;
    w->depth++;
    at = any_statement(w, at, end);
    w->depth--;
    return at;
}

/* Names, pieces and loops of a function. */
static void read_function(CSource *s, int function) {
    Walk w = {s, function, 0};
    const Function *f = &s->function[function];
    int open = f->open, close = f->close;
    long since = s->names;
    for (int at = f->name + 2, stop; at < open; at = stop + 1) {
        bool ok;
        Type type;
        stop = up_to(s, at, open - 1, comma_or_end);
        if (c_source_declares(s, &at, stop, &type)) declarator(s, at, stop, type, -1, close, 0, &ok);
    }
    block(&w, open, close + 1);
    close_scope(s, since, close);
}

/* ---- The file ---- */

static void read_members(CSource *s, int open, int close) {
    s->records++;
    for (int at = open + 1, stop; at < close; at = stop + 1) {
        Type type;
        stop = up_to(s, at, close, comma_or_end + 1);
        bool ok = c_source_declares(s, &at, stop, &type);
        while (ok && at < stop) {
            at = declarator(s, at, stop, type, 0, INT_MAX, s->records, &ok);
            at = up_to(s, at, stop, comma_or_end) + 1;
        }
    }
}

/* op_NAME */
static bool is_operation(const CSource *s, int i, const char *name) {
    const Token *t = &s->token[i];
    const char *text = s->text + t->begin;
    return t->kind == TOKEN_NAME && (size_t)t->length == strlen(name) + 3 && strncmp(text, "op_", 3) == 0 &&
           strncmp(text + 3, name, strlen(name)) == 0;
}

static bool mentions(const CSource *s, const Function *f, int name) {
    for (int i = f->open; i < f->close; i++)
        if (tokens_same(s, i, name)) return true;
    return false;
}

/* Whether backward functions alone mention this one. */
static bool serves_backward(const CSource *s, const Function *f) {
    bool any = false;
    for (const Function *g = s->function; g < s->function + s->functions; g++) {
        if (g == f || !mentions(s, g, f->name)) continue;
        if (!g->backward) return false;
        any = true;
    }
    return any;
}

static void find_backward(CSource *s) {
    Function *end = s->function + s->functions;
    for (Function *f = s->function; f < end; f++) f->backward = tokens_have(s, f->open, f->close, "grad");
    for (bool more = true; more;) {
        more = false;
        for (Function *f = s->function; f < end; f++)
            if (!f->backward && serves_backward(s, f)) f->backward = more = true;
    }
}

/* Names outside of functions; of one its name's token is the next to be read. Returns the last token that is. */
static int read_globals(CSource *s, int at, int declared, Type type) {
    int end = (int)s->tokens, next = declared;
    for (bool ok = true; ok && next < end;) {
        next = declarator(s, next, end, type, -1, end, 0, &ok);
        if (ok && token_is(s, next, "(")) {
            s->names--;
            return next - 2 > at ? next - 2 : at;
        }
        next = up_to(s, next, end, comma_or_end);
        if (!token_is(s, next++, ",")) break;
    }
    return next - 1;
}

/* The functions that stand in the operation's table, `op_NAME = {…}`, and those that they mention. Without one: all. */
static void find_used(CSource *s, const char *op) {
    Function *end = s->function + s->functions;
    int tokens = (int)s->tokens, open = 0;
    while (open < tokens &&
           !(is_operation(s, open, op) && token_is(s, open + 1, "=") && token_is(s, open + 2, "{")))
        open++;
    int close = open < tokens ? token_closing(s, open + 2, tokens) : 0;
    for (Function *f = s->function; f < end; f++)
        for (int i = open; i < close; i++) f->used |= tokens_same(s, i, f->name);
    bool any = false;
    for (Function *f = s->function; f < end; f++) any |= f->used;
    for (bool more = true; more;) {
        more = false;
        for (Function *f = s->function; f < end; f++)
            for (Function *g = s->function; !f->used && g < end; g++)
                if (!any || (g->used && mentions(s, g, f->name))) f->used = more = true;
    }
}

bool c_source_read(CSource *s, const char *text, const char *op, Arena *arena) {
    *s = (CSource){.arena = arena, .text = text};
    c_source_tokens(s);
    if (s->tokens > MOST_TOKENS) return false;
    int end = (int)s->tokens;
    for (int at = 0; at < end; at++) {
        Type type;
        int declared = at;
        if (token_is(s, at, "struct") || token_is(s, at, "union")) {
            int open = token_is(s, at + 1, "{") ? at + 1 : at + 2;
            if (!token_is(s, open, "{")) continue;
            int close = token_closing(s, open, end);
            read_members(s, open, close);
            at = close;
        } else if (s->token[at].kind == TOKEN_NAME && token_is(s, at + 1, "(")) {
            int close = token_closing(s, at + 1, end), last = token_closing(s, close + 1, end);
            if (token_is(s, close + 1, "{") && last < end) {
                Function f = {.name = at, .open = close + 1, .close = last};
                *(Function *)c_source_grow(s, 2) = f;
                read_function(s, (int)s->functions - 1);
                at = f.close;
            } else {
                at = close;
            }
        } else if (token_is(s, at, "{")) {
            at = token_closing(s, at, end);
        } else if (c_source_declares(s, &declared, end, &type) && !token_is(s, declared + 1, "(")) {
            at = read_globals(s, at, declared, type);
        }
    }
    if (s->pieces > MOST_PIECES || s->functions > MOST_FUNCTIONS) return false;
    if (s->functions > 0) find_used(s, op), find_backward(s);
    return true;
}
