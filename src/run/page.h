/* A page about a run and its attention: one HTML file, without references to others. It is complete without
 * JavaScript, which adds a slider for earlier steps. The content is plain values; the page knows no model.
 * Texts are UTF-8 and are escaped. */
#ifndef RUN_PAGE_H
#define RUN_PAGE_H

#include "pictures/picture.h"
#include <stdint.h>

enum { PAGE_EXAMPLES = 3, PAGE_GROUPS = 3, PAGE_FRAMES = 24, PAGE_SAMPLES = 6, PAGE_BEAMS = 3 }; /* at most */

/* Attention of one kind, of every layer and head, between the same tokens, given as ids. */
typedef struct PageGroup {
    const char *name, *file_name; /* "Decoder self-attention"; in file names, "decoder" */
    int layers, heads;
    long rows, columns; /* queries and keys */
    const int32_t *row_tokens, *column_tokens;
    bool causal; /* row i has weights up to column i only */
} PageGroup;

/* A sequence whose attention is shown. */
typedef struct PageExample {
    const int32_t *source,
        *target;      /* [n], which a language model does not have; the decoder's input, [whole] */
    long n, m, whole; /* of the target the first m tokens are shown */
    PageGroup group[PAGE_GROUPS];
    int groups;
} PageExample;

/* The model's answer to a sample. Tokens that differ from the wanted ones, if there are any, are marked. */
typedef struct PageAnswer {
    long count;
    const int32_t *tokens; /* [count] */
} PageAnswer;

typedef struct PageSample {
    const int32_t *given;
    long given_count;
    const int32_t *wanted; /* [wanted_count]; NULL: no answer is wrong */
    long wanted_count;
} PageSample;

/* The model at one step. */
typedef struct PageFrame {
    long step; /* below 0: unknown */
    const uint8_t
        *weights[PAGE_EXAMPLES][PAGE_GROUPS]; /* percent: [layers, heads, rows, columns] of the group */
    PageAnswer answer[PAGE_SAMPLES];
} PageFrame;

/* An answer that beam search found. */
typedef struct PageBeam {
    PageAnswer answer;         /* its end token is among its tokens */
    const double *probability; /* [count] of each token after those before it */
} PageBeam;

typedef struct PageFact {
    const char *name, *value;
} PageFact;

/* Texts in rows and columns, the first of which are names. */
typedef struct PageTable {
    const char *title;
    const char *const *head, *const *cell; /* [columns]; [rows, stride] */
    int rows, columns, stride;
} PageTable;

typedef struct Page {
    const char *title, *status;
    const PageFact *figures;  /* [figure_count], at the top */
    const Picture *curves;    /* [curve_count] */
    const char *curves_note;  /* on all of them, or NULL */
    const char *const *token; /* bytes by id; a character may take several tokens */
    bool text;                /* of a language model: a sample without `wanted` is generated text */
    const PageExample *examples;
    const PageFrame *frames;   /* [frame_count]; the page first shows the last */
    const PageSample *samples; /* [sample_count] */
    const PageTable *table;    /* or NULL */
    PageSample searched;       /* whose answers by beam search are shown */
    const PageBeam *beams;     /* [beam_count], best first */
    const PageFact *options;   /* [option_count], of the model and its training */
    const char *command;       /* that repeats the run, or NULL */
    int figure_count, curve_count, example_count, frame_count, sample_count, beam_count, option_count;
} Page;

/* Writes the file. STATUS_CANNOT_CREATE, STATUS_IO, STATUS_NO_MEMORY; then the old file stays. */
bool page_write(const Page *p, const char *path, Error *e);

/* Weights that the page shows of an example; of row i of a group. */
long page_weights(const PageExample *x);
long page_row_weights(const PageGroup *g, long row);

/* Elements of a group's weights in a frame. */
long page_group_size(const PageGroup *g);

#endif
