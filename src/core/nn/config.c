#include "nn/config.h"
#include "base/utf8.h"
#include "nn/choices.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A model and what a weight file says of it in addition. */
typedef struct Described {
    ModelConfig model;
    const Choice *kind;
} Described;

static const Choice seq2seq = {"seq2seq"}, lm = {"lm"}, *const kinds[] = {&seq2seq, &lm, NULL};

static Described describe(const ModelConfig *c) {
    return (Described){*c, config_is_lm(c) ? &lm : &seq2seq};
}

const char *config_kind(const ModelConfig *c) {
    return describe(c).kind->name;
}

#define MODEL(type, field) SETTING(type, Described, model.field)
#define WEIGHTS_ONLY
const Setting config_settings[] = {
#include "nn/settings.def"
    {0},
};
_Static_assert(sizeof config_settings / sizeof *config_settings <= CONFIG_FIELDS,
               "CONFIG_FIELDS is too small");

/* ---- Models ---- */

static ModelConfig config_of(bool is_lm, int vocab_size, int max_length, int pad_id) {
    ModelConfig c = {.encoder_layers = is_lm ? 4 : 2,
                     .heads = 4,
                     .d_model = 128,
                     .d_ff = 512,
                     .vocab_size = vocab_size,
                     .max_length = max_length,
                     .attention = &attention_dot,
                     .rotary_base = 10000,
                     .tied = true,
                     .pad_id = pad_id};
    config_set_preset(&c, is_lm ? PRESET_GPT : PRESET_PAPER);
    config_derive(&c, is_lm);
    return c;
}

ModelConfig config_seq2seq(int vocab_size, int max_length, int pad_id) {
    return config_of(false, vocab_size, max_length, pad_id);
}

ModelConfig config_language_model(int vocab_size, int max_length) {
    return config_of(true, vocab_size, max_length, NO_PAD);
}

void config_set_preset(ModelConfig *c, Preset preset) {
    if (preset == PRESET_PAPER) {
        c->norm = NORM_POST;
        c->positions = &positions_sinusoidal;
        c->activation = &activation_relu;
        c->label_smoothing = 0.1; /* 5.4 */
    } else {
        c->norm = NORM_PRE;
        c->positions = &positions_learned;
        c->activation = &activation_gelu;
        c->label_smoothing = 0;
    }
    bool llama = preset == PRESET_LLAMA, modern = preset == PRESET_MODERN || llama;
    if (modern) c->positions = &positions_rotary;
    if (llama) c->activation = &activation_swiglu;
    c->norm_kind = llama ? &norm_rms : &norm_layer;
    c->biases = !llama;
    c->qk_norm = modern && !llama;
    c->init_output = modern;
}

void config_derive(ModelConfig *c, bool is_lm) {
    c->decoder_layers = is_lm ? 0 : c->encoder_layers;
    c->final_norm = c->norm != NORM_POST;
    /* 3.4: embeddings must not be small beside sinusoids of size 1. */
    c->scale_embedding = !is_lm || (c->positions->added && c->positions->width);
}

/* Each value alone: what reads back is in its range. */
static bool check_each(const ModelConfig *c, Status status, Error *e) {
    for (const Setting *s = config_settings; s->name; s++) {
        Described found = describe(c), read = found;
        char key[SETTING_KEY], text[SETTING_VALUE];
        if (!setting_read(s, &read, setting_text(s, &found, text), setting_key(s, key), status, e))
            return false;
    }
    return true;
}

bool config_check(const ModelConfig *c, Status status, Error *e) {
    WANT(c);
    if (!check_each(c, status, e)) return false;
    if (c->d_model % c->heads)
        return error_set(e, status, "heads: found %d, need a divisor of d_model %d", c->heads,
                         c->d_model);
    if (c->positions->check && !c->positions->check(c, status, e)) return false;
    if (c->pad_id >= c->vocab_size)
        return error_set(e, status, "pad_id: found %d, need a token in [0,%d) or none", c->pad_id,
                         c->vocab_size);
    return true;
}

/* ---- Weight files ---- */

bool config_field(const ModelConfig *c, int index, ConfigField *out) {
    Described d = describe(c);
    if (index < 0) return false;
    for (const Setting *s = config_settings; s->name; s++) {
        if (s->saved != SAVED_IN_WEIGHTS || index-- > 0) continue;
        char text[SETTING_VALUE];
        setting_key(s, out->key);
        snprintf(out->value, sizeof out->value, "%s", setting_text(s, &d, text));
        return true;
    }
    return false;
}

bool config_has_field(const char *name) {
    char key[SETTING_KEY];
    for (const Setting *s = config_settings; s->name; s++)
        if (s->saved == SAVED_IN_WEIGHTS && strcmp(setting_key(s, key), name) == 0) return true;
    return false;
}

/* Reads one field. A choice that the file lacks is the first of its words, or false; it must have
 * the numbers that no choice decides on. */
static bool parse_field(Described *d, const Setting *s, const char *text, const char *file,
                        Error *e) {
    char key[SETTING_KEY], where[ERROR_TEXT];
    bool is_number = (s->type == SETTING_INTEGER || s->type == SETTING_REAL) && !s->of;
    if (!text && s->kinds && s->kinds != kinds) text = s->kinds[0]->name;
    if (!text && !is_number && s->kinds != kinds) return true;
    setting_key(s, key);
    if (!text)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no %s, need it", file, key);
    snprintf(where, sizeof where, "%s: metadata: %s", file, key);
    return setting_read(s, d, text, where, STATUS_BAD_DATA, e);
}

bool config_parse(ModelConfig *c, const char *file,
                  const char *(*get)(void *context, const char *name), void *context, Error *e) {
    Described d = {.model = {.biases = true, .rotary_base = 10000}};
    for (const Setting *s = config_settings; s->name; s++) {
        char key[SETTING_KEY];
        if (s->saved != SAVED_IN_WEIGHTS) continue;
        if (!parse_field(&d, s, get(context, setting_key(s, key)), file, e)) return false;
    }
    *c = d.model;
    if (d.kind != describe(c).kind)
        return error_set(e, STATUS_BAD_DATA, "%s: metadata: decoder_layers: found %d, need %s",
                         file, c->decoder_layers,
                         d.kind == &lm ? "0 in a language model" : "1 or more");
    Error cause = {0};
    return config_check(c, STATUS_BAD_DATA, &cause) ||
           error_set(e, cause.status, "%s: metadata: %s", file, cause.text);
}
