/* An array as files have it: a type, a shape and bytes. .npy and .safetensors files are read into it and
 * written from it; `real` numbers come out of it by conversion. */
#ifndef FORMATS_ARRAY_H
#define FORMATS_ARRAY_H

#include "base/error.h"
#include "base/real.h"
#include "base/shape.h"
#include <stdint.h>

typedef enum Dtype {
    DTYPE_BOOL,
    DTYPE_U8,
    DTYPE_I8,
    DTYPE_U16,
    DTYPE_I16,
    DTYPE_U32,
    DTYPE_I32,
    DTYPE_U64,
    DTYPE_I64,
    DTYPE_F16,
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
    const char *file; /* where it was read, for messages; NULL: nowhere */
    const char *name; /* within that file; NULL: the file holds one array */
    Dtype dtype;
    int rank; /* up to ARRAY_RANK; tensors stop at MAX_RANK, see array_shape */
    long size[ARRAY_RANK];
    long count;        /* of elements; their bytes fit in a long */
    const void *bytes; /* row-major, in the machine's order of bytes, perhaps unaligned */
    void *owned;       /* memory that goes with the array; NULL: the bytes are somebody else's */
} Array;

/* An array over the caller's memory, to be written to a file. A name is needed in a safetensors file. */
Array array_over(const char *name, Dtype d, Shape s, const void *bytes);

void array_free(Array *a);

/* The shape, for a tensor; STATUS_BAD_DATA if the rank is above MAX_RANK. */
bool array_shape(const Array *a, Shape *s, Error *e);

/* Fails with STATUS_BAD_DATA unless the array has this shape. */
bool array_expect_shape(const Array *a, Shape s, Error *e);

/* These write all a->count elements to out. Numbers of any type become real or double, rounded; one that is
 * finite and would become infinite is STATUS_BAD_DATA. Integers (and booleans, as 0 and 1) become int32 or
 * int64; one out of range, or an array of floating-point numbers, is STATUS_BAD_DATA. Messages name the file,
 * the array and the index. */
void array_to_double(const Array *a, double *out);
bool array_to_real(const Array *a, real *out, Error *e);
bool array_to_int32(const Array *a, int32_t *out, Error *e);
bool array_to_int64(const Array *a, int64_t *out, Error *e);

/* STATUS_BAD_DATA, with the index, if an element is infinite or not a number. */
bool array_check_finite(const Array *a, Error *e);

/* "FILE: NAME", for messages; the name escaped. */
enum { ARRAY_WHERE = 400 };
const char *array_where(const Array *a, char out[ARRAY_WHERE]);

/* The same in memory of its own, which lasts as long as the block. */
#define ARRAY_PLACE(a) array_where(a, (char[ARRAY_WHERE]){0})

#endif
