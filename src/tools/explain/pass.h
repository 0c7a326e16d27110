/* The pass of a model over a text, up to the loss of predicting each next token. The model has
 * random weights, or those of a run. */
#pragma once

#include "decoding/saved_run.h"
#include "explain/walk_records.h"

typedef struct PassOptions {
    const char *text; /* UTF-8; NULL: a sentence of its own */
    const char *run;  /* directory of a run; NULL: random weights */
    bool characters;  /* of the random model: tokens are characters, not words */
    bool modern;      /* it has byte pairs, rotary positions, RMS norm, query/key norm, SwiGLU */
    uint64_t seed;
} PassOptions;

/* A text as tokens. */
typedef struct PassText {
    long count;
    int32_t *id;
    Labels labels;
} PassText;

typedef struct Pass {
    Arena arena;             /* of the texts and the records */
    SavedRun run;            /* owns the model, a random one as well */
    PassText source, target; /* a language model has no source */
    const char *text;
    Records records;
} Pass;

/* Makes tokens and model, and runs forward. The caller calls walk_close, also after a failure.
 * STATUS_BAD_DATA: the text does not fit the vocabulary or the model. Otherwise it fails as
 * saved_run_open does. */
bool walk_open(Pass *p, const PassOptions *o, Error *e);
void walk_close(Pass *p);

/* Prints how the tokenizer of byte pairs splits each different word of the text. STATUS_USAGE:
 * it has another tokenizer. */
bool walk_print_merges(const Pass *p, bool json, Error *e);
