/* ./bench checkpoint: the time until a checkpoint is on the disk of the current directory, as a share of the
 * training between two of them, and its size beside the weights'. */
#include "bench/bench_case.h"
#include "training/checkpoint.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Saving {
    TrainConfig config;
    Trainer trainer;
    Task *task;
    char folder[40], path[80];
    Error error;
} Saving;

/* Saves as a run does. */
static void save(void *saving) {
    Saving *s = saving;
    if (s->error.status == STATUS_DONE && trainer_check(&s->trainer, &s->error))
        checkpoint_save(s->path, &s->config, &s->trainer, &s->error);
}

/* A run with the default choices and the model of the case. */
static bool open_saving(Saving *s, const Case *c, Error *e) {
    ModelConfig config = case_config(c);
    *s = (Saving){.config = {.task = "copy"}, .folder = "tapeformer-bench-XXXXXX"};
    if (!train_config_complete(&s->config, e) || !(s->task = task_open("copy", &s->config.data, e)))
        return false;
    s->trainer = train_config_trainer(&s->config, s->task);
    s->trainer.model = model_new(&config, true, 1, e);
    if (!s->trainer.model || !optim_start(&s->trainer.optimizer, &s->trainer.model->parameters, e))
        return false;
    if (!mkdtemp(s->folder)) {
        *s->folder = 0;
        return error_set(e, STATUS_CANNOT_CREATE, "tapeformer-bench-XXXXXX: cannot be made a directory here");
    }
    snprintf(s->path, sizeof s->path, "%s/checkpoint.safetensors", s->folder);
    return true;
}

static void close_saving(Saving *s) {
    if (*s->path) unlink(s->path);
    if (*s->path) rmdir(s->folder);
    optim_stop(&s->trainer.optimizer);
    model_free(s->trainer.model);
    task_free(s->task);
}

static void print(const Saving *s, const Case *c, const BenchOptions *o, double file, Timing t) {
    double weights = (double)s->trainer.model->parameters.elements * sizeof(real);
    double minutes = s->config.checkpoint_minutes;
    BENCH_PRINT(o, {"case", c->name}, {"weights_mb", NULL, weights * 1e-6, 3},
                {"file_mb", NULL, file * 1e-6, 3}, {"file_ratio", NULL, file / weights, 4},
                {"ms", NULL, t.median * 1e3, 3}, {"minutes", NULL, minutes, 1},
                {"share_of_training", NULL, t.median / (60 * minutes), 6});
}

static bool measure(const Case *c, const BenchOptions *o, Error *e) {
    Saving s;
    struct stat st;
    bool ok = open_saving(&s, c, e);
    if (ok) {
        Timing t = bench_time(save, &s, o->seconds, 3);
        ok = s.error.status == STATUS_DONE || error_set(e, s.error.status, "%s", s.error.text);
        if (ok && stat(s.path, &st) == 0) print(&s, c, o, (double)st.st_size, t);
    }
    close_saving(&s);
    return ok;
}

bool bench_checkpoint(const char *name, const BenchOptions *o, Error *e) {
    return bench_each(name, measure, o, e);
}
