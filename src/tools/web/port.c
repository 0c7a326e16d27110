/* Replaces threads, processes, the system and files in the page's modules. A file is a
 * block of memory with a name. Functions without a counterpart in a page do nothing. */
#include "base/file.h"
#include "base/interrupt.h"
#include "base/pool.h"
#include "base/program.h"
#include "base/runs.h"
#include "base/system.h"
#include "web/web.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* ---- One thread, no process, no system: functions whose answer is a constant ---- */

#define ANSWER(type, name, arguments, value)                                                       \
    type name arguments {                                                                          \
        return value;                                                                              \
    }
ANSWER(int, pool_threads, (void), 1)
ANSWER(int, pool_thread_index, (void), 0)
ANSWER(double, system_memory, (void), WEB_MEMORY)
ANSWER(double, system_group_limit, (const char *name, const char *groups, const char *root),
       (double)INFINITY)
ANSWER(char *, strsignal, (int number), "")
ANSWER(int, interrupt_signal, (void), 0)
ANSWER(bool, program_start, (const char *argv0, Error *e), true)
ANSWER(const char *, program_prefix, (void), "")
ANSWER(bool, file_reserve, (File * f, size_t size, Error *e), true)
ANSWER(char *, shell_command, (int argc, char *const *argv, Error *e), NULL)

void pool_set_threads(int threads) {}
void program_print(const char *text, size_t length) {}

void pool_for(long chunks, void (*body)(void *context, long chunk), void *context) {
    for (long i = 0; i < chunks; i++) body(context, i);
}

void *system_pages(size_t bytes) {
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* ---- base/file.h ---- */

struct File {
    char path[64], *data; /* a NUL follows the data */
    size_t size;
    FILE *stream; /* while it is written */
};
static File files[8]; /* enough for all entry points */

/* The file at this path, or NULL. */
static File *find(const char *path) {
    for (File *f = files; f < files + sizeof files / sizeof *files; f++)
        if (strcmp(f->path, path) == 0) return f;
    return NULL;
}

/* An empty file at this path. NULL: there are too many files. */
static File *emptied(const char *path) {
    File *f = find(path);
    if (!f) f = find("");
    if (!f) return NULL;
    free(f->data);
    *f = (File){0};
    snprintf(f->path, sizeof f->path, "%s", path);
    return f;
}

/* Room for a path that the worker writes. */
WEB_EXPORT(char *, path, (void)) {
    static char path[64];
    return path;
}

WEB_EXPORT(char *, file_data, (const char *path)) {
    File *f = find(path);
    return f ? f->data : NULL;
}

WEB_EXPORT(size_t, file_size, (const char *path)) {
    File *f = find(path);
    return f ? f->size : 0;
}

/* Room for new contents. NULL: no memory. */
WEB_EXPORT(char *, file_write, (const char *path, size_t size)) {
    File *f = emptied(path);
    if (f) f->data = calloc(1, size + 1);
    if (!f || !f->data) return NULL;
    f->size = size;
    return f->data;
}

/* Returns a descriptor that is not used. */
int file_open(const char *path, uintmax_t *bytes, Error *e) {
    *bytes = web_file_size(path);
    if (web_file_data(path)) return 99;
    return error_set(e, STATUS_NO_INPUT, "%s: %s", path, strerror(ENOENT)) ? 0 : -1;
}

bool file_read(const char *path, size_t limit, char **data, size_t *size, Error *e) {
    uintmax_t bytes;
    if (file_open(path, &bytes, e) < 0) return false;
    *size = (size_t)bytes;
    *data = malloc(*size + 1);
    if (!*data)
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for its %ju bytes", path, bytes);
    memcpy(*data, web_file_data(path), *size + 1);
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

File *file_create(const char *path, Error *e) {
    File *f = emptied(path);
    if (f) f->stream = open_memstream(&f->data, &f->size);
    if (f && f->stream) return f;
    error_set(e, STATUS_NO_MEMORY, "%s: no memory", path);
    return NULL;
}

void file_write(File *f, const void *data, size_t size) {
    fwrite(data, 1, size, f->stream);
}

const char *file_path(const File *f) {
    return f->path;
}

bool file_commit(File *f, Error *e) {
    bool written = !ferror(f->stream);
    return (fclose(f->stream) == 0 && written) ||
           error_set(e, STATUS_NO_MEMORY, "%s: no memory", f->path);
}

bool file_print(const char *path, void (*print)(FILE *out, const void *content),
                const void *content, Error *e) {
    File *f = file_create(path, e);
    if (f) print(f->stream, content);
    return f && file_commit(f, e);
}

void file_abandon(File *f) {
    if (f) fclose(f->stream);
}

const char *program_command(const char *program, char out[PROGRAM_COMMAND]) {
    snprintf(out, PROGRAM_COMMAND, "./%s", program);
    return out;
}

bool runs_find(char out[PATH_CAPACITY], const char *name, const char *file, Error *e) {
    return snprintf(out, PATH_CAPACITY, "%s", name) > 0;
}

/* ---- Output of the entry points ---- */

Error web_error;

/* Prints the error, if there is one, after a form feed, and flushes the output. */
WEB_EXPORT(void, end, (void)) {
    if (web_error.status != STATUS_DONE) {
        printf("\f{\"status\": %d", (int)web_error.status);
        json_text(stdout, "error", web_error.text);
        puts("}");
    }
    web_error = (Error){0};
    fflush(stdout);
}
