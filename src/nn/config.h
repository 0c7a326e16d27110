/* The configuration of a model: the choices and sizes that, with the weights, define it completely. */
#ifndef NN_CONFIG_H
#define NN_CONFIG_H

#include "base/error.h"
#include "kernels/gemm.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum ModelKind { KIND_SEQ2SEQ, KIND_LM } ModelKind;
typedef enum NormPlace { NORM_POST, NORM_PRE } NormPlace;
typedef enum NormKind { NORM_LAYER, NORM_RMS } NormKind;
/* POSITIONS_ROTARY rotates queries and keys of self-attention (ops/rotary.c); the others are added to the embedding. */
typedef enum PositionKind { POSITIONS_SINUSOIDAL, POSITIONS_LEARNED, POSITIONS_ROTARY } PositionKind;
/* ATTENTION_PLAIN computes the same as ATTENTION_DOT, step by step as nn_plain_attention; a weight file says
 * dot. ATTENTION_ADDITIVE is also computed step by step. */
typedef enum AttentionKind { ATTENTION_DOT, ATTENTION_ADDITIVE, ATTENTION_PLAIN } AttentionKind;

enum { NO_PAD = -1 };

/* Limits of a model's sizes, beyond any machine. No product of them that is computed overflows. */
#define CONFIG_MOST_LAYERS    1000
#define CONFIG_MOST_WIDTH     1048576
#define CONFIG_MOST_TOKENS    16777216
#define CONFIG_RANGE(most)    CONFIG_RANGE_OF(most) /* "[1,1000]", as options write it */
#define CONFIG_RANGE_OF(most) "[1," #most "]"

/* Symbols as in the paper: N layers, width d_model, h heads, feed-forward width d_ff. */
typedef struct ModelConfig {
    ModelKind kind;
    int encoder_layers, decoder_layers; /* a language model has only encoder layers */
    int heads;
    int d_model, d_ff;
    int vocab_size;
    int max_length; /* of a sequence, in tokens; with rotary positions, that a token attends to */
    NormPlace norm;
    NormKind norm_kind;
    bool final_norm; /* a norm after each stack */
    Activation activation;
    PositionKind positions;
    AttentionKind attention; /* 3.2.1: the score of a query and a key */
    bool qk_norm;            /* every head's query and key are scaled to a mean square of 1 */
    bool tied;               /* one matrix embeds source and target and projects the output */
    bool scale_embedding;    /* by √d_model */
    double label_smoothing;
    int pad_id; /* NO_PAD: none */
} ModelConfig;

/* The paper's encoder-decoder (N = 2, d_model = 128, h = 4, d_ff = 512) and a decoder-only language model (N
 * = 4). */
ModelConfig config_seq2seq(int vocab_size, int max_length, int pad_id);
ModelConfig config_language_model(int vocab_size, int max_length);

/* False, with `status` and a message about the first invalid choice, if there can be no such model. */
bool config_check(const ModelConfig *c, Status status, Error *e);

/* Name and value of field `index` as a weight file's metadata hold them: "d_model", "128". False beyond the
 * last field. */
enum { CONFIG_FIELDS = 19, CONFIG_TEXT = 32 };
bool config_field(const ModelConfig *c, int index, const char **name, char value[CONFIG_TEXT]);

/* Whether metadata of this name are a field. */
bool config_has_field(const char *name);

/* Reads all fields; `get` returns the text of a field, or NULL if it is missing. */
bool config_parse(ModelConfig *c, const char *file, const char *(*get)(void *context, const char *name),
                  void *context, Error *e);

/* Parses a text of digits, as metadata hold integers. False if it is not one below 2^31. */
bool config_integer(const char *text, int *out);

#endif
