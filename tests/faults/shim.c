/* Preloaded into a program by tests/faults/faults.py: allocation FAULT_AT returns NULL, with
 * FAULT_STICKY all later ones, too. The file FAULT_COUNT gets the number of allocations when the
 * program ends. With FAULT_AT=0 none fails. */
#include "failing_memory.h"
#include <fcntl.h>

/* Allocations made by the loader, before main, are not the program's. */
__attribute__((constructor)) static void start(void) {
    const char *number = getenv("FAULT_AT");
    fail_at(number ? atol(number) : 0, getenv("FAULT_STICKY") != NULL);
}

/* Nor are later ones. */
__attribute__((destructor)) static void end(void) {
    const char *path = getenv("FAULT_COUNT");
    char text[64];
    int length = snprintf(text, sizeof text, "%ld\n", heap.made);
    heap.at = 0;
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd >= 0) (void)!write(fd, text, (size_t)length);
}

void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t offset)
    __attribute__((alias("mmap")));
