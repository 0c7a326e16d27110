/* A task: unlimited training rows, a fixed set of held-out rows, and a tokenizer. The training loop does not
 * depend on the kind of task.
 *
 * Training rows are a function of (seed, step, row) only. So a resumed run draws the rows of an uninterrupted
 * one, and k batches of B rows, 0 … B-1, B … 2B-1, …, are the rows of one batch of kB. */
#ifndef TASKS_TASK_H
#define TASKS_TASK_H

#include "nn/config.h"
#include "tasks/batch.h"
#include "text/tokenizer.h"

enum { NO_TOKEN = NO_PAD };

typedef struct TaskOptions {
    uint64_t seed;

    /* copy, reverse, sort */
    long symbols;    /* number of data tokens, 2 … MAX_SYMBOLS */
    long max_length; /* maximum symbols of a sequence, 1 … MAX_SEQUENCE */
    long held_out;   /* maximum number of held-out sequences, 1 … MAX_HELD_OUT */

    /* lm */
    const char *text;  /* path of a UTF-8 file */
    long context;      /* tokens of a window */
    int unix_newlines; /* 1: convert CR LF to LF */
    double validation; /* share of the text held out, at its end, [0,1); 0: train and evaluate on all of it */
} TaskOptions;

enum { MAX_SYMBOLS = 20000, MAX_SEQUENCE = 4096, MAX_HELD_OUT = 10000 };

/* seed 1, 61 symbols (64 tokens with begin, end and padding), lengths to 16, 1000 held out;
 * data/chronicle.txt, context 64, the last tenth held out. */
TaskOptions task_defaults(void);

typedef struct Task Task;
struct Task {
    const char *name;
    Tokenizer *tokenizer;             /* the data tokens: ids 0 … tokenizer->size - 1 */
    long vocab_size;                  /* data tokens and the three below, if any */
    int32_t begin_id, end_id, pad_id; /* above the data tokens, or NO_TOKEN */
    long max_S, max_T;                /* maximum source (language model: 0) and target tokens of a row */
    long held_out;                    /* number of held-out rows */

    /* The methods of the functions below. */
    void (*training)(const Task *task, uint64_t step, long first, long rows, Batch *b);
    void (*validation)(const Task *task, long first, long rows, Batch *b); /* rows that exist */
    void (*free)(Task *task);
};

/* The kinds of task, ending with a NULL name. */
typedef struct TaskKind {
    const char *name, *summary;
    Task *(*open)(const struct TaskKind *kind, const TaskOptions *o, Error *e);
    void (*answer)(const int32_t *x, long n, int32_t *y); /* sequences: writes the answer to x */
} TaskKind;
extern const TaskKind task_kinds[];

/* The kind of this name, or NULL. */
const TaskKind *task_kind(const char *name);

/* Opens the task of this name; free with task_free. NULL: no such task or an option out of range
 * (STATUS_USAGE), an error of corpus_load, or STATUS_NO_MEMORY. */
Task *task_open(const char *name, const TaskOptions *o, Error *e);
void task_free(Task *task);

/* A language model predicts the next token and has no source. */
bool task_is_language_model(const Task *task);

/* A batch for max_rows rows of this task; the caller frees it. NULL: STATUS_NO_MEMORY. */
Batch *task_batch(const Task *task, long max_rows, Error *e);

/* Fills b with the training rows first … first+rows-1 of this step. */
void task_training_batch(const Task *task, uint64_t step, long first, long rows, Batch *b);

/* Fills b with at most `rows` held-out rows from `first` on, and returns their number: 0 at the end.
 * Sequences are in random order. */
long task_held_out_batch(const Task *task, long first, long rows, Batch *b);

#endif
