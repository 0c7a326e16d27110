/* A corpus: one text as character tokens, its last part held out.
 *
 * Training windows are drawn at random from the training part. Held-out windows lie side by side in the tail:
 * `context` tokens each and the token after it, the next window beginning where the last one's inputs ended;
 * what is left at the end, less than a window, is not judged. */
#ifndef TEXT_CORPUS_H
#define TEXT_CORPUS_H

#include "text/tokenizer.h"

enum { MAX_CONTEXT = 1 << 20 };

typedef struct Corpus {
    Tokenizer *tokenizer;
    int32_t *ids;
    long count;
    long training;   /* training part: ids 0 … training-1 */
    long validation; /* start of the held-out part, which ends at count; 0: nothing is held out */
    long context;

    uint32_t checksum;     /* CRC-32 of the text, as it is learned */
    bool byte_order_mark;  /* it began with one, which is left out */
    long carriage_returns; /* among its characters */
} Corpus;

/* Reads the text at path, without a leading byte-order mark, and with unix_newlines without the carriage return of each
 * CR LF, and holds out its last `tail` part, [0, 1). With tail 0 nothing is held out: the corpus is trained on and
 * judged as a whole. The caller frees it. NULL: what file_read fails with; STATUS_BAD_DATA for what is not UTF-8, or
 * where the training part or the tail has fewer than context + 1 characters; STATUS_USAGE for a context or a tail out
 * of range; STATUS_NO_MEMORY. */
Corpus *corpus_load(const char *path, bool unix_newlines, long context, double tail, Error *e);

/* As corpus_load, from memory; `name` stands in messages. */
Corpus *corpus_make(const char *name, const char *text, size_t length, long context, double tail, Error *e);

void corpus_free(Corpus *c);

/* Row `row` of training step `step`: context + 1 consecutive tokens of the training part. key: the run's. */
const int32_t *corpus_training_window(const Corpus *c, uint64_t key, uint64_t step, long row);

/* Windows of the judged part, and the i-th of them: context + 1 tokens. */
long corpus_held_out_windows(const Corpus *c);
const int32_t *corpus_held_out_window(const Corpus *c, long i);

/* Yardsticks for a loss, in nats per character: empirical entropies of ids, `count` tokens below
 * `vocab_size`.
 *
 *     unigram  H(X)   = -Σ_c p(c) log p(c),            p(c) = n(c) / count
 *     bigram   H(Y|X) = -Σ_c,d p(c,d) log p(d|c),      p(c,d) = n(c,d) / (count-1), over the count-1 pairs
 *
 * No model that ignores the context can have a lower mean loss on this very text than the first; none that
 * looks at one character only, lower than the second. 0 for a text without a character, or a pair. Returns
 * -1, with STATUS_NO_MEMORY, if memory ran out. */
double corpus_unigram_entropy(const int32_t *ids, long count, long vocab_size, Error *e);
double corpus_bigram_entropy(const int32_t *ids, long count, long vocab_size, Error *e);

#endif
