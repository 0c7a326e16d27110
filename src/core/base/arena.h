/* An arena: blocks of memory, each beginning where the one before it ends, which are freed all at
 * once.
 *
 * If a region is full, another is added. The next reset replaces all regions by one of their joint
 * size, so that work which is repeated with the same sizes allocates nothing. */
#pragma once

#include "base/error.h"
#include <stddef.h>

enum { MAX_REGIONS = 32, CACHE_LINE = 64 };

typedef struct Arena {
    struct Region {
        char *base;
        size_t bytes, used;
    } region[MAX_REGIONS]; /* all but the last are full */
    int regions;
} Arena;

/* The bytes of a block: whole cache lines. A block of no bytes has a line, too, so that it has an
 * address. */
static inline size_t arena_bytes(size_t bytes) {
    size_t lines = (bytes + CACHE_LINE - 1) / CACHE_LINE;
    return (lines ? lines : 1) * CACHE_LINE;
}

/* Returns a block of `bytes`, uninitialised and aligned to 64, until the arena is reset. An arena
 * starts as {0}. NULL with STATUS_NO_MEMORY; `what` names the arena in the message. */
void *arena_take(Arena *a, size_t bytes, const char *what, Error *e);

/* Frees the newest block, which has this size. */
void arena_give_back(Arena *a, size_t bytes);

/* Returns a block of zeros. Without memory the process ends: error_no_memory. */
void *arena_alloc(Arena *a, size_t bytes);

/* Returns a copy of a text in a block. Without memory the process ends. */
char *arena_text(Arena *a, const char *text);

/* Resets to one region of at least `bytes`. Touches these bytes so that their first use causes no
 * page fault. False with STATUS_NO_MEMORY. */
bool arena_reserve(Arena *a, size_t bytes, const char *what, Error *e);

/* Frees all blocks and keeps the memory for the next ones. */
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
