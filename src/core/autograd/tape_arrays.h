/* The arrays of a tape's tensors and nodes. Used in this directory alone. */
#pragma once

#include "autograd/op.h"

/* An array of `count` reals, uninitialised, until reset. NULL if the tape is dry, and without
 * memory: the tape has failed. */
real *tape_array(Tape *t, long count);

/* Frees the newest array, which has this size. */
void tape_give_back(Tape *t, long count);

/* A contiguous tensor over data, with no maker. */
Tensor *tape_tensor(Tape *t, Shape s, real *data);
