/* The Transformer of "Attention Is All You Need" (arXiv:1706.03762), module by module, with the
 * numbers of its sections.
 *
 * A module is one file: a struct of weights, a function that adds them to a model, and a function
 * that records the forward pass on a tape; the tape runs backward. Activations are matrices [rows,
 * d_model], one row per token (tokens.h): the sequences of a batch stand one after another. Weights
 * have the layout of PyTorch's modules: a linear layer's matrix is [out, in].
 *
 * Every module's function returns a tensor of the tape, which frees it. */
#pragma once

#include "nn/choices.h"
#include "nn/kv_cache.h"
#include "nn/trace.h"
#include "ops/ops.h"

/* Modules. Each has one file: its struct, the function that adds its parameters (builder.h), and
 * its forward pass. */
typedef struct Norm Norm;
typedef struct Attention Attention;
typedef struct FeedForward FeedForward;
typedef struct EncoderLayer EncoderLayer;
typedef struct DecoderLayer DecoderLayer;

typedef struct Model {
    ModelConfig config;
    double dropout; /* P_drop of section 5.4; a setting of the training: not saved */
    bool unmasked;  /* experiment, not saved: self-attention over the target has no causal mask */
    bool unplaced;  /* experiment, not saved: tokens have no positions */
    Parameters parameters;
    Arena modules;    /* memory of the modules */
    Tensor embedding; /* [vocab_size, d_model], for source, target and, if tied, output */
    /* [max_length, d_model], added to embeddings: learned weights, or a view of position_table.
     * Another kind of positions may learn a tensor of another shape. */
    Tensor positions;
    Tensor output;                     /* [vocab_size, d_model], if not tied */
    EncoderLayer *encoder;             /* [encoder_layers]; a language model has only these */
    DecoderLayer *decoder;             /* [decoder_layers] */
    Norm *encoder_norm, *decoder_norm; /* after each stack, if config.final_norm */
    /* [max_length, nn_position_width]; the first positions_made rows are computed. NULL: positions
     * need no table. */
    real *position_table;
    long positions_made;
} Model;

/* The residual connection of the sublayer at work. */
typedef struct Residual {
    Tensor *x;   /* the sublayer's input, before a norm */
    Tensor *sum; /* x plus the sublayer's last product, if nn_project has added them; else NULL */
} Residual;

/* A forward pass: Forward f = {tape, model, &source, &target}. */
typedef struct Forward {
    Tape *tape;
    Model *model;
    const Tokens *source,
        *target;    /* input of encoder and decoder; a language model has no source */
    KvCache *cache; /* decoding: keys and values of earlier tokens; NULL: there are none */
    Trace *trace;   /* keeps the results of modules; NULL: keeps nothing, and is faster */
    /* The encoder's output, [source rows, d_model]; nn_transformer sets it. NULL in later passes of
     * decoding: they call nn_decoder, which reads its k | v from the cache. */
    Tensor *memory;
    Residual *residual; /* what nn_project adds; NULL: nothing. nn_add_and_norm sets it */
    int layer;          /* the layer at work; set by the stacks */
} Forward;

/* 3.4, 3.5: rows of the embedding matrix, scaled, plus positions; then dropout. [rows, d_model] */
void nn_embedding_add(Builder *b, Model *m);
Tensor *nn_embedding(const Forward *f, const Tokens *x);

/* 3.5: out [d]: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d)). */
void nn_sinusoids(long pos, long d, real *out);

/* pos / base^(i/d) */
double nn_angle(double base, long pos, long i, long d);

/* Computes the missing rows before row `length` of the model's table of positions. Does nothing if
 * the model has no table. Several threads may call it at once. */
void nn_make_positions(Model *m, long length);

/* Columns of the table of positions; 0: there is none. */
long nn_position_width(const ModelConfig *c);

/* 3.2: the sublayers of an Attention. Self-attention over the source; masked self-attention over
 * the target, in which a token attends only to itself and earlier tokens; cross-attention, from the
 * target to the memory. */
Attention *nn_attention_new(Builder *b, const char *name, bool cross);
Sublayer nn_self_attention, nn_masked_self_attention, nn_cross_attention;

/* 3.3, of a FeedForward: FFN(x) = act(x W_1ᵀ + b_1) W_2ᵀ + b_2. */
FeedForward *nn_feed_forward_new(Builder *b);
Sublayer nn_feed_forward;

/* The operands of attention in all heads. If kv is NULL, the columns of q are q | k | v; else kv
 * has the columns k | v. */
typedef struct Heads {
    Tensor *q, *kv;
    Reach reach; /* without slopes: attend_in_heads adds them */
    bool placed; /* self-attention: positions may change the scores */
} Heads;

/* How scores become weights. */
typedef struct Scoring {
    const AttentionKind *kind;
    Tensor *weight;        /* [d_model] of the kind, if it has one */
    const Forward *placed; /* the pass whose positions change the scores; NULL: none */
} Scoring;

/* 3.2.1, 3.2.2: attention made of elementary operations. With attention_dot it equals
 * tape_attention up to rounding. q, k, v are [rows, d_model]; the result is [query rows, d_model].
 * Uses scoring->placed instead of reach->slopes. Stores the steps of every sequence in `steps`, if
 * not NULL. */
