#include "explain/lesson.h"
#include "base/clock.h"
#include "run/samples.h"
#include <stdio.h>

bool lesson_begin(Lesson *l, const char *task, long symbols, long max_length, long steps,
                  const AttentionKind *attention, uint64_t seed, Error *e) {
    *l = (Lesson){.steps = steps};
    TaskOptions options = task_defaults();
    options.seed = seed;
    options.symbols = symbols;
    options.max_length = max_length;
    options.held_out = 500;
    l->task = task_open(task, &options, e);
    if (!l->task) return false;
    ModelConfig c = config_seq2seq((int)l->task->vocab_size, (int)l->task->max_T, l->task->pad_id);
    c.encoder_layers = c.decoder_layers = 1;
    c.d_model = 64;
    c.d_ff = 128;
    c.attention = attention;
    l->model = model_new(&c, true, seed, e);
    if (!l->model) return false;
    l->trainer = (Trainer){.model = l->model,
                           .task = l->task,
                           .optimizer = optim_default(&optimizer_adamw),
                           .schedule = {.kind = &schedule_noam,
                                        .rate = 1,
                                        .warmup = steps / 5,
                                        .steps = steps,
                                        .d_model = c.d_model},
                           .rows = 32,
                           .accumulate = 1,
                           .seed = seed};
    l->progress = progress_start(task, steps, false);
    return trainer_start(&l->trainer, e);
}

void lesson_end(Lesson *l) {
    progress_clear(&l->progress);
    trainer_stop(&l->trainer);
    model_free(l->model);
    task_free(l->task);
}

bool lesson_train(Lesson *l, long until, Error *e) {
    char loss[32];
    Report report = {.words = loss, .more = "", .unit = "tok/s"};
    double begin = clock_seconds(), tokens = 0;
    while (l->trainer.state.step < until) {
        StepResult r;
        if (!trainer_step(&l->trainer, &r, e)) return false;
        tokens += (double)r.tokens;
        snprintf(loss, sizeof loss, "loss %.3f", r.loss);
        report.done = l->trainer.state.step;
        report.rate = tokens / (clock_seconds() - begin);
        if (l->progress.terminal) progress_show(&l->progress, &report);
    }
    progress_clear(&l->progress);
    return true;
}

bool lesson_judge(Lesson *l, long rows, double *forced, double *exact, Error *e) {
    Evaluation v;
    if (!trainer_evaluate(&l->trainer, rows, &v, e)) return false;
    *forced = v.accuracy;
    return !exact || samples_answers(&l->trainer, &rows, NULL, exact, e);
}
