/* The scores of a next token, computed from scratch: decoding must agree with them. */
#pragma once

#include "model_helpers.h"

/* Weights larger than a model starts with, so that it says more than one token over and over. */
static inline Model *lively(ModelConfig c, uint64_t seed) {
    Model *m = new_model(c, seed);
    for (long i = 0; i < m->parameters.decayed; i++) m->parameters.value[i] *= 4;
    return m;
}

/* The scores of what follows ids[0 … n), after `source` in a sequence to sequence model: all of it
 * computed from scratch, alone. */
static inline void next_scores(Model *m, const int32_t *source, long S, const int32_t *ids, long n,
                               real *scores) {
    Error e = {0};
    Tokens from = {0}, to = {0};
    Tape *t = tape_new();
    t->no_grad = true;
    bool ok = tokens_new(&from, 1, S, &e) && tokens_new(&to, 1, n, &e);
    must(ok ? m : NULL, &e);
    tokens_fill(&from, 1, S, source, NO_PAD);
    tokens_fill(&to, 1, n, ids, NO_PAD);
    long V = m->config.vocab_size;
    Forward f = {t, m, &from, &to};
    const Tensor *logits = nn_logits(&f, nn_hidden(&f));
    memcpy(scores, logits->data + (n - 1) * V, (size_t)V * sizeof *scores);
    tokens_free(&from);
    tokens_free(&to);
    tape_free(t);
}
