/* Preloaded into a program by tests/faults/faults.py: its Nth allocation fails, or its Nth write is cut short.
 *
 *     FAULT=malloc FAULT_AT=N [FAULT_STICKY=1]     this allocation returns NULL, and with FAULT_STICKY all behind it
 *     FAULT=write FAULT_AT=N                       this write takes half of what it is given
 *
 * How many there were goes to the file FAULT_COUNT when the program ends. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_long calls[2];
static long at[2]; /* 0: none fails */
static bool sticky, counting;

/* Allocations made by the loader, before main, are not the program's. */
__attribute__((constructor)) static void start(void) {
    const char *fault = getenv("FAULT"), *number = getenv("FAULT_AT");
    if (fault && number) at[strcmp(fault, "write") == 0] = atol(number);
    sticky = getenv("FAULT_STICKY") != NULL;
    counting = true;
}

/* What comes now is not the program's: `make coverage` says so before it writes its counts. */
void faults_end(void);
void faults_end(void) {
    counting = false;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULT_COUNT");
    char text[64];
    faults_end();
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    int length = snprintf(text, sizeof text, "%ld %ld\n", (long)calls[0], (long)calls[1]);
    if (fd >= 0) (void)!syscall(SYS_write, fd, text, (size_t)length);
}

static bool fails(int kind) {
    if (!counting) return false;
    long call = ++calls[kind];
    return at[kind] && (call == at[kind] || (sticky && call > at[kind]));
}

static bool no_memory(void) {
    if (!fails(0)) return false;
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

ssize_t write(int fd, const void *buffer, size_t bytes) {
    return syscall(SYS_write, fd, buffer, fails(1) && bytes > 1 ? bytes / 2 : bytes);
}
