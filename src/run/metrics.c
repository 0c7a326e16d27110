#include "run/metrics.h"
#include "base/options.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char head[] = "task,step,tokens,seconds,params,train_loss,val_loss,val_accuracy,val_exact,"
                           "val_nats_per_char,val_bits_per_char,val_perplexity\n";

const char *metrics_loss_text(char out[LOSS_TEXT], double loss, const Metrics *m, int digits) {
    double nats = loss / m->characters;
    if (m->characters > 0)
        snprintf(out, LOSS_TEXT, "%.*f nats/char, %.*f bits/char, perplexity %.2f a token", digits, nats,
                 digits, nats / log(2), exp(loss));
    else if (m->unknown > 0)
        snprintf(out, LOSS_TEXT, "%.*f nats/token, not comparable: %.1f %% of the characters are [UNK]",
                 digits, loss, 100 * m->unknown);
    else
        snprintf(out, LOSS_TEXT, "%.*f nats/token", digits, loss);
    return out;
}

static bool cannot_open(const MetricsFile *f, Error *e) {
    return error_set(e, errno == ENOMEM ? STATUS_NO_MEMORY : STATUS_CANNOT_CREATE, "%s: %s", f->path,
                     strerror(errno));
}

bool metrics_open(MetricsFile *f, const char *directory, bool replace, Error *e) {
    *f = (MetricsFile){0};
    if (!directory_file(f->path, directory, "metrics.csv", STATUS_CANNOT_CREATE, e) ||
        !file_may_be_written(f->path, e))
        return false;
    if (replace && !(f->place = file_create(f->path, e))) return false;
    f->csv = replace ? open_memstream(&f->rows, &f->size) : fopen(f->path, "w+e");
    if (!f->csv) {
        cannot_open(f, e);
        file_abandon(f->place);
        return false;
    }
    fputs(head, f->csv);
    return true;
}

/* Reads a row: step, tokens, seconds, parameters, and the measurements, NAN for those that it lacks. */
static bool read_row(const char *line, Metrics *m) {
    enum { READ = 8, REQUIRED = 4 };
    double value[READ];
    const char *at = line + strcspn(line, ",");
    for (int i = 0; i < READ; i++) {
        if (*at != ',') return false;
        char *end;
        value[i] = strtod(at + 1, &end);
        if (end == at + 1) value[i] = NAN;
        if (i < REQUIRED && !(fabs(value[i]) < 1e15)) return false;
        at = end;
    }
    *m = (Metrics){.step = (long)value[0],
                   .tokens = (long)value[1],
                   .seconds = value[2],
                   .params = (long)value[3],
                   .train_loss = value[4],
                   .val_loss = value[5],
                   .val_accuracy = value[6],
                   .val_exact = value[7]};
    return *at == '\n' || *at == ','; /* earlier rows end here */
}

/* Whether the line has the first columns of `head`: earlier versions had fewer. */
static bool is_head(const char *line) {
    size_t n = strcspn(line, "\n");
    return line[n] && strncmp(line, head, n) == 0 && (head[n] == ',' || head[n] == '\n');
}

/* Writes the row, with empty columns in place of those that an earlier version did not have. */
static void copy_row(FILE *out, const char *line) {
    int missing = 0;
    for (const char *c = head; *c; c++) missing += *c == ',';
    for (const char *c = line; *c; c++) missing -= *c == ',';
    fprintf(out, "%.*s", (int)strcspn(line, "\n"), line);
    while (missing-- > 0) putc(',', out);
    putc('\n', out);
}

/* Copies rows up to the step `evaluated`, and leaves out damaged ones. Returns the first line that is damaged or
 * missing; 0: there is none, or the file is empty. */
static long copy_rows(FILE *csv, FILE *rows, long evaluated, MetricsReader *read, void *context) {
    char line[512];
    long last = 0, number = 1;
    if (!fgets(line, sizeof line, csv)) return 0;
    long damaged = !is_head(line);
    while (last < evaluated && fgets(line, sizeof line, csv)) {
        Metrics m;
        bool whole = read_row(line, &m) && m.step > last;
        number++;
        if (whole && m.step > evaluated) break;
        if (whole)
            copy_row(rows, line), last = m.step, read(context, &m);
        else if (!damaged)
            damaged = number;
    }
    return damaged || last == evaluated ? damaged : number + 1;
}

/* Renames a file that is damaged to one that is not there yet. */
static bool keep_aside(const MetricsFile *f, long line, Error *e) {
    char aside[PATH_ROOM + 32];
    int i = 1;
    do snprintf(aside, sizeof aside, "%s.damaged-%d", f->path, i);
    while (access(aside, F_OK) == 0 && i++ < 1000);
    if (rename(f->path, aside) != 0) return cannot_open(f, e);
    fprintf(stderr, "%s: line %ld is damaged or missing; the file is kept as %s\n", f->path, line, aside);
    return true;
}

/* Keeps and reports the first failure. */
static void failed(MetricsFile *f, const char *why) {
    if (f->error.status != STATUS_DONE) return;
    error_set(&f->error, STATUS_IO, "%s", why);
    fprintf(stderr, "%s\n", why);
}

static void failed_here(MetricsFile *f) {
    Error e = {0};
    cannot_open(f, &e);
    failed(f, e.text);
}

void metrics_place(MetricsFile *f) {
    if (!f->place) return;
    Error e = {0};
    if (fflush(f->csv) != 0) failed_here(f);
    file_write(f->place, f->rows, f->size);
    bool placed = file_commit(f->place, &e);
    f->place = NULL;
    if (!placed) failed(f, e.text);
    FILE *csv = fopen(f->path, placed ? "a+e" : "w+e");
    if (!csv) {
        failed_here(f);
        return;
    }
    if (!placed) fwrite(f->rows, 1, f->size, csv), fflush(csv);
    fclose(f->csv);
    free(f->rows);
    f->csv = csv, f->rows = NULL;
}

