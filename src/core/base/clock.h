/* The clock for durations. */
#pragma once

#include <time.h>

/* Seconds since an arbitrary moment; never goes back. */
static inline double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
