/* How the tape's tensors and nodes get their arrays: small ones with the records, where they live until reset; the
 * others from the tape's memory, to be given back when backward has passed. For the files of this room. */
#ifndef AUTOGRAD_TAPE_ARRAYS_H
#define AUTOGRAD_TAPE_ARRAYS_H

#include "autograd/op.h"

/* An array of `count` reals, not zeroed. *block says what is to be given back: nothing of a small one, nor where there
 * is no memory; the tape then goes on planning, so that the operations still to come have shapes to work with and the
 * caller hears of it once, from tape_failed. NULL while planning, unless the array is small. */
real *tape_array(Tape *t, long count, TapeBlock *block);

/* As tape_array, but from the tape's memory however small: scratch, which is given back at once. */
real *tape_take(Tape *t, long count, TapeBlock *block);
void tape_give_back(Tape *t, const TapeBlock *block);

/* A contiguous tensor over data, which no node has made. */
Tensor *tape_tensor(Tape *t, Shape s, real *data);

#endif
