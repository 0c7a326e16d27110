/* One task for networks and attention: random symbols are read, and named again at other places. */
#include "base/random.h"
#include "explain/experiment.h"
#include "kernels/arrays.h"

enum { SYMBOLS = RECALL_SYMBOLS, WIDTH = RECALL_WIDTH, BATCH = RECALL_BATCH };

static void draw(Recall *r, uint64_t key, long batch) {
    int tokens = BATCH * r->length;
    for (int i = 0; i < tokens; i++)
        r->symbol[i] = (int32_t)random_below(key, (uint64_t)(batch * tokens + i), SYMBOLS);
    for (int i = 0; i < tokens * r->offsets; i++) {
        int token = i / r->offsets, first = token / r->length * r->length;
        int at = token - first + r->offset[i % r->offsets];
        bool is_inside = at >= 0 && at < r->length;
        int32_t found = r->symbol[first + (at + r->length) % r->length];
        r->answer[i] = is_inside || r->circle ? found : -1;
    }
    tokens_fill(&r->tokens, BATCH, r->length, r->symbol, NO_PAD);
}

static Tensor *read_batch(Lab *l, Recall *r, long batch) {
    draw(r, random_key(l->seed, STREAM_EXPERIMENT), batch);
    return tape_reshape(l->tape, r->scores(l, r), SHAPE(BATCH * r->length * r->offsets, SYMBOLS));
}

static Tensor *loss(Lab *l, void *model, long step) {
    Recall *r = model;
    return tape_cross_entropy(l->tape, read_batch(l, r, step), r->answer, -1, 0);
}

double recall_learn(Lab *l, Recall *r, int steps, int judged) {
    int tokens = BATCH * r->length;
    double right = 0, all = 0;
    lab_want(l, tokens_new(&r->tokens, BATCH, tokens, &l->error));
    lab_weight(l, &r->in, "in", SHAPE(SYMBOLS, WIDTH), 1);
    lab_weight(l, &r->positions, "positions", SHAPE(r->length, WIDTH), 1);
    Tensor *const square[] = {&r->query, &r->key, &r->value, &r->again};
    for (int i = 0; i < 4; i++)
        lab_weight(l, square[i], "square", SHAPE(WIDTH, WIDTH), 1 / sqrt(WIDTH));
    lab_weight(l, &r->out, "out", SHAPE(r->offsets * SYMBOLS, WIDTH), 1 / sqrt(WIDTH));
    lab_train(l, steps, 0.01, loss, r);
    r->judges = true;
    for (int batch = 0; batch < judged; batch++) {
        tape_reset(l->tape);
        Tensor *y = read_batch(l, r, steps + batch);
        lab_want(l, true);
        for (int token = 0; token < tokens; token++) {
            int agree = 0;
            for (int i = token * r->offsets; i < (token + 1) * r->offsets; i++)
                agree += kernel_argmax(SYMBOLS, y->data + i * SYMBOLS) == r->answer[i];
            right += agree == r->offsets;
            all += r->answer[token * r->offsets] >= 0;
        }
    }
    if (r->map) tensor_copy_out(r->shares[BATCH - 1].weights, r->map);
    tokens_free(&r->tokens);
    lab_end(l);
    return 100 * right / all;
}

Tensor *recall_attention(Lab *l, Recall *r) {
    Tape *t = l->tape;
    const Tokens *x = &r->tokens;
    Reach reach = {&x->sequences, &x->sequences, !r->circle};
    Tensor *e = tape_embedding(t, &r->in, BATCH * r->length, x->id, 1, &r->positions, x->at);
    Tensor *q = lab_linear(l, e, &r->query), *k = lab_linear(l, e, &r->key),
           *v = lab_linear(l, e, &r->value), *z;
    if (r->judges)
        z = nn_plain_attention(t, &(Scoring){&attention_dot}, q, k, v, r->heads, &reach, r->shares);
    else
        z = tape_attention(t, q, k, v, r->heads, &reach);
    return lab_linear(l, z, &r->out);
}
