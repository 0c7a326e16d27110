#include "base/clock.h"
#include "explain/experiment.h"
#include "run/progress.h"
#include "run/samples.h"
#include <stdio.h>

static void open_lesson(Lab *l, Lesson *x) {
    TaskOptions options = task_defaults();
    options.seed = l->seed;
    options.symbols = x->symbols;
    options.max_length = x->max_length;
    options.held_out = 500;
    x->task = task_open(x->name, &options, &l->error);
    lab_want(l, x->task);
    ModelConfig c = config_seq2seq((int)x->task->vocab_size, (int)x->task->max_T, x->task->pad_id);
    c.encoder_layers = c.decoder_layers = 1;
    c.d_model = 64;
    c.d_ff = 128;
    c.attention = x->attention;
    x->model = model_new(&c, true, l->seed, &l->error);
    lab_want(l, x->model);
    x->model->unplaced = x->unplaced;
    x->trainer = (Trainer){.model = x->model,
                           .task = x->task,
                           .optimizer = optim_default(&optimizer_adamw),
                           .schedule = {.kind = &schedule_noam,
                                        .rate = 1,
                                        .warmup = x->steps / 5,
                                        .steps = x->steps,
                                        .d_model = c.d_model},
                           .rows = 32,
                           .accumulate = 1,
                           .seed = l->seed};
    lab_want(l, trainer_start(&x->trainer, &l->error));
}

void lesson_learn(Lab *l, Lesson *x) {
    if (l->shorter) x->steps /= l->shorter;
    open_lesson(l, x);
    Progress progress = progress_start(x->name, "tok/s", x->steps, false);
    double begin = clock_seconds(), tokens = 0;
    while (x->trainer.state.step < x->steps) {
        StepResult r;
        lab_want(l, trainer_step(&x->trainer, &r, &l->error));
        tokens += (double)r.tokens;
        snprintf(progress.words, sizeof progress.words, "loss %.3f", r.loss);
        progress.done = x->trainer.state.step;
        progress.rate = tokens / (clock_seconds() - begin);
        if (progress.terminal) progress_show(&progress);
    }
    progress_clear(&progress);
    x->seconds = clock_seconds() - begin;
}

void lesson_end(Lesson *x) {
    trainer_stop(&x->trainer);
    model_free(x->model);
    task_free(x->task);
}

double lesson_tokens(Lab *l, Lesson *x, long rows) {
    Evaluation v;
    lab_want(l, trainer_evaluate(&x->trainer, rows, &v, &l->error));
    return 100 * v.accuracy;
}

double lesson_answers(Lab *l, Lesson *x, long rows) {
    double exact;
    lab_want(l, samples_answers(&x->trainer, &rows, NULL, &exact, &l->error));
    return 100 * exact;
}
