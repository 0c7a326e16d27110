/* char: a token is a character. The string is each character once. */
#include "text/tokenizer.h"
#include <string.h>

static size_t piece(const char *text, size_t length) {
    return utf8_symbol(text, length, &(uint32_t){0});
}

/* Copies the characters that k->pieces has found, and makes them the tokens. */
static bool take_characters(Tokenizer *k, const char *where, Error *e) {
    long count = k->pieces.count;
    if (!tokenizer_allocate(k, count, (size_t)count * UTF8_MAX, where, e)) return false;
    for (long id = 0; id < count; id++) {
        Entry *character = &k->pieces.entry[id];
        character->text = memcpy(k->text + k->start[id], character->text, character->length);
        k->start[id + 1] = k->start[id] + (uint32_t)character->length;
    }
    return true;
}

static bool learn(Tokenizer *k, long size, const Passage *p, long passages, Error *e) {
    (void)size;
    if (!pieces_count(k->kind, p, passages, SIZE_MAX, &k->pieces, e)) return false;
    if (k->pieces.count > MAX_VOCABULARY)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ld different characters, need at most %d",
                         p->where, k->pieces.count, MAX_VOCABULARY);
    return take_characters(k, p->where, e);
}

static bool parse(Tokenizer *k, const char *where, const char *string, Error *e) {
    size_t length = strlen(string);
    if (!length)
        return error_set(e, STATUS_BAD_DATA, "%s: found an empty vocabulary, need a character",
                         where);
    if (!utf8_check(where, string, length, e)) return false;
    for (size_t at = 0, n; at < length; at += n) {
        n = piece(string + at, length - at);
        long i = dictionary_add(&k->pieces, string + at, n, e);
        if (i < 0 || k->pieces.entry[i].count > 1)
            return error_set(e, STATUS_BAD_DATA,
                             "%s: byte %zu: found a duplicate character, need each once", where,
                             at);
    }
    return take_characters(k, where, e);
}

static void write(const Tokenizer *k, FILE *out) {
    fwrite(k->text, 1, k->start[k->size], out);
}

/* The piece is p->text[at], of n bytes. */
static bool refuse(const Tokenizer *k, const Passage *p, size_t at, size_t n, Error *e) {
    char found[UTF8_MAX + 1] = {0};
    uint32_t character = 0;
    memcpy(found, p->text + at, n);
    if (!utf8_decode(found, n, &character) || !character)
        return error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found 0x%02X, need UTF-8 text",
                         p->where, at, (unsigned)(unsigned char)*found);
    return error_set(
        e, STATUS_BAD_DATA,
        "%s: byte %zu: found '%s' (U+%04X), need one of the %ld character%s of the vocabulary",
        p->where, at, ESCAPED(found), (unsigned)character, k->size, PLURAL(k->size));
}

static bool encode(const Tokenizer *k, const Passage *p, size_t *at, size_t end, int32_t *ids,
                   long *count, Error *e) {
    while (*at < end) {
        size_t n = piece(p->text + *at, p->length - *at);
        long id = dictionary_find(&k->pieces, p->text + *at, n);
        if (id < 0) return refuse(k, p, *at, n, e);
        ids[(*count)++] = (int32_t)id;
        *at += n;
    }
    return true;
}

const TokenizerKind tokenizer_char = {{"char"},        .reads_all = true, .piece = piece,
                                      .learn = learn,  .parse = parse,    .write = write,
                                      .encode = encode};
