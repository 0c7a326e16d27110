/* Promises of readers, and their input as text or file. A broken promise ends the process. */
#pragma once

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROMISE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A reader that refuses gives one printable line, with this status or STATUS_BAD_DATA. */
static inline void promise_reason(bool ok, const Error *e, Status reason) {
    PROMISE(ok == (e->status == STATUS_DONE));
    if (ok) return;
    PROMISE(e->status == STATUS_BAD_DATA || e->status == reason);
    PROMISE(*e->text && strlen(e->text) < ERROR_TEXT);
    for (const char *at = e->text; *at; at++) PROMISE((unsigned char)*at >= ' ' && *at != 0x7F);
}

static inline void promise_error(bool ok, const Error *e) {
    promise_reason(ok, e, STATUS_BAD_DATA);
}

/* A copy of exactly these bytes, from malloc, so that a sanitizer sees a read after the last. */
static inline char *copy_of(const uint8_t *data, size_t size) {
    char *copy = malloc(size ? size : 1);
    PROMISE(copy);
    if (size) memcpy(copy, data, size);
    return copy;
}

/* The same, followed by a NUL. */
static inline char *text_of(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    PROMISE(text);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    return text;
}

/* The path of a file in memory that holds these bytes. */
static inline const char *file_of(const uint8_t *data, size_t size) {
    static char path[32];
    static int fd = -1;
    if (fd < 0) fd = memfd_create("fuzz", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    PROMISE(fd >= 0 && ftruncate(fd, (off_t)size) == 0 &&
            pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}
