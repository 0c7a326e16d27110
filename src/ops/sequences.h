/* Sequences of different lengths, packed one after another into the rows of one matrix [rows, d].
 *
 * Linear layers, norms and the loss work on rows, so that no time goes into padding. Attention alone needs to
 * know where sequences begin and end. A padded layout is possible too: then a sequence has more rows than
 * tokens, and the rows beyond `length` are masked as keys. */
#ifndef OPS_SEQUENCES_H
#define OPS_SEQUENCES_H

#include "base/error.h"
#include <stdint.h>

typedef struct Sequences {
    long count;
    const int32_t *start;  /* [count] first row of each */
    const int32_t *rows;   /* [count] rows of each; all of them are queries */
    const int32_t *length; /* [count] tokens of each, its first rows; only these are keys */
    long total_rows;       /* of all sequences together */
    long longest;          /* the largest of rows */
} Sequences;

/* Reports sequences that do not lie within their rows as a bug in op's name. */
static inline void sequences_check(const char *op, const char *what, const Sequences *s) {
    for (long i = 0; i < s->count; i++)
        if (s->start[i] < 0 || s->rows[i] < 0 || s->rows[i] > s->longest || s->length[i] < 0 ||
            s->length[i] > s->rows[i] || s->start[i] > s->total_rows - s->rows[i])
            error_bug("%s: sequence %ld of the %s has rows [%ld,%ld), %ld of them real, want them in "
                      "[0,%ld), at most %ld",
                      op, i, what, (long)s->start[i], (long)s->start[i] + s->rows[i], (long)s->length[i],
                      s->total_rows, s->longest);
}

#endif
