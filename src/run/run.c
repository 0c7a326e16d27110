#include "run/run.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/pool.h"
#include "base/program.h"
#include "base/system.h"
#include "nn/model_file.h"
#include "run/samples.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void run_describe(FILE *out, const Task *task, const Model *m, size_t bytes) {
    const ModelConfig *c = &m->config;
    fprintf(out, "%s: %d", task->name, c->encoder_layers);
    if (c->decoder_layers) fprintf(out, " + %d", c->decoder_layers);
    fprintf(out, " layer%s, d_model %d, %d head%s: %ld parameters, %.1f MB\n",
            PLURAL(c->encoder_layers + c->decoder_layers), c->d_model, c->heads, PLURAL(c->heads),
            m->parameters.elements, (double)bytes * 1e-6);
}

size_t run_footprint(size_t arrays) {
    enum {
        KB = 1024,
        THREAD_BYTES = 64 * KB,  /* stack, and strips that kernels/gemm.c packs */
        PANEL_BYTES = 600 * KB,  /* panels of the calling thread; small models touch few of them */
        USUAL_BYTES = 3072 * KB, /* of a new process, if the system does not report it */
    };
    size_t resident = system_resident();
    return (resident ? resident : USUAL_BYTES) + arrays + PANEL_BYTES + (size_t)pool_threads() * THREAD_BYTES;
}

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
    if (due && step > r->saved_step && !run_save_checkpoint(r, &e)) say_unsaved(r, "checkpoint", &e);
    r->step_started = clock_seconds();
    return !interrupt_signal();
}

void run_stepped(Run *r, const StepResult *step) {
    double seconds = clock_seconds() - r->step_started;
    r->training_seconds += seconds;
    r->steps_here++;
    r->metrics.tokens += step->tokens;
    run_page_step(&r->page, r->trainer->state.step, step, seconds);
    snprintf(r->loss, sizeof r->loss, "loss %.3f", run_shown_loss(r, step->loss));
    r->report.done = r->trainer->state.step;
    r->report.rate = (double)r->metrics.tokens / r->training_seconds;
    if (!trainer_evaluation_due(r->trainer)) progress_show(&r->bar, &r->report);
}

/* Mean loss of the steps since the last evaluation. */
static double train_loss(const TrainState *s) {
    return s->losses ? s->loss_sum / (double)s->losses : NAN;
}

/* Warns once that the held-out loss rises while the training loss falls. */
static void warn_of_overfitting(Run *r, const Evaluation *v) {
    const TrainState *s = &r->trainer->state;
    bool rises = run_can_overfit(r->trainer->task) && v->loss > s->best_loss + RUN_CLEARLY_WORSE &&
                 train_loss(s) < r->train_loss;
    r->train_loss = train_loss(s);
    if (!rises || *r->warning) return;
    snprintf(r->warning, sizeof r->warning,
             "Overfitting: the held-out loss rises (%.3f at step %ld, %.3f at step %ld) while the training "
             "loss falls; more text, more --dropout or fewer --steps help.",
             run_shown_loss(r, s->best_loss), s->best_step, run_shown_loss(r, v->loss), s->step);
    progress_clear(&r->bar);
    if (!r->config->quiet) fprintf(stderr, "%s\n", r->warning);
}

/* Writes a row of metrics, and the page. */
static bool record(Run *r, const Evaluation *v, Error *e) {
    const TrainState *s = &r->trainer->state;
    Metrics m = r->metrics;
    m.step = s->step, m.tokens = s->tokens;
    m.train_loss = train_loss(s), m.val_loss = v->loss, m.val_accuracy = v->accuracy;
    m.warning = *r->warning ? r->warning : NULL;
    m.seconds += clock_seconds() - m.start;
    metrics_write(&r->file, &m);
    if (r->config->json) progress_clear(&r->bar), metrics_json(&m);
    return run_keeps_folder(r, e) && run_page_evaluation(&r->page, &m, e);
}

