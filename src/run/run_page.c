#include "run/run_page.h"
#include "base/clock.h"
#include "base/file.h"
#include "run/run_curves.h"
#include "run/watch.h"
#include "tasks/text_task.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Of the time since training began; above it, evaluations are passed over. */
#define MOST_SHARE 0.015

enum { FACTS = 48, FIGURES = 6, FIGURE_TEXT = 32, LINE = 256, FINAL_PARTS = 8 };

struct RunPage {
    const TrainConfig *config;
    Trainer *trainer;
    char *command;     /* that repeats the run */
    Metadata *choices; /* [choice_count] */
    int choice_count;
    char path[PATH_ROOM];
    RunCurves curves;
    Watch watch;
    long evaluations; /* noted */
    double spent;     /* seconds on all of this */
};

/* The page's first lines. */
typedef struct Draft {
    Page page;
    RunPictures pictures;
    PageFact figure[FIGURES], fact[FACTS], choice[TRAIN_SETTINGS];
    char figure_text[FIGURES][FIGURE_TEXT], config_text[FACTS][CONFIG_TEXT], title[LINE], status[LINE];
} Draft;

static void note_evaluation(RunPage *p, const Metrics *m) {
    curves_note(&p->curves, CURVE_VAL_LOSS, m->step, m->val_loss);
    curves_note(&p->curves, CURVE_VAL_ACCURACY, m->step, m->val_accuracy);
    curves_note(&p->curves, CURVE_VAL_EXACT, m->step, m->val_exact);
    p->evaluations++;
}

/* Notes the rows of metrics.csv when a run continues. */
static void note_past(RunPage *p, const char *metrics) {
    Metrics m;
    for (const char *line = strchr(metrics, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
        if (metrics_read(line + 1, &m)) {
            curves_note(&p->curves, CURVE_LOSS, m.step, m.train_loss);
            note_evaluation(p, &m);
        }
}

static bool find_past(RunPage *p, Error *e) {
    char path[PATH_ROOM], *metrics = NULL;
    size_t size;
    if (!directory_file(path, p->config->run, "metrics.csv", STATUS_NO_INPUT, e) ||
        !file_read(path, 0, &metrics, &size, e))
        return false;
    note_past(p, metrics);
    free(metrics);
    return true;
}

RunPage *run_page_new(const TrainConfig *r, Trainer *t, long past, Error *e) {
    RunPage *p = calloc(1, sizeof *p);
    if (!p) {
        error_set(e, STATUS_NO_MEMORY, "memory: %zu bytes for the page", sizeof *p);
        return NULL;
    }
    p->config = r;
    p->trainer = t;
    p->curves.text = task_is_language_model(t->task);
    p->curves.longest =
        t->task->max_T - (p->curves.text ? 0 : 1); /* the answer's end is none of its tokens */
    p->command = train_config_command(r, e);
    p->choices = train_config_notes(r, true, &p->choice_count, e);
    if (p->command && p->choices && directory_file(p->path, r->run, "report.html", STATUS_CANNOT_CREATE, e) &&
        task_yardsticks(t->task, &p->curves.yardsticks, e) && (!past || find_past(p, e)) &&
        watch_open(&p->watch, t, e))
        return p;
    run_page_free(p);
    return NULL;
}

void run_page_free(RunPage *p) {
    if (!p) return;
    watch_close(&p->watch);
    train_config_notes_free(p->choices, p->choice_count);
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

/* Held-out rows by their classes, and rows of the step to come, which the model has not been trained on yet. */
static bool judge(RunPage *p, const Metrics *m, Error *e) {
    Trainer *t = p->trainer;
    RunCurves *c = &p->curves;
    Judgement training = {0};
    long part = (t->micro_batch + 1) / 2, rows = m->final ? FINAL_PARTS * part : part, count;
    if (rows > t->task->held_out) rows = t->task->held_out;
    c->held_out = (Judgement){0};
    bool ok = true;
    for (long first = 0; ok && first < rows; first += count) {
        count = task_held_out_batch(t->task, first, rows - first < part ? rows - first : part, t->batch);
        ok = judge_batch(t, &c->held_out, e);
    }
    task_training_batch(t->task, (uint64_t)m->step + 1, 0, part, t->batch);
    if (!ok || !judge_batch(t, &training, e)) return false;
    curves_note(c, CURVE_TRAIN_LOSS, m->step, training.loss / (double)training.tokens);
    curves_note(c, CURVE_TRAIN_ACCURACY, m->step, training.right / (double)training.tokens);
    return true;
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
    add_figure(d, "held-out loss", "%.4f", m->val_loss);
    add_figure(d, "held-out accuracy", "%.2f %%", 100 * m->val_accuracy);
    if (!isnan(m->val_exact)) add_figure(d, "whole answers right", "%.2f %%", 100 * m->val_exact);
    add_figure(d, "parameters", "%ld", m->params);
    add_figure(d, "tokens trained on", "%ld", m->tokens);
    add_figure(d, "seconds", "%.1f", m->seconds);
    d->page.figures = d->figure;
}

/* What the model is, and how it is trained. */
static void write_facts(Draft *d, const RunPage *p) {
    int *count = &d->page.fact_count;
    const char *name;
    while (*count < FACTS &&
           config_field(&p->trainer->model->config, *count, &name, d->config_text[*count])) {
        page_shorten(d->config_text[*count]);
        d->fact[*count] = (PageFact){name, d->config_text[*count]};
        ++*count;
    }
    d->page.facts = d->fact;
    for (int i = 0; i < p->choice_count; i++) {
        const char *dot = strchr(p->choices[i].key, '.'); /* "recipe.lr" */
        d->choice[i] = (PageFact){dot ? dot + 1 : p->choices[i].key, p->choices[i].value};
    }
    d->page.choices = d->choice, d->page.choice_count = p->choice_count;
}

static bool write_page(RunPage *p, const Metrics *m, Error *e) {
    Draft *d = calloc(1, sizeof *d);
    if (!d) return error_set(e, STATUS_NO_MEMORY, "memory: %zu bytes for the page", sizeof *d);
    d->page = (Page){.title = d->title, .status = d->status, .command = p->command};
    snprintf(d->title, LINE, "A Transformer learns: %s", m->task);
    snprintf(
        d->status, LINE,
        "%s step %ld of %ld. Attention and answers are shown for %ld of %ld evaluations, so that this page "
        "takes little time: %.1f %% of the run's.",
        m->final ? "Ended after" : "In training, at", m->step, p->config->steps, p->watch.kept,
        p->evaluations, 100 * p->spent / m->seconds);
    write_figures(d, m);
    write_facts(d, p);
    curves_draw(&p->curves, m->step, &d->pictures);
    d->page.curves = d->pictures.picture, d->page.curve_count = d->pictures.count;
    watch_show(&p->watch, &d->page);
    bool ok = page_write(&d->page, p->path, e);
    free(d);
    return ok;
}

bool run_page_evaluation(RunPage *p, const Metrics *m, Error *e) {
    double start = clock_seconds();
    note_evaluation(p, m);
    if (!m->final && p->spent > MOST_SHARE * (start - m->start)) return true;
    bool ok = judge(p, m, e) && watch_look(&p->watch, p->trainer, m->step, e) && write_page(p, m, e);
    p->spent += clock_seconds() - start;
    return ok;
}
