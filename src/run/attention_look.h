/* The attention weights of all layers and heads on one example, for a page. */
#ifndef RUN_ATTENTION_LOOK_H
#define RUN_ATTENTION_LOOK_H

#include "nn/nn.h"
#include "run/page.h"
#include "text/tokenizer.h"

/* Sets the groups of x for such a model: source [n], which a language model does not have, and the decoder's
 * input, target [m]. The caller owns the ids. */
void attention_groups(PageExample *x, const ModelConfig *c, const int32_t *source, long n,
                      const int32_t *target, long m);

/* Copies the weights of a forward pass over the tokens of x, in percent: [page_weights(x)] */
void attention_take(const PageExample *x, const ModelConfig *c, const Trace *trace, uint8_t *weights);

/* Runs the model on the tokens of x, with a trace unless it is NULL: [tokens of the target, vocab_size]. The tape must
 * be empty; the caller resets it. NULL: the error. */
Tensor *attention_logits(const PageExample *x, Tape *t, Model *m, Trace *trace, Error *e);

/* Runs the model on the tokens of x. Returns all weights in percent, [page_weights(x)], and the likeliest
 * token after each token of the target; either may be NULL. The tape must be empty, and is reset. */
bool attention_look(const PageExample *x, Tape *t, Model *m, uint8_t *weights, int32_t *likeliest, Error *e);

/* The texts of all ids below vocab_size: characters, and "begin", "end" and "pad". One block, freed by the
 * caller. NULL: STATUS_NO_MEMORY. */
const char **attention_token_texts(const Tokenizer *k, long vocab_size, int32_t begin, int32_t end, Error *e);

#endif
