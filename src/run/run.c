#include "run/run.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/pool.h"
#include "base/program.h"
#include "base/system.h"
#include "nn/model_file.h"
#include "pictures/label.h"
#include "run/pace.h"
#include "run/samples.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void run_describe(FILE *out, const Task *task, const TrainConfig *r, const Model *m, size_t bytes) {
    char text[TEXT_LINE];
    const ModelConfig *c = &m->config;
    char parameters[NUMBER_ROOM];
    fprintf(out, "%s: %d", task->name, c->encoder_layers);
    if (c->decoder_layers) fprintf(out, " + %d", c->decoder_layers);
    fprintf(out, " layer%s, d_model %d, %d head%s: %s parameters, %.1f MB\n",
            PLURAL(c->encoder_layers + c->decoder_layers), c->d_model, c->heads, PLURAL(c->heads),
            number_text(parameters, m->parameters.elements), (double)bytes * 1e-6);
    if (*run_text_line(text, task, r)) fprintf(out, "%s\n", text);
}

void run_describe_time(FILE *out, const Pace *p, long steps) {
    char number[NUMBER_ROOM], time[32];
    fprintf(out, "time: about %s for %s steps of %.3g ms\n", clock_text(time, (double)steps * p->step),
            number_text(number, steps), 1000 * p->step);
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
    r->tokens += (double)step->tokens;
    metrics_step(&r->sums, &r->steps_file, r->trainer->state.step, step, seconds);
    snprintf(r->loss, sizeof r->loss, "loss %.3f", run_shown_loss(r, step->loss));
    r->report.done = r->trainer->state.step;
    r->bar.total = r->trainer->schedule.steps; /* --minutes measures again */
    r->report.rate = r->tokens / r->training_seconds;
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

/* Writes a row of metrics, and the page. The run's files are in place once one of it is saved. A table that cannot be written
 * on the way may be later. */
static bool record(Run *r, Error *e) {
    const TrainState *s = &r->trainer->state;
    Metrics *m = &r->metrics;
    Error unsaved = {0};
    bool last = !isnan(m->final_loss);
    m->step = s->step, m->tokens = s->tokens;
    m->train_loss = train_loss(s), m->val_loss = r->last.loss, m->val_accuracy = r->last.accuracy;
    m->seconds = r->before + clock_seconds() - r->start;
    metrics_write(&r->metrics_file, m);
    if (r->config->json) progress_clear(&r->bar), metrics_json(m);
    if (!run_keeps_folder(r, e)) return false;
    if (r->replaces) return true;
    if (!run_save_tables(r, last ? e : &unsaved) && !last) say_unsaved(r, "metrics", &unsaved);
    return watch_report(&r->watch, clock_seconds() - r->start, r->warning, last, e);
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
    const Trainer *t = r->trainer;
    r->last = *v, r->judged = t->state.step;
    warn_of_overfitting(r, v);
    bool ok = keep_best(r, v, e);
    show_evaluation(r, v);
    if (t->state.step == t->schedule.steps) return ok; /* run_finish records the last step */
    record(r, &(Error){0}); /* a page that cannot be written is reported at the end, if it still cannot be */
    trainer_evaluated(r->trainer);
    return ok;
}

/* ---- The end ---- */

static void show_yardsticks(const Run *r) {
    const Yardsticks *y = &r->watch.yardsticks;
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
    if (t->task->lines) return samples_lines(t, r->config->samples, e);
    return lm ? samples_text(t, e) : samples_answers(t, r->config->samples, true, &ignored, NULL, e);
}

static bool judge_last_step(Run *r, Error *e) {
    return trainer_check(r->trainer, e) && run_judge(r, e) && run_evaluated(r, &r->last, e);
}

static bool finish(Run *r, Error *e) {
    Evaluation v;
    Metrics *m = &r->metrics;
    if (!trainer_evaluate(r->trainer, 0, &v, e)) return false;
    m->final_loss = v.loss, m->final_accuracy = v.accuracy;
    if (!task_is_language_model(r->trainer->task) &&
        !samples_answers(r->trainer, 0, false, &m->val_exact, &r->tally, e))
        return false;
    Error page = {0};
    record(r, &page);
    if (!r->config->quiet && !show_result(r, &v, e)) return false;
    if (page.status != STATUS_DONE) return error_set(e, page.status, "%s", page.text);
    if (!r->config->quiet) fprintf(stderr, "report: %s/report.html\n", r->config->run);
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
                r->trainer->state.step, r->config->schedule.steps);
}

bool run_finish(Run *r, bool trained, Error *e) {
    const char *folder = r->config->run;
    char generate[PROGRAM_COMMAND];
    Error unsaved = {0}, bad = {0};
    bool judged = !trained || r->trainer->state.step < r->trainer->schedule.steps || judge_last_step(r, &bad);
    end_bar(r, trained);
    /* A run that made no step replaces none that did. */
    if ((r->replaces || r->kept) && r->steps_here == 0 &&
        r->trainer->state.step < r->config->schedule.steps) {
        if (!r->config->quiet) fprintf(stderr, "no step was made: %s stays as it was\n", folder);
        return false;
    }
    bool saved = run_save(r, trained, trained ? e : &unsaved);
    if (r->took_best && !r->config->quiet) fprintf(stderr, "%s\n", r->warning);
    if (saved && !r->config->quiet)
        fprintf(stderr, "saved in %s, for %s %s%s\n", folder, program_command("generate", generate), r->word,
                trained ? "" : ": the weights before that step");
    if (!saved && !trained)
        fprintf(stderr, "not saved: %s; %s\n", unsaved.text,
                r->replaces ? "the earlier run stands"
                : r->kept   ? "the last checkpoint stands"
                            : "there is no checkpoint");
    if (!judged && saved) error_set(e, bad.status, "%s", bad.text);
    return trained && saved && judged && finish(r, e);
}

