#include "report/metrics.h"
#include <errno.h>
#include <math.h>
#include <string.h>

bool metrics_open(MetricsFile *f, const char *directory, Error *e) {
    snprintf(f->path, sizeof f->path, "%s/metrics.csv", directory);
    f->csv = fopen(f->path, "w");
    if (!f->csv) return fail(e, STATUS_CANNOT_CREATE, "%s: cannot be created: %s", f->path, strerror(errno));
    fputs("task,step,tokens,seconds,params,train_loss,val_loss,val_accuracy,val_exact\n", f->csv);
    return true;
}

void metrics_write(MetricsFile *f, const Metrics *m) {
    fprintf(f->csv, "%s,%ld,%ld,%.3f,%ld,%.6f,%.6f,%.6f,", m->task, m->step, m->tokens, m->seconds, m->params,
            m->train_loss, m->val_loss, m->val_accuracy);
    if (m->val_exact >= 0) fprintf(f->csv, "%.6f", m->val_exact);
    fputc('\n', f->csv);
    fflush(f->csv);
}

bool metrics_close(MetricsFile *f, Error *e) {
    bool ok = !ferror(f->csv);
    ok = fclose(f->csv) == 0 && ok;
    return ok || fail(e, STATUS_IO, "%s: writing failed: %s", f->path, strerror(errno));
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
    if (m->val_exact >= 0) print_number("val_exact", m->val_exact);
    printf("%s}\n", m->final ? ", \"final\": true" : "");
    fflush(stdout);
}
