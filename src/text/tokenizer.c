/* Characters as tokens: a table by id, and a table by code point. */
#include "text/tokenizer.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>

enum { CODE_POINTS = 0x110000, REPLACEMENT = 0xFFFD };

/* Decodes the character at *at and advances *at. */
static bool next_character(const char *where, const char *text, size_t length, size_t *at,
                           uint32_t *character, Error *e) {
    int bytes = utf8_decode(text + *at, length - *at, character);
    if (!bytes)
        return error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found 0x%02X, need UTF-8 text", where, *at,
                         (unsigned)(unsigned char)text[*at]);
    if (!*character)
        return error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found a NUL, need UTF-8 text", where, *at);
    *at += (size_t)bytes;
    return true;
}

static bool learn(Tokenizer *k, const char *where, const char *text, size_t length, bool once, Error *e) {
    for (size_t at = 0, start = 0; at < length; start = at) {
        uint32_t c;
        if (!next_character(where, text, length, &at, &c, e)) return false;
        if (!k->ids[c]) {
            k->character[k->size] = c;
            k->ids[c] = (int32_t)++k->size;
        } else if (once) {
            return error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found a duplicate character, need each once",
                             where, start);
        }
    }
    return true;
}

static Tokenizer *make(const char *where, const char *text, size_t length, bool once, Error *e) {
    size_t most = length < CODE_POINTS ? length : CODE_POINTS;
    Tokenizer *k = calloc(1, sizeof *k);
    if (k) {
        k->character = malloc((most + 1) * sizeof *k->character);
        k->ids = calloc(CODE_POINTS, sizeof *k->ids); /* touches only the pages of scripts in use */
    }
    bool ok = k && k->character && k->ids;
    if (!ok) error_set(e, STATUS_NO_MEMORY, "%s: no memory for a vocabulary", where);
    if (ok && learn(k, where, text, length, once, e)) return k;
    tokenizer_free(k);
    return NULL;
}

Tokenizer *tokenizer_learn(const char *where, const char *text, size_t length, Error *e) {
    return make(where, text, length, false, e);
}

Tokenizer *tokenizer_parse(const char *where, const char *vocabulary, Error *e) {
    if (*vocabulary) return make(where, vocabulary, strlen(vocabulary), true, e);
    error_set(e, STATUS_BAD_DATA, "%s: found an empty vocabulary, need a character", where);
    return NULL;
}

char *tokenizer_string(const Tokenizer *k, Error *e) {
    char *string = malloc((size_t)k->size * UTF8_MAX + 1), *out = string;
    if (!string) {
        error_set(e, STATUS_NO_MEMORY, "no memory for a vocabulary of %ld characters", k->size);
        return NULL;
    }
    for (long id = 0; id < k->size; id++) out += utf8_encode(k->character[id], out);
    *out = 0;
    return string;
}

void tokenizer_free(Tokenizer *k) {
    if (!k) return;
    free(k->character);
    free(k->ids);
    free(k);
}

bool tokenizer_encode(const Tokenizer *k, const char *where, const char *text, size_t length, int32_t *ids,
                      long *count, Error *e) {
    *count = 0;
    for (size_t at = 0, start = 0; at < length; start = at) {
        uint32_t c;
        if (!next_character(where, text, length, &at, &c, e)) return false;
        if (!k->ids[c]) {
            char found[UTF8_MAX + 1] = {0};
            memcpy(found, text + start, at - start);
            return error_set(
                e, STATUS_BAD_DATA,
                "%s: byte %zu: found '%s' (U+%04X), need one of the %ld characters of the vocabulary", where,
                start, ESCAPED(found), (unsigned)c, k->size);
        }
        ids[(*count)++] = k->ids[c] - 1;
    }
    return true;
}

size_t tokenizer_decode(const Tokenizer *k, const int32_t *ids, long count, char *out) {
    char *start = out;
    for (long i = 0; i < count; i++) {
        bool known = ids[i] >= 0 && ids[i] < k->size;
        out += utf8_encode(known ? k->character[ids[i]] : REPLACEMENT, out);
    }
    *out = 0;
    return (size_t)(out - start);
}
