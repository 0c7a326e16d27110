/* The notes of a run, and its files. */
#include "base/append.h"
#include "base/clock.h"
#include "base/directory.h"
#include "pictures/label.h"
#include "run/run_page.h"
#include "run/watch.h"
#include "tasks/corpus.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

/* Share of the time since the start; above it, evaluations get no frame. */
#define MOST_SHARE 0.015

const char *watch_loss_remark(char out[LOSS_REMARK], const TrainConfig *r) {
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

const char *run_text_line(char out[TEXT_LINE], const Task *task, const TrainConfig *r) {
    const Corpus *c = task_text_corpus(task);
    char characters[NUMBER_ROOM], different[NUMBER_ROOM];
    *out = 0;
    if (!c) return out;
    double passes = train_config_passes(r, task);
    snprintf(out, TEXT_LINE,
             "text: %s characters, %s different; %s %ld (%.2f characters a token); %.*g passes; dropout %g",
             number_text(characters, c->written), number_text(different, c->different),
             c->tokenizer->kind->choice.name, c->tokenizer->size, (double)c->written / (double)c->count,
             passes < 10 ? 2 : 9, passes < 10 ? passes : round(passes), r->dropout);
    return out;
}

/* ---- Notes ---- */

typedef struct NoteList {
    Metadata note[TRAIN_SETTINGS + 64];
    int count;
    ConfigNotes options;
    char text[16384]; /* of notes, one after another */
    size_t used;
} NoteList;

static void note(NoteList *l, const char *key, const char *value) {
    l->note[l->count++] = (Metadata){key, value};
}

/* Keeps a printed text. */
__attribute__((format(printf, 2, 3))) static const char *print(NoteList *l, const char *format, ...) {
    char *text = l->text + l->used;
    va_list arguments;
    va_start(arguments, format);
    l->used += (size_t)vsnprintf(text, sizeof l->text - l->used, format, arguments) + 1;
    va_end(arguments);
    if (l->used > sizeof l->text) error_bug("notes: more than %zu bytes", sizeof l->text);
    return text;
}

static void add_notes(NoteList *l, const Watch *w, const char *remark) {
    const Task *task = w->trainer->task;
    const Yardsticks *y = &w->yardsticks;
    char loss[LOSS_REMARK], text[TEXT_LINE];
    note(l, "task", task->name);
    note(l, "begin_id", print(l, "%ld", (long)task->begin_id));
    note(l, "end_id", print(l, "%ld", (long)task->end_id));
    note(l, NOTE_STEPS, print(l, "%ld", w->config->schedule.steps));
    note(l, NOTE_LOSS, print(l, "%s", watch_loss_remark(loss, w->config)));
    note(l, NOTE_TEXT, print(l, "%s", run_text_line(text, task, w->config)));
    note(l, NOTE_REMARK, remark);
    note(l, NOTE_CHARACTERS, print(l, "%.17g", task->characters));
    note(l, NOTE_UNKNOWN, print(l, "%.17g", task->unknown));
    train_config_notes(w->config, true, &l->options);
    for (int i = 0; i < l->options.count; i++) l->note[l->count++] = l->options.note[i];
    for (int i = 0; i < y->count; i++)
        note(l, print(l, NOTE_YARDSTICK "%s", y->of[i].name), print(l, "%.17g", y->of[i].loss));
}

/* ---- Files ---- */

static bool write_frames(const Watch *w, const char *remark, Error *e) {
    NoteList *l = calloc(1, sizeof *l);
    char *command = train_config_command(w->config, e),
         *vocabulary = tokenizer_string(w->trainer->task->tokenizer, e);
    bool ok = command && vocabulary &&
              (l || error_set(e, STATUS_NO_MEMORY, "memory: %zu bytes of notes", sizeof *l));
    if (ok) {
        add_notes(l, w, remark);
        note(l, NOTE_COMMAND, command);
        note(l, "vocabulary", vocabulary);
        ok = frames_write(&w->frames, l->note, l->count, w->config->run, e);
    }
    free(l), free(command), free(vocabulary);
    return ok;
}

bool watch_report(Watch *w, double seconds, const char *remark, bool last, Error *e) {
    char page[PATH_ROOM];
    double start = clock_seconds();
    if (!last && w->spent > MOST_SHARE * seconds) return true;
    bool ok = watch_look(w, e) && write_frames(w, remark, e) &&
              directory_file(page, w->config->run, "report.html", STATUS_CANNOT_CREATE, e) &&
              page_of_run(w->config->run, page, e);
    w->spent += clock_seconds() - start;
    return ok;
}
