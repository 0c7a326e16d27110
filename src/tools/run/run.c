#include "run/run.h"
#include "base/append.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/program.h"
#include "run/page.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- What follows the training ---- */

/* A run goes on if it cannot save: it may be able to later. */
static void say_unsaved(Run *r, const char *what, const Error *e) {
    progress_clear(&r->bar);
    fprintf(stderr, "no %s at step %ld: %s\n", what, r->trainer->state.step, e->text);
}

bool run_goes_on(Run *r) {
    const TrainConfig *c = r->config;
    long step = r->trainer->state.step;
    Error e = {0};
    bool due = (c->checkpoint_every && step % c->checkpoint_every == 0) ||
               clock_seconds() - r->saved > 60 * c->checkpoint_minutes;
    if (due && step > r->saved_step && !run_save_checkpoint(r, &e))
        say_unsaved(r, "checkpoint", &e);
    r->step_started = clock_seconds();
    return !interrupt_signal();
}

/* Seconds of the whole run. */
static double seconds_of(const Run *r) {
    return r->before + clock_seconds() - r->start;
}

static void record_step(Run *r, const StepResult *step, double seconds) {
    const TrainState *s = &r->trainer->state;
    FILE *out = record_begin(&r->record, "step", s->step);
    record_number(out, "loss", step->loss);
    record_number(out, "learning_rate", step->learning_rate);
    record_number(out, "grad_norm", step->grad_norm);
    record_number(out, "tokens_per_second", (double)step->tokens / seconds);
    record_end(&r->record);
}

/* Where lines stay on the screen, one of them has the newest evaluation. */
static void show_progress(Run *r) {
    if (progress_show(&r->bar) && !r->bar.terminal) *r->bar.more = 0;
}

void run_stepped(Run *r, const StepResult *step) {
    double seconds = clock_seconds() - r->step_started;
    double characters = run_is_of_text(r) ? r->trainer->task->training_characters : 1;
    r->training_seconds += seconds;
    r->steps_here++;
    r->tokens += (double)step->tokens;
    record_step(r, step, seconds);
    snprintf(r->bar.words, sizeof r->bar.words, "loss %.3f", step->loss / characters);
    r->bar.done = r->trainer->state.step;
    r->bar.rate = r->tokens / r->training_seconds;
    if (!trainer_evaluation_due(r->trainer)) show_progress(r);
}

/* ---- Evaluations ---- */

/* A loss and its unit; of a text "1.4760 nats/char, 2.1294 bits/char, perplexity 28.20 a token". */
enum { LOSS_TEXT = 160 };
static const char *loss_text(char out[LOSS_TEXT], const Run *r, double loss, int digits) {
    double shown = run_shown_loss(r, loss);
    const char *unit = task_unit(r->trainer->task);
    snprintf(out, LOSS_TEXT, "%.*f nats/%s", digits, shown, unit);
    if (run_is_of_text(r))
        text_append(out, LOSS_TEXT, ", %.*f bits/%s, perplexity %.2f a token", digits,
                    shown / log(2), unit, exp(loss));
    return out;
}

/* Mean loss of the steps since the last evaluation. */
static double train_loss(const TrainState *s) {
    return s->losses ? s->loss_sum / (double)s->losses : NAN;
}

/* Warns once that the held-out loss rises while the training loss falls. */
static void warn_of_overfitting(Run *r, const Evaluation *v) {
    const TrainState *s = &r->trainer->state;
    bool rises =
        run_can_overfit(r->trainer->task) && run_is_worse(r, v) && train_loss(s) < r->train_loss;
    r->train_loss = train_loss(s);
    if (!rises || *r->warning) return;
    snprintf(r->warning, sizeof r->warning,
             "Overfitting: the held-out loss rises (%.3f at step %ld, %.3f at step %ld) while the "
             "training "
             "loss falls; more text, more --dropout or fewer --steps help.",
             run_shown_loss(r, s->best_loss), s->best_step, run_shown_loss(r, v->loss), s->step);
    r->warns = true;
    progress_clear(&r->bar);
    if (!r->config->quiet) fprintf(stderr, "%s\n", r->warning);
}

/* Records an evaluation. `exact`: share of the answers without error, or NAN; `is_final`: at the
 * end of the training, with what the last weights have on the rows of the evaluations before. */
static void record_evaluation(Run *r, const Evaluation *v, double exact, bool is_final) {
    const TrainState *s = &r->trainer->state;
    FILE *out = record_begin(&r->record, "evaluation", s->step);
    record_number(out, "tokens", (double)s->tokens);
    record_number(out, "seconds", seconds_of(r));
    record_number(out, "train_loss", train_loss(s));
    record_number(out, "val_loss", v->loss);
    record_number(out, "val_accuracy", v->accuracy);
    record_number(out, "val_rows", (double)v->rows);
    record_number(out, "val_exact", exact);
    if (run_is_of_text(r)) {
        record_number(out, "val_nats_per_char", run_shown_loss(r, v->loss));
        record_number(out, "val_bits_per_char", run_shown_loss(r, v->loss) / log(2));
        record_number(out, "val_perplexity", exp(v->loss));
    }
    if (r->warns) json_text(out, "warning", r->warning);
    r->warns = false;
    if (r->took_best) record_number(out, "weights_of_step", (double)s->best_step);
    if (is_final) {
        record_number(out, "curve_loss", r->last.loss);
        record_number(out, "curve_accuracy", r->last.accuracy);
        fputs(", \"final\": true", out);
    }
    record_end(&r->record);
}

/* Brings the record to the disk and writes the page. The run's files are in place once one of it
 * is saved. */
static bool write_page(Run *r, Error *e) {
    char page[PATH_CAPACITY];
    if (!run_keeps_folder(r, e)) return false;
    if (r->replaces) return true;
    return record_save(&r->record, e) && run_path_of(r, "report.html", page, e) &&
           page_of_run(r->record.path, page, e);
}

