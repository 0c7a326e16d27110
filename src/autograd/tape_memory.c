#include "autograd/tape_memory.h"
#include "base/arena.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 64, SMALLEST_REGION = 1 << 20 };

static size_t whole_lines(size_t bytes) {
    return (bytes + LINE - 1) / LINE * LINE;
}

static size_t end_of_regions(const TapeMemory *m) {
    if (m->planning) return SIZE_MAX / 2;
    return m->regions ? m->region[m->regions - 1].start + m->region[m->regions - 1].bytes : 0;
}

/* Holes are not joined across the start of a region: a block has adjacent addresses. */
static bool starts_region(const TapeMemory *m, size_t offset) {
    if (m->planning) return offset == 0;
    for (int i = 0; i < m->regions; i++)
        if (m->region[i].start == offset) return true;
    return false;
}

static bool add_region(TapeMemory *m, size_t bytes, Error *e) {
    if (m->regions == MEMORY_REGIONS)
        return error_set(e, STATUS_NO_MEMORY, "memory: the tape grew too often");
    size_t start = end_of_regions(m);
    if (bytes < start) bytes = start; /* at least doubles, so that growth is rare */
    if (bytes < SMALLEST_REGION) bytes = SMALLEST_REGION;
    void *base = pages_alloc(bytes, "the tape", e);
    if (!base) return false;
    m->region[m->regions++] = (struct Region){base, start, bytes};
    return true;
}

static void remove_hole(TapeMemory *m, int i) {
    memmove(m->hole + i, m->hole + i + 1, (size_t)(--m->holes - i) * sizeof *m->hole);
}

bool tape_memory_take(TapeMemory *m, size_t bytes, size_t *offset, Error *e) {
    if (bytes > SIZE_MAX / 4)
        return error_set(e, STATUS_NO_MEMORY, "memory: one array of %.3g GB", (double)bytes * 1e-9);
    bytes = whole_lines(bytes ? bytes : 1);
    int best = -1;
    for (int i = 0; i < m->holes; i++)
        if (m->hole[i].bytes >= bytes && (best < 0 || m->hole[i].bytes < m->hole[best].bytes)) best = i;
    if (best >= 0) {
        *offset = m->hole[best].offset;
        m->hole[best].offset += bytes;
        m->hole[best].bytes -= bytes;
        if (!m->hole[best].bytes) remove_hole(m, best);
    } else {
        size_t end = end_of_regions(m);
        /* If top lies in a region with too little room left, the block goes to the start of the next
         * region. */
        for (int i = 0; i < m->regions && !m->planning; i++) {
            size_t stop = m->region[i].start + m->region[i].bytes;
            if (m->top >= m->region[i].start && m->top < stop && stop - m->top < bytes) m->top = stop;
        }
        if (end - m->top < bytes && !add_region(m, bytes, e)) return false;
        *offset = m->top;
        m->top += bytes;
    }
    if (m->top > m->peak) m->peak = m->top;
    return true;
}

void tape_memory_give_back(TapeMemory *m, size_t offset, size_t bytes) {
    bytes = whole_lines(bytes ? bytes : 1);
    int i = 0;
    while (i < m->holes && m->hole[i].offset < offset) i++;
    bool joins_left =
        i > 0 && m->hole[i - 1].offset + m->hole[i - 1].bytes == offset && !starts_region(m, offset);
    bool joins_right =
        i < m->holes && offset + bytes == m->hole[i].offset && !starts_region(m, m->hole[i].offset);
    if (joins_left) {
        m->hole[--i].bytes += bytes;
        if (joins_right) {
            m->hole[i].bytes += m->hole[i + 1].bytes;
            remove_hole(m, i + 1);
        }
    } else if (joins_right) {
        m->hole[i].offset = offset;
        m->hole[i].bytes += bytes;
    } else {
        m->hole = array_grown(m->hole, m->holes, &m->hole_capacity, sizeof *m->hole);
        memmove(m->hole + i + 1, m->hole + i, (size_t)(m->holes++ - i) * sizeof *m->hole);
        m->hole[i] = (FreeBlock){offset, bytes};
    }
    /* A hole that reaches top lowers top. */
    if (m->hole[m->holes - 1].offset + m->hole[m->holes - 1].bytes == m->top)
        m->top = m->hole[--m->holes].offset;
}

size_t tape_memory_in_use(const TapeMemory *m) {
    size_t bytes = m->top;
    for (int i = 0; i < m->holes; i++) bytes -= m->hole[i].bytes;
    return bytes;
}

void *tape_memory_at(const TapeMemory *m, size_t offset) {
    for (int i = 0; i < m->regions && !m->planning; i++)
        if (offset >= m->region[i].start && offset - m->region[i].start < m->region[i].bytes)
            return m->region[i].base + (offset - m->region[i].start);
    return NULL;
}

static void free_regions(TapeMemory *m) {
    while (m->regions) {
        struct Region *r = &m->region[--m->regions];
        pages_free(r->base, r->bytes);
    }
}

bool tape_memory_reserve(TapeMemory *m, size_t bytes, Error *e) {
    tape_memory_reset(m);
    if (end_of_regions(m) < bytes) {
        free_regions(m);
        if (!add_region(m, bytes, e)) return false;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page) ((volatile char *)m->region[0].base)[at] = 0;
    return true;
}

void tape_memory_reset(TapeMemory *m) {
    m->planning = false;
    if (m->regions > 1) {
        size_t bytes = end_of_regions(m);
        Error ignored = {0};
        free_regions(m);
        add_region(m, bytes, &ignored); /* if it fails, the next step tries again and reports */
    }
    m->top = 0;
    m->holes = 0;
}

void tape_memory_free(TapeMemory *m) {
    free_regions(m);
    free(m->hole);
    *m = (TapeMemory){0};
}
