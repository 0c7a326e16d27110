/* Converts between the byte order of files, little-endian, and that of this machine. On a little-endian
 * machine it does nothing. */
#ifndef FORMATS_BYTES_H
#define FORMATS_BYTES_H

#include "base/file.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The machine is big-endian. */
enum { BYTES_BIG_ENDIAN = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };

/* The bound of sizes and bytes in a file, which a long holds; for messages. */
#if LONG_MAX > 0x7fffffff
#define LONG_BOUND "2^63"
#else
#define LONG_BOUND "2^31"
#endif

/* Reads and writes a little-endian number of 8 bytes. */
uint64_t bytes_number(const void *at);
void bytes_put_number(void *at, uint64_t number);

/* Reverses the bytes of each of `count` elements of `size` bytes. */
void bytes_swap(void *elements, long count, size_t size);

/* Calls `take` with the elements in the byte order of files, in one or more pieces. */
void bytes_for_file(const void *elements, long count, size_t size,
                    void (*take)(void *context, const void *piece, size_t bytes), void *context);

/* Writes the elements in the byte order of files. */
void bytes_write(File *f, const void *elements, long count, size_t size);

#endif
