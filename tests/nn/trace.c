/* A trace holds every step of attention, and its pass computes what a pass without it does. */
#include "model_helpers.h"

static bool near(double found, double want) {
    return fabs(found - want) <= 64 * (double)REAL_EPSILON * (1 + fabs(want));
}

/* Rows of weights are probabilities, 0 where masked. The output is Σ_j weights_ij v_j, its heads
 * concatenated. */
static void check_steps(const AttentionTrace *a, const AttentionSteps *s, bool causal) {
    const long *size = s->weights->shape.size;
    long h = size[0], n = size[1], m = size[2], d_k = s->v->shape.size[2];
    bool sums = true, hidden = true, joined = true;
    for (long head = 0; head < h; head++)
        for (long i = 0; i < n; i++) {
            double sum = 0, z[64] = {0};
            for (long j = 0; j < m; j++) {
                double w = (double)s->weights->data[(head * n + i) * m + j];
                sum += w;
                hidden = hidden && (w == 0) == (causal && j > i);
                for (long c = 0; c < d_k; c++)
                    z[c] +=
                        w * (double)s->v->data[head * s->v->stride[0] + j * s->v->stride[1] + c];
            }
            sums = sums && near(sum, 1);
            for (long c = 0; c < d_k; c++)
                joined =
                    joined && near((double)s->concatenation->data[(i * h + head) * d_k + c], z[c]);
        }
    CHECK(sums && hidden && joined, "%s: sums %d, hidden %d, joined %d", a->name, sums, hidden,
          joined);
}

/* Loss, logits and gradients equal those without a trace up to rounding. Every attention of every
 * sequence is traced. */
static void check_trace(ModelConfig c, const char *const *names) {
    Model *m = new_model(c, 3);
    PaddedBatch *b = random_batch(&c, 3, 5, 6, 3);
    Pass p = pass_new(m, b);
    pass_run(&p);
    long logits = b->rows * b->T * c.vocab_size, size = m->parameters.size;
    double loss = (double)p.loss, *out = calloc((size_t)logits, sizeof *out),
           *grad = calloc((size_t)size, sizeof *grad);
    if (!out || !grad) exit(1);
    for (long i = 0; i < logits; i++) out[i] = (double)p.logits[i];
    for (long i = 0; i < size; i++) grad[i] = (double)m->parameters.grad[i];
    Trace trace = {0};
    p.trace = &trace;
    p.tape->keep = true;
    pass_fill(&p);
    Forward f = {p.tape, m, &p.source, &p.target, .trace = &trace};
    nn_hidden(&f);
    const AttentionTrace *a = trace.first;
    for (; *names; names++) {
        CHECK(a && strcmp(a->name, *names) == 0 && nn_trace_find(&trace, *names) == a, "%s",
              *names);
        if (!a) break;
        bool causal = config_is_lm(&c) || strncmp(*names, "decoder.layers.0.self", 21) == 0;
        for (long s = 0; s < a->sequences; s++) check_steps(a, &a->steps[s], causal);
        a = a->next;
    }
    CHECK(!a && !nn_trace_find(&trace, "encoder"));
    tape_reset(p.tape);
    trace = (Trace){0};
    p.tape->keep = false;
    pass_run(&p);
    CHECK(near((double)p.loss, loss), "%.9g, want %.9g", (double)p.loss, loss);
    CHECK(relative_error(p.logits, out, logits) < 1e3 * (double)REAL_EPSILON);
    CHECK(relative_error(m->parameters.grad, grad, size) < 1e3 * (double)REAL_EPSILON);
    free(out);
    free(grad);
    pass_end(&p);
}

TEST(a_trace_shows_the_computed_values) {
    ModelConfig paper = small_seq2seq();
    paper.encoder_layers = paper.decoder_layers = 1;
    check_trace(paper, (const char *[]){"encoder.layers.0.self_attn", "decoder.layers.0.self_attn",
                                        "decoder.layers.0.multihead_attn", NULL});
    check_trace(small_language_model(),
                (const char *[]){"encoder.layers.0.self_attn", "encoder.layers.1.self_attn", NULL});
}

RUN_TESTS
