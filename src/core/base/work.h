/* Cuts element-wise work into chunks for pool_for, by its size alone. */
#pragma once

/* Elements of a chunk. For fewer, the work is shorter than handing it to another thread. */
enum { WORK_GRAIN = 1 << 14 };

/* Rows of `width` elements in a chunk, at least one. */
static inline long rows_per_chunk(long width) {
    long rows = WORK_GRAIN / (width > 0 ? width : 1);
    return rows > 0 ? rows : 1;
}

static inline long chunks_of(long rows, long per_chunk) {
    return (rows + per_chunk - 1) / per_chunk;
}

/* The end of the chunk that begins at row `begin`. */
static inline long chunk_end(long begin, long per_chunk, long rows) {
    return begin + per_chunk < rows ? begin + per_chunk : rows;
}
