/* Programmer's mistakes must stop the program with STATUS_BUG and one line that says what was
 * found:
 *
 *     EXPECT_BUG("matmul: argument 2 is [4,3], want [3,*]", tape_matmul(t, a, b)); */
#pragma once

#include "base/error.h"
#include "test.h"

#define EXPECT_BUG(message, ...)                                                                   \
    do {                                                                                           \
        int channel[2];                                                                            \
        if (expect_bug_child(channel)) {                                                           \
            __VA_ARGS__;                                                                           \
            _exit(0);                                                                              \
        }                                                                                          \
        char found[1024];                                                                          \
        int status = expect_bug_outcome(channel, found, sizeof found);                             \
        CHECK(status == STATUS_BUG, "`%s`: status %d", #__VA_ARGS__, status);                      \
        CHECK(strcmp(found, "bug: " message "\n") == 0, "`%s`: found %s", #__VA_ARGS__, found);    \
    } while (0)

#ifdef SANITIZED
/* A child that stops frees nothing: clang's sanitizer asks here whether to look for leaks. */
static bool is_stopped_child;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
    return is_stopped_child;
}
#endif

/* True in a child whose stderr is the channel. */
static inline bool expect_bug_child(int channel[2]) {
    fflush(stdout);
    if (pipe(channel)) exit(STATUS_IO);
    if (fork() != 0) return false;
#ifdef SANITIZED
    is_stopped_child = true;
#endif
    dup2(channel[1], STDERR_FILENO);
    return true;
}

/* The child's exit status (-1: it did not exit) and what it wrote. */
static inline int expect_bug_outcome(const int channel[2], char *text, size_t size) {
    close(channel[1]);
    size_t length = 0;
    ssize_t n = 1;
    while (n > 0) {
        n = read(channel[0], text + length, size - 1 - length);
        if (n > 0) length += (size_t)n;
    }
    text[length] = 0;
    close(channel[0]);
    int status = -1;
    wait(&status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
