/* A corpus: one text as character tokens, its tail held out.
 *
 * Training windows are drawn at random from the training part. Held-out windows lie side by side in the tail.
 * Each has `context` inputs and the token after them, which is the first input of the next. The remainder is
 * not used. */
#ifndef TEXT_CORPUS_H
#define TEXT_CORPUS_H

#include "text/tokenizer.h"

enum { MAX_CONTEXT = 1 << 20 };

typedef struct Corpus {
    Tokenizer *tokenizer;
    int32_t *ids;
    long count;
    long training;   /* ids 0 … training-1 are the training part */
    long validation; /* ids validation … count-1 are held out; 0: nothing is held out */
    long context;

    uint32_t checksum;     /* CRC-32 of the text as it is learned */
    bool byte_order_mark;  /* the file began with one, which was removed */
    long carriage_returns; /* in the text */
} Corpus;

/* Reads the text at path and holds out the last `tail` of it, in [0, 1). With tail 0, training and evaluation
 * use the whole text. Removes a leading byte-order mark, and with unix_newlines the carriage return of each
 * CR LF. The caller frees the corpus. NULL with the error of file_read; STATUS_BAD_DATA if the text is not
 * UTF-8, or training part or tail have fewer than context + 1 characters; STATUS_USAGE if context or tail are
 * out of range; STATUS_NO_MEMORY. */
Corpus *corpus_load(const char *path, bool unix_newlines, long context, double tail, Error *e);

/* As corpus_load, from memory; `name` stands in messages. */
Corpus *corpus_make(const char *name, const char *text, size_t length, long context, double tail, Error *e);

void corpus_free(Corpus *c);

/* Row `row` of training step `step`: context + 1 tokens of the training part. `key` is the run's. */
const int32_t *corpus_training_window(const Corpus *c, uint64_t key, uint64_t step, long row);

/* The number of held-out windows, and window i: context + 1 tokens. */
long corpus_held_out_windows(const Corpus *c);
const int32_t *corpus_held_out_window(const Corpus *c, long i);

/* Yardsticks for a loss, in nats per character: empirical entropies of `count` ids below vocab_size.
 *
 *     unigram  H(X)   = -Σ_c p(c) log p(c),            p(c) = n(c) / count
 *     bigram   H(Y|X) = -Σ_c,d p(c,d) log p(d|c),      p(c,d) = n(c,d) / (count-1), over the count-1 pairs
 *
 * They bound the mean loss on this text from below: the first for models that ignore the context, the second
 * for models that see one character. 0 for a text without a character or a pair. -1 with STATUS_NO_MEMORY if
 * memory runs out. */
double corpus_unigram_entropy(const int32_t *ids, long count, long vocab_size, Error *e);
double corpus_bigram_entropy(const int32_t *ids, long count, long vocab_size, Error *e);

#endif
