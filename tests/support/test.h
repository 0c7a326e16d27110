/* The test harness. Each test runs in a child process, so that a crash, an exit or an endless loop
 * fails one test and not the run.
 *
 *     TEST(sums_are_sums) {
 *         CHECK(1 + 1 == 2, "found %d", 1 + 1);
 *     }
 *     RUN_TESTS
 *
 * prints `ok   PRECISION PROGRAM: sums are sums` or `FAIL …`; the status is 0 if all passed. With
 * arguments, only the tests run whose name contains one of them. */
#pragma once

#include "base/real.h"
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* SANITIZED: a sanitizer keeps malloc and the address space to itself. It judges instructions, not
 * what they compute: if (SANITIZER), a training takes few steps, and no test claims that it has
 * learned. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ /* gcc */
#define SANITIZED
#elif defined(__has_feature) /* clang */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

/* Limits of time catch what hangs; a sanitizer slows down what does not, this much at most, or
 * SLOWER what else does. */
#ifdef SLOWER
enum { PATIENCE = SLOWER };
#elif defined SANITIZED
enum { PATIENCE = 4 };
#else
enum { PATIENCE = 1 };
#endif
#ifdef SANITIZED
enum { SANITIZER = true };
#else
enum { SANITIZER = false };
#endif

typedef struct Test {
    const char *name;
    void (*run)(void);
} Test;

/* The tests of this program in the order of their definitions. */
static Test test_list[64];
static size_t test_count;

static inline void test_add(Test test) {
    if (test_count == sizeof test_list / sizeof *test_list) abort();
    test_list[test_count++] = test;
}

/* TEST(name) { ... } defines a test and adds it to the list. */
#define TEST(test)                                                                                 \
    static void test(void);                                                                        \
    __attribute__((constructor)) static void list_##test(void) {                                   \
        test_add((Test){#test, test});                                                             \
    }                                                                                              \
    static void test(void)

static int test_failures;

/* CHECK(condition) or CHECK(condition, format, ...): a failed one is counted, and the first ten are
 * printed. The second macro's last argument is the format where none is given, and one that the
 * format does not use where one is. */
#pragma GCC diagnostic ignored "-Wformat-extra-args"
#define CHECK(...) CHECK_WITH(__VA_ARGS__, " ")
#define CHECK_WITH(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition) && ++test_failures <= 10) {                                               \
            printf("  %s:%d: %s: ", __FILE__, __LINE__, #condition);                               \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
        }                                                                                          \
    } while (0)

/* |found - want| <= tolerance; a NaN on either side fails, equal infinities pass. */
#define CHECK_NEAR(found, want, tolerance)                                                         \
    do {                                                                                           \
        double f_ = (double)(found), w_ = (double)(want), t_ = (double)(tolerance);                \
        CHECK(f_ == w_ || fabs(f_ - w_) <= t_, "found %.17g, want %.17g within %.3g", f_, w_, t_); \
    } while (0)

static void (*test_begin)(void); /* runs first in the process of each test, unless NULL */

static inline int test_main(int argc, char **argv) {
    const char *base = strrchr(argv[0], '/');
    base = base ? base + 1 : argv[0];
    int failed = 0;
    for (size_t i = 0; i < test_count; i++) {
        const Test *test = &test_list[i];
        char name[100];
        snprintf(name, sizeof name, "%s", test->name);
        for (char *c = name; *c; c++)
            if (*c == '_') *c = ' ';
        bool wanted = argc < 2;
        for (int a = 1; a < argc; a++) wanted |= strstr(name, argv[a]) != NULL;
        if (!wanted) continue;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(900 * PATIENCE);
            if (test_begin) test_begin();
            test->run();
            exit(test_failures ? 1 : 0);
        }
        int status = -1;
        bool ok = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                  WEXITSTATUS(status) == 0;
        if (child > 0 && WIFSIGNALED(status))
            printf("  ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
        printf("%s %s %s: %s\n", ok ? "ok  " : "FAIL",
               sizeof(real) == sizeof(float) ? "float" : "double", base, name);
        failed += !ok;
    }
    return failed ? 1 : 0;
}

/* Defines main. RUN_TESTS_AFTER(begin): each test begins with begin(). */
#define RUN_TESTS RUN_TESTS_AFTER(NULL)
#define RUN_TESTS_AFTER(begin)                                                                     \
    int main(int argc, char **argv) {                                                              \
        test_begin = begin;                                                                        \
        return test_main(argc, argv);                                                              \
    }

/* ---- Texts ---- */

static inline const char *next_line(const char *text) {
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text + strlen(text);
}

/* Lines of a text. */
static inline int lines_of(const char *text) {
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

/* The number of occurrences of a text in another. */
static inline int count_of(const char *text, const char *what) {
    int count = 0;
    for (text = strstr(text, what); text; text = strstr(text + strlen(what), what)) count++;
    return count;
}
