/* Packing of panels, plain and transposed. */
#include "kernels/gemm_pack.h"

void pack_panel(real *out, const real *b, long ldb, long k, long width) {
    long vectors = pack_vectors(width), last = width - (vectors - 1) * LANES;
    for (long p = 0; p < k; p++, b += ldb, out += vectors * LANES)
        for (long v = 0; v < vectors; v++) {
            if (v + 1 < vectors)
                vector_store(out + v * LANES, vector_load(b + v * LANES));
            else
                vector_store(out + v * LANES, vector_load_part(b + v * LANES, last));
        }
}

/* LANES rows of B, or the first `count` with zeros for the others, over k columns: into one vector's width.
 */
static inline __attribute__((always_inline)) void transpose_strip(real *out, long stride, const real *b,
                                                                  long ldb, long k, long count) {
    for (long p = 0; p < k; p += LANES, out += LANES * stride) {
        long columns = k - p < LANES ? k - p : LANES;
        Vector row[LANES];
#pragma GCC unroll 16
        for (long i = 0; i < LANES; i++)
            row[i] = i < count ? vector_load_part(b + i * ldb + p, columns) : (Vector){0};
        vector_transpose(row);
        if (columns == LANES) {
#pragma GCC unroll 16
            for (long i = 0; i < LANES; i++) vector_store(out + i * stride, row[i]);
        } else {
#pragma GCC unroll 16
            for (long i = 0; i < LANES; i++)
                if (i < columns) vector_store(out + i * stride, row[i]);
        }
    }
}

void pack_panel_transposed(real *out, const real *b, long ldb, long k, long width) {
    long stride = pack_vectors(width) * LANES;
    for (long j = 0; j < width; j += LANES, out += LANES, b += LANES * ldb) {
        if (j + LANES <= width)
            transpose_strip(out, stride, b, ldb, k, LANES);
        else
            transpose_strip(out, stride, b, ldb, k, width - j);
    }
}
