#include "run/run_page.h"
#include "base/clock.h"
#include "base/file.h"
#include "run/run_curves.h"
#include "run/shell.h"
#include "run/watch.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Share of the time since the start; above it, evaluations get no pictures. */
#define MOST_SHARE 0.015

enum { FIGURES = 8, FIGURE_TEXT = 32, LINE = 512 };

struct RunPage {
    const TrainConfig *config;
    Trainer *trainer;
    char *command;     /* that repeats the run */
    Metadata *options; /* [option_count] */
    int option_count;
    char path[PATH_ROOM];
    RunCurves curves;
    Watch watch;
    double spent; /* seconds spent on the page */
};

/* A page and the texts that it points into. */
typedef struct Draft {
    Page page;
    RunPictures pictures;
    PageFact figure[FIGURES], option[TRAIN_SETTINGS];
    char figure_text[FIGURES][FIGURE_TEXT], title[LINE], status[LINE];
} Draft;

/* Notes the rows of metrics.csv when a run continues. */
static bool note_past(RunPage *p, const char *metrics, Error *e) {
    Metrics m;
    for (const char *line = strchr(metrics, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        if (!metrics_read(line + 1, &m)) continue;
        curves_note(&p->curves, CURVE_LOSS, m.step, m.train_loss);
        if (!curves_note_evaluation(&p->curves, &m, e)) return false;
    }
    return true;
}

static bool find_past(RunPage *p, Error *e) {
    char path[PATH_ROOM], *metrics = NULL;
    size_t size;
    if (!directory_file(path, p->config->run, "metrics.csv", STATUS_NO_INPUT, e) ||
        !file_read(path, 0, &metrics, &size, e))
        return false;
    bool ok = note_past(p, metrics, e);
    free(metrics);
    return ok;
}

RunPage *run_page_new(const TrainConfig *r, Trainer *t, long past, Error *e) {
    RunPage *p = calloc(1, sizeof *p);
    if (!p) {
        error_set(e, STATUS_NO_MEMORY, "memory: %zu bytes for the page", sizeof *p);
        return NULL;
    }
    p->config = r;
    p->trainer = t;
    p->curves.characters = t->task->characters;
    p->command = train_config_command(r, e);
    p->options = train_config_notes(r, true, &p->option_count, e);
    if (p->command && p->options && directory_file(p->path, r->run, "report.html", STATUS_CANNOT_CREATE, e) &&
        samples_yardsticks(t->task, &p->curves.yardsticks, e) && (!past || find_past(p, e)) &&
        watch_open(&p->watch, t, e))
        return p;
    run_page_free(p);
    return NULL;
}

void run_page_free(RunPage *p) {
    if (!p) return;
    watch_close(&p->watch);
    curves_free(&p->curves);
    train_config_notes_free(p->options, p->option_count);
    free(p->command);
    free(p);
}

const char *run_page_path(const RunPage *p) {
    return p->path;
}

void run_page_step(RunPage *p, long step, const StepResult *r, double seconds) {
    curves_note(&p->curves, CURVE_LOSS, step, r->loss);
    curves_note(&p->curves, CURVE_RATE, step, r->learning_rate);
    curves_note(&p->curves, CURVE_NORM, step, r->grad_norm);
    curves_note(&p->curves, CURVE_SPEED, step, (double)r->tokens / seconds);
}

__attribute__((format(printf, 3, 4))) static void add_figure(Draft *d, const char *name, const char *format,
                                                             ...) {
    int i = d->page.figure_count++;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(d->figure_text[i], FIGURE_TEXT, format, arguments);
    va_end(arguments);
    d->figure[i] = (PageFact){name, d->figure_text[i]};
}

static void write_figures(Draft *d, const Metrics *m) {
    if (m->characters > 0) {
        add_figure(d, "held-out nats/char", "%.4f", m->val_loss / m->characters);
        add_figure(d, "held-out bits/char", "%.4f", m->val_loss / m->characters / log(2));
        add_figure(d, "perplexity a token", "%.2f", exp(m->val_loss));
    } else
        add_figure(d, "held-out loss", "%.4f", m->val_loss);
    add_figure(d, "held-out accuracy", "%.2f %%", 100 * m->val_accuracy);
    if (!isnan(m->val_exact)) add_figure(d, "exact answers", "%.2f %%", 100 * m->val_exact);
    add_figure(d, "parameters", "%ld", m->params);
    add_figure(d, "training tokens", "%ld", m->tokens);
    add_figure(d, "seconds", "%.1f", m->seconds);
    d->page.figures = d->figure;
}

static void write_options(Draft *d, const RunPage *p) {
    for (int i = 0; i < p->option_count; i++)
        d->option[i] = (PageFact){p->options[i].key + strlen("recipe."), p->options[i].value};
    d->page.choices = d->option, d->page.choice_count = p->option_count;
}

static bool write_page(RunPage *p, const Metrics *m, Error *e) {
    Draft *d = calloc(1, sizeof *d);
    if (!d) return error_set(e, STATUS_NO_MEMORY, "memory: %zu bytes for the page", sizeof *d);
    d->page = (Page){.title = d->title, .status = d->status, .command = p->command};
    snprintf(d->title, LINE, "Training a Transformer: %s", m->task);
    snprintf(
        d->status, LINE,
        "%s step %ld of %ld. To save time, attention and answers are shown for %ld of %ld evaluations. This "
        "page took %.1f %% of the run's time. %s",
        m->final ? "Ended after" : "In training, at", m->step, p->config->steps, p->watch.kept,
        p->curves.evaluations, 100 * p->spent / m->seconds, m->warning ? m->warning : "");
    write_figures(d, m);
    write_options(d, p);
    curves_draw(&p->curves, m->step, &d->pictures);
    d->page.curves = d->pictures.picture, d->page.curve_count = d->pictures.count;
    watch_show(&p->watch, &d->page);
    bool ok = page_write(&d->page, p->path, e);
    free(d);
    return ok;
}

bool run_page_evaluation(RunPage *p, const Metrics *m, Error *e) {
    double start = clock_seconds();
    if (!curves_note_evaluation(&p->curves, m, e)) return false;
    if (!m->final && p->spent > MOST_SHARE * (start - m->start)) return true;
    bool ok = watch_look(&p->watch, p->trainer, m->step, e) && write_page(p, m, e);
    p->spent += clock_seconds() - start;
    return ok;
}
