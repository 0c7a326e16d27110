/* The key-value cache of decoding: the keys and values of earlier tokens, in every layer. A new
 * token is computed alone and gets the bits that it has when all tokens are computed together,
 * because the order of every sum depends on its own terms only. While a model has a cache, its
 * matrices are also packed for products with few rows.
 *
 * A pass with a cache (Forward.cache) continues where the last one ended: the first pass has the
 * whole prompt of each sequence, each later pass one token. The first pass of a seq2seq model
 * stores the keys and values of the source. The tape must have no_grad. */
#pragma once

#include "autograd/tensor.h"
#include "nn/config.h"
#include "nn/parameters.h"
#include "ops/sequences.h"

typedef struct KvLayer {
    struct KvCache *cache;
    Tensor own; /* [sequences · capacity, columns of k | v]: keys | values of the tokens so far */
    Tensor source; /* [source rows, columns of k | v]: keys | values of the encoder's output */
} KvLayer;

typedef struct KvCache {
    Sequences keys; /* sequence s has length[s] rows from start[s], of `capacity` rows of its own */
    long capacity;  /* maximum tokens of a sequence */
    int layers;
    KvLayer *layer; /* [layers of the decoder or language model] */
    int32_t *start, *length, *rows;
    int32_t *scratch;    /* [3 · sequences] of kv_cache_reorder */
    Parameters *weights; /* whose matrices are packed */
    real *memory;
    size_t bytes;
} KvCache;

/* Allocates a cache for sequences of at most `capacity` tokens, and for sources of source_rows
 * tokens in total. The caller frees it with kv_cache_free, also after a failure (STATUS_NO_MEMORY).
 * Weights must not change before that, and the struct must not be copied. */
bool kv_cache_new(KvCache *c, const ModelConfig *config, Parameters *weights, long sequences,
                  long capacity, long source_rows, Error *e);
void kv_cache_free(KvCache *c);

/* Returns the bytes of keys and values that kv_cache_new allocates. */
size_t kv_cache_bytes(const ModelConfig *config, long sequences, long capacity, long source_rows);

/* Returns the bytes of the packed matrices. The first cache of a model allocates them;
 * parameters_free frees them. */
size_t kv_cache_packed_bytes(const Parameters *weights);

/* Removes all tokens. */
void kv_cache_clear(KvCache *c);

/* Replaces sequence s by the old sequence from[s]; -1 makes it empty. Copies a sequence only if
 * more than one new sequence continues it. */
void kv_cache_reorder(KvCache *c, const long *from);

/* For modules. kv_cache_advance adds rows for the tokens of s. kv_layer_append then stores their
 * keys and values, the last columns of qkv, in a layer. */
void kv_cache_advance(KvCache *c, const Sequences *s);
void kv_layer_append(KvLayer *l, const Tensor *qkv, const Sequences *s);

/* For modules: stores k | v of the source. */
void kv_layer_keep_source(KvLayer *l, const Tensor *kv);
