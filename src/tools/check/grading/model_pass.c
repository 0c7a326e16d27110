#include "check/grading/model_pass.h"
#include "base/random.h"
#include "nn/model_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The size of a generated batch. */
enum { ROWS = 3, SOURCE = 7, TARGET = 6 };

/* A result over the pass's own numbers. */
static void add_result(ModelPass *p, const char *before, const char *name, Shape s,
                       const real *value) {
    enum { NAME = PARAMETER_NAME + 8 };
    char *full = arena_alloc(&p->arena, NAME);
    snprintf(full, NAME, "%s%s", before, name);
    p->result[p->results++] = array_over(full, DTYPE_REAL, s, value);
}

static bool make_ready(ModelPass *p, Error *e) {
    const PaddedBatch *b = p->batch;
    const Parameters *w = &p->model->parameters;
    const int pad = p->model->config.pad_id;
    if (!tokens_new(&p->source, b->rows, b->rows * b->S, e) ||
        !tokens_new(&p->target, b->rows, b->rows * b->T, e))
        return false;
    Shape logits = SHAPE(b->rows, b->T, p->model->config.vocab_size);
    p->tape = tape_new();
    p->targets = arena_alloc(&p->arena, (size_t)(b->rows * b->T) * sizeof *p->targets);
    p->logits = arena_alloc(&p->arena, (size_t)shape_count(logits) * sizeof *p->logits);
    p->result = arena_alloc(&p->arena, (size_t)(2 + w->count) * sizeof *p->result);
    if (b->S) tokens_fill(&p->source, b->rows, b->S, b->source, pad);
    tokens_fill(&p->target, b->rows, b->T, b->target_in, pad);
    tokens_gather(&p->target, b->target_out, p->targets);
    add_result(p, "", "loss", SCALAR, &p->loss);
    add_result(p, "", "logits", logits, p->logits);
    for (int i = 0; i < w->count; i++)
        add_result(p, "grad.", w->entry[i].name, w->entry[i].shape, w->grad + w->entry[i].offset);
    return true;
}

static long shorter(long a, long b) {
    return a < b ? a : b;
}

static PaddedBatch *made_batch(const ModelConfig *c, uint64_t seed, Error *e) {
    return batch_random(c, ROWS, shorter(SOURCE, c->max_length), shorter(TARGET, c->max_length),
                        seed, e);
}

bool pass_open(ModelPass *p, const char *weights, const char *batch, uint64_t seed, Error *e) {
    *p = (ModelPass){.model = model_load(weights, true, NULL, e)};
    if (!p->model) return false;
    const ModelConfig *c = &p->model->config;
    p->batch = batch ? batch_read(batch, c, e) : made_batch(c, seed, e);
    return p->batch && make_ready(p, e);
}

ModelConfig pass_config(bool lm) {
    ModelConfig c = lm ? config_language_model(13, TARGET) : config_seq2seq(11, SOURCE, 0);
    c.d_model = 16;
    c.d_ff = 32;
    c.heads = 2;
    c.encoder_layers = 2;
    return c;
}

bool pass_make(ModelPass *p, const ModelConfig *c, uint64_t seed, Error *e) {
    *p = (ModelPass){.model = model_new(c, true, seed, e)};
    if (!p->model) return false;
    Parameters *w = &p->model->parameters;
    uint64_t key = random_key(seed, STREAM_DISTURBANCE);
    for (int i = 0; i < w->count; i++)
        for (long j = 0; j < shape_count(w->entry[i].shape); j++) {
            real *x = &w->value[w->entry[i].offset + j];
            *x = (real)(float)(*x + (real)(0.1 * random_normal(random_key(key, (uint64_t)i),
                                                               (uint64_t)j)));
        }
    if (c->init_output) model_zero_outputs(p->model);
    p->batch = made_batch(c, seed, e);
    return p->batch && make_ready(p, e);
}

void pass_close(ModelPass *p) {
    if (p->tape) tape_free(p->tape);
    model_free(p->model);
    batch_padded_free(p->batch);
    tokens_free(&p->source);
    tokens_free(&p->target);
    arena_free(&p->arena);
    *p = (ModelPass){0};
}

Tensor *pass_record(ModelPass *p, Tape *t) {
    Forward f = {t, p->model, &p->source, &p->target};
    return nn_loss(&f, nn_hidden(&f), p->targets);
}

static bool all_finite(const ModelPass *p, const char *name, Error *e) {
    for (int i = 0; i < p->results; i++) {
        Array a = p->result[i];
        a.file = name;
        if (!array_check_finite(&a, e)) return false;
    }
    return true;
}

/* Puts the logits of the tokens in their places [B,T,V]. */
static void keep_logits(ModelPass *p, const real *logits) {
    long V = p->model->config.vocab_size;
    for (long i = 0; i < p->target.sequences.total_rows; i++) {
        long at = p->target.column[i];
        if (!batch_is_padding(p->batch, at))
            memcpy(p->logits + at * V, logits + i * V, (size_t)V * sizeof *logits);
    }
}

bool pass_run(ModelPass *p, const char *name, Error *e) {
    Tape *t = p->tape;
    parameters_clear_grad(&p->model->parameters);
    Forward f = {t, p->model, &p->source, &p->target};
    Tensor *hidden = nn_hidden(&f);
    t->no_grad = true;
    const Tensor *scores = nn_logits(&f, hidden);
    t->no_grad = false;
    Tensor *loss = nn_loss(&f, hidden, p->targets);
    bool ok = !tape_failed(t, e);
    if (ok) {
        p->loss = loss->data[0];
        keep_logits(p, scores->data);
        tape_backward(t, loss);
        ok = !tape_failed(t, e);
    }
    parameters_zero_unreached(&p->model->parameters);
    tape_reset(t);
    return ok && all_finite(p, name, e);
}

bool pass_write(const ModelPass *p, const char *path, Error *e) {
    return safetensors_write(path, NULL, 0, p->result, p->results, e);
}
