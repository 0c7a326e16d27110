#include "repair/c_source.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void *c_source_grow(CSource *s, int which) {
    void **array[] = {(void **)&s->token, (void **)&s->name, (void **)&s->function,
                      (void **)&s->piece, (void **)&s->loop, (void **)&s->macro};
    long *count[] = {&s->tokens, &s->names, &s->functions, &s->pieces, &s->loops, &s->macros};
    const size_t size[] = {sizeof(Token), sizeof(Name), sizeof(Function),
                           sizeof(Piece), sizeof(Loop), sizeof(Macro)};
    *array[which] = array_grown(*array[which], *count[which], &s->room[which], size[which]);
    char *last = (char *)*array[which] + (size_t)*count[which] * size[which];
    ++*count[which];
    return memset(last, 0, size[which]);
}

void c_source_free(CSource *s) {
    free(s->token), free(s->name), free(s->function), free(s->piece), free(s->loop), free(s->macro);
}

static bool is_letter(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind a comment, a line of the preprocessor, or white space that begins at p; p itself where none does. */
static const char *skip_blank(const char *p, bool line_begins) {
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    }
    if (p[0] == '/' && p[1] == '/') return p + strcspn(p, "\n");
    if (p[0] == '#' && line_begins) {
        while (*p && *p != '\n') p += p[0] == '\\' && p[1] ? 2 : 1;
        return p;
    }
    return isspace((unsigned char)*p) ? p + 1 : p;
}

static const char *skip_quoted(const char *p) {
    char quote = *p++;
    while (*p && *p != quote && *p != '\n') p += p[0] == '\\' && p[1] ? 2 : 1;
    return *p == quote ? p + 1 : p;
}

static const char *skip_number(const char *p) {
    while (is_letter(*p) || *p == '.' || ((*p == '+' || *p == '-') && strchr("eEpP", p[-1]))) p++;
    return p;
}

static const char *skip_sign(const char *p) {
    static const char *const signs[] = {"<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==",
                                        "!=",  "&&",  "||",  "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|="};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(p, signs[i], strlen(signs[i])) == 0) return p + strlen(signs[i]);
    return p + 1;
}

/* A line of the preprocessor, if it is a definition. */
static void read_macro(CSource *s, const char *p, const char *end) {
    static const char define[] = "define";
    p += 1 + strspn(p + 1, " \t");
    if (strncmp(p, define, strlen(define)) != 0) return;
    p += strlen(define);
    p += strspn(p, " \t");
    Macro m = {.name = (int)(p - s->text), .end = (int)(end - s->text)};
    while (is_letter(p[m.length])) m.length++;
    m.called = p[m.length] == '(';
    m.begin = m.name + m.length + (m.called ? (int)strcspn(p + m.length, ")") : 0);
    if (m.length && m.begin <= m.end) *(Macro *)c_source_grow(s, 5) = m;
}

const Macro *c_source_macro(const CSource *s, int i, bool called) {
    const Token *t = &s->token[i];
    for (long k = 0; k < s->macros && t->kind == TOKEN_NAME; k++) {
        const Macro *m = &s->macro[k];
        if (m->called == called && m->length == t->length &&
            memcmp(s->text + m->name, s->text + t->begin, (size_t)m->length) == 0)
            return m;
    }
    return NULL;
}

bool macro_has(const CSource *s, const Macro *m, const char *text) {
    for (int at = m->begin; at < m->end; at++)
        if (strncmp(s->text + at, text, strlen(text)) == 0) return true;
    return false;
}

void c_source_tokens(CSource *s) {
    int line = 1;
    bool line_begins = true;
    for (const char *p = s->text, *end; *p; p = end) {
        end = skip_blank(p, line_begins);
        if (*p == '#' && end > p) read_macro(s, p, end);
        if (end == p) {
            Token t = {TOKEN_SIGN, (int)(p - s->text), 0, line};
            if (*p == '"' || *p == '\'')
                t.kind = TOKEN_TEXT, end = skip_quoted(p);
            else if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1])))
                t.kind = TOKEN_NUMBER, end = skip_number(p);
            else if (is_letter(*p))
                for (t.kind = TOKEN_NAME; is_letter(*end);) end++;
            else
                end = skip_sign(p);
            t.length = (int)(end - p);
            *(Token *)c_source_grow(s, 0) = t;
            line_begins = false;
        }
        for (const char *c = p; c < end; c++)
            if (*c == '\n') line++, line_begins = true;
    }
}

bool token_is(const CSource *s, int i, const char *word) {
    if (i < 0 || i >= s->tokens) return false;
    const Token *t = &s->token[i];
    return t->kind != TOKEN_TEXT && (size_t)t->length == strlen(word) &&
           memcmp(s->text + t->begin, word, (size_t)t->length) == 0;
}

bool token_is_any(const CSource *s, int i, const char *const *words) {
    for (; *words; words++)
        if (token_is(s, i, *words)) return true;
    return false;
}

bool tokens_have(const CSource *s, int begin, int end, const char *word) {
    while (begin < end && !token_is(s, begin, word)) begin++;
    return begin < end;
}

bool token_is_apart(const CSource *s, int i) {
    return s->token[i].begin > s->token[i - 1].begin + s->token[i - 1].length;
}

bool tokens_same(const CSource *s, int i, int k) {
    const Token *a = &s->token[i], *b = &s->token[k];
    return a->kind == b->kind && a->length == b->length &&
           memcmp(s->text + a->begin, s->text + b->begin, (size_t)a->length) == 0;
}

bool tokens_match(const CSource *s, int begin, int end, int other, int other_end) {
    bool match = end - begin == other_end - other;
    for (; match && begin < end; begin++, other++) match = tokens_same(s, begin, other);
    return match;
}

bool tokens_unbroken(const CSource *s, int begin, int end) {
    const char *at = s->text + s->token[begin].begin, *last = s->text + s->token[end - 1].begin;
    while (at < last && *at != '#') at++;
    return at == last;
}

int token_closing(const CSource *s, int i, int end) {
    int depth = 0;
    for (; i < end; i++) {
        if (token_is(s, i, "(") || token_is(s, i, "[") || token_is(s, i, "{")) depth++;
        if (token_is(s, i, ")") || token_is(s, i, "]") || token_is(s, i, "}"))
            if (--depth <= 0) return i;
    }
    return end;
}

char *c_source_text(const CSource *s, int begin, int end) {
    size_t length = 1;
    for (int i = begin; i < end; i++) length += (size_t)s->token[i].length + 1;
    char *copy = arena_alloc(s->arena, length), *at = copy;
    for (int i = begin; i < end; i++) {
        const Token *t = &s->token[i];
        if (i > begin && token_is_apart(s, i)) *at++ = ' ';
        at = (char *)memcpy(at, s->text + t->begin, (size_t)t->length) + t->length;
    }
    return copy;
}
