/* A model: its modules and their memory. */
#include "base/arena.h"
#include "nn/nn.h"
#include <stdlib.h>
#include <string.h>

/* Adds all modules: their order is that of a weight file and determines the initial weights. */
static bool add_modules(Model *m, Error *e) {
    const ModelConfig *c = &m->config;
    bool lm = config_is_lm(c);
    Builder b = {c, &m->parameters, &m->modules, .ok = true, .e = e};
    nn_embedding_add(&b, m);
    m->encoder = nn_encoder_new(&b);
    if (!lm) m->decoder = nn_decoder_new(&b);
    if (c->final_norm) m->encoder_norm = nn_norm_new(&b, lm ? "norm" : "encoder.norm");
    if (c->final_norm && !lm) m->decoder_norm = nn_norm_new(&b, "decoder.norm");
    nn_output_add(&b, m);
    return b.ok;
}

/* Positions that are computed and added are a tensor over the table. */
static void place_positions(Model *m) {
    const ModelConfig *c = &m->config;
    if (c->positions->width && c->positions->added)
        m->positions = tensor_over(m->position_table, SHAPE(c->max_length, c->d_model));
}

Model *model_without_memory(const ModelConfig *c, bool training, Error *e) {
    WANT(c);
    if (!config_check(c, STATUS_USAGE, e)) return NULL;
    Model *m = calloc(1, sizeof *m);
    if (m) {
        m->config = *c;
        m->parameters.training = training;
    }
    if (!m || !add_modules(m, e)) {
        error_set(e, STATUS_NO_MEMORY,
                  "memory: the layers of the model"); /* unless add_modules knows better */
        model_free(m);
        return NULL;
    }
    place_positions(m);
    return m;
}

static size_t table_bytes(const ModelConfig *c) {
    return (size_t)c->max_length * (size_t)nn_position_width(c) * sizeof(real);
}

size_t model_bytes(const Model *m) {
    return parameters_bytes(&m->parameters, m->parameters.training) + table_bytes(&m->config);
}

/* Reserves address space for the positions, if the model has a table. nn_make_positions computes
 * only the rows that are used: max_length comes from a file, and no array in that file confirms
 * it. */
static bool reserve_positions(Model *m, Error *e) {
    size_t bytes = table_bytes(&m->config);
    if (!bytes) return true;
    m->position_table = pages_alloc(bytes, "positional encodings", e);
    place_positions(m);
    return m->position_table;
}

bool model_allocate(Model *m, Error *e) {
    return parameters_allocate(&m->parameters, m->parameters.training, e) &&
           reserve_positions(m, e);
}

/* Makes W^K of each head its W^Q, so that q · k is largest for equal tokens. */
static void copy_queries(Model *m) {
    const ModelConfig *c = &m->config;
    long d = c->d_model;
    for (int i = 0; i < m->parameters.count; i++) {
        const Parameter *p = &m->parameters.entry[i];
        real *w = m->parameters.value + p->offset;
        if (!strstr(p->name, "in_proj_weight")) continue;
        for (long h = 0; h < c->heads; h++)
            memcpy(w + config_head_column(c, PART_K, h) * d,
                   w + config_head_column(c, PART_Q, h) * d,
                   (size_t)(config_d_k(c) * d) * sizeof *w);
    }
}

void model_init(Model *m, uint64_t seed) {
    parameters_init(&m->parameters, seed);
    if (m->config.init_keys) copy_queries(m);
    if (m->config.init_output) model_zero_outputs(m);
}

Model *model_new(const ModelConfig *c, bool training, uint64_t seed, Error *e) {
    Model *m = model_without_memory(c, training, e);
    if (!m) return NULL;
    if (model_allocate(m, e)) {
        model_init(m, seed);
        return m;
    }
    model_free(m);
    return NULL;
}

void model_zero_outputs(Model *m) {
    for (int i = 0; i < m->parameters.count; i++) {
        const Parameter *p = &m->parameters.entry[i];
        if (strstr(p->name, "out_proj.weight") || strstr(p->name, "linear2.weight"))
            memset(m->parameters.value + p->offset, 0,
                   (size_t)shape_count(p->shape) * sizeof(real));
    }
}

void model_free(Model *m) {
    if (!m) return;
    parameters_free(&m->parameters);
    arena_free(&m->modules);
    if (m->position_table) pages_free(m->position_table, table_bytes(&m->config));
    free(m);
}
