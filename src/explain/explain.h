/* The experiments of ./explain, and its pictures of a run. An experiment asks one question, prints a table
 * and pictures, and ends with one sentence that its numbers support. README.md in this directory lists
 * questions and answers. */
#ifndef EXPLAIN_EXPLAIN_H
#define EXPLAIN_EXPLAIN_H

#include "autograd/tape.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct ExplainOptions {
    uint64_t seed;
    bool json;       /* print rows as JSON objects; no prose and no pictures */
    const char *svg; /* file that receives the pictures; NULL: none */
    Tape *tape;      /* empty, for the experiment */
} ExplainOptions;

typedef bool Experiment(const ExplainOptions *o, Error *e);

Experiment explain_relevance;   /* 3.2: a fixed ratio, keys alone, queries and keys */
Experiment explain_scaling;     /* 3.2.1: why scores are divided by √d_k */
Experiment explain_kernels;     /* 3.2: attention as Nadaraya–Watson regression */
Experiment explain_scores;      /* 3.2.1: dot-product and additive attention */
Experiment explain_positions;   /* 3.5: the sinusoids, and a model without them */
Experiment explain_heads;       /* 3.2.2: one head and four */
Experiment explain_teacher;     /* 3.1: teacher forcing and free running */
Experiment explain_tape;        /* the operations that a forward pass records */
Experiment explain_convolution; /* a convolution as attention with fixed weights */
Experiment explain_graph;       /* message passing over edges as attention with a mask */
Experiment explain_recurrence;  /* recall by distance: a recurrent network and attention */

/* ---- The attention of a saved run over a text: as a page, as SVG files, or in the terminal ---- */

typedef struct RunOptions {
    const char *run;  /* directory of the run */
    const char *text; /* UTF-8; an encoder-decoder answers it */
    const char *html; /* file that receives the page; NULL: none */
    const char *svg;  /* directory that receives a picture a head; NULL: none */
    long layer, head; /* from 1: only these are drawn; 0: all */
} RunOptions;

/* Draws to stdout if neither html nor svg is given. STATUS_BAD_DATA: the text has a character that the run
 * does not know, or is too long for the model or a page. Otherwise it fails as saved_run_open, page_write
 * and pictures_save do. */
bool explain_run(const RunOptions *o, Error *e);

#endif
