/* ids: a token is its own number, for a model whose tokenizer is elsewhere. A text is decimal
 * numbers with blanks between them. The string has one line, the size of the vocabulary. */
#include "text/tokenizer.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 5 };

/* A number, or what is no number, and the blanks behind it. */
static size_t piece(const char *text, size_t length) {
    size_t n = 0;
    while (n < length && !isspace((unsigned char)text[n])) n++;
    while (n < length && isspace((unsigned char)text[n])) n++;
    return n < TOKEN_BYTES ? n : TOKEN_BYTES;
}

/* The number that a piece begins with, or -1: it is another text. */
static long number_of(const char *piece, size_t length) {
    long n = 0;
    size_t digits = 0;
    for (; digits < length && isdigit((unsigned char)piece[digits]); digits++)
        n = digits < MAX_DIGITS ? 10 * n + (piece[digits] - '0') : MAX_VOCABULARY;
    bool ends = digits == length || isspace((unsigned char)piece[digits]);
    return digits && ends && n < MAX_VOCABULARY ? n : -1;
}

static bool take(Tokenizer *k, long size, const char *where, Error *e) {
    if (!tokenizer_allocate(k, size, (size_t)size * (MAX_DIGITS + 1), where, e)) return false;
    for (long id = 0; id < size; id++) {
        int n = sprintf(k->text + k->start[id], "%ld ", id);
        k->start[id + 1] = k->start[id] + (uint32_t)n;
    }
    return true;
}

/* The piece at this byte, of n bytes with the blanks behind it, is no number below `end`. */
static bool refuse(const Passage *p, size_t at, size_t n, long end, Error *e) {
    char found[TOKEN_BYTES + 1] = {0};
    memcpy(found, p->text + at, n);
    while (isspace((unsigned char)found[n - 1])) found[--n] = 0;
    return error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found '%s', need numbers below %ld",
                     p->where, at, ESCAPED(found), end);
}

static bool encode(const Tokenizer *k, const Passage *p, size_t *at, size_t end, int32_t *ids,
                   long *count, Error *e) {
    while (*at < end && isspace((unsigned char)p->text[*at])) ++*at;
    while (*at < end) {
        size_t n = piece(p->text + *at, p->length - *at);
        long id = number_of(p->text + *at, n);
        if (id < 0 || id >= k->size) return refuse(p, *at, n, id < 0 ? MAX_VOCABULARY : k->size, e);
        ids[(*count)++] = (int32_t)id;
        *at += n;
    }
    return true;
}

/* The size is that of the largest number. */
static bool learn(Tokenizer *k, long size, const Passage *p, long passages, Error *e) {
    long max = 0;
    (void)size;
    for (long i = 0; i < passages; i++)
        for (size_t at = 0, n; at < p[i].length; at += n) {
            n = piece(p[i].text + at, p[i].length - at);
            long id = number_of(p[i].text + at, n);
            if (id > max) max = id;
        }
    return take(k, max + 1, p->where, e);
}

static bool parse(Tokenizer *k, const char *where, const char *string, Error *e) {
    char *end;
    long size = strtol(string, &end, 10);
    if (size < 1 || size > MAX_VOCABULARY || strcmp(end, "\n") != 0)
        return tokenizer_bad_line(where, 2, "the number of ids", e);
    return take(k, size, where, e);
}

static void write(const Tokenizer *k, FILE *out) {
    fprintf(out, "%ld\n", k->size);
}

const TokenizerKind tokenizer_ids = {{"ids"},         .reads_all = true, .piece = piece,
                                     .learn = learn,  .parse = parse,    .write = write,
                                     .encode = encode};
