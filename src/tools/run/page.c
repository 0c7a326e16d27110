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

/* A record with the name that its page gives it. */
typedef struct PageRecord {
    char name[PATH_CAPACITY], path[PATH_CAPACITY];
    char *lines;
} PageRecord;

static void print_record(FILE *out, const PageRecord *r) {
    long steps = 0, every = 1, step = 0;
    const char *next;
    for (const char *line = r->lines; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        steps += is_step(line);
    }
    while (steps / every > MAX_STEPS) every *= 2;
    fputs("<script type=\"application/json\" data-name=\"", out);
    print_attribute(out, r->name);
    fprintf(out, "\" data-every=\"%ld\">\n", every);
    for (const char *line = r->lines; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        if (!is_step(line) || ++step % every == 0) print_json(out, line, next);
    }
    fputs("</script>\n", out);
}

/* ---- Pages ---- */

typedef struct Page {
    PageRecord *record;
    int count;
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
            for (int i = 0; i < p->count; i++) print_record(out, &p->record[i]);
        else
            fputs(*line, out);
}

static bool write_page(PageRecord *record, int count, const char *path, Error *e) {
    size_t size;
    int read = 0;
    while (read < count && file_read(record[read].path, 0, &record[read].lines, &size, e)) read++;
    bool ok = read == count && file_print(path, print_page, &(Page){record, count}, e);
    while (read) free(record[--read].lines);
    return ok;
}

bool page_of_run(const char *record, const char *path, Error *e) {
    PageRecord r;
    snprintf(r.name, sizeof r.name, "%s", record);
    snprintf(r.path, sizeof r.path, "%s", record);
    char *slash = strrchr(r.name, '/');
    if (slash) *slash = 0;
    return write_page(&r, 1, path, e);
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
    char page[PATH_CAPACITY], found[PATH_CAPACITY];
    PageRecord record[TRAIN_COMPARED];
    size_t common = common_part(run, count);
    for (int i = 0; i < count; i++) {
        PageRecord *r = &record[i];
        if (!runs_find(found, run[i], "run.jsonl", e) ||
            !directory_file(r->path, found, "run.jsonl", STATUS_NO_INPUT, e))
            return false;
        snprintf(r->name, sizeof r->name, "%s", run[i][common] ? run[i] + common : run[i]);
    }
    if (!directory_make(directory, e) ||
        !directory_file(page, directory, "compare.html", STATUS_CANNOT_CREATE, e) ||
        !write_page(record, count, page, e))
        return false;
    fprintf(stderr, "compared in %s\n", page);
    return true;
}
