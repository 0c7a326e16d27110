/* Micro-batches: forward and backward over some rows of a batch at a time, while gradients add up. The sum is
 * that of the whole batch. The activations, most of a training's memory where batches are large, are those of
 * one micro-batch, and nearer to the cache. */
#ifndef TRAINING_MICRO_BATCH_H
#define TRAINING_MICRO_BATCH_H

#include "nn/nn.h"

/* Rows of a micro-batch, for batches of `rows` rows of S source (a language model: 0) and T target tokens.
 * Found by planning on the tape, which is empty before and after; m may be without memory. A function of the
 * sizes alone, and so are the results. */
long micro_batch_rows(Tape *t, Model *m, long rows, long S, long T);

#endif
