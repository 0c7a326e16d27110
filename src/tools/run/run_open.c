/* The beginning of a run: what it is, its directory, and the record of a run that continues. */
#include "base/append.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/pool.h"
#include "base/program.h"
#include "base/system.h"
#include "run/page.h"
#include "run/run.h"
#include "tasks/corpus.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    const char *units = c->tokenizer->utf8 ? "characters" : "bytes";
    snprintf(out, TEXT_LINE,
             "text: %s %s, %s different; %s %ld (%.2f %s a token); %.*g passes; dropout %g",
             number_text(characters, c->written), units, number_text(different, c->different),
             c->tokenizer->kind->choice.name, c->tokenizer->size,
             (double)c->written / (double)c->count, units, passes < 10 ? 2 : 9,
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
    if (!command) return false;
    FILE *out = record_begin(&r->record, "run", t->state.step);
    json_text(out, "task", task->name);
    json_text(out, "version", TAPEFORMER_VERSION);
    json_text(out, "compiler", __VERSION__);
    record_number(out, "parameters", (double)t->model->parameters.elements);
    record_number(out, "steps", (double)r->config->schedule.steps);
    json_text(out, "unit", task_unit(task));
    if (run_is_of_text(r)) {
        record_number(out, "characters_per_token", task->characters);
        record_number(out, "training_characters_per_token", task->training_characters);
    }
    if (*text_line(text, task, r->config)) json_text(out, "text", text);
    if (*loss_remark(remark, r->config)) json_text(out, "remark", remark);
    fputs(", \"yardsticks\": {", out);
    for (int i = 0; i < r->yardsticks.count; i++)
        fprintf(out, "%s\"%s\": %.7g", i ? ", " : "", r->yardsticks.of[i].name,
                r->yardsticks.of[i].loss);
    fputs("}, \"settings\": {", out);
    const char *separator = "";
    for (const Setting *s = train_settings; s->name; s++) {
        char value[SETTING_VALUE];
        if (!train_config_counts(r->config, s)) continue;
        record_member(out, separator, s->name, setting_text(s, r->config, value));
        separator = ", ";
    }
    putc('}', out);
    json_text(out, "command", command);
    record_end(&r->record);
    free(command);
    return true;
}

/* Reads the record of a run that continues. */
static void read_past(Run *r, const Checkpoint *past) {
    char path[PATH_CAPACITY];
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
    char record[PATH_CAPACITY], page[PATH_CAPACITY];
    run_remove_leftovers(r);
    return run_path_of(r, "run.jsonl", record, e) && run_path_of(r, "report.html", page, e) &&
           page_of_run(record, page, e);
}

bool run_is_free(const TrainConfig *config, const Checkpoint *past, Error *e) {
    Run r = {.config = config};
    char path[PATH_CAPACITY];
    if (!run_path_of(&r, "model.safetensors", path, e) || !run_may_take(&r, past, e)) return false;
    if (!past && !r.replaces) return true;
    File *lock = file_create(path, e);
    file_abandon(lock);
    return lock;
}

bool run_open(Run *r, const TrainConfig *config, Trainer *t, const Yardsticks *yardsticks,
              const Checkpoint *past, Error *e) {
    char path[PATH_CAPACITY], word[PATH_CAPACITY];
    *r = (Run){.config = config, .trainer = t, .kept = past != NULL, .judged = -1, .record.fd = -1};
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
    r->yardsticks = *yardsticks;
    if (!open_record(r, past, e) || !run_can_open_files(r, e)) return false;
    r->watch = watch_open(config, t, &r->record);
    const Parameters *p = &t->model->parameters;
    if (!file_reserve(r->place, (size_t)p->elements * sizeof(real), e)) return false;
    if (!config->quiet) fputs(t->task->remark, stderr);
    char remark[LOSS_REMARK];
    if (!config->quiet && *loss_remark(remark, config)) fprintf(stderr, "%s\n", remark);
    r->start = clock_seconds();
    r->bar = progress_start(t->task->name, "tok/s", config->schedule.steps, config->quiet);
    r->bar.before = r->bar.done = t->state.step;
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
