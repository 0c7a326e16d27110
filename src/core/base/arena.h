/* An arena holds small records, which are allocated one after another and freed all at once. Large
 * arrays have pages. */
#pragma once

#include "base/error.h"
#include <stddef.h>

typedef struct Arena {
    struct ArenaBlock *first, *current;
    size_t used; /* bytes of current */
} Arena;

/* Returns `bytes` of zeroed memory, aligned to 64, until the arena is reset. An arena starts as
 * {0}. Without memory the process ends: error_no_memory. */
void *arena_alloc(Arena *a, size_t bytes);

/* Frees all records and keeps the memory for the next ones. */
void arena_reset(Arena *a);
void arena_free(Arena *a);

/* Grows a list from malloc, if necessary, so that it has capacity for one more than `count`
 * elements of `size` bytes. Returns the list. A list starts as NULL with capacity 0. Without memory
 * the process ends: error_no_memory. */
void *array_grown(void *array, long count, long *capacity, size_t size);

/* False with STATUS_NO_MEMORY if the machine or the container has less than `bytes` of memory.
 * `what` names their use in the message. */
bool pages_exist(size_t bytes, const char *what, Error *e);

/* Zeroed pages for large arrays, huge ones if the system has them. NULL with STATUS_NO_MEMORY. */
void *pages_alloc(size_t bytes, const char *what, Error *e);

void pages_free(void *pages, size_t bytes);
