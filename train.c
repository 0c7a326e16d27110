/* train: trains a Transformer on a toy task, as section 5 of "Attention Is All You Need" describes it.
 *
 *     ./train copy               a sequence comes back as it is
 *     ./train lm --text FILE     the next character of a text
 *     ./train --resume runs/lm   goes on where that run stopped
 *
 * What can be chosen stands in training/recipe.c; the task supplies batches (5.1), the trainer gradients and steps
 * (5.2 to 5.4), the run a folder, figures and checkpoints. Here they are put together. */
#include "base/arena.h"
#include "base/interrupt.h"
#include "run/footprint.h"
#include "run/run.h"

/* The loop. Section 5.2: a fixed number of steps. */
static bool train(Trainer *t, Run *run, Error *e) {
    for (bool ok = true;;) {
        StepResult step;
        Evaluation v;
        if (run_evaluation_due(run))
            ok = trainer_evaluate(t, 4 * t->rows, &v, e) && run_evaluated(run, &v, e);
        if (ok) run_checkpoint(run);
        if (!ok || !run_goes_on(run)) return run_end_training(run, ok);
        run_begin_step(run);
        trainer_draw(t, &step);                 /* 5.1: a batch, its targets shifted right */
        ok = trainer_gradient(t, &step, e);     /* 5.4: the smoothed loss, and backward through it */
        if (step.given_up) continue;            /* Ctrl-C in the middle of a step */
        ok = ok && trainer_update(t, &step, e); /* 5.3: clipped, by Adam, at the rate of this step */
        if (ok) run_end_step(run, &step);
    }
}

/* Trains and saves; what was learned is saved before it is judged, and also where an error ended the training, as a step
 * that found no finite number does: the weights before it are good. */
static bool train_in_folder(Trainer *t, Run *run, Error *e) {
    Error unsaved = {0};
    Evaluation v;
    bool trained = train(t, run, e), learned = run_has_learned(run);
    bool saved = learned && run_save(run, trained ? e : &unsaved);
    const char *folder = run->recipe->run;
    char generate[OPTION_TEXT];
    if (saved && !run->recipe->quiet)
        fprintf(stderr, "saved in %s, for %s %s%s\n", folder, options_command("generate", generate), folder,
                trained ? "" : ": the weights before that step");
    if (learned && !saved && !trained)
        fprintf(stderr, "not saved: %s; %s\n", unsaved.text,
                run->replaces ? "the run that was there stands"
                : run->kept   ? "the last checkpoint stands"
                              : "there is no checkpoint");
    if (!learned && !run->recipe->quiet)
        fprintf(stderr, "nothing was learned: %s keeps the run that it had\n", folder);
    return trained && saved && trainer_evaluate(t, 0, &v, e) && run_finish(run, &v, e);
}

/* Takes memory, and the weights that the run begins with. */
static bool start(Trainer *t, const ModelConfig *c, const Recipe *r, Checkpoint *past, Error *e) {
    t->model = model_new(c, true, r->data.seed, e);
    if (!t->model) return false;
    t->model->dropout = r->dropout;
    if (past && !checkpoint_restore(past, t, e)) return false;
    if (past) checkpoint_free(past); /* but for where it stood */
    return trainer_start(t, e);
}

static bool run_task(const Task *task, const Recipe *r, Checkpoint *past, Error *e) {
    ModelConfig c = recipe_model(r, task);
    if (!config_check(&c, STATUS_USAGE, e)) return false;
    Trainer t = recipe_trainer(r, task);
    size_t arrays = trainer_bytes(&t, &c, r->dropout, e), bytes = footprint_bytes(arrays);
    if (!arrays) return false;
    if (r->dry_run) {
        t.model = model_outline(&c, true, e);
        if (t.model) run_describe(stdout, task, t.model, bytes);
    } else if (pages_exist(bytes, "the training", e) && start(&t, &c, r, past, e)) {
        Run run;
        if (run_open(&run, r, &t, past, e)) {
            if (!r->quiet) run_describe(stderr, task, t.model, bytes);
            train_in_folder(&t, &run, e);
        }
        run_close(&run, e);
    }
    trainer_stop(&t);
    model_free(t.model);
    return e->status == STATUS_DONE;
}

/* The recipe whole: from the command line, or from the checkpoint of the run that goes on. */
static bool choose(Recipe *r, Checkpoint *past, int argc, char **argv, Error *e) {
    if (!recipe_parse(r, argc, argv, e)) return false;
    if (r->resume &&
        !(checkpoint_open(past, r->resume, e) && recipe_resume(r, past->path, checkpoint_note, past, e)))
        return false;
    return recipe_complete(r, e);
}

int main(int argc, char **argv) {
    Error e = {0};
    Recipe r;
    Checkpoint past = {0};
    if (choose(&r, &past, argc, argv, &e)) {
        Task *task = task_open(r.task, &r.data, &e);
        if (task) run_task(task, &r, r.resume ? &past : NULL, &e);
        task_free(task);
    }
    checkpoint_free(&past);
    recipe_free(&r);
    int status = options_exit("train", &e);
    if (status == STATUS_DONE) interrupt_end();
    return status;
}
