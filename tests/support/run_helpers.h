/* Runs of ./train small enough to be made many times, and how they are ended. */
#pragma once

#include "child.h"
#include <signal.h>
#include <time.h>

#define TINY "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4", "--quiet"
#define COPY "copy", TINY, "--symbols", "5", "--max-length", "4", "--held-out", "30"
#define LM   "lm", TINY, "--text", "text", "--context", "8"

static inline void sleep_ms(long ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}
