/* ./bench step: the time of trainer_step: forward, loss, backward, clipping to norm 1, AdamW or
 * Muon; no dropout; the same work as the PyTorch programs that it is compared with. */
#include "base/pool.h"
#include "base/random.h"
#include "base/system.h"
#include "base/utf8.h"
#include "bench/bench.h"
#include "training/trainer.h"
#include <string.h>

const Case bench_cases[CASES] = {
    {"seed", false, 2, 4, 32, 128, 16, 8, 16, 16, "a tutorial's copy task"},
    {"copy", false, 2, 4, 128, 512, 64, 64, 16, 17, "the task copy of ./train"},
    {"paper", false, 2, 8, 512, 2048, 11, 80, 10, 9, "the Annotated Transformer's copy task"},
    {"chars", true, 4, 4, 128, 512, 65, 12, 0, 64, "nanoGPT's character model for CPUs"},
    {"baby", true, 6, 6, 384, 1536, 65, 8, 0, 256, "nanoGPT's baby GPT at batch 8"},
    {"modern", true, 4, 4, 128, 512, 65, 16, 0, 64, "chars by --preset modern, at batch 16", true},
    {"modern-baby", true, 6, 6, 384, 1536, 65, 8, 0, 256, "baby by --preset modern", true},
    {"words", true, 4, 4, 256, 1024, 8192, 16, 0, 128, "a word model: the output layer dominates"},
};

/* The case of that name, or NULL with STATUS_USAGE. */
static const Case *find_case(const char *name, Error *e) {
    char names[80] = "";
    for (int i = 0; i < CASES; i++) {
        if (strcmp(bench_cases[i].name, name) == 0) return &bench_cases[i];
        strcat(strcat(names, i ? ", " : ""), bench_cases[i].name);
    }
    error_set(e, STATUS_USAGE, "case: found '%s', need one of %s", ESCAPED(name), names);
    return NULL;
}

/* ---- A case as a task: rows of full length, with the same random tokens at every step ---- */

typedef struct CaseTask {
    Task task;
    const Case *c;
} CaseTask;

static void fill(const Case *c, int32_t *ids, long row, long length, uint64_t stream) {
    uint64_t key = random_key(1, stream), first = (uint64_t)(row * length);
    for (long i = 0; i < length; i++)
        ids[i] = (int32_t)random_below(key, first + (uint64_t)i, c->vocab);
}

static void add_row(const Task *task, uint64_t step, long row, Batch *b) {
    (void)step;
    const Case *c = ((const CaseTask *)task)->c;
    BatchRow r = batch_add(b, c->S, c->T);
    fill(c, r.source, row, c->S, 0);
    fill(c, r.target_in, row, c->T, 1);
    fill(c, r.target_out, row, c->T, 2);
}

static void train_step(void *trainer) {
    Error e = {0};
    if (!trainer_step(trainer, &(StepResult){0}, &e)) error_fatal(e.status, "%s", e.text);
}

static ModelConfig case_config(const Case *c) {
    int max_length = (int)(c->S > c->T ? c->S : c->T);
    ModelConfig config = c->lm ? config_language_model(c->vocab, (int)c->T)
                               : config_seq2seq(c->vocab, max_length, NO_PAD);
    config.encoder_layers = c->layers;
    config.decoder_layers = c->lm ? 0 : c->layers;
    config.heads = c->heads;
    config.d_model = c->d_model;
    config.d_ff = c->d_ff;
    if (c->modern) {
        config_set_preset(&config, PRESET_MODERN);
        config.init_output = 0;
    }
    return config;
}

static void print(const Case *c, const Trainer *t, const BenchOptions *o) {
    double peak = bench_peak_gflops(o->seconds) * pool_threads(), rows = (double)t->micro_batch;
    Timing time = bench_time(train_step, (void *)t, o->seconds, 5);
    double products = nn_step_cost(t->model, t->micro_batch, c->S, c->T).flops;
    double gigaflops = 1e-9 * products * (double)c->batch / rows;
    BENCH_PRINT(o, {"case", c->name}, {"ms_per_step", NULL, time.median * 1e3, 4},
                {"best_ms", NULL, time.best * 1e3, 4},
                {"tokens_per_s", NULL, (double)(c->batch * c->T) / time.median, 0},
                {"params", NULL, (double)t->model->parameters.elements, 0},
                {"threads", NULL, pool_threads(), 0},
                {"flops_utilisation", NULL, gigaflops / time.median / peak, 4},
                {"peak_gflops", NULL, peak / pool_threads(), 1},
                {"steps", NULL, (double)time.runs, 0},
                {"peak_mb", NULL, (double)system_peak() / 1048576, 1});
}

static bool measure(const Case *c, const BenchOptions *o, Error *e) {
    ModelConfig config = case_config(c);
    if (o->plain) config.attention = &attention_plain;
    CaseTask task = {{.max_S = c->S, .max_T = c->T, .add_training_row = add_row}, c};
    Trainer t = {.model = model_new(&config, true, 1, e),
                 .task = &task.task,
                 .optimizer = optim_default(c->modern ? &optimizer_muon : &optimizer_adamw),
                 .schedule = {.kind = &schedule_constant, .rate = 1e-4},
                 .rows = c->batch,
                 .accumulate = 1};
    t.optimizer.weight_decay = 0.01;
    bool ok = t.model && trainer_start(&t, e);
    if (ok) {
        print(c, &t, o);
        trainer_stop(&t);
    }
    model_free(t.model);
    return ok;
}

bool bench_step(const char *name, const BenchOptions *o, Error *e) {
    const Case *only = name ? find_case(name, e) : NULL;
    if (name) return only && measure(only, o, e);
    for (int i = 0; i < CASES; i++)
        if (!measure(&bench_cases[i], o, e)) return false;
    return true;
}
