#include "run/run.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/options.h"
#include "nn/model_file.h"
#include "run/samples.h"
#include "tasks/text_task.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is in a folder that has taken the place of the run's own is another's. */
static bool keeps_folder(Run *r, Error *e) {
    r->moved |= r->place && !file_keeps_folder(r->place);
    return !r->moved ||
           error_set(e, STATUS_CANNOT_CREATE, "%s: another folder is there now, and the run's own was moved",
                     r->recipe->run);
}

static bool path_of(Run *r, const char *name, char out[PATH_ROOM], Error *e) {
    return keeps_folder(r, e) && directory_file(out, r->recipe->run, name, STATUS_CANNOT_CREATE, e);
}

static bool is_there(Run *r, const char *name) {
    char path[PATH_ROOM];
    Error ignored = {0};
    return path_of(r, name, path, &ignored) && access(path, F_OK) == 0;
}

void run_describe(FILE *out, const Task *task, const Model *m, size_t bytes) {
    const ModelConfig *c = &m->config;
    fprintf(out, "%s: %d", task->name, c->encoder_layers);
    if (c->decoder_layers) fprintf(out, " + %d", c->decoder_layers);
    fprintf(out, " layers, d_model %d, %d heads: %ld parameters, %.1f MB\n", c->d_model, c->heads,
            m->parameters.elements, (double)bytes * 1e-6);
}

/* ---- Steps ---- */

/* Between two parts of a step. Of a first step that is long it is said how long: no bar shows yet. */
static bool between_parts(void *context, long part, long parts) {
    enum { PATIENCE = 4 };
    Run *r = context;
    double seconds = clock_seconds() - r->step_started;
    if (r->steps_here == 0 && seconds > PATIENCE && !r->recipe->quiet) {
        fprintf(stderr, "a step has %ld parts and takes about %.0f s\n", parts,
                seconds / (double)part * (double)parts);
        r->steps_here = -1; /* said */
    }
    return !interrupt_signal();
}

bool run_goes_on(const Run *r) {
    return r->state.step < r->recipe->steps && !interrupt_signal();
}

void run_begin_step(Run *r) {
    r->step_started = clock_seconds();
}

void run_end_step(Run *r, const StepResult *step) {
    RunState *s = &r->state;
    double seconds = clock_seconds() - r->step_started;
    r->training_seconds += seconds;
    if (r->steps_here < 0) r->steps_here = 0;
    r->steps_here++;
    r->metrics.tokens += step->tokens;
    s->step++, s->losses++;
    s->tokens += step->tokens, s->loss_sum += step->loss;
    run_page_step(r->page, s->step, step, seconds);
    snprintf(r->loss, sizeof r->loss, "loss %.3f", step->loss);
    r->report.done = s->step;
    r->report.rate = (double)r->metrics.tokens / r->training_seconds;
    progress_note(&r->bar, step->loss);
    if (!run_evaluation_due(r)) progress_show(&r->bar, &r->report);
}

bool run_end_training(Run *r, bool ok) {
    if (ok)
        progress_end(&r->bar, &r->report);
    else
        progress_clear(&r->bar);
    if (ok && interrupt_signal() && !r->recipe->quiet)
        fprintf(stderr, "stopped after step %ld of %ld; a second Ctrl-C stops at once\n", r->state.step,
                r->recipe->steps);
    return ok;
}

/* ---- Saving ---- */

/* What was there before goes, once something of this run is there: the file of that name. The model alone stands until
 * there is one to take its place. */
static bool replace_old(Run *r, const char *written) {
    static const char *const names[] = {"best.safetensors", "checkpoint.safetensors"};
    char path[PATH_ROOM];
    Error ignored = {0};
    for (int i = 0; i < 2 && r->replaces; i++)
        if (strcmp(names[i], written) != 0 && path_of(r, names[i], path, &ignored)) unlink(path);
    r->replaces = false;
    metrics_place(&r->file);
    return true;
}

typedef struct Place {
    const Model *model;
    File *file;
} Place;

static bool write_model(void *context, const Metadata *notes, int count, Error *e) {
    const Place *p = context;
    return model_write(p->model, p->file, notes, count, NULL, 0, e);
}

/* Writes the model into a file that is open, and puts it in its place. */
static bool save_model(Run *r, File *file, Error *e) {
    Place p = {r->trainer->model, file};
    if (trainer_check(r->trainer, e) && checkpoint_with_notes(r->trainer, NULL, 0, write_model, &p, e))
        return file_commit(file, e);
    file_abandon(file);
    return false;
}

static bool save_best(Run *r, Error *e) {
    char path[PATH_ROOM];
    const char *name = "best.safetensors";
    if (!path_of(r, name, path, e)) return false;
    File *file = file_create(path, e);
    return file && save_model(r, file, e) && replace_old(r, name);
}

static bool save_checkpoint(Run *r, Error *e) {
    char path[PATH_ROOM];
    const char *name = "checkpoint.safetensors";
    r->saved = clock_seconds(), r->saved_step = r->state.step;
    return path_of(r, name, path, e) && trainer_check(r->trainer, e) &&
           checkpoint_save(path, r->recipe, r->trainer, &r->state, e) && replace_old(r, name) &&
           (r->kept = true);
}

