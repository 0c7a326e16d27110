#include "run/page.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/runs.h"
#include "training/train_config.h"
#include <stdlib.h>
#include <string.h>

/* A page has at most so many lines of steps of a record: every second, fourth, … of a longer
 * run. */
enum { MAX_STEPS = 8192 };

/* The lines of the template's files, which make converts to C strings. */
static const char *const html[] = {
#include "run/page.html.inc"
    NULL,
};
static const char *const style[] = {
#include "run/page.css.inc"
    NULL,
};
static const char *const script[] = {
#include "run/page.js.inc"
    NULL,
};

/* ---- Records ---- */

/* Writes text as an attribute's value. */
static void print_attribute(FILE *out, const char *text) {
    for (; *text; text++)
        if (strchr("<&\"", *text))
            fprintf(out, "&#%d;", *text);
        else
            putc(*text, out);
}

/* Writes a line of JSON, so that nothing in it ends the script element. */
static void print_json(FILE *out, const char *line, const char *end) {
    for (; line < end; line++)
        if (*line == '<')
            fputs("\\u003c", out);
        else
            putc(*line, out);
}

static bool is_step(const char *line) {
    static const char begin[] = "{\"event\": \"step\"";
    return strncmp(line, begin, sizeof begin - 1) == 0;
}

static void print_record(FILE *out, const PageRecord *r, const char *lines) {
    long steps = 0, every = 1, step = 0;
    const char *next;
    for (const char *line = lines; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        steps += is_step(line);
    }
    while (steps / every > MAX_STEPS) every *= 2;
    fputs("<script type=\"application/json\" data-name=\"", out);
    print_attribute(out, r->name);
    fprintf(out, "\" data-every=\"%ld\">\n", every);
    for (const char *line = lines; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        if (!is_step(line) || ++step % every == 0) print_json(out, line, next);
    }
    fputs("</script>\n", out);
}

/* ---- Pages ---- */

typedef struct Page {
    const PageRecord *record;
    int count;
    char *lines[TRAIN_COMPARED]; /* of records in files */
} Page;

static void print_lines(FILE *out, const char *const *line) {
    for (; *line; line++) fputs(*line, out);
}

static void print_page(FILE *out, const void *page) {
    const Page *p = page;
    for (const char *const *line = html; *line; line++)
        if (strcmp(*line, "STYLE\n") == 0)
            print_lines(out, style);
        else if (strcmp(*line, "SCRIPT\n") == 0)
            print_lines(out, script);
        else if (strcmp(*line, "RECORDS\n") == 0)
            for (int i = 0; i < p->count; i++)
                print_record(out, &p->record[i], p->lines[i] ? p->lines[i] : p->record[i].lines);
        else
            fputs(*line, out);
}

static bool read_records(Page *p, Error *e) {
    size_t size;
    for (int i = 0; i < p->count; i++) {
        const PageRecord *r = &p->record[i];
        if (!r->lines && !file_read(r->path, 0, &p->lines[i], &size, e)) return false;
    }
    return true;
}

bool page_write(const PageRecord *record, int count, const char *path, Error *e) {
    Page p = {record, count, {NULL}};
    bool ok = read_records(&p, e) && file_print(path, print_page, &p, e);
    for (int i = 0; i < count; i++) free(p.lines[i]);
    return ok;
}

/* The directory that holds a file. */
static void name_of(char out[PATH_CAPACITY], const char *path) {
    snprintf(out, PATH_CAPACITY, "%s", path);
    char *slash = strrchr(out, '/');
    if (slash) *slash = 0;
}

bool page_of_run(const char *record, const char *path, Error *e) {
    char name[PATH_CAPACITY];
    name_of(name, record);
    return page_write(&(PageRecord){name, record, NULL}, 1, path, e);
}

/* Bytes of directories that all names begin with. */
static size_t common_part(char *const *run, int count) {
    size_t common = 0;
    for (size_t i = 0; run[0][i]; i++) {
        for (int k = 1; k < count; k++)
            if (run[k][i] != run[0][i]) return common;
        if (run[0][i] == '/') common = i + 1;
    }
    return common;
}

bool page_compare(char *const *run, int count, const char *directory, Error *e) {
    char path[TRAIN_COMPARED][PATH_CAPACITY], page[PATH_CAPACITY], found[PATH_CAPACITY];
    PageRecord record[TRAIN_COMPARED];
    size_t common = common_part(run, count);
    for (int i = 0; i < count; i++) {
        if (!runs_find(found, run[i], "run.jsonl", e) ||
            !directory_file(path[i], found, "run.jsonl", STATUS_NO_INPUT, e))
            return false;
        record[i] = (PageRecord){run[i][common] ? run[i] + common : run[i], path[i], NULL};
    }
    if (!directory_make(directory, e) ||
        !directory_file(page, directory, "compare.html", STATUS_CANNOT_CREATE, e) ||
        !page_write(record, count, page, e))
        return false;
    fprintf(stderr, "compared in %s\n", page);
    return true;
}
