/* The columns of attention's operands. Queries, keys and values stand side by side, in one matrix
 * q | k | v, or in two, q and k | v. In each part the columns of its heads stand side by side.
 * Attention, its parameters, the cache and weight files take the columns from here. */
#pragma once

typedef enum AttentionPart { PART_Q, PART_K, PART_V, PART_END } AttentionPart;

typedef struct HeadColumns {
    int heads;
    long d_k; /* columns of a head */
} HeadColumns;

/* Returns the first column of a part in q | k | v; of PART_END, the number of all columns. */
static inline long heads_column(HeadColumns h, AttentionPart part) {
    return (long)part * h.heads * h.d_k;
}

/* Returns the first of the d_k columns of q | k | v that head 0, 1, … reads in a part. */
static inline long heads_head_column(HeadColumns h, AttentionPart part, long head) {
    return heads_column(h, part) + head * h.d_k;
}
