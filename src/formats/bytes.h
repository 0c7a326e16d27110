/* Numbers as files have them, little-endian, and as this machine has them in memory. On most machines the two are the
 * same, and nothing is done. */
#ifndef FORMATS_BYTES_H
#define FORMATS_BYTES_H

#include "base/file.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The machine's own order is not that of files. */
enum { BYTES_BIG_ENDIAN = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };

/* What the sizes of a file, and the bytes that they make, have to be below: they are held in a long. */
#if LONG_MAX > 0x7fffffff
#define LONG_BOUND "2^63"
#else
#define LONG_BOUND "2^31"
#endif

/* A little-endian number of 8 bytes, read and written. */
uint64_t bytes_number(const void *at);
void bytes_put_number(void *at, uint64_t number);

/* Turns the bytes of each of `count` elements of `size` bytes around. */
void bytes_swap(void *elements, long count, size_t size);

/* Hands the elements in the order of files to `take`, in one or more pieces. */
void bytes_for_file(const void *elements, long count, size_t size,
                    void (*take)(void *context, const void *piece, size_t bytes), void *context);

/* Writes them. */
void bytes_write(File *f, const void *elements, long count, size_t size);

#endif
