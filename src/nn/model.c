/* Builds a model: the name of every tensor in a weight file, and its initial values. */
#include "base/arena.h"
#include "nn/nn.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Registers tensors under a prefix that names the module: "encoder.layers.0.self_attn." */
typedef struct Builder {
    Model *m;
    char prefix[PARAMETER_NAME];
    Error *e;
    bool ok;
} Builder;

static const char *full_name(const Builder *b, const char *name, char out[PARAMETER_NAME]) {
    snprintf(out, PARAMETER_NAME, "%.36s%.27s", b->prefix, name);
    return out;
}

/* The leaf `upper` has the first d_model rows, `lower` the others; NULL: upper has all. */
static void add_split(Builder *b, const char *name, Shape shape, Init init, Tensor *upper, Tensor *lower) {
    char full[PARAMETER_NAME];
    b->ok = b->ok && parameters_add_split(&b->m->parameters, full_name(b, name, full), shape, init, upper,
                                          b->m->config.d_model, lower, b->e);
}

static void add(Builder *b, const char *name, Shape shape, Init init, Tensor *leaf) {
    add_split(b, name, shape, init, leaf, NULL);
}

/* Glorot & Bengio: uniform within ±√(6 / (fan_in + fan_out)), as PyTorch's nn.Transformer initialises
 * matrices. */
static Init glorot(long fan_in, long fan_out) {
    return (Init){INIT_UNIFORM, sqrt(6.0 / (double)(fan_in + fan_out))};
}

static const Init zeros = {INIT_ZERO, 0}, ones = {INIT_ONE, 0};

/* A weight, and a bias as long as its first axis; NULL: none. */
static void add_pair(Builder *b, const char *name, Shape shape, Init init, Tensor *weight, Tensor *bias) {
    char part[PARAMETER_NAME];
    snprintf(part, sizeof part, "%s.weight", name);
    add(b, part, shape, init, weight);
    snprintf(part, sizeof part, "%s.bias", name);
    if (bias) add(b, part, SHAPE(shape.size[0]), zeros, bias);
}

static void add_linear(Builder *b, const char *name, long in, long out, Linear *l) {
    add_pair(b, name, SHAPE(out, in), glorot(in, out), &l->weight, &l->bias);
}

static void add_norm(Builder *b, const char *name, Norm *n) {
    const ModelConfig *c = &b->m->config;
    add_pair(b, name, SHAPE(c->d_model), ones, &n->weight, c->norm_kind == NORM_RMS ? NULL : &n->bias);
}

/* Self-attention multiplies by all rows of the projections at once; cross-attention by the first d_model, and by the
 * others. */
static void add_attention(Builder *b, const char *name, bool cross, Attention *a, int layer) {
    const ModelConfig *c = &b->m->config;
    long d = c->d_model;
    size_t outside = strlen(b->prefix);
    a->layer = layer;
    full_name(b, name, a->name);
    snprintf(b->prefix + outside, sizeof b->prefix - outside, "%s.", name);
    add_split(b, "in_proj_weight", SHAPE(3 * d, d), glorot(d, d), cross ? &a->q.weight : &a->in.weight,
              cross ? &a->kv.weight : NULL);
    add_split(b, "in_proj_bias", SHAPE(3 * d), zeros, cross ? &a->q.bias : &a->in.bias,
              cross ? &a->kv.bias : NULL);
    add_linear(b, "out_proj", d, d, &a->out);
    if (c->attention == ATTENTION_ADDITIVE)
        add(b, "score_weight", SHAPE(d), glorot(d / c->heads, 1), &a->score);
    b->prefix[outside] = 0;
}

static void add_feed_forward(Builder *b, FeedForward *f) {
    long d = b->m->config.d_model, d_ff = b->m->config.d_ff;
    add_linear(b, "linear1", d, b->m->config.activation == ACT_SWIGLU ? 2 * d_ff : d_ff, &f->in);
    add_linear(b, "linear2", d_ff, d, &f->out);
}

static void add_encoder_layer(Builder *b, EncoderLayer *l, int layer) {
    add_attention(b, "self_attn", false, &l->self_attention, layer);
    add_feed_forward(b, &l->feed_forward);
    add_norm(b, "norm1", &l->norm1);
    add_norm(b, "norm2", &l->norm2);
}

static void add_decoder_layer(Builder *b, DecoderLayer *l, int layer) {
    add_attention(b, "self_attn", false, &l->self_attention, layer);
    add_attention(b, "multihead_attn", true, &l->cross_attention, layer);
    add_feed_forward(b, &l->feed_forward);
    add_norm(b, "norm1", &l->norm1);
    add_norm(b, "norm2", &l->norm2);
    add_norm(b, "norm3", &l->norm3);
}

