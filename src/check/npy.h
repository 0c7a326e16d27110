/* Arrays in the form of NumPy's .npy files, as they go through a pipe (PROTOCOL.md). */
#ifndef CHECK_NPY_H
#define CHECK_NPY_H

#include "formats/array.h"

/* The bytes before the elements, as numpy.save writes them. */
enum { NPY_START = 128 };
void npy_start(const Array *a, char start[NPY_START]);

/* Takes an array from a stream, of which more(context, to, size) gives the next bytes; false: there are none. `what` names it
 * in messages. More than `most` elements, and what is no array of float or double in row-major order, are STATUS_BAD_DATA.
 * To be freed with array_free. */
typedef bool NpySource(void *context, void *to, size_t size);
bool npy_receive(Array *a, const char *what, long most, NpySource *more, void *context, Error *e);

#endif
