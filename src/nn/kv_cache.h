/* The key-value cache of decoding: the keys and values of earlier tokens, in every layer. A new token is
 * computed alone, to the same bits as together with all tokens before it: the order of every sum in the model
 * depends on its own terms only. While a model has a cache, its matrices are also packed for products with
 * few rows.
 *
 * A pass with a cache (Forward.cache) continues where the last one ended: first the whole prompt of each
 * sequence, then one token at a time. With rotary positions a language model continues beyond its max_length:
 * every token attends to the newest max_length tokens, whose keys keep their rotation. Modules append and
 * read. The first pass of a seq2seq model stores the keys and values of the source. Only for tapes with
 * no_grad. */
#pragma once

#include "autograd/tensor.h"
#include "nn/config.h"
#include "nn/parameters.h"
#include "ops/sequences.h"

typedef struct KvLayer {
    struct KvCache *cache;
    Tensor own;    /* [sequences · capacity, columns of k | v]: keys | values of the tokens so far */
    Tensor source; /* [source rows, columns of k | v]: keys | values of the encoder's output */
} KvLayer;

typedef struct KvCache {
    Sequences keys; /* sequence s has length[s] rows from start[s], among `capacity` rows of its own */
    long room, capacity;
    bool slides; /* after `room` tokens the window moves on */
    int layers;
    KvLayer *layer; /* one for each layer of the decoder or language model */
    int32_t *start, *length;
    int32_t *slot;          /* [sequences] first of the `capacity` rows of each */
    int32_t *rows, *before; /* before: memory for kv_cache_reorder */
    Parameters *weights;    /* whose matrices it has packed */
    real *memory;
    size_t bytes;
} KvCache;

/* Allocates a cache for sequences of at most `room` tokens, and sources of source_rows tokens in all. The caller
 * frees it with kv_cache_free, even if this fails (STATUS_NO_MEMORY), and changes no weight before. It must not be
 * copied. */
bool kv_cache_new(KvCache *c, const ModelConfig *config, Parameters *weights, long sequences, long room,
                  long source_rows, Error *e);
void kv_cache_free(KvCache *c);

/* Bytes of keys and values that kv_cache_new allocates. */
size_t kv_cache_bytes(const ModelConfig *config, long sequences, long room, long source_rows);

/* Bytes of the packed matrices, which the first cache of a model allocates and its parameters keep. */
size_t kv_cache_packed_bytes(const Parameters *weights);

/* Forgets all tokens. */
void kv_cache_clear(KvCache *c);

/* Sequence s becomes what sequence from[s] was, or empty: -1. Copies only sequences that go on twice. */
void kv_cache_reorder(KvCache *c, const long *from);

/* For modules. kv_cache_advance makes room for the tokens of s; kv_layer_append stores their keys and values,
 * columns of qkv, layer by layer. */
void kv_cache_advance(KvCache *c, const Sequences *s);
void kv_layer_append(KvLayer *l, const Tensor *qkv, const Sequences *s);

/* For modules: stores keys | values of the source. */
void kv_layer_keep_source(KvLayer *l, const Tensor *kv);
