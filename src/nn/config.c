#include "nn/config.h"
#include "base/utf8.h"
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ModelConfig config_of(ModelKind kind, int vocab_size, int max_length, int pad_id) {
    return (ModelConfig){kind,
                         .heads = 4,
                         .d_model = 128,
                         .d_ff = 512,
                         .vocab_size = vocab_size,
                         .max_length = max_length,
                         .tied = true,
                         .pad_id = pad_id};
}

ModelConfig config_seq2seq(int vocab_size, int max_length, int pad_id) {
    ModelConfig c = config_of(KIND_SEQ2SEQ, vocab_size, max_length, pad_id);
    c.encoder_layers = c.decoder_layers = 2;
    c.norm = NORM_POST, c.activation = ACT_RELU, c.positions = POSITIONS_SINUSOIDAL;
    c.scale_embedding = true, c.label_smoothing = 0.1;
    return c;
}

ModelConfig config_language_model(int vocab_size, int max_length) {
    ModelConfig c = config_of(KIND_LM, vocab_size, max_length, NO_PAD);
    c.encoder_layers = 4;
    c.norm = NORM_PRE, c.final_norm = true, c.activation = ACT_GELU, c.positions = POSITIONS_LEARNED;
    return c;
}

/* The text of a field is a number, or the name of one of a few values. */
enum FieldType { INTEGER, TOKEN, NUMBER, CHOICE, TRUTH };

typedef struct Field {
    const char *name;
    enum FieldType type; /* in memory: a double, a bool, or an int */
    size_t offset;
    const char *choice[4]; /* the texts of `first`, first + 1, …; a text that stands twice means the first */
    int first;
    int most;     /* the largest of integers, which are at least 1 */
    bool younger; /* written only if it is not 0, so that earlier readers understand the others */
} Field;

#define AT(member) offsetof(ModelConfig, member)
static const Field fields[CONFIG_FIELDS] = {
    {"kind", CHOICE, AT(kind), {"seq2seq", "lm"}},
    {"encoder_layers", INTEGER, AT(encoder_layers), .most = CONFIG_MOST_LAYERS},
    {"decoder_layers", INTEGER, AT(decoder_layers), .most = CONFIG_MOST_LAYERS},
    {"heads", INTEGER, AT(heads), .most = CONFIG_MOST_WIDTH},
    {"d_model", INTEGER, AT(d_model), .most = CONFIG_MOST_WIDTH},
    {"d_ff", INTEGER, AT(d_ff), .most = CONFIG_MOST_WIDTH},
    {"vocab_size", INTEGER, AT(vocab_size), .most = CONFIG_MOST_TOKENS},
    {"max_length", INTEGER, AT(max_length), .most = CONFIG_MOST_TOKENS},
    {"norm", CHOICE, AT(norm), {"post", "pre"}},
    {"final_norm", TRUTH, AT(final_norm), {"false", "true"}},
    {"activation", CHOICE, AT(activation), {"relu", "gelu", "silu", "swiglu"}, ACT_RELU},
    {"positions", CHOICE, AT(positions), {"sinusoidal", "learned", "rotary"}},
    {"tied", TRUTH, AT(tied), {"false", "true"}},
    {"scale_embedding", TRUTH, AT(scale_embedding), {"false", "true"}},
    {"label_smoothing", NUMBER, AT(label_smoothing)},
    {"pad_id", TOKEN, AT(pad_id), {"none"}, NO_PAD},
    {"attention", CHOICE, AT(attention), {"dot", "additive", "dot"}},
    {"norm_kind", CHOICE, AT(norm_kind), {"layer", "rms"}, .younger = true},
    {"qk_norm", TRUTH, AT(qk_norm), {"false", "true"}, .younger = true},
};

/* The value of a field that is not a NUMBER. */
static int value_of(const ModelConfig *c, const Field *f) {
    const char *at = (const char *)c + f->offset;
    return f->type == TRUTH ? *(const bool *)at : *(const int *)at;
}

/* The text of a value; NULL: it has none. */
static const char *choice_text(const Field *f, int value) {
    long i = (long)value - f->first;
    return i >= 0 && i < 4 ? f->choice[i] : NULL;
}

