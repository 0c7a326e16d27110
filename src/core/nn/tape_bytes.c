/* The memory of a training step: what the modules of this directory put on the tape, added up from
 * their sizes. A test compares it with the tape's own count. */
#include "base/pool.h"
#include "base/work.h"
#include "nn/nn.h"
#include "ops/cross_entropy_row.h"
#include <math.h>

/* Numbers of reals. */
typedef struct Count {
    double outputs; /* of operations; each has a gradient of its size */
    double views;   /* elements of views, which have a gradient alone */
    double saved;   /* by operations, for backward */
} Count;

/* The sequences of a stack. */
typedef struct Batch {
    const ModelConfig *config;
    bool drops;
    double rows, longest, tokens;
} Batch;

static Batch batch_of(const ModelConfig *c, double dropout, long rows, long longest) {
    return (Batch){c, dropout > 0, (double)rows, (double)longest, (double)rows * (double)longest};
}

static void add_embedding(Count *sum, const Batch *b) {
    sum->outputs += b->tokens * b->config->d_model * (b->drops ? 2 : 1);
}

static void add_norm(Count *sum, const Batch *b) {
    sum->outputs += b->tokens * b->config->d_model;
    sum->saved += 2 * b->tokens;
}

/* The last product of a sublayer, its residual connection and norm. */
static void add_end_of_sublayer(Count *sum, const Batch *b) {
    sum->outputs += b->tokens * b->config->d_model * (b->drops ? 2 : 1);
    add_norm(sum, b);
}

static void add_feed_forward(Count *sum, const Batch *b) {
    const ActivationKind *act = b->config->activation;
    double inner = b->tokens * act->columns * b->config->d_ff;
    sum->outputs += inner;
    if (act->fused >= ACT_GELU) sum->saved += inner;
    if (act->fused == ACT_NONE) sum->outputs += b->tokens * b->config->d_ff;
    add_end_of_sublayer(sum, b);
}

/* `columns` of q | k | v: a product, and where they are normalised or turned another output. */
static void add_projection(Count *sum, const Batch *b, AttentionPart first, AttentionPart end,
                           bool turns) {
    const ModelConfig *c = b->config;
    double out = b->tokens * (double)(config_column(c, end) - config_column(c, first));
    sum->outputs += out;
    if (turns || c->qk_norm) sum->outputs += out;
    if (c->qk_norm) sum->saved += b->tokens * 2 * c->heads;
}

/* plain_attention.c: the matrices of weights and scores, and the copies of q, k, v and z. */
static void add_steps(Count *sum, const Batch *queries, const Batch *keys, bool causal,
                      bool placed) {
    const ModelConfig *c = queries->config;
    const AttentionKind *kind = c->attention;
    double pairs = queries->rows * queries->longest * keys->longest * c->heads;
    double q = queries->tokens * c->d_model, k = keys->tokens * c->d_model;
    double joins = ceil(log(fmax(1, queries->rows)) / log(MAX_INPUTS));
    sum->outputs += pairs * (2 + kind->scaled + causal) + q + 2 * k + (2 + joins) * q;
    sum->views += 5 * (q + k) + 5 * k;
    if (kind->inner) {
        sum->outputs += pairs * (double)(kind->inner * config_d_k(c)) + q + k;
        sum->views += pairs + q + k;
    }
    if (placed && c->positions->scores) {
        sum->outputs += pairs;
        sum->saved += pairs;
    }
}

static void add_attention(Count *sum, const Batch *queries, const Batch *keys, bool causal,
                          bool placed) {
    const ModelConfig *c = queries->config;
    bool steps = placed && c->positions->scores && !c->positions->slopes;
    if (c->attention->fused && !steps) {
        sum->outputs += queries->tokens * c->d_model;
        sum->saved += 2 * queries->tokens * c->heads;
    } else {
        add_steps(sum, queries, keys, causal, placed);
    }
    add_end_of_sublayer(sum, queries);
}

static void add_self_attention(Count *sum, const Batch *b, bool causal) {
    add_projection(sum, b, PART_Q, PART_END, b->config->positions->turn);
    add_attention(sum, b, b, causal, true);
}

static void add_cross_attention(Count *sum, const Batch *target, const Batch *source) {
    add_projection(sum, target, PART_Q, PART_K, false);
    add_projection(sum, source, PART_K, PART_END, false);
    add_attention(sum, target, source, false, false);
}

static void add_stack(Count *sum, const Batch *b, int layers, bool causal, const Batch *source) {
    add_embedding(sum, b);
    for (int i = 0; i < layers; i++) {
        add_self_attention(sum, b, causal);
        if (source) add_cross_attention(sum, b, source);
        add_feed_forward(sum, b);
    }
    if (b->config->final_norm) add_norm(sum, b);
}

TapeBytes nn_tape_bytes(const ModelConfig *c, double dropout, long rows, long S, long T) {
    Count sum = {0};
    Batch source = batch_of(c, dropout, rows, S), target = batch_of(c, dropout, rows, T);
    if (config_is_lm(c)) {
        add_stack(&sum, &target, c->encoder_layers, true, NULL);
    } else {
        add_stack(&sum, &source, c->encoder_layers, false, NULL);
        add_stack(&sum, &target, c->decoder_layers, true, &source);
    }
    /* ops/linear_cross_entropy.c */
    sum.saved += target.tokens * c->d_model + (double)c->vocab_size * c->d_model;
    double logits = (double)logit_block_rows(rows * T, c->vocab_size) * c->vocab_size;
    double predictions = target.tokens * (double)(sizeof(Prediction) / sizeof(real));
    /* Scratch memory of ops/attention.c: blocks of 32 rows of weights and their gradients; of
     * norms: two rows a chunk. */
    long longest = S > T ? S : T,
         norm_chunks = chunks_of(rows * longest, rows_per_chunk(c->d_model));
    double scratch =
        pool_threads() * 2 * 32 * (double)(longest + 32) + 2 * (double)(norm_chunks * c->d_model);
    double forward = sum.outputs + sum.saved;
    double backward = fmax(sum.outputs + sum.views + scratch, logits + predictions);
    return (TapeBytes){forward * sizeof(real), (forward + backward) * sizeof(real)};
}
