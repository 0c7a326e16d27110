/* Preloaded into a program by tests/faults/faults.py: allocation FAULT_AT returns NULL, with
 * FAULT_STICKY all later ones, too. The file FAULT_COUNT gets the number of allocations when the
 * program ends. With FAULT_AT=0 none fails. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_long calls;
static long at; /* 0: none fails */
static bool sticky, counting;

/* Allocations made by the loader, before main, are not the program's. */
__attribute__((constructor)) static void start(void) {
    const char *number = getenv("FAULT_AT");
    if (number) at = atol(number);
    sticky = getenv("FAULT_STICKY") != NULL;
    counting = true;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULT_COUNT");
    char text[64];
    counting = false; /* later calls are not the program's */
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    int length = snprintf(text, sizeof text, "%ld\n", (long)calls);
    if (fd >= 0) (void)!syscall(SYS_write, fd, text, (size_t)length);
}

static bool no_memory(void) {
    if (!counting) return false;
    long call = ++calls;
    if (!at || call < at || (call > at && !sticky)) return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes) {
    return no_memory() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    return no_memory() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *p, size_t bytes) {
    return no_memory() ? NULL : __libc_realloc(p, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return no_memory() ? NULL : __libc_memalign(alignment, bytes);
}

#ifdef SYS_mmap2
#define MAP_PAGES SYS_mmap2
#else
#define MAP_PAGES SYS_mmap
#endif

/* Pages of memory; those of a file are no allocation. */
void *mmap(void *at_address, size_t bytes, int protection, int flags, int fd, off_t offset) {
    if ((flags & MAP_ANONYMOUS) && no_memory()) return MAP_FAILED;
    return (void *)syscall(MAP_PAGES, at_address, bytes, protection, flags, fd, offset);
}

void *mmap64(void *at_address, size_t bytes, int protection, int flags, int fd, off64_t offset)
    __attribute__((alias("mmap")));
