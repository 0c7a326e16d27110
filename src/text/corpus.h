/* A corpus: texts as tokens, the last part of each held out.
 *
 * The training parts of all texts stand one behind another, and then their tails. A tail is counted in characters, so
 * that every tokenizer holds out the same text; where a character is not UTF-8 each byte but 0x80 to 0xBF counts as
 * one. The tokenizer learns from the training parts alone, except characters without a size of vocabulary: those are
 * all that there are.
 *
 * Training windows are drawn at random from the training part. Held-out windows lie side by side in the tail:
 * `context` tokens each and the token after it, the next window beginning where the last one's inputs ended;
 * what is left at the end, less than a window, is not judged.
 *
 * A text that is too short for its context or tail has a shorter context, and where that would be less than 8 no tail. */
#ifndef TEXT_CORPUS_H
#define TEXT_CORPUS_H

#include "text/tokenizer.h"

enum { MAX_CONTEXT = 1 << 20 };

typedef struct CorpusOptions {
    int tokenizer;     /* a TokenizerKind */
    long vocab_size;   /* of tokenizer_learn */
    long context;      /* tokens of a window, at most */
    double validation; /* part of each text that is held out, [0, 1); 0: learn and judge all of it */
    int unix_newlines; /* 1: each CR LF is one LF */

    /* Called, where set, as a text is encoded, with the bytes done. */
    void (*progress)(void *context, size_t bytes);
    void *progress_context;
} CorpusOptions;

typedef struct Corpus {
    Tokenizer *tokenizer;
    uint16_t *ids;
    long count;
    long training;   /* training part: ids 0 … training-1 */
    long validation; /* ids validation … count-1 are held out; 0 where nothing is, and then all are judged */
    long characters; /* of the judged part */
    long unknown;    /* [UNK] in the judged part */
    long context;    /* what the options say, or less where the text is too short */

    uint32_t checksum;     /* CRC-32 of the texts, as they are learned */
    bool byte_order_mark;  /* one began with one, which is left out */
    bool without_tail;     /* too short to hold out what the options say */
    long carriage_returns; /* among the characters */
} Corpus;

/* Reads the texts at paths, one a line, without leading byte-order marks, and with unix_newlines without the carriage
 * return of each CR LF. The caller frees the corpus. NULL: what file_map fails with; STATUS_BAD_DATA for what is not
 * UTF-8 where the tokenizer needs it, or for less than two tokens; STATUS_USAGE for an option out of range;
 * STATUS_NO_MEMORY. */
Corpus *corpus_load(const char *paths, const CorpusOptions *o, Error *e);

/* As corpus_load, from memory; passage->where stands in messages. */
Corpus *corpus_make(const Passage *passage, long passages, const CorpusOptions *o, Error *e);

void corpus_free(Corpus *c);

/* Tokens first … first + count - 1. */
void corpus_copy(const Corpus *c, long first, long count, int32_t *out);

/* The first of the context + 1 consecutive tokens of the training part that are row `row` of training step `step`. key:
 * the run's. */
long corpus_training_window(const Corpus *c, uint64_t key, uint64_t step, long row);

/* Windows of the judged part, and the first of the context + 1 tokens of the i-th of them. */
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
