/* Sequences of different lengths, packed one after another into the rows of one matrix [rows, d].
 *
 * Linear layers, norms and the loss work on rows, so that no time goes into padding. Attention
 * alone needs to know where sequences begin and end. A padded layout is possible too: then a
 * sequence has more rows than tokens, and the rows beyond `length` are masked as keys. */
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

/* Which keys a query attends to: those of its sequence, without padding and, if causal, without
 * those that come after the query. */
typedef struct Reach {
    const Sequences *queries, *keys; /* of equally many sequences */
    bool causal;
    /* [heads], the caller's: each score falls by slope · distance of query and key; the last query
     * stands at the last key. NULL: none falls. */
    const real *slopes;
} Reach;
