/* NumPy's .npy files: one array of numbers each. */
#ifndef CHECK_NPY_H
#define CHECK_NPY_H

#include "formats/array.h"

/* Reads a file of format version 1, 2 or 3: booleans, integers and floating-point numbers, in either byte
 * order, in C or Fortran order; the array has them little-endian and row-major. Everything else, and every
 * byte too many or too few, is STATUS_BAD_DATA. a keeps `path` for its messages. To be freed with array_free.
 */
bool npy_read(Array *a, const char *path, Error *e);

/* The same from `size` bytes in memory, which it takes over: they are the array's, or are freed. */
bool npy_parse(Array *a, const char *path, char *data, size_t size, Error *e);

/* Writes version 1, byte for byte as numpy.save does. */
bool npy_write(const Array *a, const char *path, Error *e);

#endif
