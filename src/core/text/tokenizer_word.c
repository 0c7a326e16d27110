/* word: a token is a word, each ideograph one by itself. */
#include "text/pieces.h"

enum { USUAL = 8192 };

static size_t piece(const char *text, size_t length) {
    return word_length(text, length, true);
}

static bool learn(Tokenizer *k, long size, const Passage *p, long passages, Error *e) {
    k->unknown = true;
    return pieces_learn(k, size ? size : USUAL, p, passages, e);
}

static bool parse(Tokenizer *k, const char *where, const char *string, bool plain, Error *e) {
    (void)plain;
    k->unknown = true;
    return pieces_parse(k, where, string, "the length of a word and it", e);
}

const TokenizerKind tokenizer_word = {{"word", "vocab-size"},
                                      2,
                                      USUAL,
                                      .piece = piece,
                                      .learn = learn,
                                      .parse = parse,
                                      .write = pieces_write,
                                      .encode = pieces_encode};
