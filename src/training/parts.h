/* A batch walked in parts: forward and backward over some of its rows at a time, while gradients add up. The sum is
 * that of the whole batch; the activations, of a large batch most of a training's memory, are those of one part, and
 * nearer to the cache. */
#ifndef TRAINING_PARTS_H
#define TRAINING_PARTS_H

#include "nn/nn.h"

/* Rows to take at a time of a batch of `rows` rows of S source (a language model: 0) and T target tokens. Found by
 * planning on the tape, which is empty before and after; m may be an outline. A function of the sizes alone, and so
 * are the results. */
long trainer_part_rows(Tape *t, Model *m, long rows, long S, long T);

#endif