static void show_evaluation(Run *r, const Evaluation *v) {
    char loss[LOSS_TEXT];
    metrics_loss_text(loss, v->loss, &r->metrics, 3);
    if (r->bar.terminal) loss[strcspn(loss, " ")] = 0; /* a line has little room */
    snprintf(r->val_loss, sizeof r->val_loss, "val %s at %ld", loss, r->trainer->state.step);
    if (r->steps_here > 0) progress_show(&r->bar, &r->report);
}

static bool keep_best(Run *r, const Evaluation *v, Error *e) {
    TrainState *s = &r->trainer->state;
    Error unsaved = {0};
    if (v->loss >= s->best_loss) return true;
    if (!trainer_check(r->trainer, e)) return false;
    if (run_save_as(r, "best.safetensors", &unsaved))
        s->best_loss = v->loss, s->best_step = s->step;
    else
        say_unsaved(r, "best model", &unsaved);
    return true;
}

bool run_evaluated(Run *r, const Evaluation *v, Error *e) {
    warn_of_overfitting(r, v);
    record(r, v,
           &(Error){0}); /* a page that cannot be written is reported at the end, if it still cannot be */
    show_evaluation(r, v);
    bool ok = keep_best(r, v, e);
    trainer_evaluated(r->trainer);
    return ok;
}

/* ---- The end ---- */

static void show_yardsticks(const Run *r) {
    const Yardsticks *y = &r->page.curves.yardsticks;
    const Task *task = r->trainer->task;
    if (task->entropy > 0) fprintf(stderr, "lowest possible loss: %.4f nats a token\n", task->entropy);
    fputs("to compare: ", stderr);
    for (int i = 0; i < y->count; i++)
        fprintf(stderr, "%s%s %.4f", i ? ", " : "", y->of[i].name, run_shown_loss(r, y->of[i].loss));
    fputs(r->metrics.characters > 0 ? " nats/char\n" : " nats/token\n", stderr);
}

/* Prints the result: losses, and samples. */
static bool show_result(Run *r, const Evaluation *v, Error *e) {
    Trainer *t = r->trainer;
    bool lm = task_is_language_model(t->task);
    double ignored;
    char loss[LOSS_TEXT];
    fprintf(stderr, "%s: loss %s, accuracy %.2f %%\n",
            t->task->nothing_held_out ? "all data, nothing held out" : "held-out",
            metrics_loss_text(loss, v->loss, &r->metrics, 4), 100 * v->accuracy);
    show_yardsticks(r);
    if (!lm)
        fprintf(stderr, "greedy decoding: %.2f %% of %ld answers exact\n", 100 * r->metrics.val_exact,
                t->task->held_out);
    if (!lm && !samples_lengths(t, &r->config->data, &r->tally, e)) return false;
    if (r->config->samples == 0) return true;
    return lm ? samples_text(t, e) : samples_answers(t, r->config->samples, true, &ignored, NULL, e);
}

static bool finish(Run *r, Error *e) {
    Evaluation v;
    bool answers = !task_is_language_model(r->trainer->task);
    if (!trainer_evaluate(r->trainer, 0, &v, e)) return false;
    if (answers && !samples_answers(r->trainer, 0, false, &r->metrics.val_exact, &r->tally, e)) return false;
    r->metrics.final = true, r->metrics.val_loss = v.loss;
    Error page = {0};
    record(r, &v, &page);
    if (!r->config->quiet && !show_result(r, &v, e)) return false;
    if (page.status != STATUS_DONE) return error_set(e, page.status, "%s", page.text);
    if (!r->config->quiet) fprintf(stderr, "report: %s\n", r->page.path);
    return true;
}

/* The last line of the bar. */
static void end_bar(Run *r, bool trained) {
    if (trained)
        progress_end(&r->bar, &r->report);
    else
        progress_clear(&r->bar);
    if (trained && interrupt_signal() && !r->config->quiet)
        fprintf(stderr, "stopped after step %ld of %ld; a second Ctrl-C stops at once\n",
                r->trainer->state.step, r->config->steps);
}

