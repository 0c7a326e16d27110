#include "run/metrics.h"
#include "base/append.h"
#include "base/options.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *metrics_unit(char out[LOSS_UNIT], double characters, double unknown) {
    snprintf(out, LOSS_UNIT, characters > 0 ? " nats/char" : " nats/token");
    if (unknown > 0)
        text_append(out, LOSS_UNIT, ", not comparable: %.3g %% of the characters are [UNK]", 100 * unknown);
    return out;
}

const char *metrics_loss_text(char out[LOSS_TEXT], double loss, const Metrics *m, int digits) {
    char unit[LOSS_UNIT];
    double shown = m->characters > 0 ? loss / m->characters : loss;
    snprintf(out, LOSS_TEXT, "%.*f%s", digits, shown, metrics_unit(unit, m->characters, m->unknown));
    if (m->characters > 0)
        text_append(out, LOSS_TEXT, ", %.*f bits/char, perplexity %.2f a token", digits, shown / log(2),
                    exp(loss));
    return out;
}

/* ---- Evaluations ---- */

const char metrics_head[] =
    "task,step,tokens,seconds,params,train_loss,val_loss,val_accuracy,val_exact,val_nats_per_char,"
    "val_bits_per_char,val_perplexity,final_loss,final_accuracy,final_nats_per_char\n";

typedef struct Column {
    const char *name;
    double value; /* NAN: not measured */
} Column;

enum { COLUMNS = 7, ALWAYS = 3 /* in JSON */ };
static void measured(const Metrics *m, double loss, double accuracy, Column out[COLUMNS]) {
    double nats = m->characters > 0 ? loss / m->characters : NAN;
    const Column all[COLUMNS] = {{"train_loss", m->train_loss},
                                 {"val_loss", loss},
                                 {"val_accuracy", accuracy},
                                 {"val_exact", m->val_exact},
                                 {"val_nats_per_char", nats},
                                 {"val_bits_per_char", nats / log(2)},
                                 {"val_perplexity", m->characters > 0 ? exp(loss) : NAN}};
    memcpy(out, all, sizeof all);
}

static void write_field(CsvFile *f, double value) {
    fputc(',', f->out);
    if (!isnan(value)) fprintf(f->out, "%.6f", value);
}

void metrics_write(CsvFile *f, const Metrics *m) {
    Column column[COLUMNS];
    measured(m, m->val_loss, m->val_accuracy, column);
    fprintf(f->out, "%s,%ld,%ld,%.3f,%ld", m->task, m->step, m->tokens, m->seconds, m->params);
    for (int i = 0; i < COLUMNS; i++) write_field(f, column[i].value);
    write_field(f, m->final_loss);
    write_field(f, m->final_accuracy);
    write_field(f, m->characters > 0 ? m->final_loss / m->characters : NAN);
    fputc('\n', f->out);
}

void metrics_json(const Metrics *m) {
    Column column[COLUMNS];
    bool final = !isnan(m->final_loss);
    measured(m, final ? m->final_loss : m->val_loss, final ? m->final_accuracy : m->val_accuracy, column);
    printf("{\"task\": \"%s\", \"step\": %ld, \"tokens\": %ld, \"seconds\": %.3f, \"params\": %ld", m->task,
           m->step, m->tokens, m->seconds, m->params);
    for (int i = 0; i < COLUMNS; i++)
        if (isfinite(column[i].value))
            printf(", \"%s\": %.6g", column[i].name, column[i].value);
        else if (i < ALWAYS) /* JSON has no NaN and no infinity */
            printf(", \"%s\": null", column[i].name);
    printf("%s}\n", final ? ", \"final\": true" : "");
    stdout_flush();
}

/* ---- Steps ---- */

const char steps_head[] = "step,loss,learning_rate,grad_norm,tokens_per_second\n";

/* Whether a row ends at this step: at each multiple of the largest power of two that is at most a 128th of it. The steps
 * of a resumed run are those of an uninterrupted one. */
static bool ends_row(long step) {
    enum { PER_OCTAVE = 128 };
    long width = 1;
    while (2 * width * PER_OCTAVE <= step) width *= 2;
    return step % width == 0;
}

void metrics_step(StepSums *s, CsvFile *f, long step, const StepResult *r, double seconds) {
    s->steps++;
    s->loss += r->loss, s->grad_norm += r->grad_norm;
    s->tokens += (double)r->tokens, s->seconds += seconds;
    if (!ends_row(step)) return;
    double n = (double)s->steps;
    fprintf(f->out, "%ld,%.6g,%.6g,%.6g,%.6g\n", step, s->loss / n, r->learning_rate, s->grad_norm / n,
            s->tokens / s->seconds);
    *s = (StepSums){0};
}
