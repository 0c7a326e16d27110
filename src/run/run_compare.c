#include "base/runs.h"
#include "pictures/label.h"
#include "run/page.h"
#include "run/run_page.h"
#include "training/train_config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESULTS = 5, RESULT_TEXT = 32, ROWS = RESULTS + TRAIN_SETTINGS };

typedef struct Compared {
    const char *name;
    Safetensors notes;
    RunTables tables;
    char result[RESULTS][RESULT_TEXT];
} Compared;

typedef struct Comparison {
    Compared run[TRAIN_COMPARED];
    int count;
    const char *head[TRAIN_COMPARED + 1], *cell[ROWS][TRAIN_COMPARED + 1];
    int rows;
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
    double loss = run_tables_last(t, "final_loss"), accuracy = run_tables_last(t, "final_accuracy");
    if (isnan(loss)) loss = run_tables_last(t, "val_loss"), accuracy = run_tables_last(t, "val_accuracy");
    snprintf(r->result[0], RESULT_TEXT, "%.4f nats/%s", loss, t->characters > 0 ? "char" : "token");
    snprintf(r->result[1], RESULT_TEXT, "%.2f %%", 100 * accuracy);
    number_text(r->result[2], (long)fmax(0, run_tables_last(t, "params")));
    number_text(r->result[3], (long)fmax(0, run_tables_last(t, "step")));
    snprintf(r->result[4], RESULT_TEXT, "%.1f", run_tables_last(t, "seconds"));
}

static const char **add_row(Comparison *c, const char *name) {
    c->cell[c->rows][0] = name;
    return c->cell[c->rows++] + 1;
}

/* Adds an option unless it is the same in all runs, or in the table. */
static void add_option(Comparison *c, const char *key) {
    const char *name = key + strlen(NOTE_RECIPE), *value[TRAIN_COMPARED];
    bool differs = false;
    for (int i = 0; i < c->rows; i++)
        if (strcmp(c->cell[i][0], name) == 0) return;
    for (int i = 0; i < c->count; i++) {
        value[i] = safetensors_metadata(&c->run[i].notes, key);
        if (!value[i]) value[i] = "–";
        differs |= strcmp(value[i], value[0]) != 0;
    }
    if (differs && c->rows < ROWS) memcpy(add_row(c, name), value, (size_t)c->count * sizeof *value);
}

static void make_table(Comparison *c) {
    static const char *const names[RESULTS] = {"held-out loss", "held-out accuracy", "parameters",
                                               "steps made", "time in s"};
    c->head[0] = "";
    for (int i = 0; i < c->count; i++) c->head[i + 1] = c->run[i].name, take_results(&c->run[i]);
    for (int k = 0; k < RESULTS; k++) {
        const char **value = add_row(c, names[k]);
        for (int i = 0; i < c->count; i++) value[i] = c->run[i].result[k];
    }
    for (int i = 0; i < c->count; i++) {
        const Safetensors *notes = &c->run[i].notes;
        for (int k = 0; k < notes->metadata_count; k++)
            if (strncmp(notes->metadata[k].key, NOTE_RECIPE, strlen(NOTE_RECIPE)) == 0)
                add_option(c, notes->metadata[k].key);
    }
}

/* ---- The page ---- */

static Picture chart(const char *title, const char *unit, const Series *s, int count) {
    return (Picture){PICTURE_CHART, title, NULL,
                     .chart = {.x_name = "step", .y_name = unit, .series = s, .count = count}};
}

static void table(const Comparison *c, FILE *out) {
    fputs("<section>\n<h2>Results, and options that differ</h2>\n<div class=\"table\">\n<table>\n<tr>", out);
    for (int k = 0; k <= c->count; k++) page_element("<th scope=\"col\">", c->head[k], "", out);
    for (int i = 0; i < c->rows; i++) {
        page_element("\n<tr><th scope=\"row\">", c->cell[i][0], "", out);
        for (int k = 1; k <= c->count; k++) page_element("<td>", c->cell[i][k], "", out);
    }
    fputs("\n</table>\n</div>\n</section>\n", out);
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
    if (ok) name_runs(c, run), make_table(c);
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
