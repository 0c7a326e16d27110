/* The walk: every matrix of a sentence's way through one attention of a model, in the order of the paper,
 * with its formula, its purpose and its numbers. The model has random weights, or those of a run. */
#pragma once

#include "base/arena.h"
#include "decoding/saved_run.h"
#include "explain/label.h"
#include "nn/nn.h"

typedef enum Side { SIDE_ENCODER, SIDE_DECODER, SIDE_CROSS } Side;

typedef struct WalkOptions {
    const char *text;       /* UTF-8 */
    const char *vocabulary; /* the text whose tokens are the vocabulary; NULL: `text` */
    bool words;             /* tokens are words, not characters; an unknown word is [UNK], id 0 */
    bool
        modern; /* the random model has byte pairs, rotary positions, RMS norm, query/key norm and SwiGLU */
    const char *model; /* directory of a run; NULL: random weights */
    Side side;
    bool side_given;  /* default: the encoder, or the decoder of a language model */
    long layer, head; /* from 1 */
    const char *step; /* the only step to print, with `backward` an operation; NULL: all */
    bool whole;       /* print all elements of large matrices */
    bool json;        /* one JSON object a matrix; without `step`, first the weights of the model */
    bool
        operands; /* in JSON, after the matrices, the weights of this layer and head in place of all */
    const char *answer; /* with a run: the answer that the decoder reads; NULL: the model's own */
    bool backward;      /* print how the gradient of the loss goes back */
    /* With `backward`, "ROW,COLUMN" of the cell of each matrix whose sum is printed; NULL: none. */
    const char *cell;
    uint64_t seed;
} WalkOptions;

/* The default sentences: of characters, of words, of byte pairs. */
extern const char *const walk_sentence, *const walk_words_sentence, *const walk_modern_sentence;

/* Prints the walk on stdout. STATUS_USAGE: an option does not fit the model. STATUS_BAD_DATA: the text
 * does not fit the vocabulary. Otherwise it fails as saved_run_open does. */
bool explain_walk(const WalkOptions *o, Error *e);

/* "tokens, embedding, …": the names of the steps, in a static buffer. */
const char *walk_step_names(void);

/* ---- Shared by the files of the walk ---- */

/* A sentence as tokens. */
typedef struct WalkText {
    long count;
    int32_t *id;
    const char **label; /* [count] text of each token */
} WalkText;

typedef struct WalkThrough {
    const WalkOptions *options;
    Arena arena;  /* of the texts */
    SavedRun run; /* owns the model, a random one as well */
    Side side;
    Tape *tape;
    Trace trace;
    const Node *end; /* the last node of the forward pass */
    Tensor *logits;  /* with `backward`: scores of the next token, [target tokens, vocab_size] */
    WalkText source, target; /* a language model has no source */
    Tokens source_tokens, target_tokens;
    char layer[PARAMETER_NAME]; /* "encoder.layers.0." */
    const AttentionTrace *attention;
    const WalkText *queries, *keys; /* the tokens of Q, and of K and V */
} WalkThrough;

/* Makes tokens and model, and runs the forward pass. The caller calls walk_close, also after a failure. */
bool walk_read(WalkThrough *w, const WalkOptions *o, Error *e);
void walk_close(WalkThrough *w);

/* Chooses the attention of the options: layer, attention, queries, keys. */
bool walk_choose(WalkThrough *w, Error *e);

/* False with STATUS_USAGE if --layer or --head exceeds the model's. */
bool walk_has_head(const ModelConfig *c, int layers, long layer, long head, Error *e);

/* Splits the walk's text into words, with the ids of its vocabulary; *size is the number of ids. */
bool walk_words(WalkThrough *w, WalkText *x, int *size, Error *e);
/* Splits it into tokens of the walk's tokenizer. */
bool walk_characters(WalkThrough *w, WalkText *x, Error *e);
/* Makes a text of tokens of a run, <begin> among them. */
WalkText walk_ids(WalkThrough *w, const int32_t *id, long count);

/* One matrix, or one a head. */
typedef struct WalkMatrix {
    const char *step;    /* "scores" */
    const char *name;    /* "Q K^T" */
    const char *formula; /* of this matrix */
    /* Kind and operands, names of matrices of the walk with ^T where transposed: "product Q, K^T", "softmax masked". A
     * third operand of a product is added. NULL: not told. */
    const char *from;
    const char
        *purpose;  /* a sentence or two, in ASCII; NULL: an earlier matrix of the step says it */
    Tensor *value; /* [rows, columns], or [heads, rows, columns] */
    const WalkText *rows, *columns; /* tokens of the axes; NULL: numbers */
} WalkMatrix;

/* The matrices of a walk, in order. */
enum { WALK_MATRICES = 64 };
typedef struct WalkSteps {
    WalkThrough *walk;
    int count;
    WalkMatrix matrix[WALK_MATRICES];
} WalkSteps;

/* Adds a matrix; of a strided value, a contiguous copy. */
void walk_add(WalkSteps *s, const char *step, const char *name, const char *formula,
              const char *from, Tensor *value, const WalkText *rows, const WalkText *columns,
              const char *purpose);

/* Text that lives as long as the walk. */
__attribute__((format(printf, 2, 3))) const char *walk_format(WalkSteps *s, const char *format,
                                                              ...);

/* Whether the layer is the paper's: attention, residual connection and norm, feed-forward network. STATUS_BAD_DATA. */
bool walk_knows_layer(const WalkThrough *w, Error *e);

/* Adds what follows attention: residual connection, norm, feed-forward network. */
void walk_add_layer(WalkSteps *s);

/* Adds the weights that the formulas name: those of the layer and of the head, as the formulas multiply by them. */
void walk_add_weights(WalkSteps *s);

/* Modules of a layer, in order. */
extern const char *const walk_norms[3];

/* Prints a matrix, or its JSON. Its value is contiguous. */
void walk_print(const WalkOptions *o, const WalkMatrix *m);

/* Prints the numbers of a matrix [rows, columns] with its labels. */
void walk_print_numbers(const WalkOptions *o, const WalkMatrix *m);

/* Runs backward through what walk_read has recorded, and prints its steps. */
bool walk_backward(WalkThrough *w, Error *e);

/* Prints how a tokenizer of byte pairs splits each different word of the text. */
bool walk_print_merges(const WalkThrough *w, Error *e);

/* The labels for a terminal; NULL, for numbers, if there are none or if it cannot show them all. */
const char *const *walk_labels(const WalkText *x, bool unicode);

/* Prints the labels of an axis as a member of a JSON object, with a comma. */
void walk_print_labels(const char *key, const WalkText *x);

/* Prints the values of all parameters as JSON; key: what they are, "weight". */
void walk_print_parameters(const WalkThrough *w, const char *key, const real *values);
