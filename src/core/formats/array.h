/* An array of a file: a type, a shape and bytes. Conversion gives its elements as `real`
 * numbers. */
#pragma once

#include "base/error.h"
#include "base/real.h"
#include "base/shape.h"
#include <limits.h>
#include <stdint.h>

/* The first number that a long cannot hold, for messages about sizes in a file. */
#if LONG_MAX > 0x7fffffff
#define LONG_BOUND "2^63"
#else
#define LONG_BOUND "2^31"
#endif

typedef enum Dtype {
    DTYPE_I32,
    DTYPE_I64,
    DTYPE_F16, /* from here on floating-point numbers */
    DTYPE_BF16,
    DTYPE_F32,
    DTYPE_F64,
    DTYPES,
#ifdef REAL_DOUBLE
    DTYPE_REAL = DTYPE_F64,
#else
    DTYPE_REAL = DTYPE_F32,
#endif
} Dtype;

size_t dtype_size(Dtype d);      /* bytes of an element */
const char *dtype_name(Dtype d); /* "F32", as safetensors writes it */

enum { ARRAY_RANK = 8 };

typedef struct Array {
    const char *name; /* in its file; NULL: the file holds one array */
    const char *file; /* path it was read from, for messages; NULL: none */
    Dtype dtype;
    int rank; /* up to ARRAY_RANK; a tensor has up to MAX_RANK, see array_shape */
    long size[ARRAY_RANK];
    long count;        /* elements; their bytes fit in a long */
    const void *bytes; /* row-major, little-endian, perhaps unaligned */
    void *owned;       /* memory that array_free frees; NULL: the bytes are the caller's */
} Array;

/* An array over the caller's memory, to write to a file. A safetensors file needs a name. */
Array array_over(const char *name, Dtype d, Shape s, const void *bytes);

void array_free(Array *a);

/* The shape, for a tensor; STATUS_BAD_DATA if the rank is above MAX_RANK. */
bool array_shape(const Array *a, Shape *s, Error *e);

/* Fails with STATUS_BAD_DATA unless the array has this shape. */
bool array_expect_shape(const Array *a, Shape s, Error *e);

/* Convert all a->count elements. Numbers of any type are rounded to real or double.
 * STATUS_BAD_DATA: a finite number would become infinite as real; for int32, an integer is out of
 * range, or the array is floating-point. Messages name file, array and index. */
void array_to_double(const Array *a, double *out);
bool array_to_real(const Array *a, real *out, Error *e);
bool array_to_int32(const Array *a, int32_t *out, Error *e);

/* STATUS_BAD_DATA if an element is not finite. */
bool array_check_finite(const Array *a, Error *e);

/* "FILE: NAME", escaped, for messages. */
enum { ARRAY_WHERE = 400 };
const char *array_where(const Array *a, char out[ARRAY_WHERE]);

/* array_where in a buffer that lasts until the end of the block. */
#define ARRAY_PLACE(a) array_where(a, (char[ARRAY_WHERE]){0})
