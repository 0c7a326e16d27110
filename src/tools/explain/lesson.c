#include "base/clock.h"
#include "explain/experiment.h"
#include "run/progress.h"
#include "run/samples.h"
#include <string.h>

/* Opens task, model and trainer as ./train does. */
static void open_lesson(Lab *l, Lesson *x, const char *options, long steps) {
    enum { MAX_WORDS = 60 };
    char *word[MAX_WORDS], *rest = NULL;
    int words = 0;
    Error *e = &l->error;
    snprintf(
        x->options, sizeof x->options,
        "train %s --layers 1 --d-model 64 --d-ff 128 --heads 4 --dropout 0 --label-smoothing 0 "
        "--batch 32 --lr 0.005 --warmup 20 --steps %ld --held-out 500 --seed %ju",
        options, steps, (uintmax_t)l->seed);
    for (char *w = strtok_r(x->options, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        word[words++] = w;
    word[words] = NULL;
    lab_want(l, train_config_parse(&x->config, words, word, e));
    lab_want(l, train_config_complete(&x->config, e));
    x->task = train_config_open(&x->config, e);
    lab_want(l, x->task);
    ModelConfig c = train_config_model(&x->config, x->task);
    x->trainer = train_config_trainer(&x->config, x->task);
    x->trainer.model = model_new(&c, true, l->seed, e);
    lab_want(l, x->trainer.model && trainer_start(&x->trainer, e));
}

void lesson_learn(Lab *l, Lesson *x, const char *options, long steps, bool unplaced) {
    if (l->shorter) steps /= l->shorter;
    open_lesson(l, x, options, steps);
    x->trainer.model->unplaced = unplaced;
    Progress progress = progress_start(x->task->name, "tok/s", steps, false);
    double begin = clock_seconds(), tokens = 0;
    while (x->trainer.state.step < steps) {
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
    model_free(x->trainer.model);
    task_free(x->task);
    train_config_free(&x->config);
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
