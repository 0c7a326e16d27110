#include "autograd/tape_memory.h"
#include "base/arena.h"
#include <stdint.h>
#include <unistd.h>

enum { LINE = 64, MIN_REGION = 1 << 20 };

/* A block of no bytes has a line, too, so that it has an address. */
static size_t whole_lines(size_t bytes) {
    return bytes ? (bytes + LINE - 1) / LINE * LINE : LINE;
}

static size_t bytes_of_regions(const TapeMemory *m) {
    size_t bytes = 0;
    for (int i = 0; i < m->regions; i++) bytes += m->region[i].bytes;
    return bytes;
}

/* At least doubles the memory, so that growth is rare. */
static bool add_region(TapeMemory *m, size_t bytes, Error *e) {
    if (m->regions == MAX_REGIONS)
        return error_set(e, STATUS_NO_MEMORY, "memory: the tape grew too often");
    size_t so_far = bytes_of_regions(m);
    if (bytes < so_far) bytes = so_far;
    if (bytes < MIN_REGION) bytes = MIN_REGION;
    void *base = pages_alloc(bytes, "the tape", e);
    if (!base) return false;
    m->region[m->regions++] = (struct Region){.base = base, .bytes = bytes};
    return true;
}

static bool last_region_holds(const TapeMemory *m, size_t bytes) {
    if (!m->regions) return false;
    const struct Region *last = &m->region[m->regions - 1];
    return last->bytes - last->used >= bytes;
}

void *tape_memory_take(TapeMemory *m, size_t bytes, Error *e) {
    if (bytes > SIZE_MAX / 4) {
        error_set(e, STATUS_NO_MEMORY, "memory: one array of %.3g GB", (double)bytes * 1e-9);
        return NULL;
    }
    bytes = whole_lines(bytes);
    if (!last_region_holds(m, bytes) && !add_region(m, bytes, e)) return NULL;
    struct Region *last = &m->region[m->regions - 1];
    void *block = last->base + last->used;
    last->used += bytes;
    m->in_use += bytes;
    if (m->in_use > m->peak) m->peak = m->in_use;
    return block;
}

void tape_memory_give_back(TapeMemory *m, size_t bytes) {
    m->region[m->regions - 1].used -= whole_lines(bytes);
    m->in_use -= whole_lines(bytes);
}

static void free_regions(TapeMemory *m) {
    for (int i = 0; i < m->regions; i++) pages_free(m->region[i].base, m->region[i].bytes);
    m->regions = 0;
}

bool tape_memory_reserve(TapeMemory *m, size_t bytes, Error *e) {
    tape_memory_reset(m);
    if (bytes_of_regions(m) < bytes) {
        free_regions(m);
        if (!add_region(m, bytes, e)) return false;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page) ((volatile char *)m->region[0].base)[at] = 0;
    return true;
}

void tape_memory_reset(TapeMemory *m) {
    if (m->regions > 1) {
        size_t bytes = bytes_of_regions(m);
        Error ignored = {0};
        free_regions(m);
        add_region(m, bytes,
                   &ignored); /* a failure is reported by the next step, which tries again */
    }
    if (m->regions) m->region[0].used = 0;
    m->in_use = 0;
}

void tape_memory_free(TapeMemory *m) {
    free_regions(m);
    *m = (TapeMemory){0};
}
