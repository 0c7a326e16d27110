/* Language model decoding: continues a text.
 *
 * While the text fits into the model's context, each token is computed alone, with the cache of earlier ones.
 * After that the window slides. All its tokens change position, which invalidates the cache, and the whole
 * window is computed again. A window that slides by one token pays this price for every token. A window that
 * slides by half the context pays it once in that many tokens, and a token sees between half and all of the
 * context.
 *
 * With rotary positions the cache holds, as attention depends on distances alone: each token is computed alone, at a
 * position that grows without bound. */
#include "decoding/decode.h"

/* The scores of the token after the last `seen` of n tokens. The cache holds all of these but the last
 * (known), or none. */
static const Tensor *next_scores(const Forward *f, Tokens *window, const int32_t *ids, long n, long seen,
                                 bool known) {
    if (known) {
        tokens_next(window, 1, ids + n - 1, seen - 1);
    } else {
        kv_cache_clear(f->cache);
        tokens_fill(window, TOKENS_PACKED, 1, seen, ids + n - seen, NO_PAD);
    }
    Tensor *hidden = nn_language_model(f);
    long rows = hidden->shape.size[0];
    return nn_logits(f, tape_slice(f->tape, hidden, 0, rows - 1, rows));
}

bool decode_continue(Tape *t, Model *m, const Sampler *s, int32_t *ids, long n, long more,
                     bool (*emit)(void *context, int32_t id), void *context, Error *e) {
    Tokens window = {0};
    KvCache cache = {0};
    long context_length = m->config.max_length, room = n + more < context_length ? n + more : context_length;
    bool rotary = m->config.positions == POSITIONS_ROTARY;
    long start = n > context_length ? n - context_length : 0, slide = s->slide > 0 ? s->slide : 1;
    if (slide > context_length) slide = context_length;
    bool ok = tokens_new(&window, 1, room, e) &&
              kv_cache_new(&cache, &m->config, 1, rotary ? n + more : room, 0, e);
    bool no_grad = t->no_grad, training = t->training;
    Forward f = {t, m, NULL, &window, &cache};
    t->no_grad = true;
    t->training = false;
    for (long i = n; ok && i < n + more; i++) {
        bool full = i - start > context_length && !rotary;
        if (full) start += slide;
        const Tensor *scores = next_scores(&f, &window, ids, i, i - start, i > n && !full);
        ok = !tape_failed(t, e) && decode_check_scores(scores->data, m->config.vocab_size, e);
        if (ok) ids[i] = (int32_t)decode_choose(s, scores->data, m->config.vocab_size, 0, (uint64_t)i);
        tape_reset(t);
        if (ok && emit && !emit(context, ids[i])) break;
    }
    t->no_grad = no_grad;
    t->training = training;
    kv_cache_free(&cache);
    tokens_free(&window);
    return ok;
}
