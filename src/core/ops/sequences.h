/* Sequences of different lengths, packed one after another into the rows of one matrix, [rows, d].
 * Linear layers, norms and the loss work on rows, so no time goes into padding. Attention alone
 * needs the beginnings and ends of sequences. In a padded layout a sequence has more rows than
 * tokens; the rows after `length` are masked as keys. */
#pragma once

#include "base/real.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct Sequences {
    long count;
    const int32_t *start;  /* [count] first row of each */
    const int32_t *rows;   /* [count] rows of each; all of them are queries */
    const int32_t *length; /* [count] tokens of each, its first rows; only these are keys */
    long total_rows;       /* of all sequences together */
    long longest;          /* the largest of rows */
} Sequences;

/* The keys that a query attends to: the keys of its own sequence, without padding. If causal, also
 * without those after the query. */
typedef struct Reach {
    const Sequences *queries, *keys; /* of equally many sequences */
    bool causal;
    /* [heads], owned by the caller: each score falls by slope · distance of query and key. The last
     * query stands at the last key. NULL: no score falls. */
    const real *slopes;
} Reach;
