/* The files of a run's directory. A save never loses the one before it. */
#include "base/clock.h"
#include "nn/model_file.h"
#include "run/run.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool run_keeps_folder(Run *r, Error *e) {
    r->moved |= r->place && !file_keeps_folder(r->place);
    return !r->moved || error_set(e, STATUS_CANNOT_CREATE,
                                  "%s: the run's directory was moved, and another is in its place",
                                  r->config->run);
}

bool run_path_of(Run *r, const char *name, char out[PATH_CAPACITY], Error *e) {
    return run_keeps_folder(r, e) &&
           directory_file(out, r->config->run, name, STATUS_CANNOT_CREATE, e);
}

bool run_has(Run *r, const char *name) {
    char path[PATH_CAPACITY];
    return run_path_of(r, name, path, &(Error){0}) && access(path, F_OK) == 0;
}

bool run_may_take(Run *r, const Checkpoint *past, Error *e) {
    if (past)
        return file_identity(past->path) == past->identity ||
               error_set(e, STATUS_CANNOT_CREATE,
                         "%s: another process has replaced it since it was read", past->path);
    r->replaces = run_has(r, "model.safetensors") || run_has(r, "checkpoint.safetensors");
    return !r->replaces || r->config->force ||
           error_set(e, STATUS_CANNOT_CREATE,
                     "%s: found a run, need --run DIR to keep it, --resume to continue it or "
                     "--force to replace it",
                     r->config->run);
}

bool run_can_open_files(const Run *r, Error *e) {
    enum { NEEDED = 3 };
    int fd[NEEDED], count = 0;
    for (; count < NEEDED; count++) {
        fd[count] = dup(STDERR_FILENO);
        if (fd[count] < 0) break;
    }
    bool ok = count == NEEDED || error_set(e, STATUS_CANNOT_CREATE,
                                           "%s: %d more files cannot be open: %s, see ulimit -n",
                                           r->config->run, NEEDED, strerror(errno));
    while (count) close(fd[--count]);
    return ok;
}

void run_remove_leftovers(Run *r) {
    static const char *const names[] = {"best.safetensors", "checkpoint.safetensors", "report.html",
                                        "model.safetensors"};
    char path[PATH_CAPACITY];
    for (int i = 0; i < (r->place ? 3 : 4); i++)
        if (run_path_of(r, names[i], path, &(Error){0}))
            file_abandon(file_create(path, &(Error){0}));
}

/* Removes the files of the run that this one replaces, when its first new file is on the disk
 * and is about to be renamed: a checkpoint never stands beside the record of another run. Only
 * the model stays until there is a new one. */
static void replace_old(Run *r) {
    static const char *const names[] = {"best.safetensors", "checkpoint.safetensors"};
    char path[PATH_CAPACITY];
    Error unsaved = {0};
    r->replaces = false;
    for (int i = 0; i < 2; i++)
        if (run_path_of(r, names[i], path, &(Error){0})) unlink(path);
    if (!record_create(&r->record, &unsaved) || !record_save(&r->record, &unsaved))
        fprintf(stderr, "no record: %s\n", unsaved.text);
}

/* Gives a complete file its final name. */
static bool commit(Run *r, File *file, Error *e) {
    if (r->replaces && !file_sync(file, e)) {
        file_abandon(file);
        return false;
    }
    if (r->replaces) replace_old(r);
    return file_commit(file, e);
}

/* Writes the model into an open file, and commits that. */
static bool save_model(Run *r, File *file, Error *e) {
    if (trainer_check(r->trainer, e) && checkpoint_write_model(r->trainer, file, e))
        return commit(r, file, e);
    file_abandon(file);
    return false;
}

bool run_save_as(Run *r, const char *name, Error *e) {
    char path[PATH_CAPACITY];
    File *file = run_path_of(r, name, path, e) ? file_create(path, e) : NULL;
    return file && save_model(r, file, e);
}

bool run_save_checkpoint(Run *r, Error *e) {
    char path[PATH_CAPACITY];
    Error unsaved = {0};
    r->saved = clock_seconds();
    r->saved_step = r->trainer->state.step;
    if (!run_path_of(r, "checkpoint.safetensors", path, e) || !trainer_check(r->trainer, e))
        return false;
    /* The checkpoint counts on the lines of its steps. */
    bool is_recorded = record_save(&r->record, &unsaved);
    File *file = file_create(path, e);
    if (!file || !checkpoint_write(r->config, r->trainer, file, e)) {
        file_abandon(file);
        return false;
    }
    if (!commit(r, file, e)) return false;
    r->kept = true;
    return is_recorded || error_set(e, unsaved.status, "%s", unsaved.text);
}

/* Makes a deleted directory again. */
static bool restore_folder(Run *r, Error *e) {
    char path[PATH_CAPACITY];
    if (access(r->config->run, F_OK) == 0) return true;
    file_abandon(r->place);
    r->place = NULL;
    if (!directory_make(r->config->run, e) || !run_path_of(r, "model.safetensors", path, e))
        return false;
    return (r->place = file_create(path, e));
}

bool run_judge(Run *r, Error *e) {
    Trainer *t = r->trainer;
    if (r->judged == t->state.step) return true;
    r->judged = t->state.step;
    return trainer_evaluate(t, trainer_evaluation_rows(t), &r->last, e);
}

/* Replaces the last weights, which the checkpoint has, by the best where those are clearly
 * better. */
static bool take_best(Run *r, Error *e) {
    const TrainState *s = &r->trainer->state;
    char path[PATH_CAPACITY];
    if (!run_can_overfit(r->trainer->task) || s->best_step == 0 || s->best_step == s->step)
        return true;
    if (!run_has(r, "best.safetensors") || !run_is_worse(r, &r->last)) return true;
    if (!run_path_of(r, "best.safetensors", path, e) ||
        !model_read_weights(r->trainer->model, path, e))
        return false;
    r->took_best = true;
    r->warns = true;
    snprintf(r->warning, sizeof r->warning,
             "Overfitting: model.safetensors has the weights of step %ld (held-out loss %.3f), not "
             "the last "
             "(%.3f).",
             s->best_step, run_shown_loss(r, s->best_loss), run_shown_loss(r, r->last.loss));
    return true;
}

bool run_save(Run *r, bool trained, Error *e) {
    char path[PATH_CAPACITY];
    if (!trainer_check(r->trainer, e) || !restore_folder(r, e)) return false;
    /* The disk may hold the model where it does not hold a checkpoint. */
    Error other = {0};
    bool kept = run_save_checkpoint(r, e);
    File *place = r->place;
    r->place = NULL;
    if (kept && trained && !(run_judge(r, e) && take_best(r, e))) kept = false;
    bool saved = save_model(r, place, kept ? e : &other) && kept;
    /* Keeps the directory locked until figures and page are written. */
    r->place = run_path_of(r, "model.safetensors", path, &other) ? file_create(path, &other) : NULL;
    return saved;
}
