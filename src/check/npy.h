/* NumPy's .npy files, of one array each. */
#ifndef CHECK_NPY_H
#define CHECK_NPY_H

#include "formats/array.h"

/* Reads format version 1, 2 or 3: booleans, integers and floating-point numbers, in either byte order, in C
 * or Fortran order. The array has them little-endian and row-major. Everything else, and a file
 * too long or too short, is STATUS_BAD_DATA. a keeps `path` for messages. To be freed with array_free. */
bool npy_read(Array *a, const char *path, Error *e);

/* As npy_read, of `size` bytes from malloc, which the array then owns, or which are freed. */
bool npy_parse(Array *a, const char *path, char *data, size_t size, Error *e);

/* As npy_read, from a stream, of which more(context, to, size) gives the next bytes; false: there are none. More than `most`
 * bytes of elements are STATUS_BAD_DATA. */
typedef bool NpySource(void *context, void *to, size_t size);
bool npy_receive(Array *a, const char *path, size_t most, NpySource *more, void *context, Error *e);

/* The bytes before the elements in a file of version 1. */
enum { NPY_START = 128 };
void npy_start(const Array *a, char start[NPY_START]);

/* Writes version 1, byte for byte as numpy.save. */
bool npy_write(const Array *a, const char *path, Error *e);

#endif
