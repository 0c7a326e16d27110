#include "base/runs.h"
#include "pictures/label.h"
#include "run/metrics.h"
#include "run/page.h"
#include "run/run_page.h"
#include "training/train_config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESULTS = 5, RESULT_TEXT = 100 };

typedef struct Compared {
    const char *name;
    Safetensors notes;
    RunTables tables;
    char result[RESULTS][RESULT_TEXT];
} Compared;

typedef struct Comparison {
    Compared run[TRAIN_COMPARED];
    int count;
} Comparison;

/* ---- Reading ---- */

static bool read_run(Compared *r, const char *name, Error *e) {
    char path[PATH_ROOM], directory[PATH_ROOM];
    return runs_find(directory, name, "frames.safetensors", e) &&
           directory_file(path, directory, "frames.safetensors", STATUS_NO_INPUT, e) &&
           safetensors_read(&r->notes, path, e) && run_tables_read(&r->tables, directory, &r->notes, e);
}

/* The name of a run is its directory without what all have in common. */
static void name_runs(Comparison *c, char *const *run) {
    size_t common = 0;
    bool same = true;
    for (size_t i = 0; same && run[0][i]; i++) {
        for (int k = 1; k < c->count; k++) same &= run[k][i] == run[0][i];
        if (same && run[0][i] == '/') common = i + 1;
    }
    for (int i = 0; i < c->count; i++) c->run[i].name = run[i][common] ? run[i] + common : run[i];
}

/* ---- The table ---- */

/* The last evaluation: of all held-out data at the end of a run. */
static void take_results(Compared *r) {
    const RunTables *t = &r->tables;
    char unit[LOSS_UNIT];
    double loss = run_tables_last(t, "final_loss"), accuracy = run_tables_last(t, "final_accuracy");
    if (isnan(loss)) loss = run_tables_last(t, "val_loss"), accuracy = run_tables_last(t, "val_accuracy");
    snprintf(r->result[0], RESULT_TEXT, "%.4f%s", loss, metrics_unit(unit, t->characters, t->unknown));
    snprintf(r->result[1], RESULT_TEXT, "%.2f %%", 100 * accuracy);
    number_text(r->result[2], (long)fmax(0, run_tables_last(t, "params")));
    number_text(r->result[3], (long)fmax(0, run_tables_last(t, "step")));
    snprintf(r->result[4], RESULT_TEXT, "%.1f", run_tables_last(t, "seconds"));
}

/* Writes a row of an option, unless it is the same in all runs, or among those of an earlier run. */
static void option_row(const Comparison *c, int run, const char *key, FILE *out) {
    const char *value[TRAIN_COMPARED];
    bool differs = false;
    for (int i = 0; i < c->count; i++) {
        value[i] = safetensors_metadata(&c->run[i].notes, key);
        if (value[i] && i < run) return;
        if (!value[i]) value[i] = "–";
        differs |= strcmp(value[i], value[0]) != 0;
    }
    if (!differs) return;
    page_element("\n<tr><th scope=\"row\">", key + strlen(RECIPE), "", out);
    for (int i = 0; i < c->count; i++) page_element("<td>", value[i], "", out);
}

static void table(const Comparison *c, FILE *out) {
    static const char *const names[RESULTS] = {"held-out loss", "held-out accuracy", "parameters",
                                               "steps made", "time in s"};
    fputs("<section>\n<h2>Results, and options that differ</h2>\n<div class=\"table\">\n<table>\n<tr>"
          "<th scope=\"col\">",
          out);
    for (int i = 0; i < c->count; i++) page_element("<th scope=\"col\">", c->run[i].name, "", out);
    for (int k = 0; k < RESULTS; k++) {
        page_element("\n<tr><th scope=\"row\">", names[k], "", out);
        for (int i = 0; i < c->count; i++) page_element("<td>", c->run[i].result[k], "", out);
    }
    for (int i = 0; i < c->count; i++) {
        const Safetensors *notes = &c->run[i].notes;
        for (int k = 0; k < notes->metadata_count; k++)
            if (strncmp(notes->metadata[k].key, RECIPE, strlen(RECIPE)) == 0)
                option_row(c, i, notes->metadata[k].key, out);
    }
    fputs("\n</table>\n</div>\n</section>\n", out);
}

/* ---- The page ---- */

static Picture chart(const char *title, const char *unit, const Series *s, int count) {
    return (Picture){PICTURE_CHART, title, NULL,
                     .chart = {.x_name = "step", .y_name = unit, .series = s, .count = count}};
}

static void write_comparison(FILE *out, const void *comparison) {
    const Comparison *c = comparison;
    Series held_out[TRAIN_COMPARED], training[TRAIN_COMPARED];
    const char *unit = "nats per token";
    int texts = 0;
    for (int i = 0; i < c->count; i++) {
        const RunTables *t = &c->run[i].tables;
        held_out[i] = (Series){c->run[i].name, t->metrics.rows, csv_column(&t->metrics, "step"),
                               csv_column(&t->metrics, "val_loss"), .marked = true};
        training[i] = (Series){c->run[i].name, t->steps.rows, csv_column(&t->steps, "step"),
                               csv_column(&t->steps, "loss")};
        texts += t->characters > 0;
    }
    if (texts) unit = texts == c->count ? "nats per character" : "nats per character or token";
    const Picture curves[] = {chart("Held-out loss", unit, held_out, c->count),
                              chart("Training loss", unit, training, c->count)};
    page_begin("Runs compared", "Each evaluation judges the same held-out rows of its run.", out);
    page_curves(curves, 2, NULL, out);
    table(c, out);
    page_end(out);
}

bool run_compare(char *const *run, int count, const char *directory, Error *e) {
    char path[PATH_ROOM];
    Comparison *c = calloc(1, sizeof *c);
    if (!c) return error_set(e, STATUS_NO_MEMORY, "memory: %zu bytes for the page", sizeof *c);
    bool ok = true;
    for (; ok && c->count < count; c->count++) ok = read_run(&c->run[c->count], run[c->count], e);
    if (ok) name_runs(c, run);
    for (int i = 0; ok && i < count; i++) take_results(&c->run[i]);
    ok = ok && directory_make(directory, e) &&
         directory_file(path, directory, "compare.html", STATUS_CANNOT_CREATE, e) &&
         file_print(path, write_comparison, c, e);
    for (int i = 0; i < c->count; i++) {
        run_tables_free(&c->run[i].tables);
        safetensors_free(&c->run[i].notes);
    }
    free(c);
    if (ok) fprintf(stderr, "compared in %s\n", path);
    return ok;
}
