#include "run/run.h"
#include "base/append.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/pool.h"
#include "base/program.h"
#include "base/system.h"
#include "formats/json.h"
#include "nn/model_file.h"
#include "run/page.h"
#include "run/samples.h"
#include "tasks/corpus.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "The training loss is with dropout 0.1, the held-out loss without."; "" if both are the same
 * function. */
enum { LOSS_REMARK = 128 };
static const char *loss_remark(char out[LOSS_REMARK], const TrainConfig *r) {
    bool drops = r->dropout > 0, smooths = r->model.label_smoothing > 0;
    *out = 0;
    if (!drops && !smooths) return out;
    text_append(out, LOSS_REMARK, "The training loss is with ");
    if (drops) text_append(out, LOSS_REMARK, "dropout %g", r->dropout);
    if (drops && smooths) text_append(out, LOSS_REMARK, " and ");
    if (smooths) text_append(out, LOSS_REMARK, "label smoothing %g", r->model.label_smoothing);
    text_append(out, LOSS_REMARK, ", the held-out loss without.");
    return out;
}

/* "text: 1,115,216 characters, 65 different; bpe 4096 (1.42 characters a token); 0.9 passes;
 * dropout 0"; "" for a task that has no text. */
enum { TEXT_LINE = 200 };
static const char *text_line(char out[TEXT_LINE], const Task *task, const TrainConfig *r) {
    const Corpus *c = task_text_corpus(task);
    char characters[NUMBER_TEXT], different[NUMBER_TEXT];
    *out = 0;
    if (!c) return out;
    double passes = train_config_passes(r, task);
    snprintf(out, TEXT_LINE,
             "text: %s characters, %s different; %s %ld (%.2f characters a token); %.*g passes; "
             "dropout %g",
             number_text(characters, c->written), number_text(different, c->different),
             c->tokenizer->kind->choice.name, c->tokenizer->size,
             (double)c->written / (double)c->count, passes < 10 ? 2 : 9,
             passes < 10 ? passes : round(passes), r->dropout);
    return out;
}

void run_describe(FILE *out, const Task *task, const TrainConfig *r, const Model *m, size_t bytes) {
    char text[TEXT_LINE], parameters[NUMBER_TEXT];
    const ModelConfig *c = &m->config;
    fprintf(out, "%s: %d", task->name, c->encoder_layers);
    if (c->decoder_layers) fprintf(out, " + %d", c->decoder_layers);
    fprintf(out, " layer%s, d_model %d, %d head%s: %s parameters, %.1f MB\n",
            PLURAL(c->encoder_layers + c->decoder_layers), c->d_model, c->heads, PLURAL(c->heads),
            number_text(parameters, m->parameters.elements), (double)bytes * 1e-6);
    if (*text_line(text, task, r)) fprintf(out, "%s\n", text);
}

void run_describe_time(FILE *out, const Pace *p, long steps) {
    char number[NUMBER_TEXT], time[32];
    fprintf(out, "time: about %s for %s steps of %.3g ms\n",
            clock_text(time, (double)steps * p->step), number_text(number, steps), 1000 * p->step);
}

