/* Sequences of different lengths, one after another in the rows of one matrix [rows, d].
 *
 * Token-wise work (linear layers, norms, the loss) sees only rows and costs what the tokens cost: padding
 * does not exist. Attention alone needs to know where sequences begin and end. A padded layout fits as well:
 * then a sequence owns more rows than it has real tokens, and as keys the rows beyond `length` are hidden. */
#ifndef OPS_SEQUENCES_H
#define OPS_SEQUENCES_H

#include <stdint.h>

typedef struct Sequences {
    long count;
    const int32_t *start;  /* [count] first row of each */
    const int32_t *rows;   /* [count] rows that it owns: as queries all of them are computed */
    const int32_t *length; /* [count] real tokens, at the front: as keys only these are seen */
    long total_rows;       /* of all sequences together */
    long longest;          /* the largest of rows */
} Sequences;

/* A bug in op's name if the sequences do not lie in their rows. */
void sequences_check(const char *op, const char *what, const Sequences *s);

#endif
