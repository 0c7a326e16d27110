#include "repair/c_expression.h"
#include <stddef.h>
#include <string.h>

/* Where the reader is; `failed` once something is not understood. */
typedef struct Reader {
    const CSource *s;
    int at, end;
    int depth; /* of expressions in each other */
    bool failed;
} Reader;

static Expression *new_expression(Reader *r, ExpressionKind kind, int begin) {
    Expression *e = arena_alloc(r->s->arena, sizeof *e);
    *e = (Expression){.kind = kind, .begin = begin, .end = begin, .joint = -1, .sign = -1};
    return e;
}

static bool here(const Reader *r, const char *sign) {
    return r->at < r->end && token_is(r->s, r->at, sign);
}

static bool here_any(const Reader *r, const char *const *signs) {
    return r->at < r->end && token_is_any(r->s, r->at, signs);
}

static Expression *read_assigned(Reader *r);
static Expression *read_signed(Reader *r);

/* What calls itself, no deeper than a person writes. */
static Expression *nested(Reader *r, Expression *(*read)(Reader *r)) {
    if (r->depth == MOST_NESTED) r->failed = true;
    r->depth++;
    Expression *e = read(r);
    r->depth--;
    return e;
}

static void add_part(Expression *whole, Expression *part) {
    Expression **last = &whole->part;
    while (*last) last = &(*last)->next;
    *last = part;
}

/* A part between the bracket at hand and the one that closes it, divided by commas. */
static void read_parts(Reader *r, Expression *whole, bool index) {
    int close = token_closing(r->s, r->at, r->end), end = r->end;
    if (close >= end) {
        r->failed = true;
        return;
    }
    r->at++, r->end = close;
    while (r->at < close && !r->failed) {
        Expression *part = read_assigned(r);
        part->index = index;
        add_part(whole, part);
        if (r->at < close && !here(r, ",")) r->failed = true;
        r->at++;
    }
    r->at = close + 1, r->end = end;
}

/* Of libm's functions, and of those of the file. */
static Type type_of_call(const CSource *s, int name) {
    static const char *const numeric[] = {
        "sin",    "cos",   "tan",      "asin",  "acos",  "atan",  "atan2", "sinh",  "cosh",  "tanh", "asinh",
        "acosh",  "exp",   "exp2",     "log",   "expm1", "log1p", "log2",  "log10", "pow",   "sqrt", "cbrt",
        "fabs",   "fmax",  "fmin",     "erf",   "erfc",  "hypot", "floor", "ceil",  "round", "fmod", "lgamma",
        "tgamma", "atanh", "copysign", "sqrtf", "expf",  "logf",  "powf",  "fabsf", "fma"};
    for (size_t i = 0; i < sizeof numeric / sizeof *numeric; i++)
        if (token_is(s, name, numeric[i])) return (Type){.base = BASE_NUMBER, .depth = 0};
    for (long f = 0; f < s->functions; f++) {
        int own = s->function[f].name, at = own - 1;
        Type type;
        if (own > 0 && tokens_same(s, own, name) && c_source_declares(s, &at, own, &type)) return type;
    }
    return (Type){0};
}

static Expression *read_unit(Reader *r) {
    const CSource *s = r->s;
    Expression *e = new_expression(r, EXPRESSION_UNIT, r->at);
    int name = r->at++;
    e->type = c_source_type(s, name, name);
    while (!r->failed) {
        if (here(r, "[")) {
            if (!e->stem) e->stem = r->at, e->stem_type = e->type;
            read_parts(r, e, true);
            e->type.depth--;
        } else if (here(r, "(")) {
            const Macro *m = c_source_macro(s, name, true);
            e->type = type_of_call(s, name);
            e->called = true, e->stem = 0;
            read_parts(r, e, false);
            if (m && macro_has(s, m, "["))
                e->type = (Type){.base = BASE_NUMBER};
            else if (m && e->part)
                e->type = e->part->type;
        } else if (here(r, ".") || here(r, "->")) {
            e->type = c_source_type(s, r->at + 1, name);
            e->stem = 0;
            r->at += 2;
        } else if (here(r, "++") || here(r, "--")) {
            e->kind = EXPRESSION_OTHER;
            r->at++;
        } else {
            break;
        }
    }
    e->end = r->at;
    return e;
}

static Expression *read_group(Reader *r) {
    const CSource *s = r->s;
    Type type;
    int begin = r->at, close = token_closing(s, r->at, r->end), inside = r->at + 1;
    bool cast = c_source_declares(s, &inside, close, &type);
    while (cast && token_is(s, inside, "*")) inside++, type.depth++;
    if (cast && inside == close) {
        Expression *e = new_expression(r, EXPRESSION_SIGNED, begin);
        r->at = close + 1;
        if (here(r, "{")) r->failed = true;
        if (!r->failed) e->part = read_signed(r);
        e->type = type;
        e->end = r->at;
        return e;
    }
    Expression *e = new_expression(r, EXPRESSION_GROUP, begin);
    read_parts(r, e, false);
    e->end = r->at;
    if (e->part) e->type = e->part->type;
    /* (a + b)[i], (*p).x, (f)(x) */
    if (!e->part || e->part->next || here(r, "[") || here(r, ".") || here(r, "->") || here(r, "("))
        r->failed = true;
    return e;
}