Tensor *nn_plain_attention(Tape *t, const Scoring *scoring, Tensor *q, Tensor *k, Tensor *v,
                           int heads, const Reach *reach, AttentionSteps *steps);

/* Returns the columns of a part of x. The columns of x are q | k | v from part `first` on. */
Tensor *nn_part(const Forward *f, Tensor *x, AttentionPart first, AttentionPart part);

/* Returns the operands of masked self-attention with a cache: the queries of `here`, the q | k | v
 * of this pass, and all keys and values of this pass and earlier ones. */
Heads nn_heads_in_cache(const Forward *f, Heads here);

/* Cross-attention with a cache: stores kv, the k | v of the memory, in the cache and returns it. If
 * kv is NULL, returns the stored one. */
Tensor *nn_source_keys(const Forward *f, Tensor *kv);

/* Returns act(x Wᵀ + b) + residual, [rows, out]; residual: NULL for none. */
Tensor *nn_linear(const Forward *f, Linear *l, Tensor *x, Activation act, Tensor *residual);

/* Returns x Wᵀ + b, the last product of a sublayer. May add f->residual->x in the same pass, and
 * then sets f->residual->sum. */
Tensor *nn_project(const Forward *f, Linear *l, Tensor *x);

/* 3.1, 5.4: residual connection, dropout and norm around a sublayer, which need not know of them.
 * With post-norm (the paper):
 *     LayerNorm(x + Dropout(Sublayer(x)))
 * With pre-norm (Xiong et al., arXiv:2002.04745):
 *     x + Dropout(Sublayer(LayerNorm(x))) */
Tensor *nn_add_and_norm(const Forward *f, Sublayer *sublayer, void *module, Norm *norm, Tensor *x);
Norm *nn_norm_new(Builder *b, const char *name);
Tensor *nn_norm(const Forward *f, Norm *norm, Tensor *x);

/* 3.1: the stacks, [rows, d_model]. The encoder reads the source; the decoder reads the target and
 * f->memory. nn_encoder_stack runs the encoder's layers and norm with one of the two
 * self-attentions. */
EncoderLayer *nn_encoder_new(Builder *b);
DecoderLayer *nn_decoder_new(Builder *b);
Tensor *nn_encoder_stack(const Forward *f, Sublayer *self_attention, Tensor *x);
Tensor *nn_encoder(const Forward *f);
Tensor *nn_decoder(const Forward *f);

/* Stops with a bug if a pass has no tape or no model. */
void nn_want_pass(const Forward *f);

/* The model up to the output projection. Returns the hidden states of the target's tokens, [rows,
 * d_model]. nn_hidden calls nn_language_model or nn_transformer, which sets f->memory. */
Tensor *nn_transformer(Forward *f);
Tensor *nn_language_model(const Forward *f);
Tensor *nn_hidden(Forward *f);

/* 3.4: logits, [rows, vocab_size]. */
void nn_output_add(Builder *b, Model *m);
Tensor *nn_logits(const Forward *f, Tensor *hidden);

/* 5.4: mean cross-entropy, with label smoothing, of the rows whose target is not pad_id. The
 * caller's targets, [rows], must live until the tape is reset. */
Tensor *nn_loss(const Forward *f, Tensor *hidden, const int32_t *targets);

/* The prediction of one row: the loss of its target in nats, without label smoothing, and the
 * likeliest token. */
typedef struct Prediction {
    double loss;
    int32_t likeliest;
} Prediction;

/* Predicts from every row of hidden, [rows], without memory for all logits. The result is valid
 * until the tape is reset. NULL if the tape has failed. */
const Prediction *nn_predict(const Forward *f, Tensor *hidden, const int32_t *targets);

/* Returns a model with initial weights drawn from the seed; `training` adds gradients. The caller
 * frees it with model_free and does not copy it. NULL with the error if the configuration is
 * invalid or memory runs out. */
Model *model_new(const ModelConfig *c, bool training, uint64_t seed, Error *e);
void model_free(Model *m);

/* Sets the output matrices of all sublayers to 0: every layer begins as the identity. */
void model_zero_outputs(Model *m);

/* Returns a model without memory: its tensors have shapes and no data. */
Model *model_without_memory(const ModelConfig *c, bool training, Error *e);

/* model_allocate allocates that memory and sets all weights to 0. model_init draws initial
 * weights. */
bool model_allocate(Model *m, Error *e);
void model_init(Model *m, uint64_t seed);

/* Bytes of weights, gradients and positions. */
size_t model_bytes(const Model *m);

/* The cost of a training step on `rows` full sequences of S source tokens (a language model: 0) and
 * T target tokens. Shorter sequences cost less. A dry tape counts it: the model may be without
 * memory, and its gradients must not be fresh. */
typedef struct StepCost {
    double kept;  /* bytes of the arrays that forward keeps for backward */
    double bytes; /* maximum bytes of all arrays of the tape, also in an evaluation */
    double flops; /* of the matrix products of forward and backward: Op.flops */
} StepCost;
StepCost nn_step_cost(Model *m, long rows, long S, long T);