static bool add_all(Model *m, Error *e) {
    const ModelConfig *c = &m->config;
    Builder b = {.m = m, .e = e, .ok = true};
    long d = c->d_model;
    /* Times √d, an embedding is then as large as a positional encoding. As an output matrix it gives small
     * logits and a first loss near log(vocab_size). */
    Init small = {INIT_NORMAL, 0.5 / sqrt((double)d)};
    add(&b, "embedding.weight", SHAPE(c->vocab_size, d), small, &m->embedding);
    if (c->positions == POSITIONS_LEARNED)
        add(&b, "positions.weight", SHAPE(c->max_length, d), small, &m->positions);
    for (int i = 0; i < c->encoder_layers; i++) {
        snprintf(b.prefix, sizeof b.prefix, "encoder.layers.%d.", i);
        add_encoder_layer(&b, c->kind == KIND_LM ? &m->language_model[i] : &m->encoder[i], i);
    }
    for (int i = 0; i < c->decoder_layers; i++) {
        snprintf(b.prefix, sizeof b.prefix, "decoder.layers.%d.", i);
        add_decoder_layer(&b, &m->decoder[i], i);
    }
    b.prefix[0] = 0;
    if (c->final_norm && c->kind == KIND_LM) add_norm(&b, "norm", &m->final_norm);
    if (c->final_norm && c->kind == KIND_SEQ2SEQ) {
        add_norm(&b, "encoder.norm", &m->encoder_norm);
        add_norm(&b, "decoder.norm", &m->decoder_norm);
    }
    if (!c->tied) add(&b, "output.weight", SHAPE(c->vocab_size, d), small, &m->output);
    return b.ok;
}

static bool make_layers(Model *m, const ModelConfig *c) {
    EncoderLayer *layers = calloc((size_t)c->encoder_layers, sizeof *layers);
    m->config = *c;
    *(c->kind == KIND_LM ? &m->language_model : &m->encoder) = layers;
    if (c->decoder_layers) m->decoder = calloc((size_t)c->decoder_layers, sizeof *m->decoder);
    return layers && (m->decoder || !c->decoder_layers);
}

Model *model_without_memory(const ModelConfig *c, bool training, Error *e) {
    if (!config_check(c, STATUS_USAGE, e)) return NULL;
    Model *m = calloc(1, sizeof *m);
    if (!m || !make_layers(m, c) || !add_all(m, e)) {
        error_set(e, STATUS_NO_MEMORY, "memory: the layers of the model"); /* unless add_all knows better */
        model_free(m);
        return NULL;
    }
    m->parameters.training = training;
    for (int i = 0; i < m->parameters.count; i++)
        for (int part = 0; part < PARAMETER_PARTS && m->parameters.entry[i].part[part]; part++) {
            Tensor *x = m->parameters.entry[i].part[part];
            x->grad_state = training ? GRAD_SUM : GRAD_UNWANTED;
        }
    if (c->positions == POSITIONS_SINUSOIDAL)
        m->positions = tensor_over(NULL, SHAPE(c->max_length, c->d_model));
    return m;
}

static size_t sinusoid_bytes(const ModelConfig *c) {
    return (size_t)c->max_length * (size_t)nn_position_width(c) * sizeof(real);
}

size_t model_bytes(const Model *m) {
    return parameters_bytes(&m->parameters, m->parameters.training) + sinusoid_bytes(&m->config);
}

/* Reserves address space for the sinusoids. nn_make_sinusoids computes only the rows that are used:
 * max_length comes from a file, and no array in that file confirms it. */
static bool reserve_sinusoids(Model *m, Error *e) {
    m->sinusoids = pages_alloc(sinusoid_bytes(&m->config), "positional encodings", e);
    if (m->config.positions == POSITIONS_SINUSOIDAL)
        m->positions = tensor_over(m->sinusoids, SHAPE(m->config.max_length, m->config.d_model));
    return m->sinusoids;
}

bool model_set_length(Model *m, long max_length, Error *e) {
    real *old = m->sinusoids;
    if (!old) return true;
    pages_free(old, sinusoid_bytes(&m->config));
    m->config.max_length = (int)max_length, m->sinusoids_made = 0;
    return reserve_sinusoids(m, e);
}

bool model_allocate(Model *m, Error *e) {
    return parameters_allocate(&m->parameters, m->parameters.training, e) &&
           (m->config.positions == POSITIONS_LEARNED || reserve_sinusoids(m, e));
}

Model *model_new(const ModelConfig *c, bool training, uint64_t seed, Error *e) {
    Model *m = model_without_memory(c, training, e);
    if (!m) return NULL;
    if (model_allocate(m, e)) {
        parameters_init(&m->parameters, seed);
        return m;
    }
    model_free(m);
    return NULL;
}

void model_zero_outputs(Model *m) {
    for (int i = 0; i < m->parameters.count; i++) {
        const Parameter *p = &m->parameters.entry[i];
        if (strstr(p->name, "out_proj.weight") || strstr(p->name, "linear2.weight"))
            memset(m->parameters.value + p->offset, 0, (size_t)shape_count(p->shape) * sizeof(real));
    }
}

void model_free(Model *m) {
    if (!m) return;
    parameters_free(&m->parameters);
    free(m->encoder);
    free(m->decoder);
    free(m->language_model);
    pages_free(m->sinusoids, sinusoid_bytes(&m->config));
    free(m);
}
