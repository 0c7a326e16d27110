/* Losses to compare a model's loss with: what guessing and counting give. */
#pragma once

#include "tasks/task.h"

enum { YARDSTICKS = 6 };

/* A text has the loss of a uniform guess among its characters, and of the n-grams of text/ngram.h,
 * for any tokenizer. Other tasks have the loss of a uniform guess among the tokens of targets. */
typedef struct Yardsticks {
    int count;
    size_t bytes; /* peak memory of counting, freed again */
    struct Yardstick {
        const char *name;
        /* Mean on the held-out rows, in nats a token; a text: nats a character times
         * Task.characters. */
        double loss;
    } of[YARDSTICKS];
} Yardsticks;

/* STATUS_NO_MEMORY. */
bool task_yardsticks(const Task *task, Yardsticks *out, Error *e);