bool config_check(const ModelConfig *c, Status status, Error *e) {
    for (int i = 0; i < CONFIG_FIELDS; i++) {
        const Field *f = &fields[i];
        if (f->type != INTEGER || (c->kind == KIND_LM && f->offset == AT(decoder_layers))) continue;
        int value = value_of(c, f);
        if (value < 1 || value > f->most)
            return error_set(e, status, "%s: found %d, need 1 to %d", f->name, value, f->most);
    }
    if (c->kind == KIND_LM && c->decoder_layers != 0)
        return error_set(e, status, "decoder_layers: found %d, need 0 in a language model",
                         c->decoder_layers);
    if (c->d_model % c->heads)
        return error_set(e, status, "heads: found %d, need a divisor of d_model %d", c->heads, c->d_model);
    if (c->positions == POSITIONS_SINUSOIDAL && c->d_model % 2)
        return error_set(e, status, "d_model: found %d, need an even number for sinusoidal positions",
                         c->d_model);
    if (c->positions == POSITIONS_ROTARY && c->d_model / c->heads % 2)
        return error_set(e, status,
                         "heads: found %d, need heads of an even width for rotary positions: d_model is %d",
                         c->heads, c->d_model);
    if (!(c->label_smoothing >= 0 && c->label_smoothing <= 1))
        return error_set(e, status, "label_smoothing: found %g, need a number in [0,1]", c->label_smoothing);
    if (c->pad_id != NO_PAD && (c->pad_id < 0 || c->pad_id >= c->vocab_size))
        return error_set(e, status, "pad_id: found %d, need a token in [0,%d) or none", c->pad_id,
                         c->vocab_size);
    return true;
}

bool config_field(const ModelConfig *c, int index, const char **name, char value[CONFIG_TEXT]) {
    for (const Field *f = fields; index >= 0 && f < fields + CONFIG_FIELDS; f++) {
        if ((f->younger && value_of(c, f) == 0) || index-- > 0) continue;
        const char *text = f->type == NUMBER ? NULL : choice_text(f, value_of(c, f));
        *name = f->name;
        if (f->type == NUMBER)
            snprintf(value, CONFIG_TEXT, "%.17g", *(const double *)((const char *)c + f->offset));
        else if (text)
            snprintf(value, CONFIG_TEXT, "%s", text);
        else
            snprintf(value, CONFIG_TEXT, "%d", value_of(c, f));
        return true;
    }
    return false;
}

bool config_integer(const char *text, int *out) {
    errno = 0;
    long value = strtol(text, NULL, 10);
    bool digits = *text && strspn(text, "0123456789") == strlen(text);
    if (!digits || errno || value > INT_MAX) return false;
    *out = (int)value;
    return true;
}

/* Stricter than strtod, which accepts blanks, hexadecimal, inf and nan. */
static bool parse_number(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    return *text && strspn(text, "+-.0123456789eE") == strlen(text) && !*end && isfinite(*out);
}

static bool parse_field(const Field *f, const char *text, ModelConfig *c) {
    void *at = (char *)c + f->offset;
    int value = f->first;
    if (f->type == NUMBER) return parse_number(text, at);
    while (choice_text(f, value) && strcmp(choice_text(f, value), text) != 0) value++;
    if (!choice_text(f, value) && (f->type >= CHOICE || !config_integer(text, &value))) return false;
    if (f->type == TRUTH)
        *(bool *)at = value;
    else
        *(int *)at = value;
    return true;
}

/* "one of relu|gelu|silu|swiglu", or "a number". Two values with one text are one choice. */
static const char *needed(const Field *f, char list[CONFIG_TEXT]) {
    snprintf(list, CONFIG_TEXT, "%s", f->type >= CHOICE ? "one of " : "a number");
    for (int i = 0;
         f->type >= CHOICE && i < 4 && f->choice[i] && (i == 0 || strcmp(f->choice[i], f->choice[0]) != 0);
         i++)
        snprintf(list + strlen(list), CONFIG_TEXT - strlen(list), i ? "|%s" : "%s", f->choice[i]);
    return list;
}

bool config_has_field(const char *name) {
    for (int i = 0; i < CONFIG_FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0) return true;
    return false;
}

bool config_parse(ModelConfig *c, const char *file, const char *(*get)(void *context, const char *name),
                  void *context, Error *e) {
    *c = (ModelConfig){0};
    for (int i = 0; i < CONFIG_FIELDS; i++) {
        const char *text = get(context, fields[i].name);
        if (!text && (fields[i].younger || fields[i].offset == AT(attention))) continue;
        if (!text)
            return error_set(e, STATUS_BAD_DATA, "%s: metadata: found no %s, need it", file, fields[i].name);
        char need[CONFIG_TEXT];
        if (!parse_field(&fields[i], text, c))
            return error_set(e, STATUS_BAD_DATA, "%s: metadata: %s: found \"%s\", need %s", file,
                             fields[i].name, ESCAPED(text), needed(&fields[i], need));
    }
    Error cause = {0};
    return config_check(c, STATUS_BAD_DATA, &cause) ||
           error_set(e, cause.status, "%s: metadata: %s", file, cause.text);
}
