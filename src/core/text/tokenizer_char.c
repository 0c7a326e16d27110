/* char: a token is a character. The string is each character once, or, with [UNK], what pieces.h
 * says. */
#include "text/pieces.h"
#include <string.h>

static size_t piece(const char *text, size_t length) {
    return utf8_symbol(text, length, &(uint32_t){0});
}

static bool learn(Tokenizer *k, long size, const Passage *p, long passages, Error *e) {
    k->unknown = size > 0;
    return pieces_learn(k, size ? size : MAX_VOCABULARY, p, passages, e);
}

static bool parse_characters(Tokenizer *k, const Passage *p, Dictionary *found, Error *e) {
    if (!p->length)
        return error_set(e, STATUS_BAD_DATA, "%s: found an empty vocabulary, need a character",
                         p->where);
    if (!utf8_check(p->where, p->text, p->length, e)) return false;
    for (size_t at = 0, n; at < p->length; at += n) {
        n = piece(p->text + at, p->length - at);
        long i = dictionary_add(found, p->text + at, n, e);
        if (i < 0 || found->entry[i].count > 1)
            return error_set(e, STATUS_BAD_DATA,
                             "%s: byte %zu: found a duplicate character, need each once", p->where,
                             at);
    }
    return pieces_take(k, found, p->where, e);
}

static bool parse(Tokenizer *k, const char *where, const char *string, bool plain, Error *e) {
    Dictionary found = {0};
    k->unknown = !plain;
    if (!plain) return pieces_parse(k, where, string, "the length of a character and it", e);
    bool ok = parse_characters(k, &(Passage){where, string, strlen(string)}, &found, e);
    dictionary_free(&found);
    return ok;
}

static void write(const Tokenizer *k, FILE *out) {
    if (k->unknown)
        pieces_write(k, out);
    else
        fwrite(k->text, 1, k->start[k->size], out);
}

const TokenizerKind tokenizer_char = {{"char", "vocab-size"}, .min_size = 2,  .piece = piece,
                                      .learn = learn,         .parse = parse, .write = write,
                                      .encode = pieces_encode};
