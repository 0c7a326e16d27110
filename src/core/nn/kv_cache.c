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

/* Counts the decodings of a model. The first one packs its matrices, which all threads share.
 * parameters_free frees the packed matrices. If they do not fit into memory, decoding is slower. */
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

size_t kv_cache_bytes(const ModelConfig *c, long sequences, long capacity, long source_rows) {
    size_t rows = (size_t)sequences * (size_t)capacity + (size_t)source_rows;
    return rows * (size_t)columns_kept(c) * (size_t)decoding_layers(c) * sizeof(real);
}

bool kv_cache_new(KvCache *c, const ModelConfig *config, Parameters *weights, long sequences,
                  long capacity, long source_rows, Error *e) {
    long width = columns_kept(config), rows = sequences * capacity;
    *c = (KvCache){.capacity = capacity,
                   .layers = decoding_layers(config),
                   .bytes = kv_cache_bytes(config, sequences, capacity, source_rows)};
    c->start = calloc(6 * (size_t)sequences + 1, sizeof *c->start);
    c->layer = calloc((size_t)c->layers, sizeof *c->layer);
    if (!c->start || !c->layer)
        return error_set(e, STATUS_NO_MEMORY, "memory: keys and values of %ld sequences",
                         sequences);
    c->memory = pages_alloc(c->bytes, "the cache of keys and values", e);
    if (!c->memory) return false;
    c->length = c->start + sequences;
    c->rows = c->length + sequences;
    c->scratch = c->rows + sequences;
    for (long s = 0; s < sequences; s++) {
        c->start[s] = (int32_t)(s * capacity);
        c->rows[s] = (int32_t)capacity;
    }
    c->keys = (Sequences){sequences, c->start, c->rows, c->length, rows, capacity};
    real *next = c->memory;
    for (int i = 0; i < c->layers; i++) {
        c->layer[i].cache = c;
        c->layer[i].own = tensor_over(next, SHAPE(rows, width));
        next += rows * width;
        c->layer[i].source = tensor_over(next, SHAPE(source_rows, width));
        next += source_rows * width;
    }
    c->weights = weights;
    count_decodings(weights, 1);
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
}

/* Copies `rows` rows of every layer. */
static void copy_rows(KvCache *c, long from, long rows, long to) {
    long width = c->layer[0].own.shape.size[1];
    for (int i = 0; i < c->layers; i++)
        memcpy(c->layer[i].own.data + to * width, c->layer[i].own.data + from * width,
               (size_t)(rows * width) * sizeof(real));
}

/* The first successor of a sequence keeps its rows. Others copy them to rows of sequences without
 * successors. */
void kv_cache_reorder(KvCache *c, const long *from) {
    long n = c->keys.count, unused = 0;
    int32_t *start = c->scratch, *length = start + n, *is_taken = length + n;
    memcpy(start, c->start, (size_t)n * sizeof *start);
    memcpy(length, c->length, (size_t)n * sizeof *length);
    memset(is_taken, 0, (size_t)n * sizeof *is_taken);
    for (long i = 0; i < n; i++) {
        c->start[i] = -1;
        if (from[i] < 0 || is_taken[from[i]]) continue;
        c->start[i] = start[from[i]];
        is_taken[from[i]] = 1;
    }
    for (long i = 0; i < n; i++) {
        c->length[i] = from[i] < 0 ? 0 : length[from[i]];
        if (c->start[i] >= 0) continue;
        while (is_taken[unused]) unused++;
        c->start[i] = start[unused++];
        if (from[i] >= 0) copy_rows(c, start[from[i]], c->length[i], c->start[i]);
    }
}

void kv_cache_advance(KvCache *c, const Sequences *s) {
    if (s->count != c->keys.count)
        error_bug("kv_cache: %ld sequences, want %ld", s->count, c->keys.count);
    for (long i = 0; i < s->count; i++) {
        if (s->longest > 1 && c->length[i] > 0)
            error_bug("kv_cache: several tokens, want one: others came before");
        if (c->length[i] + s->rows[i] > c->capacity)
            error_bug("kv_cache: more than %ld tokens", c->capacity);
        c->length[i] += s->rows[i];
    }
}

void kv_layer_append(KvLayer *l, const Tensor *qkv, const Sequences *s) {
    long width = l->own.shape.size[1], column = qkv->shape.size[1] - width;
    if (!qkv->data) return;
    for (long i = 0; i < s->count; i++) {
        long first = l->cache->start[i] + l->cache->length[i] - s->rows[i];
        for (long row = 0; row < s->rows[i]; row++)
            memcpy(l->own.data + (first + row) * width,
                   qkv->data + (s->start[i] + row) * qkv->stride[0] + column,
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
