/* What ./explain shows besides the walk: experiments, each run while the reader waits. Each prints a table, draws a
 * picture, and ends with a line that says what was found; as JSON it prints its rows, one object a line. */
#ifndef EXPLAIN_EXPLAIN_H
#define EXPLAIN_EXPLAIN_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct ExplainOptions {
    uint64_t seed;
    bool json;       /* rows as JSON objects; no prose, no pictures in the terminal */
    const char *svg; /* the file that gets the pictures; NULL: none */
    const char *dot; /* tape: the file that gets the graph in Graphviz's language; NULL: none */
} ExplainOptions;

typedef bool Experiment(const ExplainOptions *o, Error *e);

/* 3.2: relevance by a fixed ratio, by keys alone, and by queries and keys, each trained where one word has to look at
 * another that must not look back. */
Experiment explain_relevance;

/* 3.2.1: what dividing by √d_k does to scores, to the softmax and to its gradient. */
Experiment explain_scaling;

/* Attention as Nadaraya–Watson regression, with fixed, learnt and trained kernels. */
Experiment explain_kernels;

/* 3.5: the sinusoids, and what a model is without them. */
Experiment explain_positions;

/* 3.2.2: one head against four. */
Experiment explain_heads;

/* 3.2.1: dot-product against additive attention, what they learn and how long they take. */
Experiment explain_scores;

/* 3.1: the answer shifted right, and what a model does that is fed its own. */
Experiment explain_teacher;

/* What a forward pass leaves on the tape: operations, shapes, bytes, multiply-adds, and the graph. */
Experiment explain_tape;

/* A convolution as attention with fixed relative weights. */
Experiment explain_convolution;

#endif
