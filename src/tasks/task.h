/* A task: an endless supply of training rows, a fixed set of held-out rows, and the characters that the ids
 * stand for. The training loop asks for batches and never for the task's name.
 *
 * Which rows are drawn is a function of (seed, step, row) alone. So a resumed run draws what an uninterrupted
 * one would, and k batches of B rows, rows 0…B-1, B…2B-1, …, are the rows of one batch of kB. */
#ifndef TASKS_TASK_H
#define TASKS_TASK_H

#include "nn/config.h"
#include "tasks/batch.h"
#include "text/tokenizer.h"

enum { NO_TOKEN = NO_PAD };

typedef struct TaskOptions {
    uint64_t seed;

    /* copy, reverse, sort */
    long symbols;    /* different data tokens, 2 … MAX_SYMBOLS */
    long max_length; /* of a sequence, 1 … MAX_SEQUENCE; the shortest has one symbol */
    long held_out;   /* sequences to judge by, 1 … MAX_HELD_OUT; all there are where there are fewer */

    /* lm */
    const char *text;  /* path of a UTF-8 file */
    long context;      /* tokens of a window */
    int unix_newlines; /* 1: each CR LF is one LF */
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
    long vocab_size;                  /* data tokens and the three below */
    int32_t begin_id, end_id, pad_id; /* above the data, or NO_TOKEN where the task has none */
    long max_S, max_T;                /* the longest source, 0 for a language model, and target of a row */
    long held_out;                    /* held-out rows */

    /* The methods below, as each kind of task has them. */
    void (*training)(const Task *task, uint64_t step, long first, long rows, Batch *b);
    void (*validation)(const Task *task, long first, long rows, Batch *b); /* rows that exist */
    void (*free)(Task *task);
};

/* The tasks by name, ending with a NULL name: for --help. */
typedef struct TaskKind {
    const char *name, *summary;
    Task *(*open)(const struct TaskKind *kind, const TaskOptions *o, Error *e);
    void (*answer)(const int32_t *x, long n, int32_t *y); /* sequences: writes the n tokens that x asks for */
} TaskKind;
extern const TaskKind task_kinds[];

/* The kind of this name, or NULL. */
const TaskKind *task_kind(const char *name);

/* Opens the task of this name; task_free ends it. NULL: no such task or an option out of range
 * (STATUS_USAGE), what the text's file brings with it (see corpus.h), or STATUS_NO_MEMORY. */
Task *task_open(const char *name, const TaskOptions *o, Error *e);
void task_free(Task *task);

/* It goes on with what it reads, and has no source. */
bool task_is_language_model(const Task *task);

/* A batch with room for max_rows rows of this task; the caller frees it. NULL: STATUS_NO_MEMORY. */
Batch *task_batch(const Task *task, long max_rows, Error *e);

/* Fills b with the training rows first … first+rows-1 of this step. */
void task_training_batch(const Task *task, uint64_t step, long first, long rows, Batch *b);

/* Fills b with the held-out rows from first on, at most `rows` of them, and returns how many: 0 at the end.
 * Sequences stand in random order, so that their first few show all lengths. */
long task_held_out_batch(const Task *task, long first, long rows, Batch *b);

#endif
