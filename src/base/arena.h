/* An arena: many small records allocated one after another and forgotten all at once. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/error.h"
#include <stddef.h>

typedef struct Arena {
    struct ArenaBlock *first, *current;
    size_t used; /* bytes of current */
} Arena;

/* `bytes` of zeroed memory, aligned to 64, until the arena is reset. An arena starts as {0}. Records are
 * small: if not even they can be had, the program ends with STATUS_NO_MEMORY. */
void *arena_alloc(Arena *a, size_t bytes);

/* Forgets every record; the memory is kept for the next ones. */
void arena_reset(Arena *a);
void arena_free(Arena *a);

/* A list from malloc with room for one element behind `count` of `size` bytes, moved perhaps; it starts as
 * NULL with no capacity. Without memory the program ends with STATUS_NO_MEMORY. */
void *array_grown(void *array, long count, long *capacity, size_t size);

/* False with STATUS_NO_MEMORY if the machine, or the container that this runs in, does not have `bytes` at
 * all. `what` names their use. */
bool pages_exist(size_t bytes, const char *what, Error *e);

/* Whole pages for large arrays, zeroed, in huge pages where the system offers them. NULL with
 * STATUS_NO_MEMORY if the machine cannot hold them. `what` names the use in the message. */
void *pages_alloc(size_t bytes, const char *what, Error *e);

/* Has the system back `bytes` of pages with memory now, not one by one when they are first written; spoils
 * what they hold. */
void pages_touch(void *pages, size_t bytes);
void pages_free(void *pages, size_t bytes);

#endif
