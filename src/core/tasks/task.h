/* A task: unlimited training rows, a fixed set of held-out rows, and a tokenizer. The training loop
 * does not depend on the kind of task. A training row is a function of (seed, step, row) only. So a
 * resumed run draws the rows of an uninterrupted one. And k batches of B rows, 0 … B-1, B … 2B-1,
 * …, have the rows of one batch of kB rows. */
#pragma once

#include "nn/config.h"
#include "tasks/batch.h"
#include "text/speakers.h"
#include "text/tokenizer.h"

enum { NO_TOKEN = NO_PAD, REMARK = 512 };

typedef struct TaskOptions {
    uint64_t seed;

    /* sequence to sequence */
    long symbols;    /* number of data tokens, 2 … MAX_SYMBOLS */
    long max_length; /* maximum symbols of a sequence, 1 … MAX_SEQUENCE */
    long held_out;   /* maximum number of held-out sequences, 1 … MAX_HELD_OUT */

    long digits; /* add: of a number, 1 … 9 */

    /* pairs, lm */
    const char *pairs;              /* path of a file: a line each, source, tab, target */
    const TokenizerKind *tokenizer; /* NULL: lm: the one that fits the text */
    long vocab_size;        /* maximum tokens of bpe; 0: the default; lm: what fits the text */
    const char *vocabulary; /* a tokenizer's string; NULL: the tokenizer learns from the data */
    double tokens;          /* lm: that training reads; 0: as many as the text has */
    const char *text;       /* paths of text files and their directories, one a line; -: stdin */
    const char *cache;      /* directory of token files (token_file.c); NULL: the usual one */
    bool (*goes_on)(size_t done, size_t all); /* lm: hears before each megabyte how many bytes are
                                                 encoded; false ends the encoding without an error.
                                                 NULL: none */
    long context;                             /* tokens of a window */
    int unix_newlines;                        /* 1: each CR LF and each CR alone is LF */
    bool lines;                               /* lm: each line is an example */
    double validation; /* share held out, of a text its end, [0,1); 0: train and evaluate on all of
                          it … */
    bool usual_tail;   /* … also of a text below 2,000 bytes: nobody chose the share */
} TaskOptions;

enum { MAX_SYMBOLS = 20000, MAX_SEQUENCE = 4096, MAX_HELD_OUT = 10000, MAX_DIGITS = 9 };

/* seed 1, 61 symbols (64 tokens with begin, end and padding), lengths to 16, 4 digits, 1000 held
 * out; data/pairs.tsv; data/stories.txt by characters, context 64, a tenth held out. */
TaskOptions task_defaults(void);

typedef struct Task Task;
struct Task {
    const char *name;
    Tokenizer *tokenizer; /* the data tokens: ids 0 … tokenizer->size - 1 */
    long vocab_size;      /* data tokens and the three below, if any */
    int32_t begin_id, end_id,
        pad_id; /* above the data tokens, or NO_TOKEN; lines: the token "\n" begins and ends */
    int32_t opening_id;         /* lm: a text that has no prompt begins after this token */
    long max_S, max_T;          /* maximum source (language model: 0) and target tokens of a row */
    long held_out;              /* number of held-out rows */
    bool nothing_held_out;      /* these are then the training data */
    double characters;          /* per token of the held-out text, or bytes; 0: not a text … */
    double training_characters; /* … and of the training part */
    bool unix_newlines;         /* lm: its line ends are LF */
    const char *lines;   /* lm: paths of the text whose lines are examples; NULL: they are not */
    Speakers speakers;   /* lm: of the text's conversations */
    long questions;      /* lm: whose answers are held out, for task_text_question */
    uint32_t checksum;   /* of the data; 0 if they follow from the options */
    char remark[REMARK]; /* lines about the data, for the user */

    /* Methods. The first two append training row `row` of a step, or held-out row `row`, to a
     * batch. `free` frees what the task owns besides its tokenizer; NULL: nothing. */
    void (*add_training_row)(const Task *task, uint64_t step, long row, Batch *b);
    void (*add_held_out_row)(const Task *task, long row, Batch *b);
    void (*free)(Task *task);
};

/* Makes a task of this kind, with task_new, in *out. Options are in range. After an error the
 * caller frees *out too. */
struct TaskKind;
typedef bool TaskOpen(Task **out, const struct TaskKind *kind, const TaskOptions *o, Error *e);

typedef struct TaskKind {
    Choice choice;
    const char *summary; /* "copies a sequence" */
    TaskOpen *open;
    void (*answer)(const int32_t *x, long n,
                   int32_t *y); /* copy, reverse, sort: writes the answer to x */
    bool text;                  /* next-token prediction, without a source */
} TaskKind;
extern const Choice *const all_tasks[]; /* ends with NULL */

/* The functions that open the tasks of tasks.def. */
#define TASK(name, reads, summary, open, answer, text) TaskOpen open;
#include "tasks/tasks.def"
#undef TASK

/* The kind of this name, or NULL. */
const TaskKind *task_kind(const char *name);

/* The names of all tasks, with this between two of them. Returns out. */
enum { TASK_NAMES = 160 };
const char *task_names(char out[TASK_NAMES], const char *separator);

/* Opens the task of this name; free with task_free. NULL: no such task or an option out of range
 * (STATUS_USAGE), an error of corpus_load, or STATUS_NO_MEMORY. */
Task *task_open(const char *name, const TaskOptions *o, Error *e);
void task_free(Task *task);

/* For a TaskOpen: allocates a struct of `size` bytes that begins with a Task, and stores it in
 * *out, too. All members are 0, except the name and the three special ids, NO_TOKEN. NULL:
 * STATUS_NO_MEMORY. */
void *task_new(Task **out, const TaskKind *kind, size_t size, Error *e);

/* Numbers begin, end and padding after the tokenizer's tokens. */
void task_number_tokens(Task *task);

/* Adds a line to a remark, as far as it fits. */
void task_remark(char remark[REMARK], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A language model predicts the next token and has no source. The name may be that of no task. */
bool task_names_language_model(const char *name);
bool task_is_language_model(const Task *task);

/* The unit of losses: a "char" or a "byte" of a text, else a "token". */
const char *task_unit(const Task *task);

/* The text of an lm task, owned by the task; NULL for any other task. */
struct Corpus;
const struct Corpus *task_text_corpus(const Task *task);

/* Writes a held-out question of a conversation, and then its right answer, into ids[max_T]: *prompt
 * tokens of its paragraph up to the label before the answer, and the tokens of the answer. Returns
 * the number of these. The line ends after them. 0: the two do not fit. */
long task_text_question(const Task *task, long question, int32_t *ids, long *prompt);

/* Whether a token of a text begins with a line's end. */
bool task_text_line_ends(const Task *task, int32_t id);

/* A batch for max_rows rows of this task; the caller frees it. NULL: STATUS_NO_MEMORY. */
Batch *task_batch(const Task *task, long max_rows, Error *e);

/* Fills b with the training rows first … first+rows-1 of this step. */
void task_training_batch(const Task *task, uint64_t step, long first, long rows, Batch *b);

/* Fills b with at most `rows` held-out rows from `first` on, and returns their number: 0 at the
 * end. Sequences are in random order. */
long task_held_out_batch(const Task *task, long first, long rows, Batch *b);

/* The same for `of` rows that are evenly spread over all held-out rows. */
long task_spread_batch(const Task *task, long of, long first, long rows, Batch *b);
