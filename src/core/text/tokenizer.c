#include "text/tokenizer.h"
#include "text/encoding.h"
#include <stdlib.h>
#include <string.h>

#define TOKENIZER(name) &tokenizer_##name.choice,
const Choice *const all_tokenizers[] = {ALL_TOKENIZERS(TOKENIZER) NULL};

/* ---- Making a tokenizer ---- */

static bool no_memory(const char *where, Error *e) {
    return error_set(e, STATUS_NO_MEMORY, "%s: no memory for a vocabulary", where);
}

/* An empty tokenizer of this kind. */
static Tokenizer *make(const TokenizerKind *kind, const char *where, Error *e) {
    Tokenizer *k = calloc(1, sizeof *k);
    if (!k) {
        no_memory(where, e);
        return NULL;
    }
    k->kind = kind;
    k->utf8 = true;
    return k;
}

/* Frees a tokenizer that was not filled. */
static Tokenizer *complete(Tokenizer *k, bool filled) {
    if (filled) return k;
    tokenizer_free(k);
    return NULL;
}

bool tokenizer_allocate(Tokenizer *k, long size, size_t bytes, const char *where, Error *e) {
    k->size = size;
    k->text = malloc(bytes + 1);
    k->start = calloc((size_t)size + 1, sizeof *k->start);
    return (k->text && k->start) || no_memory(where, e);
}

bool tokenizer_allocate_bytes(Tokenizer *k, long size, size_t bytes, const char *where, Error *e) {
    if (!tokenizer_allocate(k, size, bytes, where, e)) return false;
    for (int i = 0; i < BYTE_TOKENS; i++) {
        k->text[i] = (char)i;
        k->start[i + 1] = (uint32_t)i + 1;
    }
    return true;
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

bool tokenizer_bad_line(const char *where, long line, const char *need, Error *e) {
    return error_set(e, STATUS_BAD_DATA, "%s: vocabulary: line %ld: found another, need %s", where,
                     line, need);
}

bool passages_check(const Passage *passage, long passages, Error *e) {
    for (long i = 0; i < passages; i++)
        if (!text_check(passage[i].where, passage[i].text, passage[i].length, "lm", e))
            return false;
    return true;
}

Tokenizer *tokenizer_learn(const TokenizerKind *kind, long size, const Passage *passage,
                           long passages, Error *e) {
    WANT(kind);
    if (passages < 0) error_bug("tokenizer_learn: %ld passages, want at least 0", passages);
    if (passages) WANT(passage);
    if (!kind->any_bytes && !passages_check(passage, passages, e)) return NULL;
    Tokenizer *k = make(kind, passage->where, e);
    return k ? complete(k, kind->learn(k, size, passage, passages, e)) : NULL;
}

void tokenizer_free(Tokenizer *k) {
    if (!k) return;
    dictionary_free(&k->pieces);
    free(k->merge);
    free(k->start);
    free(k->text);
    free(k);
}

/* ---- The string ---- */

/* Writes the first line of a kind's string. */
static int first_line(const Choice *kind, char out[32]) {
    return snprintf(out, 32, "tokenizer %s\n", kind->name);
}

char *tokenizer_string(const Tokenizer *k, Error *e) {
    WANT(k);
    char *string = NULL, first[32];
    size_t length;
    FILE *out = open_memstream(&string, &length);
    if (out) {
        first_line(&k->kind->choice, first);
        if (k->kind != &tokenizer_char) fputs(first, out);
        k->kind->write(k, out);
        if (fclose(out) == 0 && string)
            return string; /* fclose may run out of memory without an error */
        free(string);
    }
    no_memory("memory", e);
    return NULL;
}

Tokenizer *tokenizer_parse(const char *where, const char *string, Error *e) {
    WANT(where);
    WANT(string);
    Tokenizer *k = make(&tokenizer_char, where, e);
    if (!k) return NULL;
    const char *body = string;
    for (const Choice *const *kind = all_tokenizers; *kind; kind++) {
        char first[32];
        int n = first_line(*kind, first);
        if (*kind == &tokenizer_char.choice || strncmp(string, first, (size_t)n) != 0) continue;
        body = string + n;
        k->kind = (const TokenizerKind *)*kind;
    }
    return complete(k, k->kind->parse(k, where, body, e));
}

/* ---- Encoding and decoding ---- */

bool tokenizer_encode_part(const Tokenizer *k, const Passage *p, size_t *at, size_t bytes,
                           int32_t *ids, long *count, Error *e) {
    WANT(k);
    WANT(p);
    WANT(at);
    WANT(count);
    if (p->length > *at) WANT(p->text);
    if (p->length > *at) WANT(ids);
    *count = 0;
    return k->kind->encode(k, p, at, p->length - *at < bytes ? p->length : *at + bytes, ids, count,
                           e);
}

bool tokenizer_encode(const Tokenizer *k, const char *where, const char *text, size_t length,
                      int32_t *ids, long *count, Error *e) {
    size_t at = 0;
    return tokenizer_encode_part(k, &(Passage){where, text, length}, &at, length, ids, count, e);
}

size_t tokenizer_decode(const Tokenizer *k, const int32_t *ids, long count, char *out) {
    WANT(k);
    WANT(out);
    if (count < 0) error_bug("tokenizer_decode: %ld tokens, want at least 0", count);
    if (count) WANT(ids);
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

/* A character that is not complete lies in the last three bytes. */
size_t tokenizer_unfinished(const Tokenizer *k, const int32_t *ids, long n, char out[UTF8_MAX]) {
    char text[UTF8_MAX * TOKEN_BYTES + 1];
    long from = n < UTF8_MAX ? 0 : n - UTF8_MAX;
    size_t length = tokenizer_decode(k, ids + from, n - from, text);
    size_t bytes = utf8_unfinished(text, length);
    if (out) memcpy(out, text + length - bytes, bytes);
    return bytes;
}

bool tokenizer_may_follow(const Tokenizer *k, const char *begun, size_t bytes, int32_t id) {
    char text[UTF8_MAX + TOKEN_BYTES];
    if (id < 0 || id >= k->size) return false;
    if (!k->utf8) return true;
    size_t length = k->start[id + 1] - k->start[id];
    memcpy(text, begun, bytes);
    memcpy(text + bytes, k->text + k->start[id], length);
    length += bytes;
    length -= utf8_unfinished(text, length);
    return utf8_valid(text, length) == length;
}

const char *tokenizer_unit(const Tokenizer *k) {
    return k->utf8 ? "char" : "byte";
}

size_t tokenizer_symbol(const Tokenizer *k, const char *text, size_t length, uint32_t *symbol) {
    *symbol = (unsigned char)*text;
    return k->utf8 && *symbol >= 0x80 ? utf8_symbol(text, length, symbol) : 1;
}

size_t tokenizer_characters(const Tokenizer *k, int32_t id) {
    size_t bytes = k->start[id + 1] - k->start[id];
    return k->utf8 ? utf8_count(k->text + k->start[id], bytes) : bytes;
}

const char *tokenizer_label(const Tokenizer *k, int32_t id, char out[TOKEN_LABEL]) {
    char text[TOKEN_BYTES + 1], *end = out;
    size_t n = tokenizer_decode(k, &id, 1, text), bytes;
    uint32_t symbol;
    for (size_t at = 0; at < n; at += bytes) {
        bytes = utf8_symbol(text + at, n - at, &symbol);
        if (symbol && symbol < NO_UTF8) {
            memcpy(end, text + at, bytes);
            end += bytes;
        } else
            end += sprintf(end, "\\x%02X", (unsigned)(unsigned char)text[at]);
    }
    *end = 0;
    return out;
}
