/* A bump arena for the arrays of a tape: each block begins where the one before it ends, and all
 * are freed at once.
 *
 * If a region is full, another is added. The next reset replaces all regions by one of their joint
 * size, so that steps of the same shapes allocate nothing. */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { MAX_REGIONS = 32 };

typedef struct TapeMemory {
    struct Region {
        char *base;
        size_t bytes, used;
    } region[MAX_REGIONS]; /* all but the last are full */
    int regions;
    size_t in_use, peak; /* bytes of all blocks: now, and the maximum so far */
} TapeMemory;

/* A block of `bytes`, rounded up to whole cache lines, uninitialised. NULL with
 * STATUS_NO_MEMORY. */
void *tape_memory_take(TapeMemory *m, size_t bytes, Error *e);

/* Frees the newest block, which has this size. */
void tape_memory_give_back(TapeMemory *m, size_t bytes);

/* Resets to one region of at least `bytes`. Touches these bytes so that their first use causes no
 * page fault. False with STATUS_NO_MEMORY. */
bool tape_memory_reserve(TapeMemory *m, size_t bytes, Error *e);

/* Frees all blocks and keeps their memory. */
void tape_memory_reset(TapeMemory *m);
void tape_memory_free(TapeMemory *m);
