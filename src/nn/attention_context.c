/* Decoding adds two things to multi-head attention: keys and values that a cache keeps from earlier passes, and windows
 * over a text that is longer than the context. */
#include "autograd/op.h"
#include "nn/nn.h"

/* Masked attention of a pass longer than the model's context: each token attends to the max_length newest, itself
 * included. The windows overlap, so the tape must have no_grad. */
static Heads windows(const Forward *f, Heads here) {
    const Sequences *s = here.reach.queries;
    Tensor *qkv = here.q;
    long n = s->total_rows;
    Tensor *k = nn_part(f, qkv, PART_Q, PART_K), *v = nn_part(f, qkv, PART_Q, PART_V);
    Tensor *kv = tape_concat(f->tape, 1, 2, (Tensor *[]){k, v});
    Sequences *each = node_record(kv->maker, 2 * sizeof *each);
    int32_t *row = node_record(kv->maker, 4 * (size_t)n * sizeof *row), *one = row + n, *start = one + n;
    int32_t *length = start + n, room = (int32_t)f->model->config.max_length;
    for (long i = 0; s->start && i < s->count; i++)
        for (int32_t t = 0, at = s->start[i]; t < s->rows[i]; t++, at++) {
            row[at] = at, one[at] = 1;
            length[at] = t < room ? t + 1 : room;
            start[at] = at + 1 - length[at];
        }
    each[0] = (Sequences){n, row, one, one, n, 1};
    each[1] = (Sequences){n, start, length, length, n, room};
    here.reach.queries = &each[0], here.reach.keys = &each[1], here.reach.causal = false;
    here.q = nn_part(f, qkv, PART_Q, PART_Q), here.kv = kv;
    return here;
}

Heads nn_heads_in_context(const Forward *f, Heads here) {
    const Sequences *s = here.reach.queries;
    KvLayer *past = f->cache ? &f->cache->layer[f->layer] : NULL;
    if (past) kv_layer_append(past, here.q, s);
    if (s->longest > f->model->config.max_length) return windows(f, here);
    if (!past || s->longest > 1) return here;
    /* The newest token of its sequence attends to all that the cache holds. */
    here.reach.keys = &past->cache->keys, here.reach.causal = false;
    here.q = nn_part(f, here.q, PART_Q, PART_Q), here.kv = &past->own;
    return here;
}

Tensor *nn_source_keys(const Forward *f, Tensor *kv) {
    KvLayer *past = &f->cache->layer[f->layer];
    if (kv) kv_layer_keep_source(past, kv);
    return kv ? kv : &past->source;
}
