/* The configuration of a model: the choices and sizes that, with the weights, define it
 * completely. */
#pragma once

#include "base/choice.h"
#include "base/setting.h"
#include "ops/heads.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum NormPlace { NORM_POST, NORM_PRE } NormPlace;

/* The kinds of the other choices, and their lists: choices.h. */
typedef struct Positions Positions;
typedef struct NormKind NormKind;
typedef struct ActivationKind ActivationKind;
typedef struct AttentionKind AttentionKind;
extern const Choice *const all_positions[], *const all_norms[], *const all_activations[],
                                                                    *const all_attentions[];

enum { NO_PAD = -1 };

/* Limits of a model's sizes, larger than any machine can hold. Products of sizes within them do not
 * overflow. */
#define CONFIG_MAX_LAYERS         1000
#define CONFIG_MAX_WIDTH          1048576
#define CONFIG_MAX_TOKENS         16777216
#define CONFIG_RANGE(min, max)    CONFIG_RANGE_OF(min, max) /* "[1,1000]" */
#define CONFIG_RANGE_OF(min, max) "[" #min "," #max "]"

/* Defaults of a model and its training: the paper's, nanoGPT's, newer ones, and those of Llama
 * (Touvron et al., arXiv:2302.13971). */
typedef enum Preset { PRESET_PAPER, PRESET_GPT, PRESET_MODERN, PRESET_LLAMA } Preset;

/* Symbols as in the paper: N layers, width d_model, h heads, feed-forward width d_ff. settings.def
 * has a row for each. */
typedef struct ModelConfig {
    int encoder_layers, decoder_layers; /* a language model has only encoder layers: config_is_lm */
    int heads;
    int d_model, d_ff;
    int vocab_size;
    int max_length; /* of a sequence, in tokens */
    NormPlace norm;
    const NormKind *norm_kind;
    bool final_norm; /* a norm after each stack */
    const ActivationKind *activation;
    const Positions *positions;
    double rotary_base;             /* pair i of a head turns by position / rotary_base^(2i/d_k) */
    const AttentionKind *attention; /* 3.2.1: the score of a query and a key */
    bool qk_norm;         /* every head's query and key are scaled to a mean square of 1 */
    bool biases;          /* of the linear layers */
    bool tied;            /* one matrix embeds source and target and projects the output */
    bool scale_embedding; /* by √d_model */
    double label_smoothing;
    int pad_id;      /* NO_PAD: none */
    int init_keys;   /* 1: the key matrices begin as the query matrices (arXiv:2305.09828) */
    int init_output; /* 1: the output matrices of sublayers begin as 0: a layer is the identity */
} ModelConfig;

/* A decoder-only language model, not the paper's encoder-decoder. */
static inline bool config_is_lm(const ModelConfig *c) {
    return c->decoder_layers == 0;
}

/* The heads of attention, whose columns stand side by side in q | k | v (ops/heads.h). */
static inline HeadColumns config_heads(const ModelConfig *c) {
    return (HeadColumns){c->heads, c->d_model / c->heads};
}
static inline long config_d_k(const ModelConfig *c) {
    return config_heads(c).d_k;
}

/* The first column of a part of q | k | v; of PART_END, the number of all columns. */
static inline long config_column(const ModelConfig *c, AttentionPart part) {
    return heads_column(config_heads(c), part);
}

/* The number of columns of a part. */
static inline long config_columns(const ModelConfig *c, AttentionPart part) {
    return config_column(c, (AttentionPart)(part + 1)) - config_column(c, part);
}

/* The first column of q | k | v that head 0, 1, … reads in a part. */
static inline long config_head_column(const ModelConfig *c, AttentionPart part, long head) {
    return heads_head_column(config_heads(c), part, head);
}

/* The paper's encoder-decoder (N = 2, d_model = 128, h = 4, d_ff = 512) and a decoder-only language
 * model (N = 4). */
ModelConfig config_seq2seq(int vocab_size, int max_length, int pad_id);
ModelConfig config_language_model(int vocab_size, int max_length);

/* "seq2seq" or "lm". */
const char *config_kind(const ModelConfig *c);

/* Sets the members that a preset chooses: norm, positions, activation, label smoothing, … The
 * caller calls config_derive next. */
void config_set_preset(ModelConfig *c, Preset preset);

/* Sets the members that follow from others: decoder layers, final norm, scale of the embedding. */
void config_derive(ModelConfig *c, bool is_lm);

/* Checks that such a model is possible. False with `status` and a message about the first invalid
 * setting. */
bool config_check(const ModelConfig *c, Status status, Error *e);

/* The settings of a model; ends with {0}. Rows without help are in weight files alone. Their struct
 * begins with a ModelConfig. */
extern const Setting config_settings[];

/* Gets the name and value of field `index` as a weight file's metadata hold them: "d_model", "128".
 * False after the last field. */
enum { CONFIG_FIELDS = 48 /* at most */ };
typedef struct ConfigField {
    char key[SETTING_KEY], value[SETTING_VALUE];
} ConfigField;
bool config_field(const ModelConfig *c, int index, ConfigField *out);

/* Whether a field of the configuration has this name. */
bool config_has_field(const char *name);

/* Reads all fields; `get` returns the text of a field, or NULL if it is missing. */
bool config_parse(ModelConfig *c, const char *file,
                  const char *(*get)(void *context, const char *name), void *context, Error *e);
