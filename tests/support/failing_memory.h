/* An allocator that fails where it is told to, once or from there on. */
#ifndef TESTS_FAILING_MEMORY_H
#define TESTS_FAILING_MEMORY_H

#include "test.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#if defined __GLIBC__ && !defined SANITIZED
static struct {
    long at; /* the allocation that fails, counted from 1; 0: none */
    bool sticky;
    long made, alive;   /* how many so far; how many of them are not freed */
    volatile bool *met; /* where it is told that one failed; or NULL */
} heap;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *p);

static inline bool fails(void) {
    heap.made++;
    bool now = heap.at && (heap.made == heap.at || (heap.sticky && heap.made > heap.at));
    if (now) errno = ENOMEM;
    if (now && heap.met) *heap.met = true;
    return now;
}

void *malloc(size_t bytes) {
    void *p = fails() ? NULL : __libc_malloc(bytes);
    heap.alive += p != NULL;
    return p;
}

void *calloc(size_t count, size_t bytes) {
    void *p = fails() ? NULL : __libc_calloc(count, bytes);
    heap.alive += p != NULL;
    return p;
}

void *realloc(void *old, size_t bytes) {
    void *p = fails() ? NULL : __libc_realloc(old, bytes);
    heap.alive += !old && p;
    return p;
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    void *p = fails() ? NULL : __libc_memalign(alignment, bytes);
    heap.alive += p != NULL;
    return p;
}

#ifdef SYS_mmap2
#define MAP_PAGES SYS_mmap2
#else
#define MAP_PAGES SYS_mmap
#endif

/* Pages of memory; those of a file are no allocation. */
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    if ((flags & MAP_ANONYMOUS) && fails()) return MAP_FAILED;
    return (void *)syscall(MAP_PAGES, at, bytes, protection, flags, fd, offset);
}

void free(void *p) {
    heap.alive -= p != NULL;
    __libc_free(p);
}

/* Tells from here on, to the processes that come of this one as well, where an allocation has failed. */
static inline volatile bool *tell_failures(void) {
    void *page =
        (void *)syscall(MAP_PAGES, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return heap.met = page == MAP_FAILED ? NULL : page;
}

static inline void fail_at(long at, bool sticky) {
    heap.at = at, heap.sticky = sticky, heap.made = 0;
}
static inline long allocations(void) {
    return heap.made;
}
static inline long blocks(void) {
    return heap.alive;
}
#else /* a sanitizer keeps malloc to itself: then only the jobs as such are tested */
static inline volatile bool *tell_failures(void) {
    return NULL;
}

static inline void fail_at(long at, bool sticky) {
    (void)at, (void)sticky;
}
static inline long allocations(void) {
    return 0;
}
static inline long blocks(void) {
    return 0;
}
#endif

#endif
