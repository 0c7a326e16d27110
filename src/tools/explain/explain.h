/* The experiments of ./explain. An experiment asks one question, prints a table and maps, and ends
 * with one sentence that its numbers support. README.md in this directory lists questions and
 * answers. */
#pragma once

#include "autograd/tape.h"
#include "base/error.h"

typedef struct ExplainOptions {
    uint64_t seed;
    bool json;  /* print rows as JSON objects; no prose and no maps */
    Tape *tape; /* empty, for the experiment */
} ExplainOptions;

typedef bool Experiment(const ExplainOptions *o, Error *e);

/* Name and summary of each experiment, whose function is explain_NAME. */
#define EXPERIMENTS(X)                                                                             \
    X(relevance, "why words need queries and keys")                                                \
    X(scaling, "why scores are divided by the root of d_k")                                        \
    X(kernels, "attention as a regression from known points")                                      \
    X(scores, "dot-product and additive attention: accuracy and time")                             \
    X(positions, "what a model loses without positions")                                           \
    X(heads, "one head and four on a task with two relations")                                     \
    X(teacher, "what the decoder reads in training, and what when it runs free")                   \
    X(convolution, "a convolution as attention with fixed weights")                                \
    X(recurrence, "recall by distance: a recurrent network and attention")                         \
    X(graph, "message passing over edges as attention with a mask")
#define DECLARE(name, summary) Experiment explain_##name;
EXPERIMENTS(DECLARE)
#undef DECLARE
