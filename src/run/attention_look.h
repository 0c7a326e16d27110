/* The attention weights of all layers and heads on one example, for a page. */
#ifndef RUN_ATTENTION_LOOK_H
#define RUN_ATTENTION_LOOK_H

#include "nn/nn.h"
#include "run/page.h"
#include "text/tokenizer.h"

/* Makes x of source [n], which a language model does not have, and the decoder's input, target [m]. The caller owns
 * the ids. */
void attention_example(PageExample *x, const ModelConfig *c, const int32_t *source, long n,
                       const int32_t *target, long m);

/* Groups of such an example, with the names and the tokens of its rows and columns; layers and heads are 0. */
void attention_groups(PageExample *x);

/* Copies the weights of a forward pass over the tokens of x, in percent, into those of each group: [page_group_size] */
void attention_take(const PageExample *x, const Trace *trace, uint8_t *const weights[PAGE_GROUPS]);

/* Runs the model on the tokens of x, with a trace unless it is NULL: [tokens of the target, vocab_size]. The tape must
 * be empty; the caller resets it. NULL: the error. */
Tensor *attention_logits(const PageExample *x, Tape *t, Model *m, Trace *trace, Error *e);

/* Runs the model on the tokens of x. Returns the likeliest token after each token of the target. The tape must be empty,
 * and is reset. */
bool attention_likeliest(const PageExample *x, Tape *t, Model *m, int32_t *likeliest, Error *e);

#endif
