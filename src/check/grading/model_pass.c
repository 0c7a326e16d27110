#include "check/grading/model_pass.h"
#include "base/random.h"
#include "nn/model_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The size of a generated batch. */
enum { ROWS = 3, SOURCE = 7, TARGET = 6 };

static bool make_ready(ModelPass *p, Error *e) {
    const PaddedBatch *b = p->batch;
    const int pad = p->model->config.pad_id;
    p->tape = tape_new();
    p->targets = calloc((size_t)(b->rows * b->T), sizeof *p->targets);
    if (!p->targets) return error_set(e, STATUS_NO_MEMORY, "memory: a batch of %ld tokens", b->rows * b->T);
    if (!tokens_new(&p->source, b->rows, b->rows * b->S, e) ||
        !tokens_new(&p->target, b->rows, b->rows * b->T, e))
        return false;
    if (b->S) tokens_fill(&p->source, b->rows, b->S, b->source, pad);
    tokens_fill(&p->target, b->rows, b->T, b->target_in, pad);
    tokens_gather(&p->target, b->target_out, p->targets);
    size_t logits = (size_t)p->target.sequences.total_rows * (size_t)p->model->config.vocab_size;
    p->logits = calloc(logits + 1, sizeof *p->logits);
    return p->logits || error_set(e, STATUS_NO_MEMORY, "memory: %zu logits", logits);
}

static long shorter(long a, long b) {
    return a < b ? a : b;
}

static PaddedBatch *made_batch(const ModelConfig *c, uint64_t seed, Error *e) {
    return batch_random(c, ROWS, shorter(SOURCE, c->max_length), shorter(TARGET, c->max_length), seed, e);
}

bool pass_open(ModelPass *p, const char *weights, const char *batch, uint64_t seed, Error *e) {
    *p = (ModelPass){.model = model_load(weights, true, NULL, e)};
    if (!p->model) return false;
    const ModelConfig *c = &p->model->config;
    p->batch = batch ? batch_read(batch, c, e) : made_batch(c, seed, e);
    return p->batch && make_ready(p, e);
}

bool pass_make(ModelPass *p, ModelKind kind, const ModelChoices *choices, uint64_t seed, Error *e) {
    ModelConfig c = kind == KIND_SEQ2SEQ ? config_seq2seq(11, SOURCE, 0) : config_language_model(13, TARGET);
    if (choices->positions >= 0) c.positions = (PositionKind)choices->positions;
    if (choices->norm_kind >= 0) c.norm_kind = (NormKind)choices->norm_kind;
    if (choices->activation >= 0) c.activation = (Activation)(ACT_RELU + choices->activation);
    c.qk_norm = choices->qk_norm > 0;
    c.d_model = 16, c.d_ff = 32, c.heads = 2, c.encoder_layers = 2;
    *p = (ModelPass){.model = model_new(&c, true, seed, e)};
    if (!p->model) return false;
    Parameters *w = &p->model->parameters;
    uint64_t key = random_key(seed, STREAM_DISTURBANCE);
    for (int i = 0; i < w->count; i++)
        for (long j = 0, n = shape_count(w->entry[i].shape); j < n; j++) {
            real *x = &w->value[w->entry[i].offset + j];
            *x = (real)(float)(*x + (real)(0.1 * random_normal(random_key(key, (uint64_t)i), (uint64_t)j)));
        }
    if (choices->zero_outputs > 0) model_zero_outputs(p->model);
    p->batch = made_batch(&c, seed, e);
    return p->batch && make_ready(p, e);
}

void pass_close(ModelPass *p) {
    if (p->tape) tape_free(p->tape);
    model_free(p->model);
    batch_padded_free(p->batch);
    tokens_free(&p->source);
    tokens_free(&p->target);
    free(p->targets);
    free(p->logits);
    *p = (ModelPass){0};
}

Tensor *pass_record(ModelPass *p, Tape *t) {
    Forward f = {t, p->model, &p->source, &p->target};
    return nn_loss(&f, nn_hidden(&f), p->targets);
}

static bool all_finite(const ModelPass *p, const char *name, Error *e) {
    const Parameters *w = &p->model->parameters;
    if (!isfinite(p->loss))
        return error_set(e, STATUS_BAD_DATA, "%s: loss: found %g, need a finite one", name, (double)p->loss);
    for (int i = 0; i < w->count; i++)
        for (long j = 0, n = shape_count(w->entry[i].shape); j < n; j++)
            if (!isfinite(w->grad[w->entry[i].offset + j]))
                return error_set(e, STATUS_BAD_DATA,
                                 "%s: grad.%s: element %ld: found %g, need a finite number", name,
                                 w->entry[i].name, j, (double)w->grad[w->entry[i].offset + j]);
    return true;
}

bool pass_run(ModelPass *p, const char *name, Error *e) {
    Tape *t = p->tape;
    size_t logits = (size_t)p->target.sequences.total_rows * (size_t)p->model->config.vocab_size;
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
        memcpy(p->logits, scores->data, logits * sizeof *p->logits);
        tape_backward(t, loss);
        ok = !tape_failed(t, e);
    }
    parameters_zero_unreached(&p->model->parameters);
    tape_reset(t);
    return ok && all_finite(p, name, e);
}

bool pass_write(const ModelPass *p, const char *path, Error *e) {
    return gradients_write(path, p->model, p->batch, &p->target, p->loss, p->logits, e);
}
