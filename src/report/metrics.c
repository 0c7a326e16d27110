#include "report/metrics.h"
#include "base/options.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char head[] = "task,step,tokens,seconds,params,train_loss,val_loss,val_accuracy,val_exact\n";

/* Opens f->path for reading and writing, with `flags`. */
static FILE *open_csv(const MetricsFile *f, int flags) {
    int fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0666);
    return fd < 0 ? NULL : fdopen(fd, "r+");
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
    f->csv = replace ? open_memstream(&f->rows, &f->size) : open_csv(f, O_TRUNC);
    if (!f->csv) {
        cannot_open(f, e);
        file_abandon(f->place);
        return false;
    }
    fputs(head, f->csv);
    return true;
}

/* Where the rows up to that of step `evaluated` end, and a row of the same step behind it, or one that is torn, begins;
 * 0 where the file does not begin with the head. *seconds is the fourth column of the last of them. */
static long end_of_rows(FILE *csv, long evaluated, double *seconds) {
    char line[512];
    long step = 0, end = 0;
    double found = 0;
    *seconds = 0;
    if (!fgets(line, sizeof line, csv) || strcmp(line, head) != 0) return 0;
    do {
        *seconds = found;
        end = ftell(csv);
    } while (step < evaluated && fgets(line, sizeof line, csv) && strchr(line, '\n') &&
             sscanf(line, "%*[^,],%ld,%*d,%lf", &step, &found) == 2 && step <= evaluated);
    return end;
}

bool metrics_resume(MetricsFile *f, const char *directory, long evaluated, double *seconds, Error *e) {
    *f = (MetricsFile){0};
    if (!directory_file(f->path, directory, "metrics.csv", STATUS_CANNOT_CREATE, e) ||
        !file_may_be_written(f->path, e))
        return false;
    f->csv = open_csv(f, 0);
    if (!f->csv) return cannot_open(f, e);
    long end = end_of_rows(f->csv, evaluated, seconds);
    if (ftruncate(fileno(f->csv), end) != 0) return cannot_open(f, e);
    fseek(f->csv, end, SEEK_SET);
    if (end == 0) fputs(head, f->csv);
    return true;
}

/* Remembers the first failure, and says it. */
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
    FILE *csv = open_csv(f, placed ? O_APPEND : O_TRUNC);
    if (!csv) {
        failed_here(f);
        return;
    }
    if (!placed) fwrite(f->rows, 1, f->size, csv), fflush(csv);
    fclose(f->csv);
    free(f->rows);
    f->csv = csv, f->rows = NULL;
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
    FILE *again = open_csv(f, O_TRUNC);
    if (!again) return;
    fflush(f->csv);
    rewind(f->csv);
    for (size_t n; (n = fread(block, 1, sizeof block, f->csv));) fwrite(block, 1, n, again);
    if (fflush(again) != 0) failed_here(f);
    fclose(f->csv);
    f->csv = again;
}

/* What was not measured leaves its column empty. */
static void write_number(FILE *csv, double x) {
    if (isnan(x))
        fputc(',', csv);
    else
        fprintf(csv, ",%.6f", x);
}

void metrics_write(MetricsFile *f, const Metrics *m) {
    fprintf(f->csv, "%s,%ld,%ld,%.3f,%ld", m->task, m->step, m->tokens, m->seconds, m->params);
    write_number(f->csv, m->train_loss);
    write_number(f->csv, m->val_loss);
    write_number(f->csv, m->val_accuracy);
    write_number(f->csv, m->val_exact);
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

/* JSON has no NaN and no infinity. */
static void print_number(const char *name, double x) {
    if (isfinite(x))
        printf(", \"%s\": %.6g", name, x);
    else
        printf(", \"%s\": null", name);
}

void metrics_json(const Metrics *m) {
    printf("{\"task\": \"%s\", \"step\": %ld, \"tokens\": %ld, \"seconds\": %.3f, \"params\": %ld", m->task,
           m->step, m->tokens, m->seconds, m->params);
    print_number("train_loss", m->train_loss);
    print_number("val_loss", m->val_loss);
    print_number("val_accuracy", m->val_accuracy);
    if (!isnan(m->val_exact)) print_number("val_exact", m->val_exact);
    printf("%s}\n", m->final ? ", \"final\": true" : "");
    stdout_flush();
}
