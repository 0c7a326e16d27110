/* A page about a run and its attention: one HTML file, without references to others. It is complete without
 * JavaScript, which adds a slider for earlier steps. The content is plain values; the page knows no model.
 * Texts are UTF-8 and are escaped. */
#ifndef RUN_PAGE_H
#define RUN_PAGE_H

#include "pictures/picture.h"
#include <stdint.h>

/* Attention of one kind, of every layer and head, between the same tokens, given as ids. */
typedef struct PageGroup {
    const char *name, *file_name; /* "Decoder self-attention"; in file names, "decoder" */
    int layers, heads;
    long rows, columns; /* queries and keys */
    const int32_t *row_tokens, *column_tokens;
    bool causal; /* row i has weights up to column i only */
} PageGroup;

enum { PAGE_GROUPS = 3 };

/* A sequence whose attention is shown. */
typedef struct PageExample {
    const char *title; /* shown in a list to choose from */
    PageGroup group[PAGE_GROUPS];
    int groups;
} PageExample;

/* The model's answer to a sample. Tokens that differ from the wanted ones, if there are any, are marked. */
typedef struct PageAnswer {
    long count;
    int32_t *tokens; /* [count] */
} PageAnswer;

typedef struct PageSample {
    const char *title; /* the kind of task */
    const char *about; /* label of the given tokens: "source" */
    const int32_t *given;
    long given_count;
    const int32_t *wanted; /* [wanted_count]; NULL: no answer is wrong */
    long wanted_count;
} PageSample;

/* The model at one step. The weights of each example are in percent: [page_weights(example)], its groups one after
 * another, each as [layers, heads, rows, columns]; a causal one has row i up to column i only. */
typedef struct PageFrame {
    long step;                /* below 0: unknown */
    uint8_t **weights;        /* [examples] */
    const PageAnswer *answer; /* [samples] */
} PageFrame;

/* An answer that beam search found. */
typedef struct PageBeam {
    PageAnswer answer;         /* its end token is among its tokens */
    const double *probability; /* [count] of each token after those before it */
} PageBeam;

typedef struct PageFact {
    const char *name, *value;
} PageFact;

typedef struct Page {
    const char *title, *status;
    const PageFact *figures;  /* [figure_count], at the top */
    const Picture *curves;    /* [curve_count] */
    const char *const *token; /* texts by id */
    const PageExample *examples;
    const PageFrame *frames;    /* [frame_count]; the page first shows the last */
    const PageSample *samples;  /* [sample_count] */
    const PageSample *searched; /* the sample whose answers by beam search are shown */
    const PageBeam *beams;      /* [beam_count], best first */
    const PageFact *facts;      /* [fact_count], about the model */
    const PageFact *choices;    /* [choice_count], about its training */
    const char *command;        /* that repeats the run, or NULL */
    int figure_count, curve_count, example_count, frame_count, sample_count, beam_count, fact_count,
        choice_count;
} Page;

/* Writes the file. STATUS_CANNOT_CREATE, STATUS_IO, STATUS_NO_MEMORY; then the old file stays. */
bool page_write(const Page *p, const char *path, Error *e);

/* Weights of an example; of row i of a group. */
long page_weights(const PageExample *x);
long page_row_weights(const PageGroup *g, long row);

/* Leaves out digits that a decimal fraction has only as a double: 0.10000000000000001 becomes 0.1. */
void page_shorten(char *text);

#endif
