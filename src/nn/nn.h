/* The Transformer, module by module, in the order of "Attention Is All You Need" (arXiv:1706.03762).
 *
 * A module is a struct of weights and a function that records its forward pass on a tape; the tape runs
 * backward. Activations are matrices [rows, d_model], one row per token (tokens.h): the sequences of a batch
 * stand one after another. Weights have the layout of PyTorch's modules: a linear layer's matrix is
 * [out, in].
 *
 * Every module's function returns a tensor of the tape, which frees it. Before it records operations it sets
 * tape->recorder. */
#ifndef NN_NN_H
#define NN_NN_H

#include "nn/config.h"
#include "nn/kv_cache.h"
#include "nn/parameters.h"
#include "nn/tokens.h"
#include "nn/trace.h"
#include "ops/ops.h"

/* y = x Wᵀ + b */
typedef struct Linear {
    Tensor weight, bias; /* [out, in], [out] */
} Linear;

/* Layer norm's gain and bias. */
typedef struct Norm {
    Tensor weight, bias; /* [d_model] */
} Norm;

/* 3.2.2 Multi-head attention: W^Q, W^K, W^V of all heads, and W^O. As in PyTorch the three are one matrix
 * [3·d_model, d_model]. Cross-attention multiplies the target by its first d_model rows and the memory by the
 * others. */
typedef struct Attention {
    Linear in;    /* self-attention: q, k, v in one product */
    Linear q, kv; /* cross-attention: the same rows, split */
    Linear out;
    Tensor score; /* [d_model], additive attention: w of plain_attention.c */
    int layer;    /* the cache's layer that holds its keys and values */
    char name[PARAMETER_NAME];
} Attention;

/* 3.3 Position-wise feed-forward network: W_1, b_1, W_2, b_2. */
typedef struct FeedForward {
    Linear in, out; /* [d_ff, d_model], [d_model, d_ff] */
} FeedForward;

/* 3.1, Figure 1 left. */
typedef struct EncoderLayer {
    Attention self_attention;
    FeedForward feed_forward;
    Norm norm1, norm2;
} EncoderLayer;

/* 3.1, Figure 1 right. */
typedef struct DecoderLayer {
    Attention self_attention, cross_attention;
    FeedForward feed_forward;
    Norm norm1, norm2, norm3;
} DecoderLayer;

/* A decoder layer without cross-attention, of a decoder-only model: it has the weights of an encoder layer. */
typedef EncoderLayer LanguageModelLayer;

typedef struct Model {
    ModelConfig config;
    double dropout;           /* P_drop of section 5.4; how a model is trained, not what it is: not saved */
    double attention_dropout; /* of dot-product attention's probabilities; not saved either */
    bool unmasked, unplaced; /* experiments, not saved: a target without its mask, tokens without positions */
    Parameters parameters;
    Tensor embedding;                   /* [vocab_size, d_model], for source, target and, if tied, output */
    Tensor positions;                   /* [max_length, d_model]: learned, or the sinusoids; rotary: none */
    EncoderLayer *encoder;              /* seq2seq: [encoder_layers] */
    DecoderLayer *decoder;              /* seq2seq: [decoder_layers] */
    LanguageModelLayer *language_model; /* language model: [encoder_layers] */
    Norm encoder_norm, decoder_norm, final_norm; /* after each stack, if config.final_norm */
    Tensor output;                               /* [vocab_size, d_model], if not tied */
    /* [max_length, nn_position_width], of which the first sinusoids_made rows are computed; NULL where positions are
     * learned. */
    real *sinusoids;
    long sinusoids_made;
} Model;

/* A forward pass: Forward f = {tape, model, &source, &target}. */
typedef struct Forward {
    Tape *tape;
    Model *model;
    const Tokens *source, *target; /* input of encoder and decoder; a language model has no source */
    KvCache *cache;                /* decoding: keys and values of earlier tokens; NULL: there are none */
    Trace *trace;                  /* keeps what modules compute; NULL: nothing is kept, and it is faster */
    Tensor *memory;   /* the encoder's output, [source rows, d_model]; NULL once the cache has read it */
    Tensor *residual; /* what nn_project adds to its product; set only by nn_add_and_norm */
} Forward;