/* What cannot be saved on the way may be later, or at the end: the run goes on. */
static void say_unsaved(Run *r, const char *what, const Error *e) {
    progress_clear(&r->bar);
    fprintf(stderr, "no %s at step %ld: %s\n", what, r->state.step, e->text);
}

void run_checkpoint(Run *r) {
    const Recipe *c = r->recipe;
    bool due = (c->checkpoint_every && r->state.step % c->checkpoint_every == 0) ||
               clock_seconds() - r->saved > 60 * c->checkpoint_minutes;
    due = due && r->state.step > r->saved_step;
    Error e = {0};
    if (!due) return;
    if (!save_checkpoint(r, &e)) say_unsaved(r, "checkpoint", &e);
}

/* The folder, where it was deleted, is made again, with what was in it. */
static bool restore_folder(Run *r, Error *e) {
    char path[PATH_ROOM];
    if (access(r->recipe->run, F_OK) == 0) return true;
    file_abandon(r->place);
    r->place = NULL;
    if (!directory_make(r->recipe->run, e) || !path_of(r, "model.safetensors", path, e)) return false;
    metrics_restore(&r->file);
    return (r->place = file_create(path, e));
}

bool run_has_learned(const Run *r) {
    return !r->replaces || r->steps_here > 0 || r->recipe->steps == 0;
}

bool run_save(Run *r, Error *e) {
    char path[PATH_ROOM];
    if (!trainer_check(r->trainer, e) || !restore_folder(r, e)) return false;
    /* Where there is no room for a checkpoint, there may be for the model. */
    Error other = {0};
    bool kept = save_checkpoint(r, e);
    File *place = r->place;
    r->place = NULL;
    bool saved = save_model(r, place, kept ? e : &other) && kept;
    /* Figures and the page are still to come, and the folder is nobody else's until they are there. */
    r->place = path_of(r, "model.safetensors", path, &other) ? file_create(path, &other) : NULL;
    return saved;
}

/* ---- Evaluations ---- */

bool run_evaluation_due(const Run *r) {
    const RunState *s = &r->state;
    return s->step > s->evaluated && s->step % r->recipe->eval_every == 0 && s->step < r->recipe->steps;
}

/* Writes a row of metrics, and the page. */
static bool record(Run *r, const Evaluation *v, Error *e) {
    Metrics m = r->metrics;
    m.step = r->state.step, m.tokens = r->state.tokens;
    m.train_loss = r->state.losses ? r->state.loss_sum / (double)r->state.losses : NAN;
    m.val_loss = v->loss, m.val_accuracy = v->accuracy;
    m.seconds += clock_seconds() - m.start;
    metrics_write(&r->file, &m);
    if (r->recipe->json) progress_clear(&r->bar), metrics_json(&m);
    return keeps_folder(r, e) && run_page_evaluation(r->page, &m, e);
}

static bool is_finite(const Run *r, const Evaluation *v, Error *e) {
    return isfinite(v->loss) ||
           error_set(e, STATUS_NON_FINITE, "step %ld: found a held-out loss that is %s, need a finite one",
                     r->state.step, isnan(v->loss) ? "not a number" : "infinite");
}

bool run_evaluated(Run *r, const Evaluation *v, Error *e) {
    RunState *s = &r->state;
    if (!is_finite(r, v, e)) return false;
    record(r, v, &(Error){0}); /* a page that cannot be written is told of at the end, if it still cannot */
    s->evaluated = s->step, s->loss_sum = 0, s->losses = 0;
    snprintf(r->val_loss, sizeof r->val_loss, "val %.3f at %ld", v->loss, s->step);
    progress_show(&r->bar, &r->report);
    if (v->loss >= s->best_loss) return true;
    Error unsaved = {0};
    if (!trainer_check(r->trainer, e)) return false;
    if (save_best(r, &unsaved))
        s->best_loss = v->loss, s->best_step = s->step;
    else
        say_unsaved(r, "best model", &unsaved);
    return true;
}

/* What the run came to, for a person. */
static bool show_result(Run *r, const Evaluation *v, Error *e) {
    Trainer *t = r->trainer;
    bool lm = task_is_language_model(t->task);
    double ignored;
    fprintf(stderr, "%s: loss %.4f nats a %s, accuracy %.2f %%\n",
            lm && r->recipe->data.tail == 0 ? "the text, nothing held out" : "held-out", v->loss,
            lm ? "character" : "token", 100 * v->accuracy);
    if (lm && !samples_yardsticks(t, e)) return false;
    if (!lm)
        fprintf(stderr, "greedy answers, from the source alone: %.2f %% of %ld exact\n",
                100 * r->metrics.val_exact, t->task->held_out);
    if (r->recipe->samples == 0) return true;
    return lm ? samples_text(t, e) : samples_answers(t, r->recipe->samples, true, &ignored, e);
}

