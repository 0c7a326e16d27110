/* The tokens of a text are chosen by a measurement: byte pairs are learned from nine tenths of each
 * training text, of 16 MB at most, and counted on the last tenth, as held-out text will be.
 *
 * Merges. Let H be nats a character, coded by its frequency in the text, and c(V) the characters of
 * a token, with V tokens. A token costs at most log V nats. So merges gain if c(V) H > log V for
 * one of the vocabularies. The largest c(V) H / log V:
 *
 *     below 1    Chinese 0.60, random DNA and names 0.75, DNA with motifs 0.84, Song poems 0.88,
 *                Tang poems 0.92
 *     above 1    English 1.15, Russian 1.24, King James Bible and German 1.32, chronicle.txt 1.38,
 *                C headers 1.56
 *
 * training/README.md has the losses of both kinds, and one exception.
 *
 * Size. The more often training reads a text, the fewer byte pairs are best. Nats a character after
 * as many steps as take the same time:
 *
 *     vocabulary                      4096                2048                1024
 *     1 MB of English (fortunes)      1.568, 2400 steps   1.562, 2900 steps   1.566, 3300 steps
 *     1 MB of English (Jargon file)   1.307, 2400 steps   1.300, 2900 steps   1.300, 3300 steps
 *     1.1 MB of Shakespeare         1.486, 2400 steps   1.455, 2900 steps
 *                                   1.443, 3900 steps: reads it 6 times
 *     King James Bible, one minute  1.330               1.290: twice
 *     10 MB (fortunes and a book)   1.141, 1350 steps   1.167, 1500 steps: reads a third of it
 *     Russian (fortunes)            8192: 1.501; 2048: 1.572; 600 steps, less than once */
#include "text/tokenizer_fit.h"
#include <math.h>
#include <stdlib.h>

enum { SIZES = FIT_SIZES, SMALLEST = 512, LARGEST = 8192, READ_BYTES = 1 << 24 };

static size_t character_start(const Passage *p, size_t at) {
    while (at > 0 && at < p->length && utf8_continues(p->text[at])) at--;
    return at < p->length ? at : p->length;
}

static bool count_characters(const Passage *p, long passages, Fit *f, Error *e) {
    Dictionary found = {0};
    double sum = 0;
    bool ok = pieces_count(&tokenizer_char, p, passages, SIZE_MAX, &found, e);
    for (long i = 0; i < found.count; i++) {
        double count = (double)found.entry[i].count;
        f->characters += count;
        sum += count * log(count);
    }
    if (ok && f->characters > 0) f->frequency = log(f->characters) - sum / f->characters;
    dictionary_free(&found);
    return ok;
}

/* A token of more merges is so many tokens of a vocabulary of `size`: those that its later merges
 * joined. */
static long tokens_among(const Tokenizer *k, int32_t id, long size) {
    if (id < size || id < BYTE_TOKENS) return 1;
    const Merge *m = &k->merge[id - BYTE_TOKENS];
    return tokens_among(k, m->left, size) + tokens_among(k, m->right, size);
}

static bool measure_tokens(const Tokenizer *k, const Passage *p, long passages, size_t longest,
                           Fit *f, Error *e) {
    double tokens[SIZES] = {0}, characters = 0;
    int32_t *ids = malloc((longest + 1) * sizeof *ids);
    bool ok = ids || error_set(e, STATUS_NO_MEMORY, "memory: %zu tokens", longest);
    for (long i = 0; i < passages; i++) {
        long count = 0;
        ok = ok && tokenizer_encode(k, p[i].where, p[i].text, p[i].length, ids, &count, e);
        characters += (double)utf8_count(p[i].text, p[i].length);
        for (long t = 0; t < count; t++)
            for (int s = 0; s < SIZES; s++)
                tokens[s] += (double)tokens_among(k, ids[t], SMALLEST << s);
    }
    for (int s = 0; s < SIZES; s++) f->per_token[s] = characters / fmax(1, tokens[s]);
    free(ids);
    return ok;
}

static bool measure(const Passage *texts, long passages, Passage *part, Fit *f, Error *e) {
    size_t left = READ_BYTES, longest = 0;
    for (long i = 0; i < passages; i++) {
        part[i] = texts[i];
        part[i].length =
            character_start(&texts[i], left < texts[i].length ? left : texts[i].length);
        left -= part[i].length;
    }
    if (!count_characters(part, passages, f, e)) return false;
    for (long i = 0; i < passages; i++)
        part[i].length = character_start(&part[i], part[i].length / 10 * 9);
    Tokenizer *k = tokenizer_learn(&tokenizer_bpe, LARGEST, part, passages, e);
    for (long i = 0; i < passages; i++) {
        size_t from = part[i].length, end = character_start(&texts[i], from / 9 * 10);
        part[i].text += from;
        part[i].length = end > from ? end - from : 0; /* of a few bytes nothing is left */
        if (part[i].length > longest) longest = part[i].length;
    }
    bool ok = k && measure_tokens(k, part, passages, longest, f, e);
    tokenizer_free(k);
    return ok;
}

/* c(V) H > log V for one of the vocabularies. */
static bool merges_gain(const Fit *f) {
    bool gain = false;
    for (int s = 0; s < SIZES; s++) gain |= f->per_token[s] * f->frequency > log(SMALLEST << s);
    return gain;
}

/* The largest with few enough passes of training through the text, and with enough uses of each
 * token. */
static long best_size(const Fit *f, double tokens) {
    static const double max_passes[SIZES] = {INFINITY, INFINITY, 4, 2, 1};
    enum { MIN_EACH = 16 }; /* times that the text has a token, on average */
    int s = SIZES - 1;
    for (; s > 0; s--) {
        double text = f->characters / f->per_token[s], passes = tokens > 0 ? tokens / text : 1;
        if (passes <= max_passes[s] && text >= MIN_EACH * (SMALLEST << s)) break;
    }
    return SMALLEST << s;
}

bool tokenizer_measure(const Passage *training, long passages, Fit *out, Error *e) {
    Passage *part = calloc((size_t)passages, sizeof *part);
    bool ok = (part || error_set(e, STATUS_NO_MEMORY, "memory: %ld texts", passages)) &&
              measure(training, passages, part, out, e);
    free(part);
    return ok;
}

void tokenizer_fit(const Fit *f, double tokens, const TokenizerKind **kind, long *size) {
    if (!*kind) *kind = merges_gain(f) ? &tokenizer_bpe : &tokenizer_char;
    if (*kind == &tokenizer_bpe && !*size) *size = best_size(f, tokens);
}
