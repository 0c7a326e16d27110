/* What a model is: the choices and sizes that, with the weights, define it completely. */
#ifndef NN_CONFIG_H
#define NN_CONFIG_H

#include "base/error.h"
#include "kernels/activation.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum ModelKind { KIND_SEQ2SEQ, KIND_LM } ModelKind;
typedef enum NormPlace { NORM_POST, NORM_PRE } NormPlace;
typedef enum PositionKind { POSITIONS_SINUSOIDAL, POSITIONS_LEARNED } PositionKind;
/* ATTENTION_PLAIN computes the same as ATTENTION_DOT, step by step as nn_plain_attention; a weight file says dot. */
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
    int max_length; /* positions that exist: the longest sequence */
    NormPlace norm;
    bool final_norm; /* one more norm after each stack */
    Activation activation;
    PositionKind positions;
    AttentionKind attention; /* 3.2.1: how a query and a key are scored */
    bool tied;               /* one matrix embeds source and target and projects the output */
    bool scale_embedding;    /* by √d_model */
    double label_smoothing;
    int pad_id; /* NO_PAD: none */
} ModelConfig;

/* The paper's encoder-decoder (N = 2, d_model = 128, h = 4, d_ff = 512) and a decoder-only language model (N
 * = 4), for a vocabulary and a longest sequence. */
ModelConfig config_seq2seq(int vocab_size, int max_length, int pad_id);
ModelConfig config_language_model(int vocab_size, int max_length);

/* False, with `status` and a line that names the first choice that cannot be, if such a model cannot be made.
 */
bool config_check(const ModelConfig *c, Status status, Error *e);

/* The values as text, under the names of a weight file's metadata: config_field(c, "d_model", …) is "128".
 * Fields are enumerated by index; false beyond the last. */
enum { CONFIG_TEXT = 32 };
bool config_field(const ModelConfig *c, int index, const char **name, char value[CONFIG_TEXT]);

/* Reads all fields; `get` returns a field's text, or NULL where it is missing. */
bool config_parse(ModelConfig *c, const char *file, const char *(*get)(void *context, const char *name),
                  void *context, Error *e);

/* The number that a text of digits alone says, as metadata hold integers; false where it is none below 2^31. */
bool config_integer(const char *text, int *out);

#endif
