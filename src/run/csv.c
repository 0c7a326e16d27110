#include "run/csv.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Rows ---- */

/* Columns of a head line, and which of them is the step; -1: none. */
typedef struct Head {
    int columns, step;
} Head;

static Head head_of(const char *line) {
    Head h = {0, -1};
    for (const char *at = line;; at++) {
        size_t n = strcspn(at, ",\n");
        if (n == strlen("step") && strncmp(at, "step", n) == 0) h.step = h.columns;
        h.columns++;
        at += n;
        if (*at != ',') return h;
    }
}

/* Reads a line into value[h.columns]. False unless it ends, has as many fields as the head, and a step of at least `least`,
 * and each field from there on is empty or a number. */
static bool parse_row(const char *line, Head h, double least, double *value) {
    for (int i = 0; i < h.columns; i++) {
        size_t n = strcspn(line, ",\n");
        char *end = (char *)line;
        value[i] = NAN;
        if (i >= h.step && n) value[i] = strtod(line, &end);
        if (i >= h.step && end != line + n) return false;
        line += n;
        if (*line++ != (i + 1 < h.columns ? ',' : '\n')) return false;
    }
    return value[h.step] >= least && value[h.step] < 1e15;
}

static const char *next_line(const char *line) {
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

/* ---- Writing ---- */

bool csv_open(CsvFile *f, const char *directory, const char *name, const char *head, Error *e) {
    *f = (CsvFile){0};
    if (!directory_file(f->path, directory, name, STATUS_CANNOT_CREATE, e) ||
        !file_may_be_written(f->path, e))
        return false;
    f->out = open_memstream(&f->text, &f->size);
    if (!f->out) return error_set(e, STATUS_NO_MEMORY, "%s: no memory", f->path);
    fputs(head, f->out);
    return true;
}

/* Copies rows up to the step `last`, and leaves out damaged ones. Returns the first line that is damaged or missing; 0:
 * there is none. A line without an end is none: it was being written. */
static long copy_rows(const char *text, const char *head, long last, long needed, FILE *out) {
    Head h = head_of(head);
    double value[CSV_COLUMNS], before = -1;
    long number = 1, damaged = strncmp(text, head, strlen(head)) != 0;
    for (const char *line = next_line(text); before < (double)last && strchr(line, '\n');
         line = next_line(line)) {
        bool whole = parse_row(line, h, before + 1, value);
        number++;
        if (whole && value[h.step] > (double)last) break;
        if (whole)
            before = value[h.step], fprintf(out, "%.*s\n", (int)strcspn(line, "\n"), line);
        else if (!damaged)
            damaged = number;
    }
    return damaged || needed == 0 || before >= (double)needed ? damaged : number + 1;
}

/* Renames a file that is damaged to one that is not there yet. */
static bool keep_aside(const CsvFile *f, long line, Error *e) {
    char aside[PATH_ROOM + 32];
    int i = 1;
    do snprintf(aside, sizeof aside, "%s.damaged-%d", f->path, i);
    while (access(aside, F_OK) == 0 && i++ < 1000);
    if (rename(f->path, aside) != 0)
        return error_set(e, STATUS_CANNOT_CREATE, "%s: %s", aside, strerror(errno));
    fprintf(stderr, "%s: line %ld is damaged or missing; the file is kept as %s\n", f->path, line, aside);
    return true;
}

bool csv_resume(CsvFile *f, const char *directory, const char *name, const char *head, long last, long needed,
                Error *e) {
    char *text;
    size_t size;
    if (!csv_open(f, directory, name, head, e)) return false;
    if (access(f->path, F_OK) != 0 && errno == ENOENT) return true;
    if (!file_read(f->path, 0, &text, &size, e)) return false;
    long damaged = size ? copy_rows(text, head, last, needed, f->out) : 0;
    free(text);
    return !damaged || keep_aside(f, damaged, e);
}

bool csv_save(CsvFile *f, Error *e) {
    if (fflush(f->out) != 0 || ferror(f->out))
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory", f->path);
    File *file = file_create(f->path, e);
    if (file) file_write(file, f->text, f->size);
    return file && file_commit(file, e);
}

void csv_close(CsvFile *f) {
    if (f->out) fclose(f->out);
    free(f->text);
    *f = (CsvFile){0};
}

/* ---- Reading ---- */

/* Reads the rows of a text that begins with a head line into a table for all of its lines. */
static bool take_rows(Csv *t, Head h, long lines) {
    double row[CSV_COLUMNS], last = 0;
    t->value = malloc(((size_t)h.columns * (size_t)lines + 1) * sizeof *t->value);
    for (const char *line = next_line(t->text); t->value && *line; line = next_line(line)) {
        if (!parse_row(line, h, last, row)) continue;
        last = row[h.step];
        for (int i = 0; i < h.columns; i++) t->value[i * lines + t->rows] = row[i];
        t->rows++;
    }
    char *name = t->text;
    for (int i = 0; t->value && i < h.columns; i++) {
        t->name[t->columns++] = name;
        name += strcspn(name, ",\n");
        *name++ = 0;
        memmove(t->value + i * t->rows, t->value + i * lines, (size_t)t->rows * sizeof *t->value);
    }
    return t->value;
}

bool csv_read(Csv *t, const char *path, Error *e) {
    size_t size;
    long lines = 0;
    *t = (Csv){0};
    if (access(path, F_OK) != 0 && errno == ENOENT) return true;
    if (!file_read(path, 0, &t->text, &size, e)) return false;
    for (const char *c = t->text; *c; c++) lines += *c == '\n';
    Head h = head_of(t->text);
    if (size == 0) return true;
    if (h.step < 0 || h.columns > CSV_COLUMNS)
        return error_set(e, STATUS_BAD_DATA,
                         "%s: line 1: found %d columns, need a column step among at most %d", path, h.columns,
                         CSV_COLUMNS);
    return take_rows(t, h, lines) || error_set(e, STATUS_NO_MEMORY, "memory: %ld rows of %s", lines, path);
}

void csv_free(Csv *t) {
    free(t->text), free(t->value);
    *t = (Csv){0};
}

double *csv_column(const Csv *t, const char *name) {
    for (int i = 0; i < t->columns; i++)
        if (strcmp(t->name[i], name) == 0) return t->value + i * t->rows;
    return NULL;
}
