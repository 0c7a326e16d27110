/* Memory for the arrays of a tape's tensors and nodes. Small arrays lie with the records and live until
 * reset, so that a loss can be read after backward; the others are blocks of the tape's memory. Used in
 * this directory alone. */
#pragma once

#include "autograd/op.h"

/* An array of `count` reals, uninitialised, and in *block what to give back: nothing for a small array.
 * Without memory the tape turns to planning. NULL while planning, unless the array is small. */
real *tape_array(Tape *t, long count, TapeBlock *block);

/* The same, but always a block: for scratch memory. */
real *tape_take(Tape *t, long count, TapeBlock *block);
void tape_give_back(Tape *t, const TapeBlock *block);

/* A contiguous tensor over data, with no maker. */
Tensor *tape_tensor(Tape *t, Shape s, real *data);
