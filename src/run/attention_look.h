/* A model's attention, made fit for a page: weights of every layer and head over one example. */
#ifndef REPORT_ATTENTION_LOOK_H
#define REPORT_ATTENTION_LOOK_H

#include "nn/nn.h"
#include "run/page.h"
#include "text/tokenizer.h"

/* Gives x the groups of attentions that such a model has between these ids: source [n], which a language model does not
 * have, and what the decoder reads, target [m]. The ids stay the caller's. */
void attention_groups(PageExample *x, const ModelConfig *c, const int32_t *source, long n,
                      const int32_t *target, long m);

/* Runs the model over the tokens of x. Gives all weights, [page_weights(x)], and the token that the model expects behind
 * each token of the target; either may be NULL. The tape must be empty, and is again. */
bool attention_look(const PageExample *x, Tape *t, Model *m, uint16_t *weights, int32_t *likeliest, Error *e);

/* The texts of all ids below vocab_size: characters, and "begin", "end" and "pad"; NO_PAD where there is none. One block,
 * which the caller frees. NULL: STATUS_NO_MEMORY. */
const char **attention_token_texts(const Tokenizer *k, long vocab_size, int32_t begin, int32_t end, Error *e);

#endif
