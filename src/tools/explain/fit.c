#include "explain/fit.h"
#include "base/random.h"
#include <math.h>

Tensor *fit_normals(Tape *t, Shape shape, uint64_t seed, uint64_t which) {
    Tensor *x = tape_constant(t, shape);
    uint64_t key = random_key(seed, STREAM_EXPERIMENT + which);
    if (!x->data) return x;
    for (long i = 0; i < shape_count(shape); i++)
        x->data[i] = (real)random_normal(key, (uint64_t)i);
    return x;
}

bool fit_start(Fit *f, uint64_t seed, Error *e) {
    f->tape = tape_new();
    f->optimizer = optim_default(&optimizer_adamw);
    if (!parameters_allocate(&f->weights, true, e) || !optim_start(&f->optimizer, &f->weights, e))
        return false;
    parameters_init(&f->weights, seed);
    return true;
}

void fit_stop(Fit *f) {
    optim_stop(&f->optimizer);
    parameters_free(&f->weights);
    tape_free(f->tape);
    f->tape = NULL;
}

bool fit_step(Fit *f, Tensor *loss, double rate, Error *e) {
    if (tape_failed(f->tape, e)) return false;
    parameters_clear_grad(&f->weights);
    tape_backward(f->tape, loss);
    if (tape_failed(f->tape, e)) return false;
    parameters_zero_unreached(&f->weights);
    double norm = optim_step(&f->optimizer, &f->weights, rate, 1);
    tape_reset(f->tape);
    return isfinite(norm) || error_set(e, STATUS_NON_FINITE,
                                       "found a gradient that is not finite, need a finite one");
}

bool one_attention_add(OneAttention *a, Parameters *p, int symbols, int outputs, int width,
                       int sequences, int length, Error *e) {
    Init small = {INIT_NORMAL, 1}, start = {INIT_NORMAL, 1 / sqrt(width)};
    int tokens = sequences * length;
    for (int s = 0; s < sequences; s++) {
        a->start[s] = s * length;
        a->length[s] = length;
    }
    for (int i = 0; i < tokens; i++) a->place[i] = i % length;
    a->sequences = (Sequences){sequences, a->start, a->length, a->length, tokens, length};
    return parameters_add(p, "embedding", SHAPE(symbols, width), small, &a->embedding, e) &&
           parameters_add(p, "positions", SHAPE(length, width), small, &a->positions, e) &&
           parameters_add(p, "query", SHAPE(width, width), start, &a->query, e) &&
           parameters_add(p, "key", SHAPE(width, width), start, &a->key, e) &&
           parameters_add(p, "value", SHAPE(width, width), start, &a->value, e) &&
           parameters_add(p, "out", SHAPE(outputs, width), start, &a->out, e);
}

Tensor *one_attention(OneAttention *a, Tape *t, const int32_t *symbols, int heads, bool causal,
                      AttentionSteps *steps) {
    const Sequences *s = &a->sequences;
    Reach reach = {s, s, causal};
    Tensor *x =
        tape_embedding(t, &a->embedding, s->total_rows, symbols, 1, &a->positions, a->place);
    Tensor *q = tape_linear(t, x, &a->query, NULL, ACT_NONE, NULL),
           *k = tape_linear(t, x, &a->key, NULL, ACT_NONE, NULL),
           *v = tape_linear(t, x, &a->value, NULL, ACT_NONE, NULL);
    Tensor *z =
        steps ? nn_plain_attention(t, &(Scoring){&attention_dot}, q, k, v, heads, &reach, steps)
              : tape_attention(t, q, k, v, heads, &reach);
    return tape_linear(t, z, &a->out, NULL, ACT_NONE, NULL);
}
