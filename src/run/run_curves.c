#include "run/run_curves.h"
#include "base/append.h"
#include "run/frames.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Tables ---- */

static bool read_table(Csv *t, const char *directory, const char *name, Error *e) {
    char path[PATH_ROOM];
    return directory_file(path, directory, name, STATUS_NO_INPUT, e) && csv_read(t, path, e);
}

static void scale(const Csv *t, const char *column, double factor) {
    double *value = csv_column(t, column);
    for (long i = 0; value && i < t->rows; i++) value[i] *= factor;
}

bool run_tables_read(RunTables *t, const char *directory, const Safetensors *notes, Error *e) {
    const char *characters = safetensors_metadata(notes, NOTE_CHARACTERS),
               *unknown = safetensors_metadata(notes, NOTE_UNKNOWN);
    *t = (RunTables){.characters = characters ? strtod(characters, NULL) : 0,
                     .unknown = unknown ? strtod(unknown, NULL) : 0};
    if (!read_table(&t->metrics, directory, "metrics.csv", e) ||
        !read_table(&t->steps, directory, "steps.csv", e))
        return false;
    if (t->characters > 0) {
        scale(&t->steps, "loss", 1 / t->characters);
        scale(&t->metrics, "val_loss", 1 / t->characters);
        scale(&t->metrics, "final_loss", 1 / t->characters);
    }
    return true;
}

void run_tables_free(RunTables *t) {
    csv_free(&t->metrics), csv_free(&t->steps);
}

double run_tables_last(const RunTables *t, const char *column) {
    const double *value = csv_column(&t->metrics, column);
    return value && t->metrics.rows ? value[t->metrics.rows - 1] : NAN;
}

/* ---- Charts ---- */

static bool has_value(const Series *s) {
    for (long i = 0; i < s->count; i++)
        if (isfinite(s->y[i])) return true;
    return false;
}

/* Adds a column to the chart that is being made, if it has a value. */
static void add_series(RunPictures *p, const Csv *t, const char *column, Series s) {
    LineChart *chart = &p->picture[p->count].chart;
    s.count = t->rows, s.x = csv_column(t, "step"), s.y = csv_column(t, column);
    if (s.y && has_value(&s) && chart->count < CURVE_SERIES) p->series[p->count][chart->count++] = s;
}

/* First and last value of each series, in words. */
static void describe(char out[CURVE_TEXT], const Series *s, long count) {
    *out = 0;
    for (long i = 0; i < count; i++) {
        long first = 0, last = s[i].count - 1;
        while (first < last && !isfinite(s[i].y[first])) first++;
        while (last > first && !isfinite(s[i].y[last])) last--;
        text_append(out, CURVE_TEXT, "%s%s: from %.4g to %.4g", i ? "; " : "", s[i].name, s[i].y[first],
                    s[i].y[last]);
    }
}

/* Ends the chart that is being made, if it has a series, and begins the next. */
static void end_chart(RunPictures *p, const char *title, const char *y_name) {
    Picture *picture = &p->picture[p->count];
    Series *s = p->series[p->count];
    if (picture->chart.count == 0) return;
    describe(p->text[p->count], s, picture->chart.count);
    picture->kind = PICTURE_CHART, picture->title = title, picture->description = p->text[p->count];
    picture->chart.x_name = "step", picture->chart.y_name = y_name, picture->chart.series = s;
    p->count++;
}

/* Adds a line for each loss to compare with. */
static void add_yardsticks(RunPictures *p, const RunTables *t, const Safetensors *notes) {
    LineChart *chart = &p->picture[p->count].chart;
    p->yard_x[1] = fmax(run_tables_last(t, "step"), 1);
    for (int i = 0; i < notes->metadata_count && chart->count && chart->count < CURVE_SERIES; i++) {
        const Metadata *note = &notes->metadata[i];
        if (strncmp(note->key, NOTE_YARDSTICK, strlen(NOTE_YARDSTICK)) != 0) continue;
        double loss = strtod(note->value, NULL), *y = p->yard_y[chart->count];
        y[0] = y[1] = t->characters > 0 ? loss / t->characters : loss;
        p->series[p->count][chart->count++] =
            (Series){.name = note->key + strlen(NOTE_YARDSTICK), .count = 2, .x = p->yard_x, .y = y};
    }
}

void curves_draw(const RunTables *t, const Safetensors *notes, RunPictures *p) {
    *p = (RunPictures){0};
    add_series(p, &t->steps, "loss", (Series){.name = "training"});
    add_series(p, &t->metrics, "val_loss", (Series){.name = "held-out", .marked = true});
    add_series(p, &t->metrics, "final_loss", (Series){.name = "all held-out data", .points = true});
    add_yardsticks(p, t, notes);
    end_chart(p, "Loss", t->characters > 0 ? "nats per character" : "nats per token");
    add_series(p, &t->metrics, "val_accuracy", (Series){.name = "held-out", .marked = true});
    add_series(p, &t->metrics, "final_accuracy", (Series){.name = "all held-out data", .points = true});
    add_series(p, &t->metrics, "val_exact", (Series){.name = "exact answers", .points = true});
    end_chart(p, "Token accuracy", NULL);
    add_series(p, &t->steps, "learning_rate", (Series){.name = "learning rate"});
    end_chart(p, "Learning rate", NULL);
    p->picture[p->count].chart.log_y = true;
    add_series(p, &t->steps, "grad_norm", (Series){.name = "gradient norm"});
    end_chart(p, "Gradient norm before clipping", NULL);
    p->picture[p->count].chart.log_y = false;
    add_series(p, &t->steps, "tokens_per_second", (Series){.name = "tokens per second"});
    end_chart(p, "Training tokens per second", NULL);
}
