/* The experiments of ./explain. Each asks one question, prints a table and maps, and ends with one
 * sentence that its numbers support. README.md lists questions and answers. */
#pragma once

#include "explain/screen.h"
#include "nn/nn.h"
#include "tasks/task.h"
#include "training/trainer.h"
#include <math.h>

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

#define EXPERIMENTS(X)                                                                             \
    X(relevance)                                                                                   \
    X(scaling)                                                                                     \
    X(kernels)                                                                                     \
    X(scores)                                                                                      \
    X(positions)                                                                                   \
    X(heads)                                                                                       \
    X(teacher)                                                                                     \
    X(convolution)                                                                                 \
    X(recurrence)                                                                                  \
    X(graph)
#define EXPERIMENT_OF(name) extern const Experiment explain_##name;
EXPERIMENTS(EXPERIMENT_OF)
#undef EXPERIMENT_OF

/* An experiment at work. */
struct Lab {
    const Experiment *experiment;
    uint64_t seed;
    bool json;   /* print rows as JSON objects; no prose and no maps */
    int shorter; /* divides the steps of training, for tests; 0: no */
    Tape *tape;
    Parameters weights;  /* of the model at work */
    Optimizer optimizer; /* Adam, section 5.3 */
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

/* ---- Data and training ---- */

/* The caller's array as a constant on the tape; normal numbers, a function of (seed, which,
 * element). */
Tensor *lab_data(Lab *l, Shape shape, const real *data);
Tensor *lab_normals(Lab *l, Shape shape, uint64_t which);

/* Adds a weight to the model at work, with normal numbers of this deviation; lab_begin allocates
 * and initializes all; lab_end frees them, and forgets the tape. */
void lab_weight(Lab *l, Tensor *leaf, const char *name, Shape shape, double deviation);
void lab_begin(Lab *l);
void lab_end(Lab *l);

/* Takes `steps` steps of Adam with the gradient of the loss that `record` puts on the tape. */
typedef Tensor *LossOf(Lab *l, void *model, uint64_t step);
void lab_train(Lab *l, int steps, double rate, LossOf *record, void *model);

/* A model that reads sequences of random symbols and names symbols. */
enum { MAX_READ = 1024 };
typedef struct Reader {
    int tokens, symbols;
    int group;                                  /* answers that must be right together */
    int32_t symbol[MAX_READ], answer[MAX_READ]; /* -1: there is no answer */
    void (*draw)(struct Reader *r, uint64_t key, uint64_t first); /* from random number `first` */
    Tensor *(*scores)(Lab *l, struct Reader *r); /* [answers, symbols], or [tokens, 2 symbols] */
} Reader;

/* Trains, and judges over batches that training does not use: the percentage of right groups. */
double lab_read(Lab *l, Reader *r, int steps, int judged);

/* One attention over embeddings with learnt positions, projected to scores, on sequences of equal
 * length. */
enum { MAX_SEQUENCES = 32 };
typedef struct OneAttention {
    int heads;
    bool causal;
    Tensor embedding, positions, query, key, value, out;
    int32_t place[MAX_READ], start[MAX_SEQUENCES], length[MAX_SEQUENCES];
    Sequences sequences;
} OneAttention;

/* Adds its weights to the model at work. */
void one_attention_add(Lab *l, OneAttention *a, int symbols, int outputs, int width, int sequences,
                       int length);

/* The scores of all tokens: [tokens, outputs]. With `steps`, [sequences], attention is computed
 * step by step. */
Tensor *one_attention(Lab *l, OneAttention *a, const int32_t *symbols, AttentionSteps *steps);

/* ---- A lesson: an encoder-decoder of one layer on each side learns a sequence task ---- */

typedef struct Lesson {
    const char *name; /* of the task */
    long symbols, max_length, steps;
    const AttentionKind *attention;
    bool unplaced; /* the model has no positions */
    Task *task;
    Model *model; /* d_model 64, 4 heads */
    Trainer trainer;
    double seconds; /* of training */
} Lesson;

/* Opens the task and trains, by Adam with the paper's schedule; the caller has set the first
 * members, and calls lesson_end. */
void lesson_learn(Lab *l, Lesson *x);
void lesson_end(Lesson *x);

/* The percentage of `rows` held-out answers' tokens that are right when the model reads the right
 * answer; of whole answers that are right when it reads its own. */
double lesson_tokens(Lab *l, Lesson *x, long rows);
double lesson_answers(Lab *l, Lesson *x, long rows);
