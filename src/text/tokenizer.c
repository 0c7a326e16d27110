/* Encoding and decoding. */
#include "text/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tokenizer_name(TokenizerKind kind) {
    static const char *const kinds[] = {"char", "byte", "bpe", "word"};
    return kinds[kind];
}

void tokenizer_free(Tokenizer *k) {
    if (!k) return;
    dictionary_free(&k->pieces);
    free(k->merge), free(k->start), free(k->text);
    free(k);
}

size_t tokenizer_piece(TokenizerKind kind, const char *text, size_t length) {
    uint32_t character;
    if (kind == TOKENIZER_BYTE) return 1;
    if (kind != TOKENIZER_CHAR) return word_length(text, length, kind == TOKENIZER_WORD);
    int bytes = utf8_decode(text, length, &character);
    return bytes ? (size_t)bytes : 1;
}

bool tokenizer_check_piece(const Passage *p, size_t at, size_t n, Error *e) {
    uint32_t character;
    for (size_t end = at + n, bytes; at < end; at += bytes) {
        bytes = (size_t)utf8_decode(p->text + at, p->length - at, &character);
        if (!bytes)
            return error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found 0x%02X, need UTF-8 text", p->where, at,
                             (unsigned)(unsigned char)p->text[at]);
        if (!character)
            return error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found a NUL, need UTF-8 text", p->where, at);
    }
    return true;
}

static bool refuse(const Tokenizer *k, const Passage *p, size_t at, size_t n, Error *e) {
    char found[UTF8_MAX + 1] = {0};
    uint32_t character;
    memcpy(found, p->text + at, n);
    utf8_decode(found, n, &character);
    return error_set(e, STATUS_BAD_DATA,
                     "%s: byte %zu: found '%s' (U+%04X), need one of the %ld character%s of the vocabulary",
                     p->where, at, ESCAPED(found), (unsigned)character, k->size, PLURAL(k->size));
}

static bool encode_pieces(const Tokenizer *k, const Passage *p, size_t *at, size_t end, int32_t *ids,
                          long *count, Error *e) {
    while (*at < end) {
        size_t n = tokenizer_piece(k->kind, p->text + *at, p->length - *at);
        if (!tokenizer_check_piece(p, *at, n, e)) return false;
        long found = dictionary_find(&k->pieces, p->text + *at, n);
        if (found < 0 && !k->unknown) return refuse(k, p, *at, n, e);
        ids[(*count)++] = (int32_t)found + k->unknown; /* -1 + 1 is [UNK] */
        *at += n;
    }
    return true;
}

/* A word that came before is looked up where it stood. */
static bool encode_bpe(const Tokenizer *k, const Passage *p, size_t *at, size_t end, int32_t *ids,
                       long *count, Error *e) {
    long words = 64; /* a power of two */
    while (words < 1 << 14 && (size_t)words * 8 < end - *at) words *= 2;
    struct Seen {
        size_t at, length;
        long first, count;
    } *seen = calloc((size_t)words, sizeof *seen);
    if (!seen) return error_set(e, STATUS_NO_MEMORY, "memory: %ld words", words);
    while (*at < end) {
        const char *word = p->text + *at;
        size_t n = word_length(word, p->length - *at, false);
        struct Seen *s = &seen[dictionary_hash(word, n) & (uint64_t)(words - 1)];
        if (s->length == n && !memcmp(p->text + s->at, word, n))
            memcpy(ids + *count, ids + s->first, (size_t)s->count * sizeof *ids);
        else
            *s = (struct Seen){*at, n, *count, bpe_encode_word(&k->pieces, word, n, ids + *count)};
        *count += s->count;
        *at += n;
    }
    free(seen);
    return true;
}

bool tokenizer_encode_part(const Tokenizer *k, const Passage *p, size_t *at, size_t bytes, int32_t *ids,
                           long *count, Error *e) {
    size_t end = p->length - *at < bytes ? p->length : *at + bytes;
    *count = 0;
    if (k->kind == TOKENIZER_BPE) return encode_bpe(k, p, at, end, ids, count, e);
    if (k->kind != TOKENIZER_BYTE) return encode_pieces(k, p, at, end, ids, count, e);
    while (*at < end) ids[(*count)++] = (unsigned char)p->text[(*at)++];
    return true;
}

bool tokenizer_encode(const Tokenizer *k, const char *where, const char *text, size_t length, int32_t *ids,
                      long *count, Error *e) {
    size_t at = 0;
    return tokenizer_encode_part(k, &(Passage){where, text, length}, &at, length, ids, count, e);
}

size_t tokenizer_decode(const Tokenizer *k, const int32_t *ids, long count, char *out) {
    static const char replacement[] = "\xEF\xBF\xBD";
    char *end = out;
    for (long i = 0; i < count; i++) {
        bool known = ids[i] >= 0 && ids[i] < k->size;
        const char *text = known ? k->text + k->start[ids[i]] : replacement;
        size_t n = known ? k->start[ids[i] + 1] - k->start[ids[i]] : strlen(replacement);
        memcpy(end, text, n);
        end += n;
    }
    *end = 0;
    return (size_t)(end - out);
}

const char *tokenizer_label(const Tokenizer *k, int32_t id, char out[TOKEN_LABEL]) {
    char text[TOKEN_BYTES + 1], *end = out;
    size_t n = tokenizer_decode(k, &id, 1, text), bytes;
    uint32_t character;
    for (size_t at = 0; at < n; at += bytes) {
        bytes = (size_t)utf8_decode(text + at, n - at, &character);
        bool plain = bytes && character;
        if (!bytes) bytes = 1;
        if (plain)
            memcpy(end, text + at, bytes), end += bytes;
        else
            end += sprintf(end, "\\x%02X", (unsigned)(unsigned char)text[at]);
    }
    *end = 0;
    return out;
}