bool metrics_resume(MetricsFile *f, const char *directory, long evaluated, MetricsReader *read, void *context,
                    Error *e) {
    if (!metrics_open(f, directory, true, e)) return false;
    FILE *old = fopen(f->path, "re");
    if (!old && errno != ENOENT) return cannot_open(f, e);
    long damaged = old ? copy_rows(old, f->csv, evaluated, read, context) : 0;
    if (old) fclose(old);
    if (damaged && !keep_aside(f, damaged, e)) return false;
    metrics_place(f);
    return f->error.status == STATUS_DONE || error_set(e, f->error.status, "%s", f->error.text);
}

void metrics_restore(MetricsFile *f) {
    char block[4096];
    if (f->place) {
        file_abandon(f->place);
        Error e = {0};
        f->place = file_create(f->path, &e);
        if (!f->place) failed(f, e.text);
        return;
    }
    if (access(f->path, F_OK) == 0) return;
    FILE *again = fopen(f->path, "w+e");
    if (!again) {
        if (errno != ENOENT) failed_here(f);
        return;
    }
    fflush(f->csv);
    rewind(f->csv);
    for (size_t n; (n = fread(block, 1, sizeof block, f->csv));) fwrite(block, 1, n, again);
    if (fflush(again) != 0) failed_here(f);
    fclose(f->csv);
    f->csv = again;
}

typedef struct Column {
    const char *name;
    double value; /* NAN: not measured */
} Column;

enum { COLUMNS = 7, ALWAYS = 3 /* in JSON */ };
static void measured(const Metrics *m, Column out[COLUMNS]) {
    double nats = m->characters > 0 ? m->val_loss / m->characters : NAN;
    const Column all[COLUMNS] = {{"train_loss", m->train_loss},
                                 {"val_loss", m->val_loss},
                                 {"val_accuracy", m->val_accuracy},
                                 {"val_exact", m->val_exact},
                                 {"val_nats_per_char", nats},
                                 {"val_bits_per_char", nats / log(2)},
                                 {"val_perplexity", m->characters > 0 ? exp(m->val_loss) : NAN}};
    memcpy(out, all, sizeof all);
}

void metrics_write(MetricsFile *f, const Metrics *m) {
    Column column[COLUMNS];
    measured(m, column);
    fprintf(f->csv, "%s,%ld,%ld,%.3f,%ld", m->task, m->step, m->tokens, m->seconds, m->params);
    for (int i = 0; i < COLUMNS; i++)
        isnan(column[i].value) ? fputc(',', f->csv) : fprintf(f->csv, ",%.6f", column[i].value);
    fputc('\n', f->csv);
    if (fflush(f->csv) != 0) failed_here(f);
}

bool metrics_close(MetricsFile *f, Error *e) {
    if (fclose(f->csv) != 0 && f->error.status == STATUS_DONE)
        error_set(&f->error, STATUS_IO, "%s: %s", f->path, strerror(errno));
    free(f->rows);
    file_abandon(f->place);
    return f->error.status == STATUS_DONE || error_set(e, f->error.status, "%s", f->error.text);
}

void metrics_json(const Metrics *m) {
    Column column[COLUMNS];
    measured(m, column);
    printf("{\"task\": \"%s\", \"step\": %ld, \"tokens\": %ld, \"seconds\": %.3f, \"params\": %ld", m->task,
           m->step, m->tokens, m->seconds, m->params);
    for (int i = 0; i < COLUMNS; i++)
        if (isfinite(column[i].value))
            printf(", \"%s\": %.6g", column[i].name, column[i].value);
        else if (i < ALWAYS) /* JSON has no NaN and no infinity */
            printf(", \"%s\": null", column[i].name);
    printf("%s}\n", m->final ? ", \"final\": true" : "");
    stdout_flush();
}

/* ---- Several runs ---- */

static void show_mean(const char *name, double (*of)(const Metrics *m), const Metrics *m, long count,
                      const char *unit) {
    double mean = 0, squares = 0;
    for (long i = 0; i < count; i++) mean += of(&m[i]) / (double)count;
    for (long i = 0; i < count; i++) squares += (of(&m[i]) - mean) * (of(&m[i]) - mean);
    fprintf(stderr, "%s %.4f ± %.4f%s", name, mean, count > 1 ? sqrt(squares / (double)(count - 1)) : 0,
            unit);
}

static double nats_of(const Metrics *m) {
    return m->val_loss / (m->characters > 0 ? m->characters : 1);
}

static double bits_of(const Metrics *m) {
    return nats_of(m) / log(2);
}

static double perplexity_of(const Metrics *m) {
    return exp(m->val_loss);
}

static double exact_of(const Metrics *m) {
    return 100 * m->val_exact;
}

void metrics_show_spread(const Metrics *m, long count) {
    if (count == 0) return;
    bool text = m->characters > 0;
    fprintf(stderr, "%ld seed%s: ", count, PLURAL(count));
    show_mean("loss", nats_of, m, count, text ? " nats/char" : " nats/token");
    if (text)
        show_mean(",", bits_of, m, count, " bits/char"),
            show_mean(", perplexity", perplexity_of, m, count, " a token");
    if (!isnan(m->val_exact)) show_mean(", exact", exact_of, m, count, " %");
    fputs("\n", stderr);
}