size_t run_footprint(size_t arrays) {
    enum {
        KB = 1024,
        THREAD_BYTES = 64 * KB,  /* stack, and strips that kernels/gemm.c packs */
        PANEL_BYTES = 600 * KB,  /* panels of the calling thread; small models touch few of them */
        USUAL_BYTES = 3072 * KB, /* of a new process, if the system does not report it */
    };
    size_t resident = system_resident();
    return (resident ? resident : USUAL_BYTES) + arrays + PANEL_BYTES +
           (size_t)pool_threads() * THREAD_BYTES;
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

void run_stepped(Run *r, const StepResult *step) {
    double seconds = clock_seconds() - r->step_started;
    r->training_seconds += seconds;
    r->steps_here++;
    r->tokens += (double)step->tokens;
    record_step(r, step, seconds);
    snprintf(r->loss, sizeof r->loss, "loss %.3f", run_shown_loss(r, step->loss));
    r->report.done = r->trainer->state.step;
    r->bar.total = r->trainer->schedule.steps; /* --minutes measures again */
    r->report.rate = r->tokens / r->training_seconds;
    if (!trainer_evaluation_due(r->trainer)) progress_show(&r->bar, &r->report);
}

/* ---- Evaluations ---- */

static bool is_of_text(const Run *r) {
    return r->trainer->task->characters > 0;
}

/* A loss and its unit; of a text "1.4760 nats/char, 2.1294 bits/char, perplexity 28.20 a token". */
enum { LOSS_TEXT = 160 };
static const char *loss_text(char out[LOSS_TEXT], const Run *r, double loss, int digits) {
    double shown = run_shown_loss(r, loss), unknown = r->trainer->task->unknown;
    snprintf(out, LOSS_TEXT, "%.*f nats/%s", digits, shown, is_of_text(r) ? "char" : "token");
    if (unknown > 0)
        text_append(out, LOSS_TEXT, ", not comparable: %.3g %% of the characters are [UNK]",
                    100 * unknown);
    if (is_of_text(r))
        text_append(out, LOSS_TEXT, ", %.*f bits/char, perplexity %.2f a token", digits,
                    shown / log(2), exp(loss));
    return out;
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
             "Overfitting: the held-out loss rises (%.3f at step %ld, %.3f at step %ld) while the "
             "training "
             "loss falls; more text, more --dropout or fewer --steps help.",
             run_shown_loss(r, s->best_loss), s->best_step, run_shown_loss(r, v->loss), s->step);
    r->warns = true;
    progress_clear(&r->bar);
    if (!r->config->quiet) fprintf(stderr, "%s\n", r->warning);
}

/* Records an evaluation. `exact`: share of the answers without error, or NAN; `is_final`: at the
 * end of the training. */
static void record_evaluation(Run *r, const Evaluation *v, double exact, bool is_final) {
    const TrainState *s = &r->trainer->state;
    FILE *out = record_begin(&r->record, "evaluation", s->step);
    record_number(out, "tokens", (double)s->tokens);
    record_number(out, "seconds", seconds_of(r));
    record_number(out, "train_loss", train_loss(s));
    record_number(out, "val_loss", v->loss);
    record_number(out, "val_accuracy", v->accuracy);
    record_number(out, "val_exact", exact);
    if (is_of_text(r)) {
        record_number(out, "val_nats_per_char", run_shown_loss(r, v->loss));
        record_number(out, "val_bits_per_char", run_shown_loss(r, v->loss) / log(2));
        record_number(out, "val_perplexity", exp(v->loss));
    }
    if (r->warns) record_text(out, "warning", r->warning);
    r->warns = false;
    if (r->took_best) record_number(out, "weights_of_step", (double)s->best_step);
    if (is_final) fputs(", \"final\": true", out);
    record_end(&r->record);
}

/* Brings the record to the disk and writes the page. The run's files are in place once one of it
 * is saved. */
static bool write_page(Run *r, Error *e) {
    char page[PATH_ROOM];
    if (!run_keeps_folder(r, e)) return false;
    if (r->replaces) return true;
    return record_save(&r->record, e) && run_path_of(r, "report.html", page, e) &&
           page_of_run(r->record.path, page, e);
}

static void show_evaluation(Run *r, const Evaluation *v) {
    char loss[LOSS_TEXT];
    loss_text(loss, r, v->loss, 3);
    if (r->bar.terminal) loss[strcspn(loss, " ")] = 0; /* a line has little room */
    snprintf(r->val_loss, sizeof r->val_loss, "val %s at %ld", loss, r->trainer->state.step);
    if (r->steps_here > 0) progress_show(&r->bar, &r->report);
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
    /* What fails here is reported at the end, if it still fails. */
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
    fputs(is_of_text(r) ? " nats/char\n" : " nats/token\n", stderr);
}

/* Prints the result: losses, and samples. */
static bool show_result(Run *r, const Evaluation *v, double exact, Error *e) {
    Trainer *t = r->trainer;
    bool lm = task_is_language_model(t->task);
    double ignored;
    char loss[LOSS_TEXT];
    fprintf(stderr, "%s: loss %s, accuracy %.2f %%\n",
            t->task->nothing_held_out ? "all data, nothing held out" : "held-out",
            loss_text(loss, r, v->loss, 4), 100 * v->accuracy);
    show_yardsticks(r);
    if (!lm)
        fprintf(stderr, "greedy decoding: %.2f %% of %ld answers exact\n", 100 * exact,
                t->task->held_out);
    if (!lm && !samples_lengths(t, &r->config->data, &r->tally, e)) return false;
    if (r->config->samples == 0) return true;
    if (t->task->lines) return samples_lines(t, r->config->samples, e);
    return lm ? samples_text(t, e)
              : samples_answers(t, r->config->samples, true, &ignored, NULL, e);
}

