/* What is on a page, by plain values. Texts are UTF-8 from anywhere and can be nothing but text on the page. */
#ifndef REPORT_PAGE_CONTENT_H
#define REPORT_PAGE_CONTENT_H

#include "explain/pictures/picture.h"
#include <stdint.h>

/* The attentions of one kind: of every layer and head, between the same tokens. Tokens are ids. */
typedef struct PageGroup {
    const char *name, *file_name; /* "Decoder, to itself", and what a file of it is called after: "decoder" */
    int layers, heads;
    long rows, columns; /* queries and keys */
    const int32_t *row_tokens, *column_tokens;
    bool causal; /* row i has weights up to column i alone */
} PageGroup;

enum { PAGE_GROUPS = 3 };

/* A sequence that was looked at. */
typedef struct PageExample {
    const char *title; /* what it is, for a list to choose from */
    PageGroup group[PAGE_GROUPS];
    int groups;
} PageExample;

/* Weights are whole numbers of 1 / WEIGHT_ONE. */
enum { WEIGHT_ONE = 4095 };

/* How all examples were attended to at one step: [examples] arrays of page_weights(example) weights. A group's lie as
 * [layers, heads, rows, columns], of a causal one those of row i up to column i, the groups one after another. */
typedef struct PageFrame {
    long step; /* below 0: it is not known */
    uint16_t **weights;
} PageFrame;

/* Tokens that the model gave at one step. Against the wanted ones, where there are any, wrong and missing ones are
 * marked. */
typedef struct PageAnswer {
    long step, count; /* a step below 0 is not known */
    int32_t *tokens;  /* [count] */
} PageAnswer;

typedef struct PageSample {
    const char *title; /* what was to be done */
    const char *about; /* what is given: "source" */
    const int32_t *given;
    long given_count;
    const int32_t *wanted; /* [wanted_count]; NULL: any answer is one */
    long wanted_count;
    PageAnswer *answer; /* [answers] */
    long answers;
} PageSample;

typedef struct PageFact {
    const char *name, *value;
} PageFact;

typedef struct Page {
    const char *title, *status;
    const PageFact *figures;  /* [figure_count], what is to be seen first */
    const Picture *curves;    /* [curve_count] */
    const char *const *token; /* by id: its text */
    const PageExample *examples;
    const PageFrame *frames;   /* [frame_count], the last of which is what the page shows at first */
    const PageSample *samples; /* [sample_count] */
    const PageFact *facts;     /* [fact_count], what the model is */
    const PageFact *choices;   /* [choice_count], how it was trained */
    const char *command;       /* that repeats it; NULL: none is said */
    int figure_count, curve_count, example_count, frame_count, sample_count, fact_count, choice_count;
} Page;

/* Weights of an example, or of one layer and head of a group, in a frame. */
long page_weights(const PageExample *x);
long page_map_weights(const PageGroup *g);

/* Weights of row i. */
long page_row_weights(const PageGroup *g, long row);

#endif
