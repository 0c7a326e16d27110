/* Replaces, in the module for web pages, all that a page does not have: threads, processes, a system, and files. A file
 * is a block of memory with a name; web.h has the functions with which the worker reads and writes it. */
#include "base/clock.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/group_limit.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/program.h"
#include "base/system.h"
#include "check/gradcheck/check_host.h"
#include "formats/json.h"
#include "web/web.h"
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- base/pool.h: one thread ---- */

void pool_set_threads(int threads) {
    (void)threads;
}

int pool_threads(void) {
    return 1;
}

int pool_thread_index(void) {
    return 0;
}

void pool_for(long chunks, void (*body)(void *context, long chunk), void *context) {
    for (long i = 0; i < chunks; i++) body(context, i);
}

/* ---- check/gradcheck/check_host.h: no process, so the checker runs operations here ---- */

const CheckHostCalls check_host_calls;

CheckMemory *check_host_memory(CheckHost *h) {
    (void)h;
    return NULL;
}

/* ---- base/system.h, base/group_limit.h, base/program.h ---- */

double system_memory(void) {
    return WEB_MEMORY;
}

double memory_of_groups(const char *groups, const char *root) {
    (void)groups, (void)root;
    return (double)INFINITY;
}

long system_cache(void) {
    return 1 << 20;
}

void *system_pages(size_t bytes, bool shared) {
    void *pages =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANON, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void system_large_pages(void *pages, size_t bytes) {
    (void)pages, (void)bytes;
}

void system_start_options(void) {
    optind = 0;
}

void *system_locale(const char *name) {
    (void)name;
    return NULL;
}

void system_locale_back(void *before) {
    (void)before;
}

int system_columns(int fd) {
    (void)fd;
    return 0;
}

bool program_start(const char *argv0, Error *e) {
    (void)argv0, (void)e;
    return true;
}

const char *program_prefix(void) {
    return "";
}

void program_print(const char *text, size_t length) {
    fwrite(text, 1, length, stdout);
}

/* ---- base/file.h, base/map.h ---- */

enum { FILES = 8 };
typedef struct MemoryFile {
    char *path, *data; /* data: a NUL follows */
    size_t size;
} MemoryFile;
static MemoryFile files[FILES];

/* The file of this path; with `create` a new one if there is none. NULL: none, or no room. */
static MemoryFile *find(const char *path, bool create) {
    for (int i = 0; i < FILES; i++)
        if (files[i].path && strcmp(files[i].path, path) == 0) return &files[i];
    for (int i = 0; create && i < FILES; i++)
        if (!files[i].path && (files[i].path = strdup(path))) return &files[i];
    return NULL;
}

/* Replaces the contents of a file by `size` bytes, which are `data`'s to write. */
static char *replace(const char *path, size_t size) {
    MemoryFile *f = find(path, true);
    if (!f) return NULL;
    free(f->data);
    f->data = calloc(1, size + 1), f->size = f->data ? size : 0;
    return f->data;
}

/* Room for a path that the worker writes. */
WEB_EXPORT(char *, path, (void)) {
    static char path[64];
    return path;
}

/* Room for the contents of a file; NULL: no memory. */
WEB_EXPORT(char *, file_write, (const char *path, size_t size)) {
    return replace(path, size);
}

WEB_EXPORT(char *, file_data, (const char *path)) {
    MemoryFile *f = find(path, false);
    return f ? f->data : NULL;
}

WEB_EXPORT(size_t, file_size, (const char *path)) {
    MemoryFile *f = find(path, false);
    return f ? f->size : 0;
}

WEB_EXPORT(void, file_remove, (const char *path)) {
    MemoryFile *f = find(path, false);
    if (!f) return;
    free(f->path), free(f->data);
    *f = (MemoryFile){0};
}

/* A number that nobody reads from: for the size. */
int file_open(const char *path, uintmax_t *bytes, Error *e) {
    MemoryFile *f = find(path, false);
    if (!f) return error_set(e, STATUS_NO_INPUT, "%s: %s", path, strerror(ENOENT)) ? 0 : -1;
    *bytes = f->size;
    return FILES;
}

bool file_read(const char *path, size_t limit, char **data, size_t *size, Error *e) {
    MemoryFile *f = find(path, false);
    if (!f) return error_set(e, STATUS_NO_INPUT, "%s: %s", path, strerror(ENOENT));
    if (limit && f->size > limit)
        return error_set(e, STATUS_BAD_DATA, "%s: found %zu bytes, need at most %zu", path, f->size, limit);
    *data = malloc(f->size + 1), *size = f->size;
    if (!*data) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for its %zu bytes", path, f->size);
    memcpy(*data, f->data, f->size + 1);
    return true;
}

bool file_map(const char *path, FileMap *m, Error *e) {
    *m = (FileMap){0};
    return file_read(path, 0, &m->data, &m->size, e);
}

void file_unmap(FileMap *m) {
    free(m->data);
    *m = (FileMap){0};
}

struct File {
    char *path, *data;
    size_t size;
    FILE *stream; /* to `data` */
};

File *file_create(const char *path, Error *e) {
    File *f = calloc(1, sizeof *f);
    if (f) f->path = strdup(path), f->stream = open_memstream(&f->data, &f->size);
    if (f && f->path && f->stream) return f;
    error_set(e, STATUS_NO_MEMORY, "%s: no memory", path);
    file_abandon(f);
    return NULL;
}

void file_write(File *f, const void *data, size_t size) {
    fwrite(data, 1, size, f->stream);
}

void file_print(File *f, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(f->stream, format, arguments);
    va_end(arguments);
}

const char *file_path(const File *f) {
    return f->path;
}

bool file_reserve(File *f, size_t size, Error *e) {
    (void)f, (void)size, (void)e;
    return true;
}

bool file_commit(File *f, Error *e) {
    bool ok = !ferror(f->stream) && fflush(f->stream) == 0;
    char *to = ok ? replace(f->path, f->size) : NULL;
    if (to) memcpy(to, f->data, f->size);
    if (!to) error_set(e, STATUS_NO_MEMORY, "%s: no memory", f->path);
    file_abandon(f);
    return to != NULL;
}

void file_abandon(File *f) {
    if (!f) return;
    if (f->stream) fclose(f->stream);
    free(f->data), free(f->path);
    free(f);
}

/* ---- web.h ---- */

void web_end(const Error *e) {
    if (e->status != STATUS_DONE) {
        printf("\f{\"status\": %d, \"error\": ", (int)e->status);
        json_print(stdout, e->text);
        puts("}");
    }
    fflush(stdout);
}
