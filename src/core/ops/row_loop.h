/* A loop over rows on all threads, cut into chunks by the size of the work alone. */
#pragma once

#include "autograd/op.h"
#include "base/pool.h"
#include "base/work.h"

/* Does the rows [begin, end) of a node. */
typedef void RowRange(Node *n, long begin, long end);

typedef struct RowLoop {
    Node *node;
    long rows, per_chunk;
    RowRange *range;
} RowLoop;

static inline void row_loop_chunk(void *context, long chunk) {
    const RowLoop *l = context;
    long begin = chunk * l->per_chunk;
    l->range(l->node, begin, chunk_end(begin, l->per_chunk, l->rows));
}

/* Calls `range` for chunks of `rows` rows, each of about `width` elements of work. */
static inline void row_loop(Node *n, long rows, long width, RowRange *range) {
    RowLoop l = {n, rows, rows_per_chunk(width), range};
    pool_for(chunks_of(rows, l.per_chunk), row_loop_chunk, &l);
}
