/* The experiments of ./explain. Each asks one question, prints a table and maps, and ends with one
 * sentence that its numbers support. README.md lists questions and answers. */
#pragma once

#include "explain/screen.h"
#include "nn/nn.h"
#include "training/train_config.h"
#include <math.h>
#include <string.h>

enum { AS_TEXT = -1, AS_POWER = -2, MAX_COLUMNS = 10 };

typedef struct Column {
    const char *key;  /* name in JSON */
    const char *head; /* name in the table */
    int width;        /* texts are aligned to the left, numbers to the right */
    int decimals;     /* AS_POWER: printed as 1.2e-05; AS_TEXT: the column holds texts, in ASCII */
} Column;

typedef struct Lab Lab;

typedef struct Experiment {
    const char *name, *summary; /* for the help */
    const char *question;
    const char *formula;            /* lines, in ASCII */
    Column column[MAX_COLUMNS + 1]; /* a NULL key ends them */
    void (*run)(Lab *l);
} Experiment;

extern const Experiment explain_relevance, explain_scaling, explain_kernels, explain_scores,
    explain_positions, explain_heads, explain_teacher, explain_convolution, explain_recurrence,
    explain_graph;

/* An experiment at work. */
struct Lab {
    const Experiment *experiment;
    uint64_t seed;
    bool json;   /* print rows as JSON objects; no prose and no maps */
    int shorter; /* divides the steps of training, for tests; 0: no */
    Tape *tape;
    Parameters weights; /* of the model at work */
    uint64_t draws;     /* calls of lab_random */
    Error error;
};

/* Runs an experiment; the caller sets the first four members. A failure, of memory, is fatal. */
void lab_run(Lab *l);

/* Ends the process if a call has failed, or the tape. */
void lab_want(Lab *l, bool ok);

/* ---- Output ---- */

typedef struct Cell {
    const char *text;
    double number; /* NAN: no value */
} Cell;

#define TEXT(s)                                                                                    \
    { .text = (s) }
#define NUMBER(x)                                                                                  \
    { .number = (double)(x) }

/* Prints question, formula, a paragraph and the heads of the columns. Nothing in JSON. */
void lab_start(const Lab *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a row, LAB_ROW(l, TEXT("dot"), NUMBER(2)). In JSON it is an object. */
#define LAB_ROW(l, ...) lab_row(l, (Cell[]){__VA_ARGS__})
void lab_row(const Lab *l, const Cell *cells);

/* Prints a map, with a description below; NULL: none. Nothing in JSON. */
void lab_map(const Lab *l, const Map *map, const char *description);

/* Prints an array that the rows are computed from, in JSON alone. */
void lab_array(const Lab *l, const char *name, const real *values, long count);

/* Prints the conclusion, one sentence. */
void lab_found(const Lab *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- A few weights ---- */

/* The caller's array as a constant on the tape; random numbers, independent and uniform within ±√3:
 * mean 0, variance 1; x Wᵀ. */
Tensor *lab_data(Lab *l, Shape shape, const real *data);
Tensor *lab_random(Lab *l, Shape shape);
Tensor *lab_linear(Lab *l, Tensor *x, Tensor *W);

/* Adds a weight to the model at work, with normal numbers of this deviation. */
void lab_weight(Lab *l, Tensor *leaf, const char *name, Shape shape, double deviation);

/* Draws the weights, and takes `steps` steps of Adam with the gradient of the loss that `record`
 * puts on the tape. lab_end frees the weights, and forgets the tape. */
typedef Tensor *LossOf(Lab *l, void *model, long step);
void lab_train(Lab *l, int steps, double rate, LossOf *record, void *model);
void lab_end(Lab *l);

/* ---- Recall: a model reads random symbols and names, at each place, those at some offsets ---- */

enum { RECALL_SYMBOLS = 8, RECALL_WIDTH = 32, RECALL_BATCH = 32, RECALL_LENGTH = 24 };

typedef struct Recall {
    int length, offsets, offset[2]; /* length: at most RECALL_LENGTH */
    bool circle; /* the last place is before the first; else attention looks back only, and a symbol
                    before the first is no answer */
    int heads;
    real *map; /* [heads, length, length], gets the shares of the last sequence; NULL: none */
    Tensor *(*scores)(Lab *l, struct Recall *r); /* [batch · length, offsets · symbols] */
    Tensor in, positions, query, key, value, again, out;
    Tokens tokens;
    int32_t symbol[RECALL_BATCH * RECALL_LENGTH];
    int32_t answer[2 * RECALL_BATCH * RECALL_LENGTH]; /* -1: there is none */
    bool judges;                                      /* attention keeps its shares */
    AttentionSteps shares[RECALL_BATCH];
} Recall;

/* Trains, and judges over batches that training does not use: the percentage of places where all
 * answers are right. */
double recall_learn(Lab *l, Recall *r, int steps, int judged);

/* The scores of one attention over embeddings with learnt positions. */
Tensor *recall_attention(Lab *l, Recall *r);

/* ---- A lesson: an encoder-decoder of one layer on each side learns a sequence task ---- */

typedef struct Lesson {
    TrainConfig config;
    char options[512]; /* of config */
    Task *task;
    Trainer trainer;
    double seconds; /* of training */
} Lesson;

/* Trains as ./train does with these options, d_model 64 and 4 heads; unplaced:
 * the model has no positions. The caller calls lesson_end. */
void lesson_learn(Lab *l, Lesson *x, const char *options, long steps, bool unplaced);
void lesson_end(Lesson *x);

/* The percentage of `rows` held-out answers' tokens that are right when the model reads the right
 * answer; of whole answers that are right when it reads its own. */
double lesson_tokens(Lab *l, Lesson *x, long rows);
double lesson_answers(Lab *l, Lesson *x, long rows);
