/* The experiments of ./explain, and its pictures of a run. An experiment asks one question, prints a table
 * and pictures, and ends with one sentence that its numbers support. README.md in this directory lists
 * questions and answers. */
#pragma once

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

/* Name and summary of each experiment, whose function is explain_NAME. */
#define EXPERIMENTS(X)                                                                                       \
    X(relevance, "why words need queries and keys")                                                          \
    X(scaling, "why scores are divided by the root of d_k")                                                  \
    X(kernels, "attention as a regression from known points")                                                \
    X(scores, "dot-product and additive attention: accuracy and time")                                       \
    X(positions, "what a model loses without positions")                                                     \
    X(heads, "one head and four on a task with two relations")                                               \
    X(teacher, "what the decoder reads in training, and what when it runs free")                             \
    X(convolution, "a convolution as attention with fixed weights")                                          \
    X(recurrence, "recall by distance: a recurrent network and attention")                                   \
    X(graph, "message passing over edges as attention with a mask")
#define DECLARE(name, summary) Experiment explain_##name;
EXPERIMENTS(DECLARE)
#undef DECLARE

/* ---- The attention of a saved run over a text: as a page, as SVG files, or in the terminal ---- */

typedef struct RunOptions {
    const char *run;  /* directory of the run */
    const char *text; /* UTF-8; an encoder-decoder answers it. NULL: the page shows those of the training */
    const char *html; /* file that receives the page; NULL: none */
    const char *svg;  /* directory that receives a picture a head; NULL: none */
    long layer, head; /* from 1: only these are drawn; 0: all */
} RunOptions;

/* Draws to stdout if neither html nor svg is given. STATUS_BAD_DATA: the text has a character that the run
 * does not know, or is too long for the model or a page. Otherwise it fails as saved_run_open, page_write
 * and pictures_save do. */
bool explain_run(const RunOptions *o, Error *e);
