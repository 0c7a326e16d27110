/* A mixture of experts in place of 3.3's feed-forward network (Shazeer et al., arXiv:1701.06538): E networks, of which each
 * token uses the k that its router finds likeliest.
 *
 *     p = softmax(x W_rᵀ)      y = Σ_{e in top k of p} w_e FFN_e(x)      w_e = p_e / Σ_{e' in top k} p_e'
 *
 * With k = 1 all w_e would be 1, and the router would not learn: then w_e = p_e (Fedus et al., arXiv:2101.03961). Only chosen
 * experts run: the tokens are sorted by expert, once for each of their experts, and grouped_linear computes a group with
 * the matrices of its expert. Of two equal p_e the first expert is taken. */
#include "autograd/op.h"
#include "nn/nn.h"
#include <math.h>

typedef struct Experts {
    Tensor router;             /* W_r: [E, d_model] */
    Tensor in, in_bias;        /* [E, columns · d_ff, d_model], [E, columns · d_ff] */
    Tensor out, out_bias;      /* [E, d_model, d_ff], [E, d_model] */
    char name[PARAMETER_NAME]; /* "encoder.layers.0.experts" */
} Experts;

static int experts_of(const ModelConfig *c) {
    return c->experts ? c->experts : 4;
}

static int top_k_of(const ModelConfig *c) {
    return c->top_k ? c->top_k : 2;
}

static bool check(const ModelConfig *c, Status status, Error *e) {
    return top_k_of(c) <= experts_of(c) ||
           error_set(e, status, "top_k: found %d, need at most the %d experts", top_k_of(c), experts_of(c));
}

static void *add_parameters(Builder *b) {
    const ModelConfig *c = b->config;
    long E = experts_of(c), d = c->d_model, d_ff = c->d_ff, wide = c->activation->columns * d_ff;
    Experts *w = build_module(b, sizeof *w);
    snprintf(w->name, sizeof w->name, "%.36sexperts", b->prefix);
    build_tensor(b, "router.weight", SHAPE(E, d), glorot(d, E), &w->router);
    build_tensor(b, "experts.linear1.weight", SHAPE(E, wide, d), glorot(d, wide), &w->in);
    build_tensor(b, "experts.linear1.bias", SHAPE(E, wide), init_zeros, &w->in_bias);
    build_tensor(b, "experts.linear2.weight", SHAPE(E, d, d_ff), glorot(d_ff, d), &w->out);
    build_tensor(b, "experts.linear2.bias", SHAPE(E, d), init_zeros, &w->out_bias);
    return w;
}

/* The experts of n tokens. On a tape that plans, all are 0. */
typedef struct Routes {
    int32_t *rows;   /* [E] tokens of each expert */
    int32_t *token;  /* [n k] of each row of the sorted tokens */
    int32_t *chosen; /* [k, n] the element of p, [n E], of a token's first, second, … expert */
    int32_t *place;  /* [k, n] and its row of the sorted tokens */
} Routes;

/* The expert with the largest p of those that are not among the first `taken` of the token. */
static int best_of(const real *p, int E, const int32_t *chosen, int taken, long n) {
    int best = -1;
    for (int e = 0; e < E; e++) {
        bool free = true;
        for (int j = 0; j < taken; j++) free &= chosen[j * n] % E != e;
        if (free && (best < 0 || p[e] > p[best])) best = e;
    }
    return best;
}

static Routes route(const Tensor *p, int k) {
    long n = p->shape.size[0];
    int E = (int)p->shape.size[1];
    Node *maker = p->maker;
    Routes r = {node_record(maker, (size_t)E * sizeof(int32_t)),
                node_record(maker, (size_t)(n * k) * sizeof(int32_t)),
                node_record(maker, (size_t)(n * k) * sizeof(int32_t)),
                node_record(maker, (size_t)(n * k) * sizeof(int32_t))};
    if (!p->data) return r;
    for (long i = 0; i < n; i++)
        for (int j = 0; j < k; j++) {
            int e = best_of(p->data + i * E, E, r.chosen + i, j, n);
            r.chosen[j * n + i] = (int32_t)(i * E + e);
            r.rows[e]++;
        }
    int32_t row = 0;
    for (int e = 0; e < E; e++)
        for (long i = 0; i < n; i++)
            for (int j = 0; j < k; j++) {
                if (r.chosen[j * n + i] % E != e) continue;
                r.place[j * n + i] = row;
                r.token[row++] = (int32_t)i;
            }
    return r;
}

/* Rows of x: [count, columns]. */
static Tensor *rows_of(Tape *t, Tensor *x, const int32_t *rows, long count) {
    return tape_embedding(t, x, count, rows, 1, NULL, NULL);
}

static Tensor *forward(const Forward *f, void *module, Tensor *x) {
    Experts *w = module;
    Tape *t = f->tape;
    const ModelConfig *c = &f->model->config;
    int k = top_k_of(c), E = experts_of(c);
    long n = x->shape.size[0];
    Tensor *p = tape_softmax(t, tape_linear(t, x, &w->router, NULL, ACT_NONE, NULL), -1);
    Routes r = route(p, k);
    if (f->trace) nn_trace_counts(f->trace, p, w->name, E, r.rows);
    Tensor *inner = tape_grouped_linear(t, rows_of(t, x, r.token, n * k), &w->in, &w->in_bias, r.rows);
    Tensor *answers = tape_grouped_linear(t, c->activation->apply(t, inner), &w->out, &w->out_bias, r.rows);
    Tensor *flat = tape_reshape(t, p, SHAPE(n * E, 1)), *y = NULL, *total = NULL;
    for (int j = 0; j < k; j++) {
        Tensor *share = rows_of(t, flat, r.chosen + j * n, n);
        Tensor *part = tape_mul(t, rows_of(t, answers, r.place + j * n, n), share);
        y = y ? tape_add(t, y, part) : part;
        total = total ? tape_add(t, total, share) : share;
    }
    return k > 1 ? tape_div(t, y, total) : y;
}

const FeedForwardKind feed_forward_experts = {{"experts"}, add_parameters, forward, check};
