#include "base/clock.h"
#include "base/random.h"
#include "base/utf8.h"
#include "bench/bench.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

const Case *bench_case(const char *name, Error *e) {
    char names[80] = "";
    for (int i = 0; i < CASES; i++) {
        if (strcmp(bench_cases[i].name, name) == 0) return &bench_cases[i];
        strcat(strcat(names, i ? ", " : ""), bench_cases[i].name);
    }
    error_set(e, STATUS_USAGE, "case: found '%s', need one of %s", ESCAPED(name), names);
    return NULL;
}

bool bench_each(const char *name, bool (*measure)(const Case *c, const BenchOptions *o, Error *e),
                const BenchOptions *o, Error *e) {
    const Case *only = name ? bench_case(name, e) : NULL;
    if (name) return only && measure(only, o, e);
    for (int i = 0; i < CASES; i++)
        if (!measure(&bench_cases[i], o, e)) return false;
    return true;
}

/* Backward has twice the products of forward. */
static double flops_of(const Tape *t) {
    double flops = 0;
    for (const Node *n = t->last; n; n = n->previous)
        if (n->op->flops) flops += 3 * n->op->flops(n);
    return flops;
}

int32_t *case_ids(Arena *a, const Case *c, long count, uint64_t stream) {
    int32_t *ids = arena_alloc(a, ((size_t)count + 1) * sizeof *ids);
    for (long i = 0; i < count; i++)
        ids[i] = (int32_t)random_below(random_key(1, stream), (uint64_t)i, c->vocab);
    return ids;
}

ModelConfig case_config(const Case *c) {
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

bool bench_open(Bench *b, const Case *c, const BenchOptions *o, Error *e) {
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
    b->micro_batch = trainer_micro_batch(&config, 0, c->batch, c->S, c->T);
    double bytes = nn_tape_bytes(&config, 0, b->micro_batch, c->S, c->T).peak;
    if (!tape_reserve(b->tape, (size_t)bytes, e)) return false;
    bench_record(b, 0, b->micro_batch);
    b->flops = flops_of(b->tape) * (double)c->batch / (double)b->micro_batch;
    tape_reset(b->tape);
    return true;
}

void bench_close(Bench *b) {
    tape_free(b->tape);
    optim_stop(&b->optimizer);
    model_free(b->model);
    tokens_free(&b->source);
    tokens_free(&b->target);
    arena_free(&b->arena);
}

void bench_record(Bench *b, long first, long rows) {
    const Case *c = b->c;
    tokens_fill(&b->source, rows, c->S, b->source_ids + first * c->S, NO_PAD);
    tokens_fill(&b->target, rows, c->T, b->target_ids + first * c->T, NO_PAD);
    Forward f = {b->tape, b->model, &b->source, &b->target};
    Tensor *loss = nn_loss(&f, nn_hidden(&f), b->targets + first * c->T);
    tape_backward_from(b->tape, loss, &(real){(real)rows / (real)c->batch});
}

void bench_gradient(Bench *b) {
    parameters_clear_grad(&b->model->parameters);
    for (long first = 0; first < b->c->batch; first += b->micro_batch) {
        long left = b->c->batch - first;
        bench_record(b, first, left < b->micro_batch ? left : b->micro_batch);
        tape_reset(b->tape);
    }
    parameters_zero_unreached(&b->model->parameters);
}

void bench_train(void *bench) {
    Bench *b = bench;
    bench_gradient(b);
    optim_step(&b->optimizer, &b->model->parameters, 1e-4, 1);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_of(void (*run)(void *context), void *context, long times) {
    double start = clock_seconds();
    for (long i = 0; i < times; i++) run(context);
    return (clock_seconds() - start) / (double)times;
}

Timing bench_time(void (*run)(void *context), void *context, double seconds, int least) {
    enum { WARM_UP = 5, MAX_SAMPLES = 100000 };
    const double resolution = 20e-6; /* some hundred times the clock's */
    static double sample[MAX_SAMPLES];
    time_of(run, context, WARM_UP);
    double once = time_of(run, context, 1);
    long together = once < resolution ? (long)(resolution / once) + 1 : 1, count = 0;
    double end = clock_seconds() + seconds;
    while (count < MAX_SAMPLES && (count < least || clock_seconds() < end))
        sample[count++] = time_of(run, context, together);
    qsort(sample, (size_t)count, sizeof *sample, ascending);
    return (Timing){sample[0], sample[count / 2], count * together};
}

static void print_json(const Figure *f, int count) {
    const char *before = "{";
    for (int i = 0; i < count; i++) {
        if (isnan(f[i].value)) continue;
        printf("%s\"%s\": ", before, f[i].name);
        before = ", ";
        if (f[i].text)
            printf("\"%s\"", f[i].text);
        else
            printf("%.*f", f[i].digits, f[i].value);
    }
    printf("}\n");
}

/* A column is as wide as its name, and at least 10 characters. */
static void print_row(const Figure *f, int count) {
    static const char *last;
    if (last != f[1].name)
        for (int i = 0; i < count; i++)
            printf("%*s%s", f[i].text ? -20 : 10, f[i].name, i + 1 < count ? " " : "\n");
    last = f[1].name;
    for (int i = 0; i < count; i++) {
        int width = (int)strlen(f[i].name);
        if (width < 10) width = 10;
        if (f[i].text)
            printf("%-20s", f[i].text);
        else if (isnan(f[i].value))
            printf("%*s", width, "-");
        else
            printf("%*.*f", width, f[i].digits, f[i].value);
        printf(i + 1 < count ? " " : "\n");
    }
}

void bench_print(const BenchOptions *o, const Figure *figure, int count) {
    if (o->json)
        print_json(figure, count);
    else
        print_row(figure, count);
    fflush(stdout);
}
