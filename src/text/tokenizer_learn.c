#include "text/tokenizer_make.h"
#include <stdlib.h>
#include <string.h>

enum { LEARNED_BYTES = 1 << 26 };

static const char unknown[] = "[UNK]";

static bool make_room(Tokenizer *k, long size, size_t bytes, const char *where, Error *e) {
    k->size = size;
    k->text = malloc(bytes + 1), k->start = calloc((size_t)size + 1, sizeof *k->start);
    return (k->text && k->start) ||
           error_set(e, STATUS_NO_MEMORY, "%s: no memory for a vocabulary of %ld tokens", where, size);
}

bool tokenizer_take_pieces(Tokenizer *k, const Entry *piece, long count, const char *where, Error *e) {
    size_t bytes = sizeof unknown;
    for (long i = 0; i < count; i++) bytes += piece[i].length;
    if (!make_room(k, count + k->unknown, bytes, where, e)) return false;
    memcpy(k->text, unknown, sizeof unknown);
    if (k->unknown) k->start[1] = sizeof unknown - 1;
    for (long i = 0, id = k->unknown; i < count; i++, id++) {
        char *text = memcpy(k->text + k->start[id], piece[i].text, piece[i].length);
        k->start[id + 1] = k->start[id] + (uint32_t)piece[i].length;
        if (dictionary_add(&k->pieces, text, piece[i].length, e) < 0) return false;
    }
    return true;
}

bool tokenizer_take_merges(Tokenizer *k, const Merge *merge, long count, const char *where, Error *e) {
    if (!make_room(k, BYTE_TOKENS + count, BYTE_TOKENS + (size_t)count * TOKEN_BYTES, where, e)) return false;
    k->merge = malloc((size_t)(count + 1) * sizeof *merge);
    if (!k->merge) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld merges", where, count);
    if (count) memcpy(k->merge, merge, (size_t)count * sizeof *merge);
    for (int i = 0; i < BYTE_TOKENS; i++) k->text[i] = (char)i, k->start[i + 1] = (uint32_t)i + 1;
    for (long m = 0, id = BYTE_TOKENS; m < count; m++, id++) {
        const uint32_t *left = k->start + merge[m].left, *right = k->start + merge[m].right;
        uint32_t n = left[1] - left[0], more = right[1] - right[0];
        if (n + more > TOKEN_BYTES || pair_table_find(&k->merges, merge[m]) >= 0)
            return error_set(e, STATUS_BAD_DATA,
                             "%s: vocabulary: line %ld: found another, need a new pair of at most %d bytes",
                             where, m + 2, TOKEN_BYTES);
        memcpy(k->text + k->start[id], k->text + left[0], n);
        memcpy(k->text + k->start[id] + n, k->text + right[0], more);
        k->start[id + 1] = k->start[id] + n + more;
        if (!pair_table_add(&k->merges, merge[m], (int32_t)id, e)) return false;
    }
    return true;
}

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
    bool ok = (order && kept) || error_set(e, STATUS_NO_MEMORY, "memory: %ld different pieces", d->count);
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

static bool learn_pieces(Tokenizer *k, long size, Dictionary *found, const Passage *p, Error *e) {
    long most = (size ? size : k->kind == TOKENIZER_WORD ? DEFAULT_WORD_TOKENS : MAX_VOCABULARY) - k->unknown;
    const char *where = p->where;
    if (found->count > most && !k->unknown)
        return error_set(e, STATUS_BAD_DATA,
                         "%s: found %ld different characters, need at most %ld or --vocab-size", where,
                         found->count, most);
    if (found->count > most && !select_pieces(found, most, e)) return false;
    return tokenizer_take_pieces(k, found->entry, found->count, where, e);
}

static bool learn_merges(Tokenizer *k, long size, const Dictionary *words, const Passage *p, Error *e) {
    long most = (size ? size : DEFAULT_BPE_TOKENS) - BYTE_TOKENS;
    Merge *merge = malloc((size_t)(most + 1) * sizeof *merge);
    bool ok = merge || error_set(e, STATUS_NO_MEMORY, "memory: %ld merges", most);
    long count = ok ? bpe_learn(words, most, merge, e) : -1;
    ok = count >= 0 && tokenizer_take_merges(k, merge, count, p->where, e);
    free(merge);
    return ok;
}

static bool learn(Tokenizer *k, long size, const Passage *p, long passages, Error *e) {
    Dictionary found = {0};
    bool bpe = k->kind == TOKENIZER_BPE;
    long least = bpe ? BYTE_TOKENS : 2;
    if (size && (size < least || size > MAX_VOCABULARY))
        return error_set(e, STATUS_USAGE, "--vocab-size: found %ld, need %ld to %d of %s", size, least,
                         MAX_VOCABULARY, tokenizer_name(k));
    if (k->kind == TOKENIZER_BYTE) return tokenizer_take_merges(k, NULL, 0, p->where, e);
    k->unknown = k->kind == TOKENIZER_WORD || (k->kind == TOKENIZER_CHAR && size);
    bool ok = count_pieces(k->kind, p, passages, bpe ? LEARNED_BYTES : SIZE_MAX, &found, e) &&
              (bpe ? learn_merges(k, size, &found, p, e) : learn_pieces(k, size, &found, p, e));
    dictionary_free(&found);
    return ok;
}

Tokenizer *tokenizer_learn(TokenizerKind kind, long size, const Passage *passage, long passages, Error *e) {
    Tokenizer *k = calloc(1, sizeof *k);
    if (!k)
        error_set(e, STATUS_NO_MEMORY, "%s: no memory for a vocabulary", passage->where);
    else {
        k->kind = kind;
        if (learn(k, size, passage, passages, e)) return k;
    }
    tokenizer_free(k);
    return NULL;
}
