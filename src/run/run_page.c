#include "run/run_page.h"
#include "base/clock.h"
#include "run/shell.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Share of the time since the start; above it, evaluations get no pictures. */
#define MOST_SHARE 0.015

bool run_page_open(RunPage *p, const TrainConfig *r, Trainer *t, Error *e) {
    p->config = r;
    p->trainer = t;
    p->curves.characters = t->task->characters;
    p->command = train_config_command(r, e);
    train_config_notes(r, true, &p->options);
    return p->command && directory_file(p->path, r->run, "report.html", STATUS_CANNOT_CREATE, e) &&
           task_yardsticks(t->task, &p->curves.yardsticks, e) && watch_open(&p->watch, t, e);
}

void run_page_close(RunPage *p) {
    watch_close(&p->watch);
    curves_free(&p->curves);
    free(p->command);
}

void run_page_past(void *page, const Metrics *m) {
    RunPage *p = page;
    curves_note(&p->curves, CURVE_LOSS, m->step, m->train_loss);
    curves_note_evaluation(&p->curves, m);
}

void run_page_step(RunPage *p, long step, const StepResult *r, double seconds) {
    curves_note(&p->curves, CURVE_LOSS, step, r->loss);
    curves_note(&p->curves, CURVE_RATE, step, r->learning_rate);
    curves_note(&p->curves, CURVE_NORM, step, r->grad_norm);
    curves_note(&p->curves, CURVE_SPEED, step, (double)r->tokens / seconds);
}

__attribute__((format(printf, 3, 4))) static void add_figure(RunPage *p, const char *name, const char *format,
                                                             ...) {
    int i = p->page.figure_count++;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->figure_text[i], RUN_FIGURE_TEXT, format, arguments);
    va_end(arguments);
    p->figure[i] = (PageFact){name, p->figure_text[i]};
}

static void write_figures(RunPage *p, const Metrics *m) {
    if (m->characters > 0) {
        add_figure(p, "held-out nats/char", "%.4f", m->val_loss / m->characters);
        add_figure(p, "held-out bits/char", "%.4f", m->val_loss / m->characters / log(2));
        add_figure(p, "perplexity a token", "%.2f", exp(m->val_loss));
    } else
        add_figure(p, "held-out loss", "%.4f", m->val_loss);
    if (m->unknown > 0)
        add_figure(p, "not comparable", "%.1f %% of the characters are [UNK]", 100 * m->unknown);
    add_figure(p, "held-out accuracy", "%.2f %%", 100 * m->val_accuracy);
    if (!isnan(m->val_exact)) add_figure(p, "exact answers", "%.2f %%", 100 * m->val_exact);
    add_figure(p, "parameters", "%ld", m->params);
    add_figure(p, "training tokens", "%ld", m->tokens);
    add_figure(p, "seconds", "%.1f", m->seconds);
}

static bool write_page(RunPage *p, const Metrics *m, Error *e) {
    curves_draw(&p->curves, m->step, &p->pictures);
    for (int i = 0; i < p->options.count; i++)
        p->option[i] = (PageFact){p->options.note[i].key + strlen("recipe."), p->options.note[i].value};
    p->page = (Page){.title = p->title,
                     .status = p->status,
                     .command = p->command,
                     .figures = p->figure,
                     .choices = p->option,
                     .choice_count = p->options.count,
                     .curves = p->pictures.picture,
                     .curve_count = p->pictures.count};
    snprintf(p->title, RUN_LINE, "Training a Transformer: %s", m->task);
    snprintf(
        p->status, RUN_LINE,
        "%s step %ld of %ld. To save time, attention and answers are shown for %ld of %ld evaluations. This "
        "page took %.1f %% of the run's time. %s",
        m->final ? "Ended after" : "In training, at", m->step, p->config->steps, p->watch.kept,
        p->curves.evaluations, 100 * p->spent / m->seconds, m->warning ? m->warning : "");
    write_figures(p, m);
    watch_show(&p->watch, &p->page);
    return page_write(&p->page, p->path, e);
}

bool run_page_evaluation(RunPage *p, const Metrics *m, Error *e) {
    double start = clock_seconds();
    curves_note_evaluation(&p->curves, m);
    if (!m->final && p->spent > MOST_SHARE * (start - m->start)) return true;
    bool ok = watch_look(&p->watch, p->trainer, m->step, e) && write_page(p, m, e);
    p->spent += clock_seconds() - start;
    return ok;
}
