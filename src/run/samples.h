/* Samples of a trained model: greedy answers to held-out sources, and text; and the losses to compare its loss with. */
#ifndef RUN_SAMPLES_H
#define RUN_SAMPLES_H

#include "training/trainer.h"

/* Exact answers and all answers of at least `shortest` tokens, by classes of their length; zeros at first. */
enum { LENGTH_CLASSES = 12 };
typedef struct Tally {
    long shortest;
    long right[LENGTH_CLASSES], count[LENGTH_CLASSES];
} Tally;

/* Decodes greedy answers to the first `rows` held-out sources (0: all); *exact is the share without error.
 * `show` prints each beside its source on stderr. */
bool samples_answers(Trainer *t, long rows, bool show, double *exact, Tally *tally, Error *e);

/* Prints the shares of exact answers by length on stderr, and those of sequences longer than any in training, if the
 * task has them and the model's positions need no training. o: the task's. */
bool samples_lengths(Trainer *t, const TaskOptions *o, const Tally *tally, Error *e);

/* Prints a text that a language model continues from the first held-out characters. */
bool samples_text(Trainer *t, Error *e);

/* Yardsticks for a loss, in nats per token: empirical entropies of `count` ids below vocab_size.
 *
 *     unigram  H(X)   = -Σ_c p(c) log p(c),            p(c) = n(c) / count
 *     bigram   H(Y|X) = -Σ_c,d p(c,d) log p(d|c),      p(c,d) = n(c,d) / (count-1), over the count-1 pairs
 *
 * No model that ignores the context can have a lower mean loss on this very text than the first; none that reads one
 * token only, lower than the second. 0 for a text without a token, or a pair. STATUS_NO_MEMORY. */
bool samples_entropies(const uint16_t *ids, long count, long vocab_size, double *unigram, double *bigram,
                       Error *e);

/* Losses to compare a model's loss with, in nats per token: that of a uniform guess over the data tokens; of an lm's
 * held-out text, both entropies; the loss of a perfect model, where it is known. 0 for other tasks. */
typedef struct Yardsticks {
    double uniform, unigram, bigram, perfect;
} Yardsticks;
bool samples_yardsticks(const Task *task, Yardsticks *out, Error *e);

/* Prints those of a language model. */
bool samples_show_yardsticks(const Trainer *t, Error *e);

#endif
