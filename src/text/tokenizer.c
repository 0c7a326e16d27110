/* Shared by the tokenizers: encoding by pieces, decoding, and the string that holds one. */
#include "text/tokenizer.h"
#include "text/tokenizer_make.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"char", "byte", "bpe", "word"};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *tokenizer_name(const Tokenizer *k) {
    return kinds[k->kind];
}

void tokenizer_free(Tokenizer *k) {
    if (!k) return;
    dictionary_free(&k->pieces);
    free(k->merges.slot), free(k->merge), free(k->start), free(k->text);
    free(k);
}

/* ---- Encoding and decoding ---- */

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
                     "%s: byte %zu: found '%s' (U+%04X), need one of the %ld characters of the vocabulary",
                     p->where, at, ESCAPED(found), (unsigned)character, k->size);
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
            *s = (struct Seen){*at, n, *count, bpe_encode_word(&k->merges, word, n, ids + *count)};
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

/* ---- The string ---- */

char *tokenizer_string(const Tokenizer *k, Error *e) {
    char *string = NULL;
    size_t length;
    FILE *out = open_memstream(&string, &length);
    if (out) {
        bool plain = k->kind == TOKENIZER_CHAR && !k->unknown;
        if (!plain) fprintf(out, "tokenizer %s\n", tokenizer_name(k));
        for (long id = k->unknown; id < k->size && k->pieces.count; id++) {
            uint32_t bytes = k->start[id + 1] - k->start[id];
            if (!plain) fprintf(out, "%u ", (unsigned)bytes);
            fwrite(k->text + k->start[id], 1, bytes, out);
            if (!plain) putc('\n', out);
        }
        for (long m = 0; k->merge && m < k->size - BYTE_TOKENS; m++)
            fprintf(out, "%d %d\n", (int)k->merge[m].left, (int)k->merge[m].right);
        if (fclose(out) == 0) return string;
        free(string);
    }
    error_set(e, STATUS_NO_MEMORY, "memory: a vocabulary of %ld tokens", k->size);
    return NULL;
}

/* A decimal number of at most six digits, without leading zeros, and the byte that ends it; moves past both. -1:
 * something else. */
static long number(const char **at, char end) {
    long n = 0, digits = 0;
    while (digits < 6 && (*at)[digits] >= '0' && (*at)[digits] <= '9') n = 10 * n + ((*at)[digits++] - '0');
    if (!digits || (*at)[digits] != end || (digits > 1 && **at == '0')) return -1;
    *at += digits + 1;
    return n;
}

/* Each character once. */
static bool parse_characters(Tokenizer *k, const Passage *p, Error *e) {
    Dictionary found = {0};
    bool ok = p->length ||
              error_set(e, STATUS_BAD_DATA, "%s: found an empty vocabulary, need a character", p->where);
    for (size_t at = 0, n; ok && at < p->length; at += n) {
        n = tokenizer_piece(TOKENIZER_CHAR, p->text + at, p->length - at);
        long i = tokenizer_check_piece(p, at, n, e) ? dictionary_add(&found, p->text + at, n, e) : -1;
        ok = i >= 0 && (found.entry[i].count == 1 ||
                        error_set(e, STATUS_BAD_DATA,
                                  "%s: byte %zu: found a duplicate character, need each once", p->where, at));
    }
    ok = ok && tokenizer_take_pieces(k, found.entry, found.count, p->where, e);
    dictionary_free(&found);
    return ok;
}

static bool bad_line(const char *where, long line, const char *need, Error *e) {
    return error_set(e, STATUS_BAD_DATA, "%s: vocabulary: line %ld: found another, need %s", where, line,
                     need);
}

/* `BYTES TEXT` a line, each text once and one piece. */
static bool parse_pieces(Tokenizer *k, const char *where, const char *at, Error *e) {
    Dictionary found = {0};
    bool ok = true;
    while (ok && *at) {
        long n = number(&at, ' '), line = found.count + 2, i = -1;
        ok = n > 0 && n <= TOKEN_BYTES && memchr(at, 0, (size_t)n) == NULL && at[n] == '\n';
        if (ok) {
            Passage p = {where, at, (size_t)n};
            ok = tokenizer_piece(k->kind, at, (size_t)n) == (size_t)n &&
                 tokenizer_check_piece(&p, 0, (size_t)n, &(Error){0});
        }
        if (!ok || found.count + 1 == MAX_VOCABULARY) {
            ok = bad_line(where, line,
                          k->kind == TOKENIZER_CHAR ? "the length of a character and it"
                                                    : "the length of a word and it",
                          e);
            break;
        }
        i = dictionary_add(&found, at, (size_t)n, e);
        ok = i >= 0 && (found.entry[i].count == 1 || bad_line(where, line, "each text once", e));
        at += n + 1;
    }
    k->unknown = true;
    ok = ok && tokenizer_take_pieces(k, found.entry, found.count, where, e);
    dictionary_free(&found);
    return ok;
}

/* `LEFT RIGHT` a line, of earlier tokens. */
static bool parse_merges(Tokenizer *k, const char *where, const char *at, Error *e) {
    size_t lines = 0;
    for (const char *c = at; *c; c++) lines += *c == '\n';
    if (lines > MAX_VOCABULARY - BYTE_TOKENS)
        return bad_line(where, MAX_VOCABULARY - BYTE_TOKENS + 2, "fewer lines", e);
    Merge *merge = malloc((lines + 1) * sizeof *merge);
    if (!merge) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for a vocabulary", where);
    long count = 0;
    bool ok = true;
    for (; ok && *at; count++) {
        long left = number(&at, ' '), right = left < 0 ? -1 : number(&at, '\n'), next = BYTE_TOKENS + count;
        ok = (left >= 0 && left < next && right >= 0 && right < next) ||
             bad_line(where, count + 2, "the ids of two earlier tokens", e);
        if (ok) merge[count] = (Merge){(int32_t)left, (int32_t)right};
    }
    ok = ok && tokenizer_take_merges(k, merge, count, where, e);
    free(merge);
    return ok;
}

Tokenizer *tokenizer_parse(const char *where, const char *string, Error *e) {
    Tokenizer *k = calloc(1, sizeof *k);
    bool ok = k || error_set(e, STATUS_NO_MEMORY, "%s: no memory for a vocabulary", where);
    const char *body = string;
    for (int i = 0; ok && i < KINDS && body == string; i++) {
        char first[32];
        int n = snprintf(first, sizeof first, "tokenizer %s\n", kinds[i]);
        if (strncmp(string, first, (size_t)n) == 0) body += n, k->kind = (TokenizerKind)i;
    }
    if (ok && body == string)
        ok = parse_characters(k, &(Passage){where, string, strlen(string)}, e);
    else if (ok && k->kind == TOKENIZER_BYTE && *body)
        ok = bad_line(where, 2, "no line", e);
    else if (ok)
        ok = (k->kind == TOKENIZER_CHAR || k->kind == TOKENIZER_WORD ? parse_pieces : parse_merges)(k, where,
                                                                                                    body, e);
    if (ok) return k;
    tokenizer_free(k);
    return NULL;
}
