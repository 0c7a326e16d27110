/* The tape's memory for arrays: one region, handed out in blocks, each of which can be given back early.
 *
 * Blocks are named by their offset, so that the same allocator serves a tape that only plans: it hands out
 * offsets without memory behind them, and its peak is what the real run will need. If the region is too small
 * a second one is added; the next reset replaces them by one of their joint size, and from then on nothing is
 * allocated. */
#ifndef AUTOGRAD_TAPE_MEMORY_H
#define AUTOGRAD_TAPE_MEMORY_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { MEMORY_REGIONS = 32 };

typedef struct FreeBlock {
    size_t at, bytes;
} FreeBlock;

typedef struct TapeMemory {
    struct Region {
        char *base;
        size_t start, bytes;
    } region[MEMORY_REGIONS]; /* adjacent in offsets, not in addresses */
    int regions;
    size_t top, peak; /* offsets from top on are free; the highest top so far */
    FreeBlock *hole;  /* free blocks below top, in ascending order, no two adjacent within a region */
    int holes, hole_capacity;
    bool planning;
} TapeMemory;

/* A block of `bytes` rounded up to whole cache lines; false with STATUS_NO_MEMORY if there is none. */
bool tape_memory_take(TapeMemory *m, size_t bytes, size_t *at, Error *e);
void tape_memory_give_back(TapeMemory *m, size_t at, size_t bytes);

/* Bytes of the blocks that are out. */
size_t tape_memory_in_use(const TapeMemory *m);

/* The address of a block; NULL while planning. */
void *tape_memory_at(const TapeMemory *m, size_t at);

/* One region of at least this size from the start, whose first `bytes` the system has backed with memory; everything
 * handed out is forgotten. */
bool tape_memory_reserve(TapeMemory *m, size_t bytes, Error *e);
void tape_memory_reset(TapeMemory *m);
void tape_memory_free(TapeMemory *m);

#endif
