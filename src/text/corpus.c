/* Token windows of a text, and the entropies of its characters. */
#include "text/corpus.h"
#include "base/crc32.h"
#include "base/file.h"
#include "base/random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Suggests options if the text suffices for a small context without a tail, but not for those chosen. */
static bool enough(const char *name, const char *part, long found, const Corpus *c, Error *e) {
    char hint[64] = "";
    long small = c->context < 8 ? c->context : 8;
    if (found > c->context) return true;
    if (c->count > small) snprintf(hint, sizeof hint, ", or --context %ld --tail 0", small);
    return error_set(e, STATUS_BAD_DATA,
                     "%s: %s: found %ld characters, need %ld (context %ld and one more)%s", name, part, found,
                     c->context + 1, c->context, hint);
}

static bool fill(Corpus *c, const char *name, const char *text, size_t length, long context, double tail,
                 Error *e) {
    if (context < 1 || context > MAX_CONTEXT)
        return error_set(e, STATUS_USAGE, "lm: context: found %ld, need 1 to %d", context, MAX_CONTEXT);
    if (!(tail >= 0 && tail < 1))
        return error_set(e, STATUS_USAGE, "lm: held-out tail: found %g, need a part from 0 to less than 1",
                         tail);
    c->context = context;
    c->checksum = crc32_update(0, text, length);
    for (size_t i = 0; i < length; i++) c->carriage_returns += text[i] == '\r';
    c->tokenizer = tokenizer_learn(name, text, length, e);
    if (!c->tokenizer) return false;
    c->ids = malloc((length + 1) * sizeof *c->ids);
    if (!c->ids) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for %zu characters", name, length);
    if (!tokenizer_encode(c->tokenizer, name, text, length, c->ids, &c->count, e)) return false;
    c->training = (long)((double)c->count * (1 - tail));
    c->validation = tail > 0 ? c->training : 0;
    return enough(name, "training part", c->training, c, e) &&
           enough(name, "held-out tail", c->count - c->validation, c, e);
}

Corpus *corpus_make(const char *name, const char *text, size_t length, long context, double tail, Error *e) {
    Corpus *c = calloc(1, sizeof *c);
    if (c && fill(c, name, text, length, context, tail, e)) return c;
    if (!c) error_set(e, STATUS_NO_MEMORY, "%s: no memory for a corpus", name);
    corpus_free(c);
    return NULL;
}

/* Removes the carriage return of each CR LF and returns the new length. */
static size_t without_returns(char *text, size_t length) {
    size_t left = 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] != '\r' || i + 1 == length || text[i + 1] != '\n') text[left++] = text[i];
    return left;
}

Corpus *corpus_load(const char *path, bool unix_newlines, long context, double tail, Error *e) {
    char *text;
    size_t length;
    if (!file_read(path, INT32_MAX, &text, &length, e)) return NULL;
    size_t mark = length >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? 3 : 0;
    length -= mark;
    if (unix_newlines) length = without_returns(text + mark, length);
    Corpus *c = corpus_make(path, text + mark, length, context, tail, e);
    if (c) c->byte_order_mark = mark > 0;
    free(text);
    return c;
}

void corpus_free(Corpus *c) {
    if (!c) return;
    tokenizer_free(c->tokenizer);
    free(c->ids);
    free(c);
}

const int32_t *corpus_training_window(const Corpus *c, uint64_t key, uint64_t step, long row) {
    return c->ids + random_below(random_key(key, step), (uint64_t)row, c->training - c->context);
}

long corpus_held_out_windows(const Corpus *c) {
    return (c->count - c->validation - 1) / c->context;
}

const int32_t *corpus_held_out_window(const Corpus *c, long i) {
    return c->ids + c->validation + i * c->context;
}

/* n log n, for counts. */
static double n_log_n(long n) {
    return n ? (double)n * log((double)n) : 0;
}

static bool counts_for(long **count, long vocab_size, Error *e) {
    *count = calloc((size_t)vocab_size + 1, sizeof **count);
    return *count || error_set(e, STATUS_NO_MEMORY, "no memory to count %ld characters", vocab_size);
}

/* -Σ p log p = log N - (1/N) Σ n log n */
double corpus_unigram_entropy(const int32_t *ids, long count, long vocab_size, Error *e) {
    if (count < 1) return 0;
    long *n;
    if (!counts_for(&n, vocab_size, e)) return -1;
    for (long i = 0; i < count; i++) n[ids[i]]++;
    double sum = 0;
    for (long c = 0; c < vocab_size; c++) sum += n_log_n(n[c]);
    free(n);
    return log((double)count) - sum / (double)count;
}

/* (1/N) Σ_c (n(c) log n(c) - Σ_d n(c,d) log n(c,d)), N pairs. Sorts the pairs by their first character, so
 * that one row of counts is enough for any vocabulary. */
double corpus_bigram_entropy(const int32_t *ids, long count, long vocab_size, Error *e) {
    long pairs = count - 1;
    if (pairs < 1) return 0;
    long *end = NULL, *n = NULL;
    int32_t *next = malloc((size_t)pairs * sizeof *next);
    if (!next) error_set(e, STATUS_NO_MEMORY, "no memory to count %ld pairs of characters", pairs);
    if (!next || !counts_for(&end, vocab_size, e) || !counts_for(&n, vocab_size, e)) {
        free(next), free(end), free(n);
        return -1;
    }
    /* A counting sort: end[c] is the index of c's first follower, and after the sort that after its last. */
    for (long i = 0; i < pairs; i++) end[ids[i] + 1]++;
    for (long c = 0; c < vocab_size; c++) end[c + 1] += end[c];
    for (long i = 0; i < pairs; i++) next[end[ids[i]]++] = ids[i + 1];

    double sum = 0;
    for (long c = 0, start = 0; c < vocab_size; start = end[c++]) {
        sum += n_log_n(end[c] - start);
        for (long i = start; i < end[c]; i++) n[next[i]]++;
        for (long i = start; i < end[c]; i++) {
            sum -= n_log_n(n[next[i]]);
            n[next[i]] = 0;
        }
    }
    free(next), free(end), free(n);
    return sum / (double)pairs;
}
