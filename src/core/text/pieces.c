#include "text/pieces.h"
#include "text/encoding.h"
#include <stdlib.h>
#include <string.h>

static const char unknown[] = "[UNK]";

bool tokenizer_allocate(Tokenizer *k, long size, size_t bytes, const char *where, Error *e) {
    k->size = size;
    k->text = malloc(bytes + 1);
    k->start = calloc((size_t)size + 1, sizeof *k->start);
    return (k->text && k->start) ||
           error_set(e, STATUS_NO_MEMORY, "%s: no memory for a vocabulary", where);
}

bool tokenizer_allocate_bytes(Tokenizer *k, long size, size_t bytes, const char *where, Error *e) {
    if (!tokenizer_allocate(k, size, bytes, where, e)) return false;
    for (int i = 0; i < BYTE_TOKENS; i++) {
        k->text[i] = (char)i;
        k->start[i + 1] = (uint32_t)i + 1;
    }
    return true;
}

bool tokenizer_bad_line(const char *where, long line, const char *need, Error *e) {
    return error_set(e, STATUS_BAD_DATA, "%s: vocabulary: line %ld: found another, need %s", where,
                     line, need);
}

long tokenizer_number(const char **at, char end) {
    long n = 0, digits = 0;
    while (digits < 6 && (*at)[digits] >= '0' && (*at)[digits] <= '9')
        n = 10 * n + ((*at)[digits++] - '0');
    if (!digits || (*at)[digits] != end || (digits > 1 && **at == '0')) return -1;
    *at += digits + 1;
    return n;
}

bool pieces_count(const TokenizerKind *kind, const Passage *p, long passages, size_t max,
                  Dictionary *found, Error *e) {
    for (long i = 0; i < passages; i++)
        for (size_t at = 0, n; at < p[i].length; at += n) {
            if (max == 0) return true;
            n = kind->piece(p[i].text + at, p[i].length - at);
            max -= n < max ? n : max;
            if (dictionary_add(found, p[i].text + at, n, e) < 0) return false;
        }
    return true;
}

bool pieces_take(Tokenizer *k, const Dictionary *found, const char *where, Error *e) {
    size_t bytes = sizeof unknown;
    for (long i = 0; i < found->count; i++) bytes += found->entry[i].length;
    if (!tokenizer_allocate(k, found->count + k->unknown, bytes, where, e)) return false;
    memcpy(k->text, unknown, sizeof unknown);
    if (k->unknown) k->start[1] = sizeof unknown - 1;
    for (long i = 0; i < found->count; i++) {
        const Entry *piece = &found->entry[i];
        long id = i + k->unknown;
        char *text = memcpy(k->text + k->start[id], piece->text, piece->length);
        k->start[id + 1] = k->start[id] + (uint32_t)piece->length;
        if (dictionary_add(&k->pieces, text, piece->length, e) < 0) return false;
    }
    return true;
}

bool pieces_learn(Tokenizer *k, long size, const Passage *p, long passages, Error *e) {
    Dictionary found = {0};
    long max = size - k->unknown;
    bool ok = pieces_count(k->kind, p, passages, SIZE_MAX, &found, e);
    if (ok && found.count > max && !k->unknown)
        ok = error_set(e, STATUS_BAD_DATA,
                       "%s: found %ld different characters, need at most %ld or --vocab-size",
                       p->where, found.count, max);
    if (ok && found.count > max) ok = dictionary_select(&found, max, e);
    ok = ok && pieces_take(k, &found, p->where, e);
    dictionary_free(&found);
    return ok;
}

/* Finds the pieces of a string, each text once. */
static bool find_pieces(const Tokenizer *k, Dictionary *found, const char *where, const char *at,
                        const char *need, Error *e) {
    for (long line = 2; *at; line++) {
        long n = tokenizer_number(&at, ' ');
        if (line > MAX_VOCABULARY || n < 1 || n > TOKEN_BYTES || memchr(at, 0, (size_t)n) ||
            at[n] != '\n' || k->kind->piece(at, (size_t)n) != (size_t)n ||
            !utf8_check(where, at, (size_t)n, &(Error){0}))
            return tokenizer_bad_line(where, line, need, e);
        long i = dictionary_add(found, at, (size_t)n, e);
        if (i < 0) return false;
        if (found->entry[i].count > 1) return tokenizer_bad_line(where, line, "each text once", e);
        at += n + 1;
    }
    return true;
}

bool pieces_parse(Tokenizer *k, const char *where, const char *at, const char *need, Error *e) {
    Dictionary found = {0};
    bool ok = find_pieces(k, &found, where, at, need, e) && pieces_take(k, &found, where, e);
    dictionary_free(&found);
    return ok;
}

void pieces_write(const Tokenizer *k, FILE *out) {
    for (long id = k->unknown; id < k->size; id++) {
        uint32_t bytes = k->start[id + 1] - k->start[id];
        fprintf(out, "%u ", (unsigned)bytes);
        fwrite(k->text + k->start[id], 1, bytes, out);
        putc('\n', out);
    }
}

/* The text stands at p->text[at], of n bytes. */
static bool refuse(const Tokenizer *k, const Passage *p, size_t at, size_t n, Error *e) {
    char found[UTF8_MAX + 1] = {0};
    uint32_t character;
    memcpy(found, p->text + at, n);
    utf8_decode(found, n, &character);
    return error_set(
        e, STATUS_BAD_DATA,
        "%s: byte %zu: found '%s' (U+%04X), need one of the %ld character%s of the vocabulary",
        p->where, at, ESCAPED(found), (unsigned)character, k->size, PLURAL(k->size));
}

/* The characters of a piece. */
static bool check(const Passage *p, size_t at, size_t n, Error *e) {
    size_t end = at + text_valid(p->text + at, n);
    return end == at + n ||
           error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found 0x%02X, need UTF-8 text", p->where,
                     end, (unsigned)(unsigned char)p->text[end]);
}

bool pieces_encode(const Tokenizer *k, const Passage *p, size_t *at, size_t end, int32_t *ids,
                   long *count, Error *e) {
    while (*at < end) {
        size_t n = k->kind->piece(p->text + *at, p->length - *at);
        if (!check(p, *at, n, e)) return false;
        long found = dictionary_find(&k->pieces, p->text + *at, n);
        if (found < 0 && !k->unknown) return refuse(k, p, *at, n, e);
        ids[(*count)++] = (int32_t)found + k->unknown; /* -1 + 1 is [UNK] */
        *at += n;
    }
    return true;
}
