/* The choices of a model. What a kind does is one constant struct. A ModelConfig points to a kind
 * of each choice. Code asks the kind's members; only `.with` in a table of settings names a
 * kind. */
#pragma once

#include "nn/builder.h"
#include "nn/tokens.h"
#include "ops/ops.h"

typedef struct Model Model;     /* nn.h */
typedef struct Forward Forward; /* nn.h */

/* A sublayer: a function of x, [rows, d_model], with the weights of a module; [rows, d_model].
 * nn_add_and_norm adds the residual to its result. */
typedef Tensor *Sublayer(const Forward *f, void *module, Tensor *x);

/* 3.5: how a model knows the order of tokens. A member is NULL or false where the kind does no such
 * thing. */
struct Positions {
    Choice choice;
    /* The model's table [max_length, width]: its columns, and what computes a row. */
    long (*width)(const ModelConfig *c);
    void (*row)(long position, long width, real *out);
    /* Adds a learned table, m->positions. Such a model has no more positions than its weights. */
    void (*learn)(Builder *b, Model *m);
    bool added; /* rows of the table are added to the embedding */
    /* Turns the queries and keys of self-attention: the first `heads` heads of x, whose rows are
     * `tokens`; normalises them before, if wanted. */
    Tensor *(*turn)(const Forward *f, Tensor *x, long heads, const Tokens *tokens, bool normalise);
    /* Changes the scaled scores of self-attention, [h, n, m], where query i stands at key i +
     * offset. */
    Tensor *(*scores)(const Forward *f, Tensor *scaled, long offset);
    /* The slopes of the heads, [heads], if `scores` subtracts slope · distance of query and key:
     * ops/attention.c does the same. Without them attention runs step by step:
     * plain_attention.c. */
    void (*slopes)(int heads, real *out);
    bool (*check)(const ModelConfig *c, Status status, Error *e); /* of the model's sizes */
    /* For ./explain: of an added row; of a turned query, by angles phi, [n, d_k / 2]; of what is
     * added to scores: " - m |i - j|". NULL: it names the kind. */
    const char *formula, *turned, *scored;
    double (*angle)(long position, long i, long d_k);
};

/* 3.1: the norm around every sublayer. */
struct NormKind {
    Choice choice;
    void *(*add)(Builder *b); /* the module, with its parameters */
    Sublayer *forward;
    const char *title, *formula, *purpose; /* for ./explain; NULL: it names the kind */
    /* The computation of a cell from weight and bias, as ./explain --json names it; NULL: not
     * told. */
    const char *from;
};

/* 3.3: the activation between the two products of a feed-forward network. */
struct ActivationKind {
    Choice choice;
    Tensor *(*apply)(Tape *t, Tensor *x); /* the operation, from [n, columns · d_ff] to [n, d_ff] */
    int columns;
    Activation fused;    /* tape_linear computes it with its product; ACT_NONE: it cannot */
    const char *formula; /* for ./explain */
};

/* 3.2.1: the score of a query and a key. */
struct AttentionKind {
    Choice choice;
    bool fused; /* ops/attention.c computes it, where nobody wants to see the steps */
    /* [h, n, m] of queries [h, n, d_k] and keys [h, m, d_k]; weight: [d_model], if the kind has
     * one. */
    Tensor *(*scores)(Tape *t, Tensor *q, Tensor *k, Tensor *weight);
    bool weight;
    bool scaled;                   /* by 1/√d_k */
    int inner;                     /* intermediate tensors [h, n, m, d_k] of `scores` */
    const char *formula, *purpose; /* for ./explain; NULL: S = Q Kᵀ */
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
