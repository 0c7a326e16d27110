/* The walk: every matrix on a sentence's way through one attention of a model, in the order of the paper, with its
 * formula, what it is for, and its numbers. The model is a random one made for the sentence, or a trained run's. */
#ifndef EXPLAIN_WALK_H
#define EXPLAIN_WALK_H

#include "decoding/saved_run.h"
#include "explain/pictures/label.h"
#include "nn/nn.h"

typedef enum Side { SIDE_ENCODER, SIDE_DECODER, SIDE_CROSS } Side;

typedef struct WalkOptions {
    const char *text;       /* UTF-8 */
    const char *vocabulary; /* the text that the vocabulary is made of; NULL: `text` */
    bool words;        /* tokens are words, not characters; one that the vocabulary lacks is [UNK], id 0 */
    const char *model; /* directory of a run; NULL: random weights */
    Side side;
    bool side_given;  /* otherwise the encoder's, or of a language model the decoder's, which is all it has */
    long layer, head; /* from 1 */
    const char *step; /* the only one to be shown; NULL: all */
    long decimals;
    bool whole; /* all of every matrix, not the corners of large ones */
    bool json;  /* one JSON object a matrix, all of it; before them, unless `step`, the model's weights */
    uint64_t seed;
} WalkOptions;

/* The sentence that is walked through where none is given. */
extern const char *const walk_sentence;

/* Prints the walk on stdout. STATUS_USAGE where an option does not fit the model, STATUS_BAD_DATA where the text does
 * not fit the vocabulary, and what opening a run brings with it. */
bool explain_walk(const WalkOptions *o, Error *e);

/* "tokens, embedding, …": what `step` may be; in a static buffer. */
const char *walk_step_names(void);

/* ---- For the files of the walk ---- */

/* A sentence as tokens. */
typedef struct WalkText {
    long count;
    int32_t *id;
    const char **label; /* [count] what each token reads */
    char *memory;       /* where the labels stand */
} WalkText;

/* What is walked through. */
typedef struct WalkThrough {
    const WalkOptions *options;
    SavedRun run; /* owns the model, also a random one */
    Side side;
    Tape *tape;
    Trace trace;
    WalkText source, target; /* a language model has no source */
    Tokens source_tokens, target_tokens;
    char layer[PARAMETER_NAME];     /* "encoder.layers.0." */
    char attention[PARAMETER_NAME]; /* "encoder.layers.0.self_attn" */
    const AttentionSteps *steps;
    const WalkText *queries, *keys; /* the tokens that look, and those that are looked at */
} WalkThrough;

/* Makes tokens and model, and runs the forward pass. Owned by the caller, for walk_close, also where it fails. */
bool walk_open(WalkThrough *w, const WalkOptions *o, Error *e);
void walk_close(WalkThrough *w);

/* Splits the text into tokens, those of the vocabulary's numbering; *size is how many different ones there are. */
bool walk_words(WalkText *x, const char *text, const char *vocabulary, int *size, Error *e);
bool walk_characters(WalkText *x, const Tokenizer *k, const char *text, Error *e);
/* Tokens of a run's model: characters, and <begin>. */
bool walk_ids(WalkText *x, const SavedRun *r, const int32_t *id, long count, Error *e);
void walk_text_free(WalkText *x);

/* One matrix, or one a head, as it is to be shown. */
typedef struct WalkMatrix {
    const char *step;    /* "scores" */
    const char *name;    /* "Q K^T" */
    const char *formula; /* of this matrix */
    const char
        *purpose; /* a sentence or two, in ASCII; NULL where an earlier matrix of the step has said it */
    const Tensor *value;            /* [rows, columns], or [heads, rows, columns] */
    const WalkText *rows, *columns; /* the tokens that the axes are; NULL: their numbers */
} WalkMatrix;

/* Prints a matrix with its head line. */
bool walk_print(const WalkOptions *o, const WalkMatrix *m, Error *e);

/* Whether a terminal can show what the tokens read; otherwise their numbers stand for them. */
bool walk_readable(const WalkText *x, bool unicode);

/* As JSON: all weights of the model. */
void walk_print_weights(const WalkThrough *w);

#endif
