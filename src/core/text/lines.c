#include "text/lines.h"
#include "base/directory.h"
#include "base/random.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Files: a directory stands for all files below it ---- */

enum { MAX_DEPTH = 32 }; /* of directories; links may go in circles */

static bool is_of_kind(const char *path, mode_t kind) {
    struct stat st;
    return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == kind;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static bool add_path(FILE *out, const char *path, int depth, Error *e);

/* Adds the files of a directory, in the order of their names. */
static bool add_directory(FILE *out, const char *path, int depth, Error *e) {
    struct dirent **entry;
    int count = depth < MAX_DEPTH ? scandir(path, &entry, is_visible, alphasort) : -1;
    if (count < 0)
        return error_set(e, STATUS_NO_INPUT, "%s: %s", path,
                         depth < MAX_DEPTH ? strerror(errno) : "found directories 32 deep");
    bool ok = true;
    for (int i = 0; i < count; i++) {
        char inside[PATH_CAPACITY];
        ok = ok && directory_file(inside, path, entry[i]->d_name, STATUS_NO_INPUT, e) &&
             add_path(out, inside, depth + 1, e);
        free(entry[i]);
    }
    free(entry);
    return ok;
}

static bool add_path(FILE *out, const char *path, int depth, Error *e) {
    if (strchr(path, '\n'))
        return error_set(e, STATUS_NO_INPUT, "\"%s\": found a line break, need a name without one",
                         ESCAPED(path));
    if (is_of_kind(path, S_IFDIR)) return add_directory(out, path, depth, e);
    if (depth == 0 || is_of_kind(path, S_IFREG)) fprintf(out, "%s\n", path);
    return true;
}

char *texts_files(const char *paths, Error *e) {
    char *files = NULL, path[PATH_CAPACITY];
    size_t size = 0;
    FILE *out = open_memstream(&files, &size);
    bool ok;
    do {
        size_t length = strcspn(paths, "\n");
        snprintf(path, sizeof path, "%.*s", (int)length, paths);
        ok = out && add_path(out, path, 0, e);
        paths += length + (paths[length] == '\n');
    } while (ok && *paths);
    bool closed = out && fclose(out) == 0 && files;
    if (ok && closed && size > 0) {
        files[size - 1] = 0; /* the last line end */
        return files;
    }
    if (ok && closed) error_set(e, STATUS_NO_INPUT, "%s: found no file, need texts", path);
    if (!closed) error_set(e, STATUS_NO_MEMORY, "memory: the list of texts");
    free(files);
    return NULL;
}

/* The path for messages. */
static const char *shown_path(const char *path) {
    return strcmp(path, "-") == 0 ? "stdin" : path;
}

/* Makes each CR LF and each CR alone an LF; returns the new length. */
static size_t make_unix(char *text, size_t length) {
    const char *first = memchr(text, '\r', length); /* pages before it stay those of the file */
    size_t left = first ? (size_t)(first - text) : length;
    for (size_t i = left; i < length; i++)
        if (text[i] != '\r')
            text[left++] = text[i];
        else if (i + 1 == length || text[i + 1] != '\n')
            text[left++] = '\n';
    return left;
}

static bool read_file(Texts *t, const char *path, bool unix_newlines, Error *e) {
    FileMap *m = &t->map[t->count];
    if (!file_map(path, m, e)) return false;
    size_t mark = utf8_mark(m->data, m->size), length = m->size - mark;
    char *text = m->data ? m->data + mark : NULL;
    if (text && unix_newlines) length = make_unix(text, length);
    t->text[t->count++] = (Passage){shown_path(path), text ? text : "", length};
    t->byte_order_mark |= mark > 0;
    return true;
}

bool texts_open(Texts *t, const char *paths, bool unix_newlines, Error *e) {
    size_t files = 1;
    *t = (Texts){.paths = texts_files(paths, e)};
    if (!t->paths) return false;
    for (const char *at = t->paths; *at; at++) files += *at == '\n';
    *t = (Texts){.paths = t->paths,
                 .map = calloc(files, sizeof *t->map),
                 .text = calloc(files, sizeof *t->text)};
    if (!t->map || !t->text) return error_set(e, STATUS_NO_MEMORY, "memory: the list of texts");
    for (char *at = t->paths, *end; at; at = end) {
        end = strchr(at, '\n');
        if (end) *end++ = 0;
        if (!read_file(t, at, unix_newlines, e)) return false;
    }
    return true;
}

void texts_close(Texts *t) {
    for (long i = 0; i < t->count; i++) file_unmap(&t->map[i]);
    free(t->paths);
    free(t->map);
    free(t->text);
    *t = (Texts){0};
}

const char *texts_name(char out[TEXTS_NAME], const char *paths) {
    char first[ESCAPED_BYTES + 2];
    size_t length = strcspn(paths, "\n");
    long more = 0;
    for (const char *at = paths + length; *at; at++) more += *at == '\n';
    snprintf(first, sizeof first, "%.*s", (int)length, paths);
    int used = snprintf(out, TEXTS_NAME, "%s", ESCAPED(shown_path(first)));
    if (more) snprintf(out + used, (size_t)(TEXTS_NAME - used), " and %ld more", more);
    return out;
}

/* ---- Lines ---- */

Passage *texts_lines(const Passage *text, long texts, long *lines, Error *e) {
    size_t max = (size_t)texts + 1;
    for (long i = 0; i < texts; i++)
        for (size_t k = 0; k < text[i].length; k++) max += text[i].text[k] == '\n';
    Passage *line = malloc(max * sizeof *line);
    *lines = 0;
    if (!line) {
        error_set(e, STATUS_NO_MEMORY, "%s: no memory for %zu lines", text->where, max);
        return NULL;
    }
    for (long i = 0; i < texts; i++) {
        const char *at = text[i].text, *end = at + text[i].length;
        while (at < end) {
            const char *stop = memchr(at, '\n', (size_t)(end - at));
            if (!stop) stop = end;
            line[(*lines)++] = (Passage){text[i].where, at, (size_t)(stop - at)};
            at = stop + 1;
        }
    }
    return line;
}

/* ---- Sides ---- */

static int by_rank(const void *a, const void *b) {
    const Side *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

bool sides_choose(Side *side, long count, uint64_t seed, double share, const char *where,
                  const char *what, long *held_out, Error *e) {
    uint64_t key = random_key(seed, STREAM_SPLIT);
    long different = 0, wanted, i = 0;
    for (long k = 0; k < count; k++) side[k].rank = random_key(key, side[k].rank);
    qsort(side, (size_t)count, sizeof *side, by_rank);
    for (long k = 0; k < count; k++) different += k == 0 || side[k].rank != side[k - 1].rank;
    wanted = (long)((double)different * share);
    if (share > 0 && wanted < 1) wanted = 1;
    if (different <= wanted)
        return error_set(e, STATUS_BAD_DATA, "%s: found %ld different %s%s, need at least %ld",
                         where, different, what, PLURAL(different), wanted + 1);
    for (long left = wanted; left > 0; left -= side[i].rank != side[i - 1].rank) i++;
    *held_out = i;
    return true;
}