/* ---- The beginning ---- */

/* Reports that the run is finished, or that --steps moves the end of its schedule. */
static void remark_on_resume(const Run *r, const Checkpoint *past) {
    const TrainConfig *c = r->config;
    long step = past->state.step;
    char train[PROGRAM_COMMAND];
    if (c->quiet) return;
    if (r->finished)
        fprintf(stderr, "%s is finished after %ld steps; to continue: %s --resume %s --steps N\n", c->run,
                step, program_command("train", train), r->word);
    else if (c->schedule.steps != c->planned_steps && step < c->schedule.steps && c->schedule.kind->falls) {
        Schedule before = r->trainer->schedule;
        before.steps = c->planned_steps, before.plans = c->planned_before;
        fprintf(stderr,
                "the schedule now ends at step %ld, not %ld: the learning rate goes from %.3g to %.3g\n",
                c->schedule.steps, c->planned_steps, step ? schedule_rate(&before, step) : 0,
                schedule_rate(&r->trainer->schedule, step + 1));
    }
}

/* Opens the tables. Those of a run that continues keep the rows up to its checkpoint; a row of a last step that was not the
 * run's end is made again. */
static bool open_tables(Run *r, const Checkpoint *past, Error *e) {
    const char *folder = r->config->run;
    if (!past)
        return csv_open(&r->metrics_file, folder, "metrics.csv", metrics_head, e) &&
               csv_open(&r->steps_file, folder, "steps.csv", steps_head, e) &&
               (r->replaces || run_save_tables(r, e));
    const TrainState *s = &past->state;
    long last = s->evaluated > 0 ? s->evaluated : -1;
    if (s->step == r->config->planned_steps) last = s->step;
    return csv_resume(&r->metrics_file, folder, "metrics.csv", metrics_head, last, s->evaluated, e) &&
           csv_resume(&r->steps_file, folder, "steps.csv", steps_head, s->step, 0, e);
}

/* Reads metrics.csv of a run that continues: the seconds that it took, and whether it has been evaluated at its end. A file
 * that cannot be read, csv_resume renames. */
static void read_past(Run *r, const Checkpoint *past) {
    char path[PATH_ROOM];
    Csv t = {0};
    long made = past->state.step;
    bool ok = run_path_of(r, "metrics.csv", path, &(Error){0}) && csv_read(&t, path, &(Error){0});
    const double *step = csv_column(&t, "step"), *seconds = csv_column(&t, "seconds"),
                 *final_loss = csv_column(&t, "final_loss");
    for (long i = 0; ok && step && seconds && final_loss && i < t.rows && step[i] <= (double)made; i++) {
        bool ended = step[i] == (double)made && isfinite(final_loss[i]) && made == r->config->planned_steps;
        r->before = seconds[i];
        if (ended) trainer_evaluated(r->trainer);
        r->finished = ended && made == r->config->schedule.steps && run_has(r, "model.safetensors");
    }
    csv_free(&t);
}

bool run_open(Run *r, const TrainConfig *config, Trainer *t, const Checkpoint *past, Error *e) {
    char path[PATH_ROOM], word[PATH_ROOM];
    *r = (Run){.config = config, .trainer = t, .kept = past != NULL, .judged = -1};
    if (t->state.step > config->schedule.steps)
        return error_set(e, STATUS_USAGE, "--steps: found %ld, need at least the %ld that %s has made",
                         config->schedule.steps, t->state.step, config->run);
    if (!run_path_of(r, "model.safetensors", path, e) || !run_may_take(r, past, e)) return false;
    snprintf(word, sizeof word, "%s%s", *config->run == '-' ? "./" : "", config->run); /* no option */
    if (!(r->word = shell_command(1, (char *[]){word}, e))) return false;
    if (past) read_past(r, past);
    if (past) remark_on_resume(r, past);
    if (r->finished) return true;
    interrupt_heed();
    if (!directory_make(config->run, e) || !(r->place = file_create(path, e)) || !run_may_take(r, past, e))
        return false;
    if (!run_can_open_files(r, e) || !watch_open(&r->watch, config, t, e) || !open_tables(r, past, e))
        return false;
    const Parameters *p = &t->model->parameters;
    if (!file_reserve(r->place, (size_t)p->elements * sizeof(real), e)) return false;
    if (!config->quiet) fputs(t->task->remark, stderr);
    char remark[LOSS_REMARK];
    if (!config->quiet && *watch_loss_remark(remark, config)) fprintf(stderr, "%s\n", remark);
    r->metrics = (Metrics){.task = t->task->name,
                           .params = p->elements,
                           .characters = t->task->characters,
                           .unknown = t->task->unknown,
                           .val_exact = NAN,
                           .final_loss = NAN,
                           .final_accuracy = NAN};
    r->start = clock_seconds();
    r->report = (Report){.done = t->state.step, .words = r->loss, .more = r->val_loss, .unit = "tok/s"};
    r->bar = progress_start(t->task->name, config->schedule.steps, config->quiet);
    r->bar.before = t->state.step;
    r->train_loss = INFINITY;
    r->saved = r->start, r->saved_step = t->state.step;
    return true;
}

void run_close(Run *r) {
    file_abandon(r->place);
    watch_close(&r->watch);
    csv_close(&r->metrics_file), csv_close(&r->steps_file);
    free(r->word);
}
