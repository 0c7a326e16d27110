/* The choices of a model. Each kind of a choice is one constant struct, which holds what the kind
 * does. A ModelConfig has a pointer to one kind of each choice. Code calls and tests the members of
 * a kind; only defaults name one. */
#pragma once

#include "nn/builder.h"
#include "nn/tokens.h"
#include "ops/ops.h"

typedef struct Model Model;     /* nn.h */
typedef struct Forward Forward; /* nn.h */

/* A sublayer: maps x, [rows, d_model], to [rows, d_model], with the weights of a module.
 * nn_add_and_norm adds the residual to its result. */
typedef Tensor *Sublayer(const Forward *f, void *module, Tensor *x);

/* 3.5: how a model knows the order of tokens. A member is NULL or false if the kind does not use
 * it. */
struct Positions {
    Choice choice;
    /* The model's table, [max_length, width]: `width` returns its columns, `row` computes a row. */
    long (*width)(const ModelConfig *c);
    void (*row)(const ModelConfig *c, long position, real *out);
    /* Adds a learned table, m->positions. The model's maximum length is then fixed. */
    void (*learn)(Builder *b, Model *m);
    bool added; /* rows of the table are added to the embedding */
    /* Rotates the queries and keys of self-attention: the first `heads` heads of x, which has a row
     * for each of `tokens`. With `normalise`, normalises them first. */
    Tensor *(*turn)(const Forward *f, Tensor *x, long heads, const Tokens *tokens, bool normalise);
    /* Changes the scaled scores of self-attention, [h, n, m]. Query i stands at key i + offset. */
    Tensor *(*scores)(const Forward *f, Tensor *scaled, long offset);
    /* Computes the slopes of the heads, [heads], if `scores` subtracts slope · distance of query
     * and key. The fused attention (ops/attention.c) needs them. A kind with scores and without
     * slopes runs step by step (plain_attention.c). */
    void (*slopes)(int heads, real *out);
    bool (*check)(const ModelConfig *c, Status status, Error *e); /* of the model's sizes */
};

/* 3.1: the norm around every sublayer. */
struct NormKind {
    Choice choice;
    void *(*add)(Builder *b); /* the module, with its parameters */
    Sublayer *forward;
};

/* 3.3: the activation between the two products of a feed-forward network. */
struct ActivationKind {
    Choice choice;
    Tensor *(*apply)(Tape *t, Tensor *x); /* the operation, from [n, columns · d_ff] to [n, d_ff] */
    int columns;
    Activation fused; /* tape_linear computes it with its product; ACT_NONE: it cannot */
};

/* 3.2.1: the score of a query and a key. */
struct AttentionKind {
    Choice choice;
    bool fused; /* ops/attention.c computes it unless a trace is kept */
    /* Returns the scores, [h, n, m], of queries [h, n, d_k] and keys [h, m, d_k]; weight:
     * [d_model], if the kind has one. */
    Tensor *(*scores)(Tape *t, Tensor *q, Tensor *k, Tensor *weight);
    bool weight;
    bool scaled; /* by 1/√d_k */
    int inner;   /* intermediate tensors [h, n, m, d_k] of `scores` */
};

/* The kinds of each choice, the words of options and weight files: KIND(learned) of ALL_POSITIONS
 * is the constant struct positions_learned. */
#define ALL_POSITIONS(KIND)   KIND(sinusoidal) KIND(learned) KIND(rotary) KIND(alibi)
#define ALL_NORMS(KIND)       KIND(layer) KIND(rms)
#define ALL_ACTIVATIONS(KIND) KIND(relu) KIND(gelu) KIND(silu) KIND(swiglu)
#define ALL_ATTENTIONS(KIND)  KIND(dot) KIND(additive) KIND(plain)

#define POSITIONS_OF(name)  extern const Positions positions_##name;
#define NORM_OF(name)       extern const NormKind norm_##name;
#define ACTIVATION_OF(name) extern const ActivationKind activation_##name;
#define ATTENTION_OF(name)  extern const AttentionKind attention_##name;
ALL_POSITIONS(POSITIONS_OF)
ALL_NORMS(NORM_OF)
ALL_ACTIVATIONS(ACTIVATION_OF)
ALL_ATTENTIONS(ATTENTION_OF)