bool run_finish(Run *r, bool trained, Error *e) {
    const char *folder = r->config->run;
    char generate[PROGRAM_COMMAND];
    Error unsaved = {0};
    end_bar(r, trained);
    /* A run that made no step must not replace one that did. */
    if (r->replaces && r->steps_here == 0 && r->config->steps > 0) {
        if (!r->config->quiet) fprintf(stderr, "no step was made: %s keeps its earlier run\n", folder);
        return false;
    }
    bool saved = run_save(r, trained, trained ? e : &unsaved);
    if (r->took_best && !r->config->quiet) fprintf(stderr, "%s\n", r->warning);
    if (saved && !r->config->quiet)
        fprintf(stderr, "saved in %s, for %s %s%s\n", folder, program_command("generate", generate), folder,
                trained ? "" : ": the weights before that step");
    if (!saved && !trained)
        fprintf(stderr, "not saved: %s; %s\n", unsaved.text,
                r->replaces ? "the earlier run stands"
                : r->kept   ? "the last checkpoint stands"
                            : "there is no checkpoint");
    return trained && saved && finish(r, e);
}

/* ---- The beginning ---- */

/* Reports that the run is finished, or that --steps moves the end of its schedule. */
static void remark_on_resume(const Run *r, const Checkpoint *past) {
    const TrainConfig *c = r->config;
    long step = past->state.step;
    char train[PROGRAM_COMMAND];
    if (c->quiet) return;
    if (step == c->steps)
        fprintf(stderr, "%s is finished after %ld steps; to continue: %s --resume %s --steps N\n", c->run,
                step, program_command("train", train), c->run);
    else if (c->steps != c->planned_steps && c->schedule != SCHEDULE_NOAM &&
             c->schedule != SCHEDULE_CONSTANT) {
        Schedule before = r->trainer->schedule;
        before.steps = c->planned_steps;
        fprintf(stderr,
                "the schedule now ends at step %ld, not %ld: the learning rate goes from %.3g to %.3g\n",
                c->steps, c->planned_steps, step ? schedule_rate(&before, step) : 0,
                schedule_rate(&r->trainer->schedule, step + 1));
    }
}

/* A row of metrics.csv before --resume. */
static void note_past(void *context, const Metrics *m) {
    Run *r = context;
    r->metrics.seconds = m->seconds;
    run_page_past(&r->page, m);
}

bool run_open(Run *r, const TrainConfig *config, Trainer *t, const Checkpoint *past, Error *e) {
    char path[PATH_ROOM];
    *r = (Run){.config = config, .trainer = t, .kept = past != NULL};
    if (t->state.step > config->steps)
        return error_set(e, STATUS_USAGE, "--steps: found %ld, need at least the %ld that %s has made",
                         config->steps, t->state.step, config->run);
    if (!run_path_of(r, "model.safetensors", path, e) || !run_may_take(r, past, e)) return false;
    interrupt_heed();
    if (!directory_make(config->run, e) || !(r->place = file_create(path, e)) || !run_may_take(r, past, e))
        return false;
    if (!run_page_open(&r->page, config, t, e)) return false;
    if (past ? !metrics_resume(&r->file, config->run, past->state.evaluated, note_past, r, e)
             : !metrics_open(&r->file, config->run, r->replaces, e))
        return false;
    const Parameters *p = &t->model->parameters;
    if (!run_can_open_files(r, e) || !file_reserve(r->place, (size_t)p->elements * sizeof(real), e))
        return false;
    if (!config->quiet) fputs(t->task->remark, stderr);
    if (past) remark_on_resume(r, past);
    r->metrics = (Metrics){.task = t->task->name,
                           .params = p->elements,
                           .start = clock_seconds(),
                           .seconds = r->metrics.seconds,
                           .characters = t->task->characters,
                           .unknown = t->task->unknown,
                           .val_exact = NAN};
    r->report = (Report){.done = t->state.step, .words = r->loss, .more = r->val_loss, .unit = "tok/s"};
    r->bar = progress_start(t->task->name, config->steps, config->quiet);
    r->bar.before = t->state.step;
    r->train_loss = INFINITY;
    r->saved = r->metrics.start, r->saved_step = t->state.step;
    return true;
}

bool run_close(Run *r, Error *e) {
    file_abandon(r->place);
    run_page_close(&r->page);
    return !r->file.csv || metrics_close(&r->file, e);
}
