#include "base/arena.h"
#include "base/system.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIN_REGION = 1 << 16 };

static size_t bytes_of_regions(const Arena *a) {
    size_t bytes = 0;
    for (int i = 0; i < a->regions; i++) bytes += a->region[i].bytes;
    return bytes;
}

/* At least doubles the memory, so that growth is rare. */
static bool add_region(Arena *a, size_t bytes, const char *what, Error *e) {
    if (a->regions == MAX_REGIONS)
        return error_set(e, STATUS_NO_MEMORY, "memory: %s grew too often", what);
    size_t so_far = bytes_of_regions(a);
    if (bytes < so_far) bytes = so_far;
    if (bytes < MIN_REGION) bytes = MIN_REGION;
    void *base = pages_alloc(bytes, what, e);
    if (base) a->region[a->regions++] = (struct Region){.base = base, .bytes = bytes};
    return base;
}

void *arena_take(Arena *a, size_t bytes, const char *what, Error *e) {
    if (bytes > SIZE_MAX / 4) {
        error_set(e, STATUS_NO_MEMORY, "memory: one array of %.3g GB", (double)bytes * 1e-9);
        return NULL;
    }
    bytes = arena_bytes(bytes);
    struct Region *last = a->region + a->regions - 1;
    bool fits = a->regions && last->bytes - last->used >= bytes;
    if (!fits && !add_region(a, bytes, what, e)) return NULL;
    last = a->region + a->regions - 1;
    void *block = last->base + last->used;
    last->used += bytes;
    return block;
}

void arena_give_back(Arena *a, size_t bytes) {
    a->region[a->regions - 1].used -= arena_bytes(bytes);
}

void *arena_alloc(Arena *a, size_t bytes) {
    void *block = arena_take(a, bytes, "the records", &(Error){0});
    if (!block) error_no_memory("%zu bytes for records", bytes);
    return memset(block, 0, bytes);
}

char *arena_text(Arena *a, const char *text) {
    size_t bytes = strlen(text) + 1;
    return memcpy(arena_alloc(a, bytes), text, bytes);
}

void arena_free(Arena *a) {
    for (int i = 0; i < a->regions; i++) pages_free(a->region[i].base, a->region[i].bytes);
    *a = (Arena){0};
}

/* If the joint region is refused, the next block tries again and reports it. */
void arena_reset(Arena *a) {
    size_t bytes = bytes_of_regions(a);
    if (a->regions > 1) {
        arena_free(a);
        add_region(a, bytes, "", &(Error){0});
    }
    if (a->regions) a->region[0].used = 0;
}

bool arena_reserve(Arena *a, size_t bytes, const char *what, Error *e) {
    arena_reset(a);
    if (bytes_of_regions(a) < bytes) {
        arena_free(a);
        if (!add_region(a, bytes, what, e)) return false;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page) ((volatile char *)a->region[0].base)[at] = 0;
    return true;
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
