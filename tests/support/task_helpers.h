/* Helpers for the tests of tokenizers, corpora and tasks. */
#pragma once

#include "base/file.h"
#include "tasks/task.h"
#include "test.h"

/* An Error with the status and exactly this text. */
#define CHECK_ERROR(e, want_status, want_text)                                                     \
    do {                                                                                           \
        CHECK((e).status == (want_status), "status %d, %s", (int)(e).status, (e).text);            \
        CHECK(!strcmp((e).text, want_text), "found \"%s\"", (e).text);                             \
    } while (0)

static inline TaskOptions small(long symbols, long max_length, long held_out, uint64_t seed) {
    TaskOptions o = task_defaults();
    o.symbols = symbols;
    o.max_length = max_length;
    o.held_out = held_out;
    o.seed = seed;
    return o;
}

static inline Task *opened(const char *name, TaskOptions o) {
    Error e = {0};
    Task *task = task_open(name, &o, &e);
    CHECK(task, "%s", e.text);
    if (!task) exit(1);
    return task;
}

static inline Tokenizer *learned(const TokenizerKind *kind, long size, const char *text,
                                 size_t length) {
    Error e = {0};
    Tokenizer *k = tokenizer_learn(kind, size, &(Passage){"text", text, length}, 1, &e);
    CHECK(k, "%s", e.text);
    if (!k) exit(1);
    return k;
}

/* A file's bytes, followed by a NUL; the caller frees them. */
static inline char *whole_file(const char *path, size_t *length) {
    Error e = {0};
    char *text;
    if (file_read(path, 0, &text, length, &e)) return text;
    CHECK(false, "%s", e.text);
    exit(1);
}

static inline Batch *batch_for(const Task *task, long rows) {
    Error e = {0};
    Batch *b = task_batch(task, rows, &e);
    CHECK(b, "%s", e.text);
    if (!b) exit(1);
    return b;
}
