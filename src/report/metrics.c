#include "report/metrics.h"
#include "base/options.h"
#include <errno.h>
#include <math.h>
#include <string.h>

bool metrics_open(MetricsFile *f, const char *directory, Error *e) {
    *f = (MetricsFile){0};
    if (!directory_file(f->path, directory, "metrics.csv", STATUS_CANNOT_CREATE, e)) return false;
    f->csv = fopen(f->path, "we");
    if (!f->csv) return error_set(e, STATUS_CANNOT_CREATE, "%s: %s", f->path, strerror(errno));
    fputs("task,step,tokens,seconds,params,train_loss,val_loss,val_accuracy,val_exact\n", f->csv);
    return true;
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
    if (fflush(f->csv) != 0 && !f->error) f->error = errno;
}

bool metrics_close(MetricsFile *f, Error *e) {
    if (fclose(f->csv) != 0 && !f->error) f->error = errno;
    return !f->error || error_set(e, STATUS_IO, "%s: %s", f->path, strerror(f->error));
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
