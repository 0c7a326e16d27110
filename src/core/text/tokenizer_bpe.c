/* bpe: byte pairs. The string has a line for each merge, the ids of its two tokens,
 * `LEFT RIGHT`. */
#include "text/tokenizer.h"
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SIZE = 1024, LEARNED_BYTES = 1 << 26 };

static size_t piece(const char *text, size_t length) {
    return word_length(text, length);
}

/* ---- Filling a tokenizer: bytes, merges ---- */

static bool expect(Tokenizer *k, long size, const char *where, Error *e) {
    k->merge = malloc((size_t)size * sizeof *k->merge);
    if (!k->merge) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for a vocabulary", where);
    return tokenizer_allocate_bytes(k, size, (size_t)size * TOKEN_BYTES, where, e);
}

/* Gives a tokenizer with `count` merges their tokens. STATUS_BAD_DATA: a pair comes twice or makes
 * more than TOKEN_BYTES bytes. */
static bool take_merges(Tokenizer *k, long count, const char *where, Error *e) {
    k->size = BYTE_TOKENS + count;
    for (long m = 0; m < count; m++) {
        long id = BYTE_TOKENS + m;
        const Merge *merge = &k->merge[m];
        const uint32_t *left = k->start + merge->left, *right = k->start + merge->right;
        uint32_t n = left[1] - left[0], more = right[1] - right[0];
        if (n + more > TOKEN_BYTES || bpe_joined(&k->pieces, *merge) >= 0)
            return tokenizer_bad_line(where, 2 + m, "a new pair of at most 64 bytes", e);
        memcpy(k->text + k->start[id], k->text + left[0], n);
        memcpy(k->text + k->start[id] + n, k->text + right[0], more);
        k->start[id + 1] = k->start[id] + n + more;
        if (dictionary_add(&k->pieces, (const char *)merge, sizeof *merge, e) < 0) return false;
    }
    return true;
}

/* ---- Learning ---- */

static bool learn_tokens(Tokenizer *k, long size, const Dictionary *words, const char *where,
                         Error *e) {
    bool ok = expect(k, size, where, e);
    long count = ok ? bpe_learn(words, size - BYTE_TOKENS, k->merge, e) : -1;
    return count >= 0 && take_merges(k, count, where, e);
}

static bool learn(Tokenizer *k, long size, const Passage *p, long passages, Error *e) {
    Dictionary words = {0};
    if (size == 0) size = DEFAULT_SIZE;
    if (size < BYTE_TOKENS || size > MAX_VOCABULARY)
        return error_set(e, STATUS_USAGE, "--vocab-size: found %ld, need %d to %d", size,
                         BYTE_TOKENS, MAX_VOCABULARY);
    bool ok = pieces_count(k->kind, p, passages, LEARNED_BYTES, &words, e) &&
              learn_tokens(k, size, &words, p->where, e);
    dictionary_free(&words);
    return ok;
}

/* ---- The string ---- */

/* A decimal number of at most six digits, without leading zeros, and the byte that ends it; moves
 * past both. -1: something else. */
static long token_id(const char **at, char end) {
    long n = 0, digits = 0;
    while (digits < 6 && (*at)[digits] >= '0' && (*at)[digits] <= '9')
        n = 10 * n + ((*at)[digits++] - '0');
    if (!digits || (*at)[digits] != end || (digits > 1 && **at == '0')) return -1;
    *at += digits + 1;
    return n;
}

static bool parse(Tokenizer *k, const char *where, const char *at, Error *e) {
    long lines = 0, count = 0;
    for (const char *c = at; *c; c++) lines += *c == '\n';
    if (lines > MAX_VOCABULARY - BYTE_TOKENS)
        return tokenizer_bad_line(where, MAX_VOCABULARY - BYTE_TOKENS + 2, "fewer lines", e);
    if (!expect(k, BYTE_TOKENS + lines + 1, where, e)) return false;
    for (; *at; count++) {
        long left = token_id(&at, ' '), right = left < 0 ? -1 : token_id(&at, '\n'),
             next = BYTE_TOKENS + count;
        if (left < 0 || left >= next || right < 0 || right >= next)
            return tokenizer_bad_line(where, 2 + count, "the ids of two earlier tokens", e);
        k->merge[count] = (Merge){(int32_t)left, (int32_t)right};
    }
    return take_merges(k, count, where, e);
}

static void write(const Tokenizer *k, FILE *out) {
    for (long m = 0; m < k->size - BYTE_TOKENS; m++)
        fprintf(out, "%d %d\n", (int)k->merge[m].left, (int)k->merge[m].right);
}

/* ---- Encoding ---- */

/* A word that came before is looked up where it stood. */
static bool encode(const Tokenizer *k, const Passage *p, size_t *at, size_t end, int32_t *ids,
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
        size_t n = piece(word, p->length - *at);
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

const TokenizerKind tokenizer_bpe = {{"bpe", "vocab-size"}, .piece = piece, .learn = learn,
                                     .parse = parse,        .write = write, .encode = encode};
