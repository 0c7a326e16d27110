/* ./bench step: the time of a training step: forward, loss, backward, clipping to norm 1, AdamW or
 * Muon; no dropout; the same work as the PyTorch programs that it is compared with. */
#include "base/arena.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/system.h"
#include "base/utf8.h"
#include "bench/bench.h"
#include "nn/nn.h"
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

/* A case ready to train: a model, and one batch of random tokens. */
typedef struct Bench {
    const Case *c;
    Model *model;
    Tape *tape;
    Arena arena; /* of the ids */
    int32_t *source_ids, *target_ids, *targets;
    long micro_batch;      /* rows of one forward and backward: see training/trainer.h */
    Tokens source, target; /* of a micro-batch */
    Optimizer optimizer;
    double flops; /* of the matrix products of a step, as Op.flops counts */
} Bench;

/* Records forward and backward of rows [first, first + rows). */
static void record(Bench *b, long first, long rows) {
    const Case *c = b->c;
    tokens_fill(&b->source, rows, c->S, b->source_ids + first * c->S, NO_PAD);
    tokens_fill(&b->target, rows, c->T, b->target_ids + first * c->T, NO_PAD);
    Forward f = {b->tape, b->model, &b->source, &b->target};
    Tensor *loss = nn_loss(&f, nn_hidden(&f), b->targets + first * c->T);
    tape_backward_from(b->tape, loss, &(real){(real)rows / (real)c->batch});
}

static void compute_gradient(Bench *b) {
    parameters_clear_grad(&b->model->parameters);
    for (long first = 0; first < b->c->batch; first += b->micro_batch) {
        long left = b->c->batch - first;
        record(b, first, left < b->micro_batch ? left : b->micro_batch);
        tape_reset(b->tape);
    }
    parameters_zero_unreached(&b->model->parameters);
}

/* A whole training step. */
static void train_step(void *bench) {
    Bench *b = bench;
    compute_gradient(b);
    optim_step(&b->optimizer, &b->model->parameters, 1e-4, 1);
}

/* Backward has twice the products of forward. */
static double flops_of(const Tape *t) {
    double flops = 0;
    for (const Node *n = t->last; n; n = n->previous)
        if (n->op->flops) flops += 3 * n->op->flops(n);
    return flops;
}

/* Random tokens, the same for the same stream. */
static int32_t *case_ids(Arena *a, const Case *c, long count, uint64_t stream) {
    int32_t *ids = arena_alloc(a, ((size_t)count + 1) * sizeof *ids);
    for (long i = 0; i < count; i++)
        ids[i] = (int32_t)random_below(random_key(1, stream), (uint64_t)i, c->vocab);
    return ids;
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

/* Makes a case ready, with the attention of the options. Needs close_bench even if it fails. */
static bool open_bench(Bench *b, const Case *c, const BenchOptions *o, Error *e) {
    *b = (Bench){.c = c,
                 .tape = tape_new(),
                 .optimizer = optim_default(c->modern ? &optimizer_muon : &optimizer_adamw)};
    b->optimizer.weight_decay = 0.01;
    ModelConfig config = case_config(c);
    if (o->plain) config.attention = &attention_plain;
    b->model = model_new(&config, true, 1, e);
    b->source_ids = case_ids(&b->arena, c, c->batch * c->S, 0);
    b->target_ids = case_ids(&b->arena, c, c->batch * c->T, 1);
    b->targets = case_ids(&b->arena, c, c->batch * c->T, 2);
    if (!b->model || !optim_start(&b->optimizer, &b->model->parameters, e) ||
        !tokens_new(&b->source, c->batch, c->batch * c->S, e) ||
        !tokens_new(&b->target, c->batch, c->batch * c->T, e))
        return false;
    b->micro_batch = trainer_micro_batch(b->model, c->batch, c->S, c->T);
    double bytes = nn_tape_bytes(b->model, b->micro_batch, c->S, c->T).peak;
    if (!tape_reserve(b->tape, (size_t)bytes, e)) return false;
    record(b, 0, b->micro_batch);
    b->flops = flops_of(b->tape) * (double)c->batch / (double)b->micro_batch;
    tape_reset(b->tape);
    return true;
}

static void close_bench(Bench *b) {
    tape_free(b->tape);
    optim_stop(&b->optimizer);
    model_free(b->model);
    tokens_free(&b->source);
    tokens_free(&b->target);
    arena_free(&b->arena);
}

static bool measure(const Case *c, const BenchOptions *o, Error *e) {
    Bench b;
    bool ok = open_bench(&b, c, o, e);
    if (ok) {
        double peak = bench_peak_gflops(o->seconds);
        Timing t = bench_time(train_step, &b, o->seconds, 5);
        BENCH_PRINT(
            o, {"case", c->name}, {"ms_per_step", NULL, t.median * 1e3, 4},
            {"best_ms", NULL, t.best * 1e3, 4},
            {"tokens_per_s", NULL, (double)(c->batch * c->T) / t.median, 0},
            {"params", NULL, (double)b.model->parameters.elements, 0},
            {"threads", NULL, pool_threads(), 0},
            {"flops_utilisation", NULL, b.flops / t.median * 1e-9 / (peak * pool_threads()), 4},
            {"peak_gflops", NULL, peak, 1}, {"steps", NULL, (double)t.runs, 0},
            {"peak_mb", NULL, (double)system_peak() / 1048576, 1});
    }
    close_bench(&b);
    return ok;
}

bool bench_step(const char *name, const BenchOptions *o, Error *e) {
    const Case *only = name ? find_case(name, e) : NULL;
    if (name) return only && measure(only, o, e);
    for (int i = 0; i < CASES; i++)
        if (!measure(&bench_cases[i], o, e)) return false;
    return true;
}