/* "val 1.476 nats/char at 400"; a bar has no room for the unit. */
static void show_evaluation(Run *r, const Evaluation *v) {
    bool bar = r->bar.terminal;
    snprintf(r->bar.more, sizeof r->bar.more, "val %.3f%s%s at %ld", run_shown_loss(r, v->loss),
             bar ? "" : " nats/", bar ? "" : task_unit(r->trainer->task), r->trainer->state.step);
    if (r->steps_here > 0) show_progress(r);
}

static bool keep_best(Run *r, const Evaluation *v, Error *e) {
    TrainState *s = &r->trainer->state;
    Error unsaved = {0};
    if (v->loss >= s->best_loss) return true;
    if (!trainer_check(r->trainer, e)) return false;
    if (!run_save_as(r, "best.safetensors", &unsaved)) {
        say_unsaved(r, "best model", &unsaved);
        return true;
    }
    s->best_loss = v->loss;
    s->best_step = s->step;
    return true;
}

bool run_evaluated(Run *r, const Evaluation *v, Error *e) {
    const Trainer *t = r->trainer;
    r->last = *v;
    r->judged = t->state.step;
    warn_of_overfitting(r, v);
    bool ok = keep_best(r, v, e);
    show_evaluation(r, v);
    if (t->state.step == t->schedule.steps) return ok; /* run_finish records the last step */
    record_evaluation(r, v, NAN, false);
    progress_keep(&r->bar);
    /* A failure here is reported at the end, if it persists. */
    watch_look(&r->watch, clock_seconds() - r->start, false, &(Error){0});
    write_page(r, &(Error){0});
    trainer_evaluated(r->trainer);
    return ok;
}

/* ---- The end ---- */

static void show_yardsticks(const Run *r) {
    const Yardsticks *y = &r->yardsticks;
    fputs("to compare: ", stderr);
    for (int i = 0; i < y->count; i++)
        fprintf(stderr, "%s%s %.4f", i ? ", " : "", y->of[i].name,
                run_shown_loss(r, y->of[i].loss));
    fprintf(stderr, " nats/%s\n", task_unit(r->trainer->task));
}

/* Prints the result. */
static void show_result(const Run *r, const Evaluation *v, double exact) {
    const Task *task = r->trainer->task;
    char loss[LOSS_TEXT];
    fprintf(stderr, "%s: loss %s, accuracy %.2f %%\n",
            task->nothing_held_out ? "all data, nothing held out" : "held-out",
            loss_text(loss, r, v->loss, 4), 100 * v->accuracy);
    show_yardsticks(r);
    if (r->answers)
        fprintf(stderr, "greedy decoding: %.2f %% of %ld answers exact\n", 100 * exact, r->answers);
}

static bool judge_last_step(Run *r, Error *e) {
    return trainer_check(r->trainer, e) && run_judge(r, e) && run_evaluated(r, &r->last, e);
}

/* Makes the last evaluation, and shows the result with samples. */
static bool finish(Run *r, Error *e) {
    Evaluation v;
    double exact = NAN;
    if (!run_evaluate_last(r, &v, &exact, e)) return false;
    record_evaluation(r, &v, exact, true);
    if (!r->config->quiet) show_result(r, &v, exact);
    if (!watch_look(&r->watch, clock_seconds() - r->start, true, e)) return false;
    if (!write_page(r, e)) return false;
    if (!r->config->quiet) fprintf(stderr, "report: %s/report.html\n", r->config->run);
    return true;
}

static bool is_at_end(const Run *r) {
    return r->trainer->state.step >= r->config->schedule.steps;
}

/* The last line of the bar. */
static void end_bar(Run *r, bool trained) {
    if (trained)
        progress_end(&r->bar);
    else
        progress_clear(&r->bar);
    if (!trained || is_at_end(r) || r->config->quiet) return;
    fprintf(stderr, "stopped after step %ld of %ld%s\n", r->trainer->state.step,
            r->config->schedule.steps,
            interrupt_signal() ? "; another Ctrl-C, a second later, stops at once"
                               : ": the time of --minutes is over");
}

static const char *what_stands(const Run *r) {
    if (r->replaces) return "the earlier run stands";
    return r->kept ? "the last checkpoint stands" : "there is no checkpoint";
}

bool run_finish(Run *r, bool trained, Error *e) {
    const char *folder = r->config->run;
    char generate[PROGRAM_COMMAND], train[PROGRAM_COMMAND];
    Error unsaved = {0}, bad = {0};
    bool judged = !trained || !is_at_end(r) || judge_last_step(r, &bad);
    end_bar(r, trained);
    /* A run that made no step replaces none that did. */
    if ((r->replaces || r->kept) && r->steps_here == 0 && !is_at_end(r)) {
        if (!r->config->quiet) fprintf(stderr, "no step was made: %s stays as it was\n", folder);
        return false;
    }
    bool saved = run_save(r, trained, trained ? e : &unsaved);
    if (r->took_best && !r->config->quiet) fprintf(stderr, "%s\n", r->warning);
    if (saved && !r->config->quiet)
        fprintf(stderr, "saved in %s, for %s %s%s\n", folder, program_command("generate", generate),
                r->word, trained ? "" : ": the weights before that step");
    if (saved && trained && !is_at_end(r) && !r->config->quiet)
        fprintf(stderr, "%s --resume %s continues it\n", program_command("train", train), r->word);
    if (!saved && !trained) fprintf(stderr, "not saved: %s; %s\n", unsaved.text, what_stands(r));
    if (!judged && saved) error_set(e, bad.status, "%s", bad.text);
    return trained && saved && judged && finish(r, e);
}
