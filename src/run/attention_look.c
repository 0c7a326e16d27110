#include "run/attention_look.h"
#include "kernels/arrays.h"
#include <math.h>
#include <stdlib.h>

/* The kinds of attention, with their names in a weight file. */
static const struct {
    ModelKind kind;
    const char *name, *file_name, *pattern;
    bool in_decoder, to_source, from_source, causal;
} kinds[] = {
    {KIND_SEQ2SEQ, "Encoder self-attention", "encoder", "encoder.layers.%d.self_attn", .from_source = true,
     .to_source = true},
    {KIND_SEQ2SEQ, "Decoder self-attention", "decoder", "decoder.layers.%d.self_attn", .in_decoder = true,
     .causal = true},
    {KIND_SEQ2SEQ, "Cross-attention", "cross", "decoder.layers.%d.multihead_attn", .in_decoder = true,
     .to_source = true},
    {KIND_LM, "Causal self-attention", "text", "encoder.layers.%d.self_attn", .causal = true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

void attention_groups(PageExample *x, const ModelConfig *c, const int32_t *source, long n,
                      const int32_t *target, long m) {
    x->groups = 0;
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i].kind != c->kind) continue;
        x->group[x->groups++] = (PageGroup){
            .name = kinds[i].name,
            .file_name = kinds[i].file_name,
            .layers = kinds[i].in_decoder ? c->decoder_layers : c->encoder_layers,
            .heads = c->heads,
            .rows = kinds[i].from_source ? n : m,
            .columns = kinds[i].to_source ? n : m,
            .row_tokens = kinds[i].from_source ? source : target,
            .column_tokens = kinds[i].to_source ? source : target,
            .causal = kinds[i].causal,
        };
    }
}

/* Rounds the weights [h, n, m] of each layer of a group. Returns the place of the next group's. */
static uint8_t *take_weights(const PageGroup *g, const char *pattern, const Trace *trace, uint8_t *out) {
    for (int layer = 0; layer < g->layers; layer++) {
        char name[PARAMETER_NAME];
        snprintf(name, sizeof name, pattern, layer);
        const real *w = nn_trace_find(trace, name)->steps[0].weights->data;
        for (int head = 0; head < g->heads; head++)
            for (long i = 0; i < g->rows; i++, w += g->columns)
                for (long j = 0; j < page_row_weights(g, i); j++)
                    *out++ = (uint8_t)lround(100 * (double)w[j]);
    }
    return out;
}

void attention_take(const PageExample *x, const ModelConfig *c, const Trace *trace, uint8_t *weights) {
    for (int i = 0, g = 0; i < KINDS; i++)
        if (kinds[i].kind == c->kind)
            weights = take_weights(&x->group[g++], kinds[i].pattern, trace, weights);
}

/* The columns of the first group are the source, if there is one; the rows of the last group are the target. */
Tensor *attention_logits(const PageExample *x, Tape *t, Model *m, Trace *trace, Error *e) {
    const PageGroup *first = &x->group[0], *last = &x->group[x->groups - 1];
    Tokens source = {0}, target = {0};
    Tensor *logits = NULL;
    long n = m->config.kind == KIND_LM ? 0 : first->columns;
    if (tokens_new(&target, 1, last->rows, e) && tokens_new(&source, 1, n, e)) {
        Forward f = {t, m, &source, &target, .trace = trace};
        tokens_fill(&target, 1, last->rows, last->row_tokens, m->config.pad_id);
        tokens_fill(&source, 1, n, first->column_tokens, m->config.pad_id);
        t->training = false;
        logits = nn_logits(&f, nn_hidden(&f));
        if (tape_failed(t, e)) logits = NULL;
    }
    tokens_free(&source);
    tokens_free(&target);
    return logits;
}

bool attention_look(const PageExample *x, Tape *t, Model *m, uint8_t *weights, int32_t *likeliest, Error *e) {
    Trace trace = {0};
    long V = m->config.vocab_size;
    const Tensor *logits = attention_logits(x, t, m, weights ? &trace : NULL, e);
    if (logits && weights) attention_take(x, &m->config, &trace, weights);
    for (long i = 0; logits && likeliest && i < logits->shape.size[0]; i++)
        likeliest[i] = (int32_t)kernel_argmax(V, logits->data + i * V);
    tape_reset(t);
    return logits;
}

const char **attention_token_texts(const Tokenizer *k, long vocab_size, int32_t begin, int32_t end,
                                   Error *e) {
    size_t table = (size_t)vocab_size * sizeof(char *), room = TOKEN_LABEL;
    const char **text = malloc(table + (size_t)vocab_size * room);
    if (!text) {
        error_set(e, STATUS_NO_MEMORY, "memory: the texts of %ld tokens", vocab_size);
        return NULL;
    }
    for (int32_t id = 0; id < vocab_size; id++) {
        char *place = (char *)text + table + (size_t)id * room;
        if (id < k->size) tokenizer_label(k, id, place);
        text[id] = id < k->size ? place : id == begin ? "begin" : id == end ? "end" : "pad";
    }
    return text;
}