bool run_finish(Run *r, const Evaluation *v, Error *e) {
    if (!is_finite(r, v, e)) return false;
    bool answers = !task_is_language_model(r->trainer->task);
    if (answers && !samples_answers(r->trainer, 0, false, &r->metrics.val_exact, e)) return false;
    r->metrics.final = true;
    Error page = {0};
    record(r, v, &page);
    if (!r->recipe->quiet && !show_result(r, v, e)) return false;
    if (page.status != STATUS_DONE) return error_set(e, page.status, "%s", page.text);
    if (!r->recipe->quiet) fprintf(stderr, "the page of this run: %s\n", run_page_path(r->page));
    return true;
}

/* ---- Beginning and end ---- */

/* What of a text is not what it may look like. */
static void remark_on_text(const Recipe *recipe, const Task *task) {
    const Corpus *c = task_text_corpus(task);
    if (!c || recipe->quiet) return;
    if (c->byte_order_mark)
        fprintf(stderr, "%s: a byte-order mark at its start is left out\n", recipe->data.text);
    if (c->carriage_returns)
        fprintf(stderr,
                "%s: %ld carriage returns are characters like others; --newline unix leaves them out of line "
                "ends\n",
                recipe->data.text, c->carriage_returns);
}

/* What is in the folder is what the run goes on from, or may be replaced. Asked again once the folder is held: who held it
 * before may have saved since. */
static bool may_take(Run *r, const Checkpoint *past, Error *e) {
    if (past) return checkpoint_is_latest(past, e);
    r->replaces = is_there(r, "model.safetensors") || is_there(r, "checkpoint.safetensors");
    return !r->replaces || r->recipe->force ||
           error_set(e, STATUS_CANNOT_CREATE,
                     "%s: found a run there, need --resume to go on with it or --force to replace it",
                     r->recipe->run);
}

/* Tells how a run goes on that was finished, or whose schedule another --steps stretches. */
static void remark_on_resume(const Run *r, const Checkpoint *past) {
    const Recipe *c = r->recipe;
    long step = past->state.step;
    char train[OPTION_TEXT];
    if (c->quiet) return;
    if (step == c->steps)
        fprintf(stderr, "%s is finished: it has made its %ld steps; more: %s --resume %s --steps N\n", c->run,
                step, options_command("train", train), c->run);
    else if (c->steps != c->planned_steps && c->schedule == SCHEDULE_COSINE) {
        Schedule before = r->trainer->schedule;
        before.steps = c->planned_steps;
        fprintf(stderr,
                "the cosine now ends at step %ld, not %ld: the learning rate goes from %.3g to %.3g\n",
                c->steps, c->planned_steps, step ? schedule_rate(&before, step) : 0,
                schedule_rate(&r->trainer->schedule, step + 1));
    }
}

/* A save opens three files at a time, beside those that stay open. */
static bool can_open_files(const Run *r, Error *e) {
    enum { NEEDED = 3 };
    int fd[NEEDED], count = 0;
    while (count < NEEDED && (fd[count] = dup(STDERR_FILENO)) >= 0) count++;
    bool ok = count == NEEDED ||
              error_set(e, STATUS_CANNOT_CREATE, "%s: %d more files cannot be open: %s, see ulimit -n",
                        r->recipe->run, NEEDED, strerror(errno));
    while (count) close(fd[--count]);
    return ok;
}

bool run_open(Run *r, const Recipe *recipe, Trainer *t, const Checkpoint *past, Error *e) {
    char path[PATH_ROOM];
    *r = (Run){.recipe = recipe, .trainer = t, .state = {.best_loss = INFINITY}};
    if (past) r->state = past->state, r->kept = true;
    if (r->state.step > recipe->steps)
        return error_set(e, STATUS_USAGE, "--steps: found %ld, need at least the %ld that %s has made",
                         recipe->steps, r->state.step, recipe->run);
    if (!path_of(r, "model.safetensors", path, e) || !may_take(r, past, e)) return false;
    interrupt_heed();
    if (!directory_make(recipe->run, e) || !(r->place = file_create(path, e)) || !may_take(r, past, e))
        return false;
    double before = 0;
    if (past ? !metrics_resume(&r->file, recipe->run, past->state.evaluated, &before, e)
             : !metrics_open(&r->file, recipe->run, r->replaces, e))
        return false;
    const Parameters *p = &t->model->parameters;
    if (!can_open_files(r, e) || !file_reserve(r->place, (size_t)p->elements * sizeof(real), e)) return false;
    remark_on_text(recipe, t->task);
    if (past) remark_on_resume(r, past);
    t->between = between_parts, t->context = r;
    r->metrics = (Metrics){.task = t->task->name,
                           .params = p->elements,
                           .start = clock_seconds(),
                           .seconds = before,
                           .val_exact = NAN};
    r->report = (Report){.done = r->state.step, .words = r->loss, .more = r->val_loss, .unit = "tok/s"};
    r->page = run_page_new(recipe, t, r->state.step, e);
    if (!r->page) return false;
    r->bar = progress_start(t->task->name, recipe->steps, recipe->quiet);
    r->saved = r->metrics.start, r->saved_step = r->state.step;
    return true;
}

bool run_close(Run *r, Error *e) {
    file_abandon(r->place);
    run_page_free(r->page);
    return !r->file.csv || metrics_close(&r->file, e);
}
