/* Making a tokenizer, from texts or from the string that holds one. */
#include "text/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEARNED_BYTES = 1 << 26 };

static const char unknown[] = "[UNK]";

static bool no_memory(const char *where, Error *e) {
    return error_set(e, STATUS_NO_MEMORY, "%s: no memory for a vocabulary", where);
}

/* ---- Filling a tokenizer ---- */

static bool make_room(Tokenizer *k, long size, size_t bytes, const char *where, Error *e) {
    k->size = size;
    k->text = malloc(bytes + 1), k->start = calloc((size_t)size + 1, sizeof *k->start);
    return (k->text && k->start) || no_memory(where, e);
}

/* Gives an empty tokenizer of characters or words, with or without [UNK], these tokens. Copies their texts. */
static bool take_pieces(Tokenizer *k, const Dictionary *found, const char *where, Error *e) {
    size_t bytes = sizeof unknown;
    for (long i = 0; i < found->count; i++) bytes += found->entry[i].length;
    if (!make_room(k, found->count + k->unknown, bytes, where, e)) return false;
    memcpy(k->text, unknown, sizeof unknown);
    if (k->unknown) k->start[1] = sizeof unknown - 1;
    for (long i = 0, id = k->unknown; i < found->count; i++, id++) {
        const Entry *piece = &found->entry[i];
        char *text = memcpy(k->text + k->start[id], piece->text, piece->length);
        k->start[id + 1] = k->start[id] + (uint32_t)piece->length;
        if (dictionary_add(&k->pieces, text, piece->length, e) < 0) return false;
    }
    return true;
}

/* Makes room for the merges of an empty tokenizer, which the caller writes; then take_merges. */
static bool expect_merges(Tokenizer *k, long most, const char *where, Error *e) {
    k->merge = malloc((size_t)(most + 1) * sizeof *k->merge);
    return k->merge || no_memory(where, e);
}

/* Gives a tokenizer with `count` merges its tokens. STATUS_BAD_DATA: a pair comes twice or makes more than TOKEN_BYTES
 * bytes. */
static bool take_merges(Tokenizer *k, long count, const char *where, Error *e) {
    if (!make_room(k, BYTE_TOKENS + count, BYTE_TOKENS + (size_t)count * TOKEN_BYTES, where, e)) return false;
    for (int i = 0; i < BYTE_TOKENS; i++) k->text[i] = (char)i, k->start[i + 1] = (uint32_t)i + 1;
    for (long m = 0, id = BYTE_TOKENS; m < count; m++, id++) {
        const Merge *merge = &k->merge[m];
        const uint32_t *left = k->start + merge->left, *right = k->start + merge->right;
        uint32_t n = left[1] - left[0], more = right[1] - right[0];
        if (n + more > TOKEN_BYTES || bpe_joined(&k->pieces, *merge) >= 0)
            return error_set(e, STATUS_BAD_DATA,
                             "%s: vocabulary: line %ld: found another, need a new pair of at most %d bytes",
                             where, m + 2, TOKEN_BYTES);
        memcpy(k->text + k->start[id], k->text + left[0], n);
        memcpy(k->text + k->start[id] + n, k->text + right[0], more);
        k->start[id + 1] = k->start[id] + n + more;
        if (dictionary_add(&k->pieces, (const char *)merge, sizeof *merge, e) < 0) return false;
    }
    return true;
}

/* ---- Learning ---- */

/* Counts the pieces of the first `most` bytes. */
static bool count_pieces(TokenizerKind kind, const Passage *p, long passages, size_t most, Dictionary *found,
                         Error *e) {
    for (long i = 0; i < passages; i++)
        for (size_t at = 0, n; at < p[i].length && most > 0; at += n) {
            n = tokenizer_piece(kind, p[i].text + at, p[i].length - at);
            most -= n < most ? n : most;
            if ((kind != TOKENIZER_BPE && !tokenizer_check_piece(&p[i], at, n, e)) ||
                dictionary_add(found, p[i].text + at, n, e) < 0)
                return false;
        }
    return true;
}

/* qsort keeps no order of equals: the place decides. */
static int by_count(const void *a, const void *b) {
    const Entry *x = *(const Entry *const *)a, *y = *(const Entry *const *)b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : (x > y) - (x < y);
}

