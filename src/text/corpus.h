/* A corpus: texts as tokens. The end of each text, its tail, is held out.
 *
 * The ids hold the training parts of all texts and then their tails. Tails are measured in characters, so that every
 * tokenizer holds out the same text. In bytes that are not UTF-8, each byte except 0x80 to 0xBF counts as a character.
 * The tokenizer learns from the training parts. Only char without a vocabulary size learns from the tails too.
 *
 * Training windows are drawn at random from the training part. Held-out windows are adjacent: `context` input tokens
 * each and the token after them. A rest shorter than a window is not evaluated.
 *
 * If a text is too short, the context is shorter; if it would be below 8 tokens, nothing is held out. */
#ifndef TEXT_CORPUS_H
#define TEXT_CORPUS_H

#include "text/tokenizer.h"

enum { MAX_CONTEXT = 1 << 20 };

typedef struct CorpusOptions {
    int tokenizer;     /* a TokenizerKind */
    long vocab_size;   /* of tokenizer_learn */
    long context;      /* maximum tokens of a window */
    double validation; /* share of each text that is held out, [0, 1); 0: train and evaluate on all of it */
    int unix_newlines; /* 1: each CR LF is one LF */

    /* If set, called during encoding with the number of bytes encoded so far. */
    void (*progress)(void *context, size_t bytes);
    void *progress_context;
} CorpusOptions;

typedef struct Corpus {
    Tokenizer *tokenizer;
    uint16_t *ids;
    long count;
    long training;   /* training part: ids 0 … training-1 */
    long validation; /* ids validation … count-1 are evaluated: the held-out ones, or all if this is 0 */
    long characters; /* of the evaluated part */
    long unknown;    /* [UNK] in the evaluated part */
    long context;    /* of the options, or less if the text is too short */

    uint32_t checksum;     /* CRC-32 of the texts */
    bool byte_order_mark;  /* a text began with a byte-order mark, which is skipped */
    bool without_tail;     /* too short to hold out a tail */
    long carriage_returns; /* in the texts */
} Corpus;

/* Reads the texts at `paths`, a path on each line. Skips leading byte-order marks. The caller frees the corpus. NULL: an
 * error of file_map; STATUS_BAD_DATA if the tokenizer needs UTF-8 and a text is not, or if there are fewer than two
 * tokens; STATUS_USAGE for an option out of range; STATUS_NO_MEMORY. */
Corpus *corpus_load(const char *paths, const CorpusOptions *o, Error *e);

/* As corpus_load, from memory. */
Corpus *corpus_make(const Passage *passage, long passages, const CorpusOptions *o, Error *e);

void corpus_free(Corpus *c);

/* Tokens first … first + count - 1. */
void corpus_copy(const Corpus *c, long first, long count, int32_t *out);

/* The index of the first token of row `row` of training step `step`: context + 1 tokens of the training part. The key
 * is the run's. */
long corpus_training_window(const Corpus *c, uint64_t key, uint64_t step, long row);

/* The number of windows of the evaluated part, and the index of the first of the context + 1 tokens of window i. */
long corpus_held_out_windows(const Corpus *c);
long corpus_held_out_window(const Corpus *c, long i);

/* Yardsticks for a loss, in nats per token: empirical entropies of `count` ids below vocab_size.
 *
 *     unigram  H(X)   = -Σ_c p(c) log p(c),            p(c) = n(c) / count
 *     bigram   H(Y|X) = -Σ_c,d p(c,d) log p(d|c),      p(c,d) = n(c,d) / (count-1), over the count-1 pairs
 *
 * No model that ignores the context can have a lower mean loss on this very text than the first; none that reads one
 * token only, lower than the second. 0 for a text without a token, or a pair. STATUS_NO_MEMORY. */
bool corpus_entropies(const uint16_t *ids, long count, long vocab_size, double *unigram, double *bigram,
                      Error *e);

#endif
