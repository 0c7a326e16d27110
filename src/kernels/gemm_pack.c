#include "kernels/gemm_pack.h"
#include "base/error.h"
#include <pthread.h>
#include <stdlib.h>

static pthread_key_t memory_key;

static void make_key(void) {
    if (pthread_key_create(&memory_key, free)) error_bug("pack_memory: no key is left for a thread's memory");
}

void *pack_memory(size_t bytes) {
    static _Thread_local void *memory;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (memory) return memory;
    pthread_once(&once, make_key);
    memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory || pthread_setspecific(memory_key, memory))
        error_no_memory("%zu bytes for packed operands", bytes);
    return memory;
}

/* Rows may lie too far apart for the processor to foresee the next: they are asked for in advance, those of the next
 * part too where a caller packs PACK_ROWS at a time. */
void pack(real *out, long stride, const real *x, long ld, long k, long width) {
    long vectors = pack_vectors(width), last = width - (vectors - 1) * LANES;
    for (long p = 0; p < k; p++, x += ld, out += stride) {
        __builtin_prefetch(x + PACK_ROWS * ld);
        __builtin_prefetch(x + PACK_ROWS * ld + width - 1);
        for (long v = 0; v + 1 < vectors; v++) vector_store(out + v * LANES, vector_load(x + v * LANES));
        vector_store(out + (vectors - 1) * LANES, vector_load_part(x + (vectors - 1) * LANES, last));
    }
}

/* One vector's width of the transpose: LANES rows of x, or the first `count` and zeros for the others. */
static inline __attribute__((always_inline)) void transpose_rows(real *out, long stride, const real *x,
                                                                 long ld, long k, long count) {
    for (long p = 0; p < k; p += LANES, out += LANES * stride) {
        long columns = k - p < LANES ? k - p : LANES;
        Vector row[LANES];
#pragma GCC unroll 16
        for (long i = 0; i < LANES; i++)
            row[i] = i < count ? vector_load_part(x + i * ld + p, columns) : (Vector){0};
        vector_transpose(row);
#pragma GCC unroll 16
        for (long i = 0; i < LANES; i++)
            if (i < columns) vector_store(out + i * stride, row[i]);
    }
}

void pack_transposed(real *out, long stride, const real *x, long ld, long k, long width) {
    for (long j = 0; j < width; j += LANES, out += LANES, x += LANES * ld) {
        if (j + LANES <= width)
            transpose_rows(out, stride, x, ld, k, LANES);
        else
            transpose_rows(out, stride, x, ld, k, width - j);
    }
}