/* Keeps the `most` most frequent pieces, the most frequent first. */
static bool select_pieces(Dictionary *d, long most, Error *e) {
    const Entry **order = malloc((size_t)(d->count + 1) * sizeof *order);
    Entry *kept = malloc((size_t)(most + 1) * sizeof *kept);
    bool ok = (order && kept) || no_memory("memory", e);
    for (long i = 0; ok && i < d->count; i++) order[i] = &d->entry[i];
    if (ok) {
        qsort(order, (size_t)d->count, sizeof *order, by_count);
        for (long i = 0; i < most; i++) kept[i] = *order[i];
        memcpy(d->entry, kept, (size_t)most * sizeof *kept);
        d->count = most;
    }
    free(order), free(kept);
    return ok;
}

static bool learn_pieces(Tokenizer *k, long size, Dictionary *found, const char *where, Error *e) {
    long most = (size ? size : k->kind == TOKENIZER_WORD ? DEFAULT_WORD_TOKENS : MAX_VOCABULARY) - k->unknown;
    if (found->count > most && !k->unknown)
        return error_set(e, STATUS_BAD_DATA,
                         "%s: found %ld different characters, need at most %ld or --vocab-size", where,
                         found->count, most);
    if (found->count > most && !select_pieces(found, most, e)) return false;
    return take_pieces(k, found, where, e);
}

static bool learn_merges(Tokenizer *k, long size, Dictionary *words, const char *where, Error *e) {
    long most = (size ? size : DEFAULT_BPE_TOKENS) - BYTE_TOKENS;
    long count = expect_merges(k, most, where, e) ? bpe_learn(words, most, k->merge, e) : -1;
    return count >= 0 && take_merges(k, count, where, e);
}

static bool learn(Tokenizer *k, long size, const Passage *p, long passages, Error *e) {
    Dictionary found = {0};
    bool bpe = k->kind == TOKENIZER_BPE;
    long least = bpe ? BYTE_TOKENS : 2;
    if (size && (size < least || size > MAX_VOCABULARY))
        return error_set(e, STATUS_USAGE, "--vocab-size: found %ld, need %ld to %d of %s", size, least,
                         MAX_VOCABULARY, tokenizer_name(k->kind));
    if (k->kind == TOKENIZER_BYTE) return take_merges(k, 0, p->where, e);
    k->unknown = k->kind == TOKENIZER_WORD || (k->kind == TOKENIZER_CHAR && size);
    bool ok = count_pieces(k->kind, p, passages, bpe ? LEARNED_BYTES : SIZE_MAX, &found, e) &&
              (bpe ? learn_merges : learn_pieces)(k, size, &found, p->where, e);
    dictionary_free(&found);
    return ok;
}

Tokenizer *tokenizer_learn(TokenizerKind kind, long size, const Passage *passage, long passages, Error *e) {
    Tokenizer *k = calloc(1, sizeof *k);
    if (k) k->kind = kind;
    if (k ? learn(k, size, passage, passages, e) : no_memory(passage->where, e)) return k;
    tokenizer_free(k);
    return NULL;
}

/* ---- The string ---- */

