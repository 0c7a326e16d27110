/* Helpers for the tests of ./explain. */
#pragma once

#include "child.h"

#define EXPLAIN(...) run_program("explain", ARGUMENTS(__VA_ARGS__), (Streams){0})

/* Trains two runs of these sizes: copy, whose vocabulary is 12345, and lm. */
#define MAKE_RUNS(...)                                                                             \
    do {                                                                                           \
        write_text("text", "the cat sat on the mat, and the rat sat on the cat and the mat");      \
        CHECK(TRAIN("copy", __VA_ARGS__, "--symbols", "5", "--max-length", "4", "--run",           \
                    "copy") == 0,                                                                  \
              "%s", err);                                                                          \
        CHECK(TRAIN("lm", __VA_ARGS__, "--preset", "gpt", "--text", "text", "--context", "8",      \
                    "--tail", "0", "--run", "lm") == 0,                                            \
              "%s", err);                                                                          \
    } while (0)