/* 3.4, 3.5: rows of the embedding matrix, scaled, plus positions; then dropout. [rows, d_model] */
Tensor *nn_embedding(const Forward *f, const Tokens *x);

/* 3.5: out [d]: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d)). */
void nn_sinusoids(long pos, long d, real *out);

/* Computes the rows below `length` of the model's table of sinusoids that are not there yet. Does nothing
 * where positions are learned. Threads may call it at the same time. */
void nn_make_sinusoids(Model *m, long length);

/* Columns of the table of sinusoids: d_model; rotary: d_k; learned: 0. */
long nn_position_width(const ModelConfig *c);

/* Rotary positions: what tape_rotary takes as turns and at, for the rows of x. */
const real *nn_turns(const Forward *f, const Tokens *x, const int32_t **at);

/* A sublayer: a function of x, [rows, d_model], with the weights of a module; [rows, d_model]. */
typedef Tensor *Sublayer(const Forward *f, void *module, Tensor *x);

/* 3.2, of an Attention. Self-attention over the source; masked self-attention over the target, where a token
 * attends only to itself and earlier tokens; attention from the target to the memory. */
Sublayer nn_self_attention, nn_masked_self_attention, nn_cross_attention;

/* 3.3, of a FeedForward: FFN(x) = act(x W_1ᵀ + b_1) W_2ᵀ + b_2 */
Sublayer nn_feed_forward;

/* x Wᵀ + b, the last product of a sublayer. Adds f->residual in the same pass, if there is one. */
Tensor *nn_project(const Forward *f, Linear *l, Tensor *x);

/* 3.1, 5.4: residual connection, dropout and norm around a sublayer. With post-norm (the paper):
 *     LayerNorm(x + Dropout(Sublayer(x)))
 * With pre-norm (Xiong et al., arXiv:2002.04745):
 *     x + Dropout(Sublayer(LayerNorm(x))) */
Tensor *nn_add_and_norm(const Forward *f, Sublayer *sublayer, void *module, Norm *norm, Tensor *x);
Tensor *nn_norm(const Forward *f, Norm *norm, Tensor *x);

/* 3.1: the stacks, [rows, d_model]. The encoder reads the source; the decoder reads the target and f->memory. */
Tensor *nn_encoder(const Forward *f);
Tensor *nn_decoder(const Forward *f);

/* The model up to the output projection: hidden states of the target's tokens, [rows, d_model].
 * nn_hidden calls one of the other two, by the model's kind. nn_transformer sets f->memory. */
Tensor *nn_transformer(Forward *f);
Tensor *nn_language_model(const Forward *f);
Tensor *nn_hidden(Forward *f);

/* 3.4: logits, [rows, vocab_size]. */
Tensor *nn_logits(const Forward *f, Tensor *hidden);

/* 5.4: mean cross-entropy, with label smoothing, of the rows whose target is not pad_id. The caller's
 * targets, [rows], must live until the tape is reset. */
Tensor *nn_loss(const Forward *f, Tensor *hidden, const int32_t *targets);

/* The prediction of one row: the loss of its target in nats, without label smoothing, and the likeliest
 * token. */
typedef struct Prediction {
    double loss;
    int32_t likeliest;
} Prediction;

/* Predicts from every row of hidden without holding all logits: [rows], valid until the tape is reset. NULL
 * on a tape that plans. */
const Prediction *nn_predict(const Forward *f, Tensor *hidden, const int32_t *targets);

/* A model with initial weights drawn from the seed; `training` adds gradients. NULL with the error if the
 * configuration is invalid or memory runs out. Owned by the caller, for model_free; it must not be copied. */
Model *model_new(const ModelConfig *c, bool training, uint64_t seed, Error *e);
void model_free(Model *m);

/* Sets the output matrices of all sublayers to 0: every layer begins as the identity. */
void model_zero_outputs(Model *m);

/* The same model without memory: its tensors have shapes and no data. For a tape that plans. */
Model *model_without_memory(const ModelConfig *c, bool training, Error *e);

/* Allocates the memory of such a model; all weights are 0. */
bool model_allocate(Model *m, Error *e);

/* Gives a model whose positions are not learned another number of positions. STATUS_NO_MEMORY. */
bool model_set_length(Model *m, long max_length, Error *e);

/* Bytes of weights, gradients, moments and sinusoids. */
size_t model_bytes(const Model *m);

#endif
