/* train: trains a Transformer on a sequence task or a text, as section 5 of "Attention Is All You
 * Need" describes it.
 *
 *     ./train copy               copies sequences
 *     ./train lm --text FILE     predicts the next token of a text
 *     ./train --resume runs/lm   continues a run
 *     ./train --compare RUN RUN  compares runs on a page
 *
 * training/settings.c lists the options, training/trainer.c has the step. run/run.h follows the
 * training: progress, record, checkpoints. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "run/page.h"
#include "run/run.h"

static bool evaluate(Trainer *t, Run *r, Pace *p, Error *e) {
    Evaluation v;
    double start = clock_seconds();
    if (!trainer_evaluate(t, trainer_evaluation_rows(t), &v, e)) return false;
    p->row = (clock_seconds() - start) / (double)v.rows; /* other programs may take the time */
    return run_evaluated(r, &v, e);
}

/* Section 5. Ctrl-C ends the training between two micro-batches, without the step's update. */
static bool train(Trainer *t, Run *r, Pace *p, Error *e) {
    StepResult step;
    for (;;) {
        /* A resumed run may owe the evaluation of its step. */
        if (trainer_evaluation_due(t) && !evaluate(t, r, p, e)) return false;
        /* 5.2: a fixed number of steps. */
        if (t->state.step >= t->schedule.steps || !run_goes_on(r)) return true;
        if (pace_is_late(p, clock_seconds())) return true;
        if (!trainer_step(t, &step, e)) return e->status == STATUS_DONE;
        run_stepped(r, &step);
    }
}

/* --minutes: sets the number of steps that fit into the time left, after the `made` of a run to
 * resume. */
static bool set_pace(Pace *p, Trainer *t, TrainConfig *config, long made, Error *e) {
    double seconds = 60 * config->minutes;
    if (!pace_measure(p, t, seconds / 40, e) || !pace_measure_rest(p, t, e)) return false;
    long every = train_config_is_set(config, &config->eval_every) ? config->eval_every : 0;
    config->minutes = 0;
    train_config_set_steps(config, t->task, pace_steps(p, t->task, clock_seconds(), made, every));
    if (!train_config_check_warmup(config, e)) return false;
    Trainer paced = train_config_trainer(config, t->task);
    t->model->dropout = config->dropout;
    t->schedule = paced.schedule;
    t->eval_every = paced.eval_every;
    return true;
}

/* Allocates the model and what its training needs; draws the weights, or restores them. */
static bool start(Trainer *t, const ModelConfig *c, TrainConfig *config, Pace *p, Checkpoint *past,
                  Error *e) {
    t->model = trainer_model(t, c, e);
    if (!t->model || !model_allocate(t->model, e)) return false;
    model_init(t->model, config->data.seed);
    t->model->dropout = config->dropout;
    if (!trainer_start(t, e)) return false;
    if (config->minutes > 0 && !set_pace(p, t, config, past ? past->state.step : 0, e))
        return false;
    if (!past) return !config->from || from_read_weights(t, config, e);
    if (!checkpoint_restore(past, t, e)) return false;
    checkpoint_free(past); /* its state stays */
    return true;
}

/* --dry-run: the model and its memory; with --minutes as many steps as about fit into them. */
static void describe(const Task *task, TrainConfig *config, Trainer *t, const ModelConfig *c,
                     size_t bytes, Error *e) {
    double tokens_a_step = (double)(config->batch * config->accumulate * config->data.context);
    bool timed = config->minutes > 0;
    config->minutes = 0;
    if (timed) train_config_set_steps(config, task, (long)(config->data.tokens / tokens_a_step));
    t->model = trainer_model(t, c, e);
    if (t->model) run_describe(stdout, task, config, t->model, bytes);
}

/* Trains, or with --dry-run only describes, a model that fits the task. */
static bool run_task(const Task *task, TrainConfig *config, double began, Checkpoint *past,
                     Error *e) {
    ModelConfig c = train_config_model(config, task);
    Pace pace = pace_of(began, config->minutes);
    Trainer t = train_config_trainer(config, task);
    Yardsticks yardsticks;
    if (!config_check(&c, STATUS_USAGE, e)) return false;
    size_t arrays = trainer_bytes(&t, &c, config->dropout, e), before = run_footprint(0);
    if (!arrays || !pages_exist(arrays, "the training", e) ||
        !task_yardsticks(task, &yardsticks, e))
        return false;
    /* Counting frees its memory before the trainer allocates its own. */
    size_t bytes = run_footprint(arrays), counting = before + yardsticks.bytes;
    if (bytes < counting) bytes = counting;
    if (config->dry_run) {
        describe(task, config, &t, &c, bytes, e);
    } else if (pages_exist(bytes, "the training", e) && start(&t, &c, config, &pace, past, e)) {
        Run run;
        if (run_open(&run, config, &t, &yardsticks, past, e) && !run.finished) {
            run.pace = &pace;
            if (!config->quiet) run_describe(stderr, task, config, t.model, bytes);
            run_finish(&run, train(&t, &run, &pace, e), e);
        }
        run_close(&run);
    }
    trainer_stop(&t);
    model_free(t.model);
    return e->status == STATUS_DONE;
}

/* Options, and those of the checkpoint to resume. */
static bool configure(TrainConfig *config, Checkpoint *past, int argc, char **argv, Error *e) {
    if (!train_config_parse(config, argc, argv, e)) return false;
    if (config->resume &&
        !(checkpoint_open(past, config->resume, e) && train_config_resume(config, &past->file, e)))
        return false;
    return from_configure(config, past, e) && train_config_complete(config, e);
}

/* Opens the task and trains on it; `began`: when the time of --minutes began. */
static bool run_once(TrainConfig *config, double began, Checkpoint *past, Error *e) {
    long made = past ? past->state.step : 0;
    if (config->minutes == 0 && made > config->schedule.steps)
        return error_set(e, STATUS_USAGE,
                         "--steps: found %ld, need at least the %ld that %s has made",
                         config->schedule.steps, made, config->run);
    if (!past && !train_config_find_input(config, e)) return false;
    if (!config->dry_run && !run_is_free(config, past, e)) return false;
    if (config->minutes > 0) config->data.tokens = pace_tokens(config);
    Task *task = train_config_open(config, e);
    bool ok = task && run_task(task, config, began, past, e);
    task_free(task);
    return ok;
}

/* While a text is encoded, a signal ends the program without a file that is not finished. */
static bool encode_quietly(size_t done, size_t all) {
    (void)done;
    (void)all;
    interrupt_heed();
    return !interrupt_signal();
}

static bool encode_visibly(size_t done, size_t all) {
    progress_encoding(done, all);
    return encode_quietly(done, all);
}

int main(int argc, char **argv) {
    Error e = {0};
    double began = clock_seconds();
    TrainConfig config;
    Checkpoint past = {0};
    bool ok = configure(&config, &past, argc, argv, &e);
    config.data.goes_on = config.quiet ? encode_quietly : encode_visibly;
    if (ok && config.compare)
        page_compare(config.compared, config.compared_count, config.run, &e);
    else if (ok)
        run_once(&config, began, config.resume ? &past : NULL, &e);
    checkpoint_free(&past);
    train_config_free(&config);
    int status = options_exit("train", &e);
    if (status == STATUS_DONE) interrupt_end();
    return status;
}
