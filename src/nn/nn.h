/* The Transformer, module by module, in the order of "Attention Is All You Need" (arXiv:1706.03762).
 *
 * A module is a struct of weights and a function that records its forward computation on a tape; backward is the
 * tape's. What the computation is about beside its input, a Forward, every function is given. Activations are matrices
 * [rows, d_model], one row a token (see tokens.h): the sequences of a batch stand one after another. Weights have the
 * layout of PyTorch's modules: a linear layer's matrix is [out, in].
 *
 * Every function returns a tensor of the tape; nothing is freed. One that records operations signs the tape first, and
 * again where another has signed it in between. */
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
 * [3·d_model, d_model]; cross-attention uses its first rows on the decoder's side and the others on the
 * memory's. */
typedef struct Attention {
    Linear in;    /* self-attention: q, k, v in one product */
    Linear q, kv; /* cross-attention: the same rows, split */
    Linear out;
    Tensor score;   /* [d_model], additive attention: w of ops/additive_attention.c */
    bool of_target; /* self-attention over what is generated: causal, and in decoding with a cache */
    int layer;      /* whose keys and values are the cache's layer of that number */
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

typedef struct Model {
    ModelConfig config;
    double dropout; /* P_drop of section 5.4; how a model is trained, not what it is: not saved */
    Parameters parameters;
    Tensor embedding;                /* [vocab_size, d_model], for source, target and, if tied, output */
    Tensor positions;                /* [max_length, d_model]: learned, or the sinusoids */
    EncoderLayer *encoder;           /* [encoder_layers] */
    DecoderLayer *decoder;           /* [decoder_layers] */
    Norm encoder_norm, decoder_norm; /* where config.final_norm */
    Tensor output;                   /* [vocab_size, d_model] where not tied */
    real *sinusoids;                 /* [max_length, d_model], of which sinusoids_made rows are there */
    long sinusoids_made;
} Model;

/* What a forward pass is about: Forward f = {tape, model, &source, &target}. */
typedef struct Forward {
    Tape *tape;
    Model *model;
    const Tokens *source, *target; /* what encoder and decoder read; a language model has no source */
    KvCache *cache; /* decoding: of the tokens that came before the target's; NULL: these are all */
    Trace *
        trace; /* where modules leave what they compute, and attention its steps; NULL: nowhere, and faster */
    Tensor *memory; /* the encoder's output, [source rows, d_model]; NULL where the cache has seen it */
} Forward;

/* 3.4, 3.5: rows of the embedding matrix, scaled, plus positions; then dropout. [rows, d_model] */
Tensor *nn_embedding(const Forward *f, const Tokens *x);

/* 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d)), into out [length, d]. */
void nn_sinusoids(long length, long d, real *out);

/* Computes the rows below `length` of the model's table of sinusoids that are not there yet. Does nothing where
 * positions are learned. Threads may call it at the same time. */
void nn_make_sinusoids(Model *m, long length);

/* A sublayer ends in a linear layer whose output goes through dropout onto a residual, which it therefore takes
 * along: residual + Dropout(Sublayer(x)), all [rows, d_model]. */
typedef Tensor *Sublayer(const Forward *f, void *module, Tensor *x, Tensor *residual);

/* 3.2: of an Attention, over the target's tokens or the source's, and from the target's to the memory. */
Sublayer nn_self_attention, nn_cross_attention;

/* 3.3: act(x W_1ᵀ + b_1) W_2ᵀ + b_2, of a FeedForward. */
Sublayer nn_feed_forward;

/* 3.1, 5.4: residual + Dropout(x Wᵀ + b), how every sublayer ends. */
Tensor *nn_add(const Forward *f, Tensor *residual, Linear *l, Tensor *x);

/* 3.1: the frame around every sublayer, Add & Norm in Figure 1. With post-norm (the paper):
 *     LayerNorm(x + Dropout(Sublayer(x)))
 * With pre-norm (Xiong et al., arXiv:2002.04745):
 *     x + Dropout(Sublayer(LayerNorm(x))) */
Tensor *nn_add_and_norm(const Forward *f, Sublayer *sublayer, void *module, Norm *norm, Tensor *x);
Tensor *nn_norm(const Forward *f, Norm *norm, Tensor *x);

/* 3.1: the stacks. The encoder reads the source, or in a language model the target, causally; the decoder the target
 * and f->memory. [rows, d_model] */
Tensor *nn_encoder(const Forward *f);
Tensor *nn_decoder(const Forward *f);

/* The whole model up to the output projection: hidden states of the target's tokens, [rows, d_model].
 * nn_transformer sets f->memory. */
Tensor *nn_transformer(Forward *f);
Tensor *nn_language_model(const Forward *f);
Tensor *nn_hidden(Forward *f);

/* 3.4: scores of all tokens, [rows, vocab_size]. */
Tensor *nn_logits(const Forward *f, Tensor *hidden);

/* 5.4: mean cross-entropy with label smoothing of the targets, one for each row; those that are pad_id do not
 * count. The caller's targets must live as long as the tape's step. */
Tensor *nn_loss(const Forward *f, Tensor *hidden, const int32_t *targets);

/* The prediction of one row: the loss of its target in nats, without label smoothing, and the likeliest token. */
typedef struct Prediction {
    double loss;
    int32_t likeliest;
} Prediction;

/* Predicts from every row of hidden without holding all logits: [rows], valid until the tape is reset. NULL on a tape that
 * plans. */
const Prediction *nn_predict(const Forward *f, Tensor *hidden, const int32_t *targets);

/* A model of this description with starting weights drawn from the seed; `training` gives it gradients and
 * moments. NULL with the error if it cannot be had. Owned by the caller, for model_free; it must not be
 * copied. */
Model *model_new(const ModelConfig *c, bool training, uint64_t seed, Error *e);
void model_free(Model *m);

/* The same model without memory: tensors with shapes alone, for a tape that plans. */
Model *model_outline(const ModelConfig *c, bool training, Error *e);

/* Gives an outline its memory; all weights are 0. */
bool model_allocate(Model *m, Error *e);

/* Bytes of weights, with gradients and moments where it trains, and of constants. */
size_t model_bytes(const Model *m);

#endif