static Expression *read_any_signed(Reader *r) {
    static const char *const unary[] = {"-", "+", "!", "~", "*", "&", NULL};
    const CSource *s = r->s;
    int begin = r->at;
    if (r->at >= r->end || r->failed) {
        r->failed = true;
        return new_expression(r, EXPRESSION_OTHER, begin);
    }
    if (here(r, "++") || here(r, "--")) {
        r->at++;
        Expression *e = read_signed(r);
        e->kind = EXPRESSION_OTHER, e->begin = begin, e->part = NULL;
        return e;
    }
    if (here_any(r, unary)) {
        bool reads = here(r, "*"), takes = here(r, "&");
        Expression *e = new_expression(r, EXPRESSION_SIGNED, begin);
        e->sign = r->at++;
        e->part = read_signed(r);
        e->type = e->part->type;
        e->type.depth += takes - reads;
        if (reads || takes) e->kind = EXPRESSION_OTHER;
        e->end = r->at;
        return e;
    }
    if (here(r, "(")) return read_group(r);
    if (here(r, "sizeof")) {
        Expression *e = new_expression(r, EXPRESSION_OTHER, begin);
        r->at++;
        if (here(r, "("))
            r->at = token_closing(s, r->at, r->end) + 1;
        else
            read_signed(r);
        e->type.base = BASE_INTEGER, e->end = r->at;
        return e;
    }
    if (s->token[r->at].kind == TOKEN_NUMBER) {
        Expression *e = new_expression(r, EXPRESSION_NUMBER, begin);
        const char *text = s->text + s->token[r->at].begin;
        bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
        bool real_number = !hex && strcspn(text, ".eE") < (size_t)s->token[r->at].length;
        e->type.base = real_number ? BASE_NUMBER : BASE_INTEGER;
        e->end = ++r->at;
        return e;
    }
    if (s->token[r->at].kind == TOKEN_NAME) return read_unit(r);
    r->failed = true;
    return new_expression(r, EXPRESSION_OTHER, begin);
}

static Expression *read_signed(Reader *r) {
    return nested(r, read_any_signed);
}

/* What binds from tightest to loosest. */
static const struct Level {
    ExpressionKind kind;
    const char *sign[7];
} levels[] = {
    {EXPRESSION_PRODUCT, {"*", "/", "%"}},
    {EXPRESSION_SUM, {"+", "-"}},
    {EXPRESSION_LOGIC, {"<<", ">>"}},
    {EXPRESSION_COMPARED, {"<", ">", "<=", ">="}},
    {EXPRESSION_COMPARED, {"==", "!="}},
    {EXPRESSION_LOGIC, {"&", "^", "|"}},
    {EXPRESSION_LOGIC, {"&&"}},
    {EXPRESSION_LOGIC, {"||"}},
};
enum { LEVELS = sizeof levels / sizeof *levels };

static Expression *read_level(Reader *r, int level) {
    if (level < 0) return read_signed(r);
    const struct Level *l = &levels[level];
    Expression *first = read_level(r, level - 1), *whole = first;
    while (!r->failed && here_any(r, l->sign)) {
        if (whole == first) {
            whole = new_expression(r, l->kind, first->begin);
            whole->type = l->kind == EXPRESSION_SUM || l->kind == EXPRESSION_PRODUCT
                              ? first->type
                              : (Type){.base = BASE_INTEGER, .depth = 0};
            add_part(whole, first);
        }
        int sign = r->at++;
        Expression *part = read_level(r, level - 1);
        part->joint = sign;
        bool arithmetic = l->kind == EXPRESSION_SUM || l->kind == EXPRESSION_PRODUCT;
        if (arithmetic && part->type.base == BASE_NUMBER && !whole->type.depth)
            whole->type.base = BASE_NUMBER;
        if (arithmetic && part->type.base == BASE_UNKNOWN && whole->type.base == BASE_INTEGER)
            whole->type.base = BASE_UNKNOWN;
        add_part(whole, part);
        whole->end = r->at;
    }
    return whole;
}

static Expression *read_any(Reader *r) {
    static const char *const assignments[] = {"=", "+=", "-=", "*=", "/=", NULL};
    Expression *left = read_level(r, LEVELS - 1);
    if (r->failed) return left;
    if (here(r, "?")) {
        Expression *e = new_expression(r, EXPRESSION_CHOSEN, left->begin);
        add_part(e, left);
        r->at++;
        add_part(e, read_assigned(r));
        if (!here(r, ":")) r->failed = true;
        r->at++;
        if (!r->failed) add_part(e, read_assigned(r));
        e->end = r->at;
        e->type = left->next->type;
        return e;
    }
    if (!here_any(r, assignments)) return left;
    Expression *e = new_expression(r, EXPRESSION_ASSIGNED, left->begin);
    e->sign = r->at++;
    add_part(e, left);
    add_part(e, read_assigned(r));
    e->end = r->at;
    e->type = left->type;
    return e;
}

static Expression *read_assigned(Reader *r) {
    return nested(r, read_any);
}

Expression *c_expression_read(const CSource *s, int begin, int end) {
    Reader r = {s, begin, end, 0, false};
    Expression *e = read_assigned(&r);
    return r.failed || r.at != end ? NULL : e;
}
