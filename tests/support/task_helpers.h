/* What the tests of tokenizers, corpora and tasks share. */
#ifndef TESTS_TASK_HELPERS_H
#define TESTS_TASK_HELPERS_H

#include "tasks/task.h"
#include "test.h"

/* An Error with the status and exactly this text. */
#define CHECK_ERROR(e, want_status, want_text)                                                               \
    do {                                                                                                     \
        CHECK((e).status == (want_status), "status %d, %s", (int)(e).status, (e).text);                      \
        CHECK(!strcmp((e).text, want_text), "found \"%s\"", (e).text);                                       \
    } while (0)

static inline TaskOptions small(long symbols, long max_length, long held_out, uint64_t seed) {
    TaskOptions o = task_defaults();
    o.symbols = symbols, o.max_length = max_length, o.held_out = held_out, o.seed = seed;
    return o;
}

static inline Task *opened(const char *name, TaskOptions o) {
    Error e = {0};
    Task *task = task_open(name, &o, &e);
    CHECK(task, "%s", e.text);
    if (!task) exit(1);
    return task;
}

static inline Batch *batch_for(const Task *task, long rows) {
    Error e = {0};
    Batch *b = task_batch(task, rows, &e);
    CHECK(b, "%s", e.text);
    if (!b) exit(1);
    return b;
}

#endif
