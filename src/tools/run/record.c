#include "run/record.h"
#include "base/file.h"
#include "base/options.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Lines ---- */

/* Begins to collect lines in memory. */
static void collect(Record *r) {
    r->line = open_memstream(&r->pending, &r->bytes);
    if (!r->line) error_no_memory("a line of %s", r->path);
}

/* Ends the collection without its lines. */
static void forget(Record *r) {
    if (r->line) fclose(r->line);
    free(r->pending);
    r->line = NULL;
    r->pending = NULL;
}

/* Writes the bytes at the end of the file. The lines before them stay whole if that fails. */
static bool append(Record *r, const char *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t written = pwrite(r->fd, bytes + done, count - done, r->size + (off_t)done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        done += (size_t)written;
    }
    r->size += (off_t)count;
    return true;
}

/* Moves the collected lines to the file. */
static bool write_pending(Record *r) {
    if (fflush(r->line) != 0) error_no_memory("the lines of %s", r->path);
    if (r->bytes == 0) return true;
    if (!append(r, r->pending, r->bytes)) return false;
    forget(r);
    collect(r);
    return true;
}

FILE *record_begin(Record *r, const char *event, long step) {
    if (fflush(r->line) != 0) error_no_memory("the lines of %s", r->path);
    r->begun = r->bytes;
    fprintf(r->line, "{\"event\": \"%s\", \"step\": %ld", event, step);
    return r->line;
}

void record_end(Record *r) {
    fputs("}\n", r->line);
    if (fflush(r->line) != 0) error_no_memory("the lines of %s", r->path);
    if (r->echo) {
        fwrite(r->pending + r->begun, 1, r->bytes - r->begun, stdout);
        stdout_flush();
    }
    if (r->fd >= 0) (void)write_pending(r); /* record_save reports a failure */
}

void record_number(FILE *out, const char *name, double value) {
    if (isnan(value)) return;
    fprintf(out, isfinite(value) ? ", \"%s\": %.7g" : ", \"%s\": null", name, value);
}

/* ---- The file ---- */

static bool fails(const Record *r, Status status, Error *e) {
    return error_set(e, status, "%s: %s", r->path, strerror(errno));
}

bool record_open(Record *r, const char *directory, bool echo, Error *e) {
    r->echo = echo;
    r->fd = -1;
    if (!directory_file(r->path, directory, "run.jsonl", STATUS_CANNOT_CREATE, e)) return false;
    collect(r);
    if (!file_may_be_written(r->path, e)) return false;
    bool writable = access(r->path, W_OK) == 0 || errno == ENOENT;
    return writable || fails(r, STATUS_CANNOT_CREATE, e);
}

static bool open_file(Record *r, int flags, Error *e) {
    if (!file_may_be_written(r->path, e)) return false;
    int fd = open(r->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0666);
    if (fd < 0) return fails(r, STATUS_CANNOT_CREATE, e);
    if (r->fd >= 0) close(r->fd);
    r->fd = fd;
    return true;
}

bool record_create(Record *r, Error *e) {
    r->size = 0;
    return open_file(r, O_TRUNC, e);
}

bool record_resume(Record *r, off_t keep, Error *e) {
    if (!open_file(r, 0, e)) return false;
    r->size = keep;
    return ftruncate(r->fd, keep) == 0 || fails(r, STATUS_IO, e);
}

/* Copies the lines of a deleted file into a new one. */
static bool write_again(Record *r, Error *e) {
    off_t size = r->size;
    char *lines = malloc((size_t)size + 1);
    if (!lines) return error_set(e, STATUS_NO_MEMORY, "%s: no memory for its lines", r->path);
    bool whole = pread(r->fd, lines, (size_t)size, 0) == (ssize_t)size;
    bool ok = whole || fails(r, STATUS_IO, e);
    ok = ok && record_create(r, e) && (append(r, lines, (size_t)size) || fails(r, STATUS_IO, e));
    free(lines);
    return ok;
}

/* Whether the open file is still the one at the path. */
static bool is_in_place(const Record *r) {
    struct stat by_path, by_fd;
    return stat(r->path, &by_path) == 0 && fstat(r->fd, &by_fd) == 0 &&
           by_path.st_ino == by_fd.st_ino && by_path.st_dev == by_fd.st_dev;
}

bool record_save(Record *r, Error *e) {
    if (r->fd < 0) return true;
    if (!is_in_place(r) && !write_again(r, e)) return false;
    if (!write_pending(r)) return fails(r, STATUS_IO, e);
    int failed;
    do failed = fsync(r->fd);
    while (failed && errno == EINTR);
    return !failed || fails(r, STATUS_IO, e);
}

void record_close(Record *r) {
    if (!r->line) return;
    if (r->fd >= 0) close(r->fd);
    forget(r);
    r->fd = -1;
}

/* ---- Reading ---- */

/* The members of a line that decide whether a resumed run keeps it. */
typedef struct Line {
    JsonString event;
    uint64_t step;
    double seconds;
    bool has_step, is_final;
} Line;

static bool read_line(const char *path, char *text, size_t length, Line *out) {
    Json j = json_over(path, text, length, &(Error){0});
    JsonString key;
    *out = (Line){0};
    if (!json_enter(&j, '{')) return false;
    while (json_member(&j, &key)) {
        if (strcmp(key.text, "event") == 0)
            json_string(&j, &out->event);
        else if (strcmp(key.text, "step") == 0)
            out->has_step = json_natural(&j, &out->step);
        else {
            size_t from = j.at;
            out->is_final |= strcmp(key.text, "final") == 0;
            bool is_time = strcmp(key.text, "seconds") == 0;
            if (json_skip(&j) && is_time) out->seconds = strtod(text + from, NULL);
        }
    }
    return json_end(&j) && out->event.text && out->has_step;
}

/* Whether a run that continues from the checkpoint writes this line again. */
static bool is_beyond(const Line *l, bool is_first, long step, long evaluated, long planned) {
    long at = (long)l->step;
    if (strcmp(l->event.text, "step") == 0) return at > step;
    if (strcmp(l->event.text, "run") == 0) return !is_first && at >= step;
    bool ends_schedule = step == planned && at == step;
    return !ends_schedule && (at > evaluated || (l->is_final && at >= step));
}

off_t record_read(const char *path, long step, long evaluated, long planned, Past *past) {
    char *text, *line;
    size_t size;
    *past = (Past){0};
    if (!file_read(path, 0, &text, &size, &(Error){0})) return 0;
    long number = 1;
    for (line = text; line < text + size; number++) {
        Line l;
        char *end = memchr(line, '\n', (size_t)(text + size - line));
        if (!end) break; /* a kill has cut it */
        bool is_whole = read_line(path, line, (size_t)(end - line), &l);
        if (is_whole && is_beyond(&l, number == 1, step, evaluated, planned)) break;
        if (!is_whole && !past->damaged) past->damaged = number;
        if (is_whole) {
            past->steps += strcmp(l.event.text, "step") == 0;
            past->is_evaluated |= l.is_final && (long)l.step == step;
            if (l.seconds > 0) past->seconds = l.seconds;
        }
        line = end + 1;
    }
    off_t keep = (off_t)(line - text);
    free(text);
    return keep;
}