static bool judge_last_step(Run *r, Error *e) {
    return trainer_check(r->trainer, e) && run_judge(r, e) && run_evaluated(r, &r->last, e);
}

/* Judges all held-out rows, and shows the result. */
static bool finish(Run *r, Error *e) {
    Evaluation v;
    double exact = NAN;
    if (!trainer_evaluate(r->trainer, 0, &v, e)) return false;
    if (!task_is_language_model(r->trainer->task) &&
        !samples_answers(r->trainer, 0, false, &exact, &r->tally, e))
        return false;
    record_evaluation(r, &v, exact, true);
    if (!watch_look(&r->watch, clock_seconds() - r->start, true, e)) return false;
    Error page = {0};
    write_page(r, &page);
    if (!r->config->quiet && !show_result(r, &v, exact, e)) return false;
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

static const char *what_stands(const Run *r) {
    if (r->replaces) return "the earlier run stands";
    return r->kept ? "the last checkpoint stands" : "there is no checkpoint";
}

bool run_finish(Run *r, bool trained, Error *e) {
    const char *folder = r->config->run;
    char generate[PROGRAM_COMMAND];
    Error unsaved = {0}, bad = {0};
    bool judged =
        !trained || r->trainer->state.step < r->trainer->schedule.steps || judge_last_step(r, &bad);
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
        fprintf(stderr, "saved in %s, for %s %s%s\n", folder, program_command("generate", generate),
                r->word, trained ? "" : ": the weights before that step");
    if (!saved && !trained) fprintf(stderr, "not saved: %s; %s\n", unsaved.text, what_stands(r));
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
        fprintf(stderr, "%s is finished after %ld steps; to continue: %s --resume %s --steps N\n",
                c->run, step, program_command("train", train), r->word);
    else if (c->schedule.steps != c->planned_steps && step < c->schedule.steps &&
             c->schedule.kind->falls) {
        Schedule before = r->trainer->schedule;
        before.steps = c->planned_steps;
        before.plans = c->planned_before;
        fprintf(stderr,
                "the schedule now ends at step %ld, not %ld: the learning rate goes from %.3g to "
                "%.3g\n",
                c->schedule.steps, c->planned_steps, step ? schedule_rate(&before, step) : 0,
                schedule_rate(&r->trainer->schedule, step + 1));
    }
}

static void record_member(FILE *out, const char *separator, const char *name, const char *value) {
    char *end;
    double number = strtod(value, &end);
    bool is_number = *value && strspn(value, "-+.e0123456789") == strlen(value) && !*end;
    fputs(separator, out);
    json_print(out, name);
    fputs(": ", out);
    if (is_number && isfinite(number))
        fprintf(out, "%.15g", number);
    else
        json_print(out, value);
}

/* Records what the run is: versions, sizes, settings, and the losses to compare with. */
static bool record_run(Run *r, Error *e) {
    const Trainer *t = r->trainer;
    const Task *task = t->task;
    char remark[LOSS_REMARK], text[TEXT_LINE], *command = train_config_command(r->config, e);
    ConfigNotes settings;
    if (!command) return false;
    train_config_notes(r->config, true, &settings);
    FILE *out = record_begin(&r->record, "run", t->state.step);
    record_text(out, "task", task->name);
    record_text(out, "version", TAPEFORMER_VERSION);
    record_text(out, "compiler", __VERSION__);
    record_number(out, "parameters", (double)t->model->parameters.elements);
    record_number(out, "steps", (double)r->config->schedule.steps);
    if (is_of_text(r)) record_number(out, "characters_per_token", task->characters);
    if (task->unknown > 0) record_number(out, "unknown", task->unknown);
    if (*text_line(text, task, r->config)) record_text(out, "text", text);
    if (*loss_remark(remark, r->config)) record_text(out, "remark", remark);
    fputs(", \"yardsticks\": {", out);
    for (int i = 0; i < r->yardsticks.count; i++)
        fprintf(out, "%s\"%s\": %.7g", i ? ", " : "", r->yardsticks.of[i].name,
                r->yardsticks.of[i].loss);
    fputs("}, \"settings\": {", out);
    for (int i = 0; i < settings.count; i++)
        record_member(out, i ? ", " : "", settings.note[i].key + strlen(RECIPE),
                      settings.note[i].value);
    putc('}', out);
    record_text(out, "command", command);
    record_end(&r->record);
    free(command);
    return true;
}

/* Reads the record of a run that continues. */
static void read_past(Run *r, const Checkpoint *past) {
    char path[PATH_ROOM];
    const TrainState *s = &past->state;
    Past p;
    if (!run_path_of(r, "run.jsonl", path, &(Error){0})) return;
    r->keep = record_read(path, s->step, s->evaluated, r->config->planned_steps, &p);
    r->before = p.seconds;
    if (p.is_evaluated) trainer_evaluated(r->trainer);
    r->finished =
        p.is_evaluated && s->step == r->config->schedule.steps && run_has(r, "model.safetensors");
    if (p.damaged) fprintf(stderr, "%s: line %ld is damaged\n", path, p.damaged);
    if (p.steps < s->step)
        fprintf(stderr, "%s: found %ld steps, need the %ld of the checkpoint\n", path, p.steps,
                s->step);
}

/* Opens the record: a new one, or that of a run that continues. One that replaces another run's
 * waits in memory. */
static bool open_record(Run *r, const Checkpoint *past, Error *e) {
    if (!record_open(&r->record, r->config->run, r->config->json, e)) return false;
    if (past && !record_resume(&r->record, r->keep, e)) return false;
    if (!past && !r->replaces && !record_create(&r->record, e)) return false;
    return record_run(r, e);
}

/* A finished run may have been killed before its page was written. */
static bool complete_files(Run *r, Error *e) {
    char record[PATH_ROOM], page[PATH_ROOM];
    run_remove_leftovers(r);
    return run_path_of(r, "run.jsonl", record, e) && run_path_of(r, "report.html", page, e) &&
           page_of_run(record, page, e);
}

bool run_open(Run *r, const TrainConfig *config, Trainer *t, const Checkpoint *past, Error *e) {
    char path[PATH_ROOM], word[PATH_ROOM];
    *r = (Run){.config = config, .trainer = t, .kept = past != NULL, .judged = -1, .record.fd = -1};
    if (t->state.step > config->schedule.steps)
        return error_set(e, STATUS_USAGE,
                         "--steps: found %ld, need at least the %ld that %s has made",
                         config->schedule.steps, t->state.step, config->run);
    if (!run_path_of(r, "model.safetensors", path, e) || !run_may_take(r, past, e)) return false;
    snprintf(word, sizeof word, "%s%s", *config->run == '-' ? "./" : "",
             config->run); /* no option */
    r->word = shell_command(1, (char *[]){word}, e);
    if (!r->word) return false;
    if (past) read_past(r, past);
    if (past) remark_on_resume(r, past);
    if (r->finished) return complete_files(r, e);
    interrupt_heed();
    if (!directory_make(config->run, e)) return false;
    r->place = file_create(path, e);
    if (!r->place || !run_may_take(r, past, e)) return false;
    run_remove_leftovers(r);
    if (!task_yardsticks(t->task, &r->yardsticks, e) || !open_record(r, past, e) ||
        !run_can_open_files(r, e))
        return false;
    r->watch = watch_open(config, t, &r->record);
    const Parameters *p = &t->model->parameters;
    if (!file_reserve(r->place, (size_t)p->elements * sizeof(real), e)) return false;
    if (!config->quiet) fputs(t->task->remark, stderr);
    char remark[LOSS_REMARK];
    if (!config->quiet && *loss_remark(remark, config)) fprintf(stderr, "%s\n", remark);
    r->start = clock_seconds();
    r->report =
        (Report){.done = t->state.step, .words = r->loss, .more = r->val_loss, .unit = "tok/s"};
    r->bar = progress_start(t->task->name, config->schedule.steps, config->quiet);
    r->bar.before = t->state.step;
    r->train_loss = INFINITY;
    r->saved = r->start;
    r->saved_step = t->state.step;
    return true;
}

void run_close(Run *r) {
    file_abandon(r->place);
    record_close(&r->record);
    free(r->word);
}
