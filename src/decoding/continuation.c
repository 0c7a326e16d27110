/* Language model decoding: a text goes on. */
#include "decoding/decode.h"
#include <string.h>

bool decode_continue(Tape *t, Model *m, const Sampler *s, int32_t *ids, long n, long more,
                     bool (*emit)(void *context, int32_t id), void *context, Error *e) {
    Tokens window;
    long V = m->config.vocab_size, context_length = m->config.max_length;
    if (!tokens_new(&window, 1, context_length, e)) return false;
    bool ok = true, no_grad = t->no_grad;
    t->no_grad = true;
    t->training = false;
    for (long i = n; ok && i < n + more; i++) {
        long seen = i < context_length ? i : context_length;
        tokens_fill(&window, TOKENS_PACKED, 1, seen, ids + i - seen, NO_PAD);
        Tensor *logits = nn_logits(t, m, nn_language_model(t, m, &window));
        ok = !tape_failed(t, e);
        if (ok) ids[i] = (int32_t)decode_choose(s, logits->data + (seen - 1) * V, V, 0, (uint64_t)i);
        tape_reset(t);
        if (ok && emit && !emit(context, ids[i])) break;
    }
    t->no_grad = no_grad;
    tokens_free(&window);
    return ok;
}
