/* byte: a token is a byte. The string has the line `utf-8` if the texts were UTF-8, so that what is
 * written is, too. */
#include "text/tokenizer.h"
#include <string.h>

static size_t piece(const char *text, size_t length) {
    (void)text;
    (void)length;
    return 1;
}

static bool learn(Tokenizer *k, long size, const Passage *p, long passages, Error *e) {
    (void)size;
    k->utf8 = passages_check(p, passages, &(Error){0});
    return tokenizer_allocate_bytes(k, BYTE_TOKENS, BYTE_TOKENS, p->where, e);
}

static bool parse(Tokenizer *k, const char *where, const char *string, Error *e) {
    k->utf8 = strcmp(string, "utf-8\n") == 0;
    if (*string && !k->utf8) return tokenizer_bad_line(where, 2, "utf-8 or no line", e);
    return tokenizer_allocate_bytes(k, BYTE_TOKENS, BYTE_TOKENS, where, e);
}

static void write(const Tokenizer *k, FILE *out) {
    if (k->utf8) fputs("utf-8\n", out);
}

static bool encode(const Tokenizer *k, const Passage *p, size_t *at, size_t end, int32_t *ids,
                   long *count, Error *e) {
    (void)k;
    (void)e;
    while (*at < end) ids[(*count)++] = (unsigned char)p->text[(*at)++];
    return true;
}

const TokenizerKind tokenizer_byte = {{"byte"},        .any_bytes = true, .piece = piece,
                                      .learn = learn,  .parse = parse,    .write = write,
                                      .encode = encode};