char *tokenizer_string(const Tokenizer *k, Error *e) {
    char *string = NULL;
    size_t length;
    FILE *out = open_memstream(&string, &length);
    if (out) {
        bool plain = k->kind == TOKENIZER_CHAR && !k->unknown;
        if (!plain) fprintf(out, "tokenizer %s\n", tokenizer_name(k->kind));
        for (long id = k->unknown; id < k->size && (plain || k->unknown); id++) {
            uint32_t bytes = k->start[id + 1] - k->start[id];
            if (!plain) fprintf(out, "%u ", (unsigned)bytes);
            fwrite(k->text + k->start[id], 1, bytes, out);
            if (!plain) putc('\n', out);
        }
        for (long m = 0; k->merge && m < k->size - BYTE_TOKENS; m++)
            fprintf(out, "%d %d\n", (int)k->merge[m].left, (int)k->merge[m].right);
        if (fclose(out) == 0 && string) return string; /* fclose may run out of memory without an error */
        free(string);
    }
    no_memory("memory", e);
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

static bool bad_line(const char *where, long line, const char *need, Error *e) {
    return error_set(e, STATUS_BAD_DATA, "%s: vocabulary: line %ld: found another, need %s", where, line,
                     need);
}

/* Each character once. */
static bool parse_characters(const Passage *p, Dictionary *found, Error *e) {
    if (!p->length)
        return error_set(e, STATUS_BAD_DATA, "%s: found an empty vocabulary, need a character", p->where);
    for (size_t at = 0, n; at < p->length; at += n) {
        n = tokenizer_piece(TOKENIZER_CHAR, p->text + at, p->length - at);
        if (!tokenizer_check_piece(p, at, n, e)) return false;
        long i = dictionary_add(found, p->text + at, n, e);
        if (i < 0 || found->entry[i].count > 1)
            return error_set(e, STATUS_BAD_DATA, "%s: byte %zu: found a duplicate character, need each once",
                             p->where, at);
    }
    return true;
}

/* `BYTES TEXT` a line, each text once and one piece. */
static bool parse_pieces(TokenizerKind kind, const char *where, const char *at, Dictionary *found, Error *e) {
    const char *need =
        kind == TOKENIZER_CHAR ? "the length of a character and it" : "the length of a word and it";
    for (long line = 2, n; *at; line++, at += n + 1) {
        n = number(&at, ' ');
        if (line > MAX_VOCABULARY || n < 1 || n > TOKEN_BYTES || memchr(at, 0, (size_t)n) || at[n] != '\n' ||
            tokenizer_piece(kind, at, (size_t)n) != (size_t)n ||
            !tokenizer_check_piece(&(Passage){where, at, (size_t)n}, 0, (size_t)n, &(Error){0}))
            return bad_line(where, line, need, e);
        long i = dictionary_add(found, at, (size_t)n, e);
        if (i < 0 || found->entry[i].count > 1) return bad_line(where, line, "each text once", e);
    }
    return true;
}

/* `LEFT RIGHT` a line, of earlier tokens. */
static bool parse_merges(Tokenizer *k, const char *where, const char *at, Error *e) {
    long lines = 0, count = 0;
    for (const char *c = at; *c; c++) lines += *c == '\n';
    if (lines > MAX_VOCABULARY - BYTE_TOKENS)
        return bad_line(where, MAX_VOCABULARY - BYTE_TOKENS + 2, "fewer lines", e);
    if (!expect_merges(k, lines, where, e)) return false;
    for (; *at; count++) {
        long left = number(&at, ' '), right = left < 0 ? -1 : number(&at, '\n'), next = BYTE_TOKENS + count;
        if (left < 0 || left >= next || right < 0 || right >= next)
            return bad_line(where, count + 2, "the ids of two earlier tokens", e);
        k->merge[count] = (Merge){(int32_t)left, (int32_t)right};
    }
    return take_merges(k, count, where, e);
}

static bool parse(Tokenizer *k, const char *where, const char *string, Error *e) {
    Dictionary found = {0};
    const char *body = string;
    for (TokenizerKind kind = TOKENIZER_CHAR; kind <= TOKENIZER_WORD && body == string; kind++) {
        char first[32];
        int n = snprintf(first, sizeof first, "tokenizer %s\n", tokenizer_name(kind));
        if (strncmp(string, first, (size_t)n) == 0) body += n, k->kind = kind;
    }
    if (k->kind == TOKENIZER_BYTE && *body) return bad_line(where, 2, "no line", e);
    if (k->kind == TOKENIZER_BYTE || k->kind == TOKENIZER_BPE) return parse_merges(k, where, body, e);
    k->unknown = body > string;
    bool ok = (k->unknown ? parse_pieces(k->kind, where, body, &found, e)
                          : parse_characters(&(Passage){where, string, strlen(string)}, &found, e)) &&
              take_pieces(k, &found, where, e);
    dictionary_free(&found);
    return ok;
}

Tokenizer *tokenizer_parse(const char *where, const char *string, Error *e) {
    Tokenizer *k = calloc(1, sizeof *k);
    if (k ? parse(k, where, string, e) : no_memory(where, e)) return k;
    tokenizer_free(k);
    return NULL;
}
