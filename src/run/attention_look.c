#include "run/attention_look.h"
#include "kernels/arrays.h"
#include <math.h>
#include <stdlib.h>

/* The kinds of attention, with their names in a weight file. */
static const struct Kind {
    bool with_source; /* of a model that has a source */
    const char *name, *file_name, *pattern;
    bool in_decoder, to_source, from_source, causal;
} kinds[] = {
    {true, "Encoder self-attention", "encoder", "encoder.layers.%d.self_attn", .from_source = true,
     .to_source = true},
    {true, "Decoder self-attention", "decoder", "decoder.layers.%d.self_attn", .in_decoder = true,
     .causal = true},
    {true, "Cross-attention", "cross", "decoder.layers.%d.multihead_attn", .in_decoder = true,
     .to_source = true},
    {false, "Causal self-attention", "text", "encoder.layers.%d.self_attn", .causal = true},
};

/* The kind of group g of an example. */
static const struct Kind *kind_of(const PageExample *x, int g) {
    return x->n ? &kinds[g] : &kinds[PAGE_GROUPS];
}

void attention_groups(PageExample *x) {
    x->groups = x->n ? PAGE_GROUPS : 1;
    for (int g = 0; g < x->groups; g++) {
        const struct Kind *kind = kind_of(x, g);
        x->group[g] = (PageGroup){
            .name = kind->name,
            .file_name = kind->file_name,
            .rows = kind->from_source ? x->n : x->m,
            .columns = kind->to_source ? x->n : x->m,
            .row_tokens = kind->from_source ? x->source : x->target,
            .column_tokens = kind->to_source ? x->source : x->target,
            .causal = kind->causal,
        };
    }
}

void attention_example(PageExample *x, const ModelConfig *c, const int32_t *source, long n,
                       const int32_t *target, long m) {
    *x = (PageExample){.source = source, .target = target, .n = n, .m = m, .whole = m};
    attention_groups(x);
    for (int g = 0; g < x->groups; g++) {
        x->group[g].layers = kind_of(x, g)->in_decoder ? c->decoder_layers : c->encoder_layers;
        x->group[g].heads = c->heads;
    }
}

void attention_take(const PageExample *x, const Trace *trace, uint8_t *const weights[PAGE_GROUPS]) {
    for (int g = 0; g < x->groups; g++) {
        long map = page_group_size(&x->group[g]) / x->group[g].layers;
        for (int layer = 0; layer < x->group[g].layers; layer++) {
            char name[PARAMETER_NAME];
            snprintf(name, sizeof name, kind_of(x, g)->pattern, layer);
            const real *w = nn_trace_find(trace, name)->steps[0].weights->data; /* [h, rows, columns] */
            for (long i = 0; i < map; i++) weights[g][layer * map + i] = (uint8_t)lround(100 * (double)w[i]);
        }
    }
}

Tensor *attention_logits(const PageExample *x, Tape *t, Model *m, Trace *trace, Error *e) {
    Tokens source = {0}, target = {0};
    Tensor *logits = NULL;
    if (tokens_new(&target, 1, x->m, e) && tokens_new(&source, 1, x->n, e)) {
        Forward f = {t, m, &source, &target, .trace = trace};
        tokens_fill(&target, 1, x->m, x->target, m->config.pad_id);
        tokens_fill(&source, 1, x->n, x->source, m->config.pad_id);
        t->training = false;
        logits = nn_logits(&f, nn_hidden(&f));
        if (tape_failed(t, e)) logits = NULL;
    }
    tokens_free(&source);
    tokens_free(&target);
    return logits;
}

bool attention_likeliest(const PageExample *x, Tape *t, Model *m, int32_t *likeliest, Error *e) {
    long V = m->config.vocab_size;
    const Tensor *logits = attention_logits(x, t, m, NULL, e);
    for (long i = 0; logits && i < logits->shape.size[0]; i++)
        likeliest[i] = (int32_t)kernel_argmax(V, logits->data + i * V);
    tape_reset(t);
    return logits;
}
