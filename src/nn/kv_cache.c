#include "nn/kv_cache.h"
#include "base/arena.h"
#include "base/pool.h"
#include "kernels/gemm.h"
#include "nn/choices.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int decoding_layers(const ModelConfig *c) {
    return config_is_lm(c) ? c->encoder_layers : c->decoder_layers;
}

/* The cache keeps k | v of q | k | v. */
static long columns_kept(const ModelConfig *c) {
    return config_column(c, PART_END) - config_column(c, PART_K);
}

static bool slides(const ModelConfig *c, long room) {
    return config_is_lm(c) && c->positions->relative && room > c->max_length;
}

/* Rows of a sequence. A window slides through twice its length and then moves back, so that keys stand in the
 * order of their tokens: the same sums in the same order. */
static long capacity_of(const ModelConfig *c, long room) {
    return slides(c, room) ? 2L * c->max_length : room;
}

/* Packs all matrices to `packed`, or forgets them if that is NULL. Returns their size. */
static long pack_matrices(const Parameters *p, real *packed) {
    long size = 0;
    for (int i = 0; i < p->count; i++)
        for (int part = 0; part < PARAMETER_PARTS && p->entry[i].part[part]; part++) {
            Tensor *x = p->entry[i].part[part];
            if (x->shape.rank != 2) continue;
            x->packed = packed ? packed + size : NULL;
            if (packed) gemm_pack(x->shape.size[0], x->shape.size[1], x->data, packed + size);
            size += gemm_packed_count(x->shape.size[0], x->shape.size[1]);
        }
    return size;
}

size_t kv_cache_packed_bytes(const Parameters *p) {
    return (size_t)pack_matrices(p, NULL) * sizeof(real);
}

/* Counts the decodings of a model. The first packs its matrices: threads share them. Their memory stays until the
 * parameters are freed. Without memory decoding is slower. */
static void count_decodings(Parameters *p, int change) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!p->packed) {
        p->packed_bytes = kv_cache_packed_bytes(p);
        p->packed = pages_alloc(p->packed_bytes, "packed matrices", &(Error){0});
    }
    if (p->decodings == 0) pack_matrices(p, p->packed);
    p->decodings += change;
    if (p->decodings == 0) pack_matrices(p, NULL);
    pthread_mutex_unlock(&lock);
}

size_t kv_cache_bytes(const ModelConfig *c, long sequences, long room, long source_rows) {
    size_t rows = (size_t)sequences * (size_t)capacity_of(c, room) + (size_t)source_rows;
    return rows * (size_t)columns_kept(c) * (size_t)decoding_layers(c) * sizeof(real);
}

bool kv_cache_new(KvCache *c, const ModelConfig *config, Parameters *weights, long sequences, long room,
                  long source_rows, Error *e) {
    int layers = decoding_layers(config);
    long width = columns_kept(config);
    *c = (KvCache){.room = slides(config, room) ? config->max_length : room,
                   .capacity = capacity_of(config, room),
                   .slides = slides(config, room),
                   .layers = layers,
                   .bytes = kv_cache_bytes(config, sequences, room, source_rows)};
    long rows = sequences * c->capacity;
    c->start = calloc(8 * (size_t)sequences + 1, sizeof *c->start);
    c->layer = calloc((size_t)layers, sizeof *c->layer);
    if (!c->start || !c->layer)
        return error_set(e, STATUS_NO_MEMORY, "memory: keys and values of %ld sequences", sequences);
    c->memory = pages_alloc(c->bytes, "the cache of keys and values", e);
    if (!c->memory) return false;
    c->length = c->start + sequences, c->slot = c->length + sequences, c->rows = c->slot + sequences;
    c->before = c->rows + sequences;
    for (long s = 0; s < sequences; s++)
        c->slot[s] = c->start[s] = (int32_t)(s * c->capacity), c->rows[s] = (int32_t)c->room;
    c->keys = (Sequences){sequences, c->start, c->rows, c->length, rows, c->room};
    real *at = c->memory;
    for (int i = 0; i < layers; i++) {
        c->layer[i] = (KvLayer){c, tensor_over(at, SHAPE(rows, width))};
        at += rows * width;
        c->layer[i].source = tensor_over(at, SHAPE(source_rows, width));
        at += source_rows * width;
    }
    count_decodings(c->weights = weights, 1);
    return true;
}

