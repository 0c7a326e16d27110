/* An allocator for the arrays of a tape: best fit within one region of memory.
 *
 * It hands out offsets. While planning there is no memory at these offsets, but they are the same, so that
 * the peak is what a real run needs. If the region is too small, a second one is added; the next reset
 * replaces them all by one of their joint size. Steps of the same shapes then allocate nothing. */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { MEMORY_REGIONS = 32 };

typedef struct FreeBlock {
    size_t offset, bytes;
} FreeBlock;

typedef struct TapeMemory {
    struct Region {
        char *base;
        size_t start, bytes;
    } region[MEMORY_REGIONS]; /* their offsets are adjacent, their addresses are not */
    int regions;
    size_t top, peak; /* all offsets from top on are free; peak is the highest top so far */
    FreeBlock *hole;  /* free blocks below top, in ascending order, no two adjacent within a region */
    int holes;
    long hole_capacity;
    bool planning;
} TapeMemory;

/* Takes a block of `bytes`, rounded up to whole cache lines. False with STATUS_NO_MEMORY if there is none. */
bool tape_memory_take(TapeMemory *m, size_t bytes, size_t *offset, Error *e);
void tape_memory_give_back(TapeMemory *m, size_t offset, size_t bytes);

/* Bytes of the blocks in use. */
size_t tape_memory_in_use(const TapeMemory *m);

/* The address of a block; NULL while planning. */
void *tape_memory_at(const TapeMemory *m, size_t offset);

/* Resets to one region of at least `bytes`, and touches these bytes so that their first use causes no page
 * fault. */
bool tape_memory_reserve(TapeMemory *m, size_t bytes, Error *e);

/* All blocks are free again. */
void tape_memory_reset(TapeMemory *m);
void tape_memory_free(TapeMemory *m);
