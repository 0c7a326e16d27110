#include "nn/kv_cache.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

static int decoding_layers(const ModelConfig *c) {
    return c->kind == KIND_LM ? c->encoder_layers : c->decoder_layers;
}

size_t kv_cache_bytes(const ModelConfig *c, long sequences, long room, long source_rows) {
    size_t rows = (size_t)sequences * (size_t)room + (size_t)source_rows;
    return rows * 2 * (size_t)c->d_model * (size_t)decoding_layers(c) * sizeof(real);
}

bool kv_cache_new(KvCache *c, const ModelConfig *config, long sequences, long room, long source_rows,
                  Error *e) {
    int layers = decoding_layers(config);
    long width = 2L * config->d_model;
    *c = (KvCache){.room = room, .bytes = kv_cache_bytes(config, sequences, room, source_rows)};
    c->start = calloc(3 * (size_t)sequences + 1, sizeof *c->start);
    c->layer = calloc((size_t)layers, sizeof *c->layer);
    if (!c->start || !c->layer)
        return error_set(e, STATUS_NO_MEMORY, "memory: keys and values of %ld sequences", sequences);
    c->memory = pages_alloc(c->bytes, "the cache of keys and values", e);
    if (!c->memory) return false;
    c->rows = c->start + sequences, c->length = c->rows + sequences;
    for (long s = 0; s < sequences; s++) c->start[s] = (int32_t)(s * room), c->rows[s] = (int32_t)room;
    c->keys = (Sequences){sequences, c->start, c->rows, c->length, sequences * room, room};
    real *at = c->memory;
    for (int i = 0; i < layers; i++) {
        c->layer[i] = (KvLayer){c, tensor_over(at, SHAPE(sequences * room, width))};
        at += sequences * room * width;
        c->layer[i].source = tensor_over(at, SHAPE(source_rows, width));
        at += source_rows * width;
    }
    return true;
}

void kv_cache_free(KvCache *c) {
    pages_free(c->memory, c->bytes);
    free(c->start);
    free(c->layer);
    *c = (KvCache){0};
}

void kv_cache_clear(KvCache *c) {
    memset(c->length, 0, (size_t)c->keys.count * sizeof *c->length);
}

void kv_cache_advance(KvCache *c, const Sequences *s) {
    if (s->count != c->keys.count) error_bug("kv_cache: %ld sequences, want %ld", s->count, c->keys.count);
    for (long i = 0; i < s->count; i++) {
        if (s->longest > 1 && c->length[i] > 0)
            error_bug("kv_cache: several tokens, want one: others came before");
        if (c->length[i] + s->rows[i] > c->room) error_bug("kv_cache: more than %ld tokens", c->room);
        c->length[i] += s->rows[i];
    }
}

void kv_layer_append(KvLayer *l, const Tensor *qkv, const Sequences *s) {
    long width = l->own.shape.size[1];
    for (long i = 0; qkv->data && i < s->count; i++) {
        long first = l->cache->start[i] + l->cache->length[i] - s->rows[i];
        for (long row = 0; row < s->rows[i]; row++)
            memcpy(l->own.data + (first + row) * width,
                   qkv->data + (s->start[i] + row) * qkv->stride[0] + width / 2,
                   (size_t)width * sizeof(real));
    }
}

void kv_layer_keep_source(KvLayer *l, const Tensor *kv) {
    if (kv->shape.size[0] > l->source.shape.size[0])
        error_bug("kv_cache: a source is %s, want at most %s", shape_text(kv->shape),
                  shape_text(l->source.shape));
    l->source = tensor_over(l->source.data, kv->shape);
    if (kv->data) tensor_copy_out(kv, l->source.data);
}

KvLayer *kv_layer(const KvCache *c, int i) {
    return c ? &c->layer[i] : NULL;
}
