/* Helpers for the tests of models: batches, and a pass of a model over one. */
#pragma once

#include "base/random.h"
#include "check/grading/batch_file.h"
#include "nn/model_file.h"
#include "test.h"

static inline void *must(void *p, const Error *e) {
    CHECK(p, "%s", e->text);
    if (!p) exit(1);
    return p;
}

static inline Model *new_model(ModelConfig c, uint64_t seed) {
    Error e = {0};
    Model *m = model_new(&c, true, seed, &e);
    return must(m, &e);
}

/* Small models of the two kinds, as the configurations have them otherwise. */
static inline ModelConfig small_seq2seq(void) {
    ModelConfig c = config_seq2seq(11, 80, 0);
    c.d_model = 8;
    c.d_ff = 16;
    c.heads = 2;
    return c;
}

static inline ModelConfig small_language_model(void) {
    ModelConfig c = config_language_model(13, 80);
    c.d_model = 8;
    c.d_ff = 24;
    c.heads = 2;
    c.encoder_layers = 2;
    return c;
}

/* As batch_random; dies with batch_free. */
static inline PaddedBatch *random_batch(const ModelConfig *c, long rows, long S, long T,
                                        uint64_t seed) {
    Error e = {0};
    return must(batch_random(c, rows, S, T, seed, &e), &e);
}

/* A model at work on one batch. */
typedef struct Pass {
    Model *model;
    const PaddedBatch *batch;
    Tape *tape;   /* dropout: set its training, seed and step */
    Trace *trace; /* of attention, or NULL */
    Tokens source, target;
    int32_t *targets; /* [rows of target] */
    real loss;
    real *logits; /* [B,T,V], 0 where target_out is padding */
} Pass;

static inline Pass pass_new(Model *m, const PaddedBatch *b) {
    Error e = {0};
    long tokens = b->rows * b->T;
    Pass p = {.model = m, .batch = b, .tape = tape_new()};
    bool ok = tokens_new(&p.source, b->rows, b->rows * b->S, &e) &&
              tokens_new(&p.target, b->rows, tokens, &e);
    p.targets = calloc((size_t)tokens, sizeof *p.targets);
    p.logits = calloc((size_t)(tokens * m->config.vocab_size), sizeof *p.logits);
    must(ok && p.targets && p.logits ? &p : NULL, &e);
    return p;
}

static inline void pass_free(Pass *p) {
    tape_free(p->tape);
    tokens_free(&p->source);
    tokens_free(&p->target);
    free(p->targets);
    free(p->logits);
}

/* Frees its model and batch too. */
static inline void pass_end(Pass *p) {
    batch_padded_free((PaddedBatch *)p->batch);
    model_free(p->model);
    pass_free(p);
}

static inline void pass_fill(Pass *p) {
    const PaddedBatch *b = p->batch;
    int pad = p->model->config.pad_id;
    if (b->S) tokens_fill(&p->source, b->rows, b->S, b->source, pad);
    tokens_fill(&p->target, b->rows, b->T, b->target_in, pad);
    tokens_gather(&p->target, b->target_out, p->targets);
}

static inline bool pass_padded(const Pass *p, long position) {
    int pad = p->model->config.pad_id;
    return pad != NO_PAD && p->batch->target_out[position] == pad;
}

/* Puts the rows of logits in their places [B,T,V]. */
static inline void pass_keep_logits(Pass *p, const Tensor *logits) {
    long V = p->model->config.vocab_size;
    memset(p->logits, 0, (size_t)(p->batch->rows * p->batch->T * V) * sizeof(real));
    for (long i = 0; i < p->target.sequences.total_rows; i++) {
        long at = p->target.column[i];
        if (!pass_padded(p, at))
            memcpy(p->logits + at * V, logits->data + i * V, (size_t)V * sizeof(real));
    }
}

/* Forward and backward: loss and logits, and the model's gradients, settled. */
static inline void pass_run(Pass *p) {
    Tape *t = p->tape;
    pass_fill(p);
    parameters_clear_grad(&p->model->parameters);
    Forward f = {t, p->model, &p->source, &p->target, .trace = p->trace};
    Tensor *hidden = nn_hidden(&f);
    t->no_grad = true;
    pass_keep_logits(p, nn_logits(&f, hidden));
    t->no_grad = false;
    Tensor *loss = nn_loss(&f, hidden, p->targets);
    p->loss = loss->data[0];
    tape_backward(t, loss);
    parameters_zero_unreached(&p->model->parameters);
    Error e = {0};
    CHECK(!tape_failed(t, &e), "%s", e.text);
    tape_reset(t);
}

/* The loss alone. */
static inline real pass_loss(Pass *p) {
    Tape *t = p->tape;
    pass_fill(p);
    t->no_grad = true;
    Forward f = {t, p->model, &p->source, &p->target};
    real loss = nn_loss(&f, nn_hidden(&f), p->targets)->data[0];
    t->no_grad = false;
    tape_reset(t);
    return loss;
}

static inline bool same_bits(const real *a, const real *b, long count) {
    return memcmp(a, b, (size_t)count * sizeof *a) == 0;
}

/* Results of the same numbers out of products of other sizes: the same bits. A library rounds as
 * the sizes have it: then they are `epsilons` apart, at most, of numbers beyond 1. */
static inline bool same_sums(const real *a, const real *b, long count, double epsilons) {
#ifdef BLAS
    for (long i = 0; i < count; i++)
        if (!(fabs((double)(a[i] - b[i])) <=
              epsilons * (double)REAL_EPSILON * (1 + fabs((double)b[i]))))
            return false;
    return true;
#else
    (void)epsilons;
    return same_bits(a, b, count);
#endif
}

static inline real *copy_of(const real *x, long count) {
    real *copy = malloc((size_t)count * sizeof *copy);
    if (!copy) exit(1);
    memcpy(copy, x, (size_t)count * sizeof *copy);
    return copy;
}

/* max |found - want| / max |want|; NaN or infinite where an element is. 0 where both are all 0. */
static inline double relative_error(const real *found, const double *want, long count) {
    double error = 0, largest = 0;
    for (long i = 0; i < count; i++) {
        double d = fabs((double)found[i] - want[i]);
        if (!(d <= error)) error = d;
        if (isnan(d)) return d;
        largest = fmax(largest, fabs(want[i]));
    }
    return error > 0 ? error / largest : 0;
}
