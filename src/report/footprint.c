#include "report/footprint.h"
#include "base/pool.h"
#include <stdio.h>
#include <unistd.h>

enum {
    KB = 1024,
    THREAD_BYTES = 600 * KB, /* stack, and the packed operands of kernels/gemm.c */
    USUAL_BYTES = 3072 * KB, /* of a process at its start, where the system does not say */
};

/* Bytes of memory that the process holds now. */
static size_t resident_bytes(void) {
    size_t all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r"); /* Linux: sizes in pages, the second is what is resident */
    if (f) {
        if (fscanf(f, "%zu %zu", &all, &resident) != 2) resident = 0;
        fclose(f);
    }
    return resident ? resident * (size_t)sysconf(_SC_PAGESIZE) : USUAL_BYTES;
}

size_t footprint_bytes(size_t more) {
    return resident_bytes() + more + (size_t)pool_threads() * THREAD_BYTES;
}
