#include "run/run_frames.h"
#include "base/clock.h"
#include "run/run_page.h"
#include "run/shell.h"
#include "text/corpus.h"
#include <stdlib.h>
#include <string.h>

/* Share of the time since the start; above it, evaluations get no frame. */
#define MOST_SHARE 0.015

/* The training loss is another function than the held-out loss. */
static void describe_loss(RunFrames *f) {
    const TrainConfig *r = f->config;
    char dropout[32] = "", smoothing[48] = "";
    if (r->dropout > 0) snprintf(dropout, sizeof dropout, "dropout %g", r->dropout);
    if (r->model.label_smoothing > 0)
        snprintf(smoothing, sizeof smoothing, "label smoothing %g", r->model.label_smoothing);
    if (*dropout || *smoothing)
        snprintf(f->loss, sizeof f->loss, "The training loss is with %s%s%s, the held-out loss without.",
                 dropout, *dropout && *smoothing ? " and " : "", smoothing);
}

static bool add_yardsticks(RunFrames *f, Error *e) {
    const Yardsticks *y = &f->yardsticks;
    if (!task_yardsticks(f->trainer->task, &f->yardsticks, e)) return false;
    for (int i = 0; i < y->count; i++) {
        snprintf(f->yardstick[i], sizeof *f->yardstick, NOTE_YARDSTICK "%s", y->of[i].name);
        snprintf(f->value[i], sizeof *f->value, "%.17g", y->of[i].loss);
    }
    return true;
}

const char *run_text_line(char out[TEXT_LINE], const Task *task, const TrainConfig *r) {
    const Corpus *c = task_text_corpus(task);
    char characters[NUMBER_ROOM], different[NUMBER_ROOM];
    *out = 0;
    if (!c) return out;
    double passes = train_config_passes(r, task);
    snprintf(out, TEXT_LINE,
             "text: %s characters, %s different; %s %ld (%.2f characters a token); %.*f passes; dropout %g",
             number_text(characters, c->written), number_text(different, c->different),
             c->tokenizer->kind->choice.name, c->tokenizer->size, (double)c->written / (double)c->count,
             passes < 10 ? 1 : 0, passes, r->dropout);
    return out;
}

/* The notes that depend on the number of steps, which --minutes may change. */
static bool note_settings(RunFrames *f, Error *e) {
    long steps = f->config->schedule.steps;
    if (f->command && f->noted_steps == steps) return true;
    free(f->command);
    f->noted_steps = steps;
    snprintf(f->steps, sizeof f->steps, "%ld", steps);
    train_config_notes(f->config, true, &f->options);
    run_text_line(f->text, f->trainer->task, f->config);
    return (f->command = train_config_command(f->config, e)) != NULL;
}

bool run_frames_open(RunFrames *f, const TrainConfig *r, Trainer *t, Error *e) {
    const Task *task = t->task;
    *f = (RunFrames){.config = r, .trainer = t};
    describe_loss(f);
    snprintf(f->begin_id, sizeof f->begin_id, "%ld", (long)task->begin_id);
    snprintf(f->end_id, sizeof f->end_id, "%ld", (long)task->end_id);
    snprintf(f->characters, sizeof f->characters, "%.17g", task->characters);
    snprintf(f->unknown, sizeof f->unknown, "%.17g", task->unknown);
    return note_settings(f, e) && (f->vocabulary = tokenizer_string(task->tokenizer, e)) &&
           add_yardsticks(f, e) && watch_open(&f->watch, t, e);
}

void run_frames_close(RunFrames *f) {
    watch_close(&f->watch);
    free(f->command), free(f->vocabulary);
}

static void add_notes(const RunFrames *f, const char *remark, Frames *out) {
    const Metadata notes[] = {{"task", f->trainer->task->name},
                              {"vocabulary", f->vocabulary},
                              {"begin_id", f->begin_id},
                              {"end_id", f->end_id},
                              {NOTE_COMMAND, f->command},
                              {NOTE_STEPS, f->steps},
                              {NOTE_LOSS, f->loss},
                              {NOTE_TEXT, f->text},
                              {NOTE_REMARK, remark},
                              {NOTE_CHARACTERS, f->characters},
                              {NOTE_UNKNOWN, f->unknown}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) frames_note(out, notes[i].key, notes[i].value);
    for (int i = 0; i < f->options.count; i++)
        frames_note(out, f->options.note[i].key, f->options.note[i].value);
    for (int i = 0; i < f->yardsticks.count; i++) frames_note(out, f->yardstick[i], f->value[i]);
}

/* Writes the newest look beside the frames before it. A file that cannot be read is replaced. */
static bool write_frames(const RunFrames *f, long step, const char *remark, Error *e) {
    char path[PATH_ROOM];
    Safetensors earlier = {0};
    Frames *all = calloc(1, sizeof *all);
    if (!all) return error_set(e, STATUS_NO_MEMORY, "memory: %zu bytes of frames", sizeof *all);
    watch_add(&f->watch, step, all);
    add_notes(f, remark, all);
    bool ok = directory_file(path, f->config->run, "frames.safetensors", STATUS_CANNOT_CREATE, e);
    if (ok && safetensors_read(&earlier, path, &(Error){0}))
        frames_add_earlier(all, &earlier, step, f->watch.most - 1);
    ok = ok && frames_write(all, f->config->run, e);
    safetensors_free(&earlier);
    free(all);
    return ok;
}

bool run_frames_look(RunFrames *f, long step, double seconds, const char *remark, bool last, Error *e) {
    char page[PATH_ROOM];
    double start = clock_seconds();
    if (!last && f->spent > MOST_SHARE * seconds) return true;
    bool ok = note_settings(f, e) && watch_look(&f->watch, f->trainer, e) &&
              write_frames(f, step, remark, e) &&
              directory_file(page, f->config->run, "report.html", STATUS_CANNOT_CREATE, e) &&
              page_of_run(f->config->run, page, e);
    f->spent += clock_seconds() - start;
    return ok;
}
