/* byte: a token is a byte. The string has the line `utf-8` if the texts were UTF-8, so that what is
 * written is, too. */
#include "text/encoding.h"
#include "text/tokenizer.h"
#include <string.h>

static size_t piece(const char *text, size_t length) {
    (void)text;
    (void)length;
    return 1;
}

static bool take_bytes(Tokenizer *k, const char *where, Error *e) {
    if (!tokenizer_make_room(k, BYTE_TOKENS, BYTE_TOKENS, where, e)) return false;
    for (int i = 0; i < BYTE_TOKENS; i++) {
        k->text[i] = (char)i;
        k->start[i + 1] = (uint32_t)i + 1;
    }
    return true;
}

static bool learn(Tokenizer *k, long size, const Passage *p, long passages, Error *e) {
    (void)size;
    for (long i = 0; i < passages; i++)
        k->utf8 &= text_check("", p[i].text, p[i].length, &(Error){0});
    return take_bytes(k, p->where, e);
}

static bool parse(Tokenizer *k, const char *where, const char *string, bool plain, Error *e) {
    (void)plain;
    k->utf8 = strcmp(string, "utf-8\n") == 0;
    if (*string && !k->utf8) return tokenizer_bad_line(where, 2, "utf-8 or no line", e);
    return take_bytes(k, where, e);
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
