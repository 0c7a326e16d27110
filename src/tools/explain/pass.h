/* The pass of a model over a text, up to the loss of predicting each next token. The model has
 * random weights, or those of a run. */
#pragma once

#include "base/arena.h"
#include "decoding/saved_run.h"
#include "explain/walk_records.h"
#include "nn/nn.h"

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
    Arena arena;  /* of the texts */
    SavedRun run; /* owns the model, a random one as well */
    Tape *tape;
    Trace trace;
    PassText source, target; /* a language model has no source */
    Tokens source_tokens, target_tokens;
    int32_t *next; /* the token that each of the target's should predict */
    const char *text;
} Pass;

/* Makes tokens and model, and runs forward; the tape keeps all for backward. A target that has
 * nothing to predict gets no loss. The caller calls pass_close, also after a failure.
 * STATUS_BAD_DATA: the text does not fit the vocabulary or the model. Otherwise it fails as
 * saved_run_open does. */
bool pass_open(Pass *p, const PassOptions *o, Error *e);
void pass_close(Pass *p);

/* The records of its tape. They live as long as the pass. */
void pass_records(Pass *p, Records *r);

/* False with STATUS_USAGE if --head exceeds the model's. */
bool pass_has_head(const Pass *p, long head, Error *e);

/* Prints how the tokenizer of byte pairs splits each different word of the text. STATUS_USAGE:
 * it has another tokenizer. */
bool pass_print_merges(const Pass *p, bool json, Error *e);