void kv_cache_free(KvCache *c) {
    if (c->weights) count_decodings(c->weights, -1);
    pages_free(c->memory, c->bytes);
    free(c->start);
    free(c->layer);
    *c = (KvCache){0};
}

void kv_cache_clear(KvCache *c) {
    memset(c->length, 0, (size_t)c->keys.count * sizeof *c->length);
    memcpy(c->start, c->slot, (size_t)c->keys.count * sizeof *c->start);
}

/* Copies `rows` rows of every layer. */
static void move_rows(KvCache *c, long from, long rows, long to) {
    long width = c->layer[0].own.shape.size[1];
    for (int i = 0; i < c->layers; i++)
        memmove(c->layer[i].own.data + to * width, c->layer[i].own.data + from * width,
                (size_t)(rows * width) * sizeof(real));
}

/* Keeps the `keep` newest tokens of sequence s, and moves them back if a window from there would not fit. */
static void slide(KvCache *c, long s, long keep) {
    long begin = c->slot[s];
    c->start[s] += c->length[s] - (int32_t)keep;
    c->length[s] = (int32_t)keep;
    if (c->start[s] + c->room <= begin + c->capacity) return;
    move_rows(c, c->start[s], keep, begin);
    c->start[s] = (int32_t)begin;
}

/* The first heir of a sequence keeps its rows; the others copy them to rows of sequences without heirs. */
void kv_cache_reorder(KvCache *c, const long *from) {
    long n = c->keys.count, unused = 0;
    int32_t *start = c->before, *length = start + n, *slot = length + n, *taken = slot + n;
    memcpy(start, c->start, 3 * (size_t)n * sizeof *start); /* start, length and slot are neighbours */
    memset(taken, 0, (size_t)n * sizeof *taken);
    for (long i = 0; i < n; i++) {
        c->slot[i] = -1;
        if (from[i] < 0 || taken[from[i]]) continue;
        c->slot[i] = slot[from[i]];
        taken[from[i]] = 1;
    }
    for (long i = 0; i < n; i++) {
        long old = from[i] < 0 ? i : from[i];
        bool copies = c->slot[i] < 0;
        while (copies && taken[unused]) unused++;
        if (copies) c->slot[i] = slot[unused++];
        c->length[i] = from[i] < 0 ? 0 : length[old];
        c->start[i] = c->slot[i] + start[old] - slot[old];
        if (copies) move_rows(c, start[old], c->length[i], c->start[i]);
    }
}

void kv_cache_advance(KvCache *c, const Sequences *s) {
    if (s->count != c->keys.count) error_bug("kv_cache: %ld sequences, want %ld", s->count, c->keys.count);
    for (long i = 0; i < s->count; i++) {
        if (s->longest > 1 && c->length[i] > 0)
            error_bug("kv_cache: several tokens, want one: others came before");
        long rows = s->rows[i] < c->room ? s->rows[i] : c->room;
        bool full = c->length[i] + s->rows[i] > c->room;
        if (full && !c->slides) error_bug("kv_cache: more than %ld tokens", c->room);
        if (full && c->length[i]) slide(c, i, c->room - rows);
        c->length[i] += (int32_t)rows;
    }
}

void kv_layer_append(KvLayer *l, const Tensor *qkv, const Sequences *s) {
    long width = l->own.shape.size[1];
    for (long i = 0; qkv->data && i < s->count; i++) {
        long first = l->cache->start[i] + l->cache->length[i] - s->rows[i];
        for (long row = s->rows[i] > l->cache->room ? s->rows[i] - l->cache->room : 0; row < s->rows[i];
             row++)
            memcpy(l->own.data + (first + row) * width,
                   qkv->data + (s->start[i] + row) * qkv->stride[0] + qkv->shape.size[1] - width,
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
