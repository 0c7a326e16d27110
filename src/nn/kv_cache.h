/* The key-value cache of decoding: what attention needs of the tokens that came before, the keys and values of every
 * layer. With it a new token is computed alone, and to the same bits as together with all before it: every number of
 * the model is a sum in an order that does not depend on what else is computed.
 *
 * A pass with a cache (Forward.cache) goes on where the last one ended: first the whole beginning of each sequence,
 * then one token at a time. The modules append and look up; the source of a sequence to sequence model is looked at
 * once (see nn_decoder). Only for tapes with no_grad. */
#ifndef NN_KV_CACHE_H
#define NN_KV_CACHE_H

#include "autograd/tensor.h"
#include "nn/config.h"
#include "ops/sequences.h"

typedef struct KvLayer {
    struct KvCache *cache;
    Tensor own;    /* [sequences · room, 2 d_model]: keys | values of the tokens so far */
    Tensor source; /* [source rows, 2 d_model]: those of the encoder's output, where there is one */
} KvLayer;

typedef struct KvCache {
    Sequences keys; /* each owns `room` rows, of which the first length[s] hold its tokens */
    long room;
    KvLayer *layer; /* one for each layer that decodes */
    int32_t *start, *rows, *length;
    real *memory;
    size_t bytes;
} KvCache;

/* A cache for so many sequences of at most `room` tokens, and sources of together source_rows tokens; owned by the
 * caller, for kv_cache_free, also where it fails (STATUS_NO_MEMORY). It must not be copied. */
bool kv_cache_new(KvCache *c, const ModelConfig *config, long sequences, long room, long source_rows,
                  Error *e);
void kv_cache_free(KvCache *c);

/* Bytes of keys and values that kv_cache_new takes. */
size_t kv_cache_bytes(const ModelConfig *config, long sequences, long room, long source_rows);

/* Forgets all tokens. */
void kv_cache_clear(KvCache *c);

/* For the modules. The tokens of s follow; then, layer by layer, their keys and values, columns of qkv. */
void kv_cache_advance(KvCache *c, const Sequences *s);
void kv_layer_append(KvLayer *l, const Tensor *qkv, const Sequences *s);

/* For the modules: keeps keys | values of the source. */
void kv_layer_keep_source(KvLayer *l, const Tensor *kv);

/* The i-th layer of a cache; NULL where there is no cache. */
KvLayer *kv_layer(const KvCache *c, int i);

#endif
