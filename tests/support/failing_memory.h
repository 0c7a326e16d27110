/* An allocator that counts allocations and fails at a chosen one, once or from there on. Under a
 * sanitizer, and in C libraries other than glibc, malloc cannot be replaced: only pages are
 * counted, and fail only by heap.no_pages. */
#pragma once

#include "test.h"
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#if defined __GLIBC__ && !defined SANITIZED
enum { COUNTS_MALLOC = true };
#else
enum { COUNTS_MALLOC = false };
#endif

static struct {
    long at; /* the allocation that fails, counted from 1; 0: none */
    bool sticky, no_pages;
    atomic_long made;  /* how many so far */
    atomic_long alive; /* how many of them are not freed */
} heap;

static inline bool fails(void) {
    long call = ++heap.made;
    bool now = COUNTS_MALLOC && heap.at && (call == heap.at || (heap.sticky && call > heap.at));
    if (now) errno = ENOMEM;
    return now;
}

#if defined __GLIBC__ && !defined SANITIZED
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *p);

static inline void *counted(void *p) {
    heap.alive += p != NULL;
    return p;
}

void *malloc(size_t bytes) {
    return fails() ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes) {
    return fails() ? NULL : counted(__libc_calloc(count, bytes));
}

void *realloc(void *old, size_t bytes) {
    void *p = fails() ? NULL : __libc_realloc(old, bytes);
    heap.alive += !old && p;
    return p;
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return fails() ? NULL : counted(__libc_memalign(alignment, bytes));
}

void free(void *p) {
    heap.alive -= p != NULL;
    __libc_free(p);
}
#endif

#ifdef __linux__
static inline void *map_pages(void *at, size_t bytes, int protection, int flags, int fd,
                              off_t offset) {
#if defined SYS_mmap2 /* processors of 32 bits, offsets in pages of 4096 bytes */
    return (void *)syscall(SYS_mmap2, at, bytes, protection, flags, fd, (long)(offset / 4096));
#else
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
#endif
}

/* Pages of memory; those of a file are no allocation. */
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    if ((flags & MAP_ANONYMOUS) && (fails() || heap.no_pages)) return MAP_FAILED;
    return map_pages(at, bytes, protection, flags, fd, offset);
}
#endif

static inline void fail_at(long at, bool sticky) {
    heap.at = at;
    heap.sticky = sticky;
    heap.made = 0;
}
