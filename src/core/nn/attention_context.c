/* Decoding adds one thing to multi-head attention: keys and values that a cache keeps from earlier
 * passes. */
#include "nn/nn.h"

Heads nn_heads_in_cache(const Forward *f, Heads here) {
    const Sequences *s = here.reach.queries;
    KvLayer *past = &f->cache->layer[f->layer];
    kv_layer_append(past, here.q, s);
    if (s->longest > 1) return here; /* the first pass: no keys came before */
    /* The newest token of a sequence attends to all that the cache holds. */
    here.reach.keys = &past->cache->keys;
    here.reach.causal = false;
    here.q = nn_part(f, here.q, PART_Q, PART_Q);
    here.kv = &past->own;
    return here;
}

Tensor *nn_source_keys(const Forward *f, Tensor *kv) {
    KvLayer *past = &f->cache->layer[f->layer];
    if (kv) kv_layer_keep_source(past, kv);
    return kv ? kv : &past->source;
}
