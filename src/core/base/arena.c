#include "base/arena.h"
#include "base/system.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64, BLOCK = 1 << 16 };

typedef struct ArenaBlock {
    struct ArenaBlock *next;
    size_t size; /* bytes after this header */
    char pad[ALIGN - sizeof(void *) - sizeof(size_t)];
} ArenaBlock;

static ArenaBlock *new_block(size_t size) {
    ArenaBlock *b = aligned_alloc(ALIGN, sizeof *b + size);
    if (!b) error_no_memory("%zu bytes for records", size);
    *b = (ArenaBlock){.size = size};
    return b;
}

void *arena_alloc(Arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 2) error_no_memory("%zu bytes for records", bytes);
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!a->first) a->first = a->current = new_block(bytes > BLOCK ? bytes : BLOCK);
    while (a->current->size - a->used < bytes) {
        if (!a->current->next) a->current->next = new_block(bytes > BLOCK ? bytes : BLOCK);
        a->current = a->current->next;
        a->used = 0;
    }
    void *record = (char *)(a->current + 1) + a->used;
    a->used += bytes;
    return memset(record, 0, bytes);
}

void arena_reset(Arena *a) {
    a->current = a->first;
    a->used = 0;
}

void arena_free(Arena *a) {
    for (ArenaBlock *b = a->first, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (Arena){0};
}

void *array_grown(void *array, long count, long *capacity, size_t size) {
    if (count < *capacity) return array;
    size_t grown = 2 * (size_t)*capacity + 64;
    void *moved = grown > SIZE_MAX / 2 / size ? NULL : realloc(array, grown * size);
    if (!moved) error_no_memory("a list of %zu elements", grown);
    *capacity = (long)grown;
    return moved;
}

/* mmap reserves address space, not memory: a request beyond the machine's memory would succeed, and
 * the program would be killed in the middle of a step. So such a request is refused here. */
bool pages_exist(size_t bytes, const char *what, Error *e) {
    double machine = system_memory();
    double groups = system_group_limit("memory.max", "/proc/self/cgroup", "/sys/fs/cgroup");
    double limit = groups < machine ? groups : machine;
    if ((double)bytes <= limit) return true;
    return error_set(e, STATUS_NO_MEMORY, "memory: %s would take %.3g GB, this %s has %.3g GB",
                     what, (double)bytes * 1e-9, groups < machine ? "container" : "machine",
                     limit * 1e-9);
}

void *pages_alloc(size_t bytes, const char *what, Error *e) {
    if (!pages_exist(bytes, what, e)) return NULL;
    void *p = system_pages(bytes ? bytes : 1);
    if (!p)
        error_set(e, STATUS_NO_MEMORY, "memory: %s takes %.3g GB, which is not to be had", what,
                  (double)bytes * 1e-9);
    return p;
}

void pages_free(void *pages, size_t bytes) {
    if (pages) munmap(pages, bytes ? bytes : 1);
}
