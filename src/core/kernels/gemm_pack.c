#include "kernels/gemm_parts.h"

/* Copies the first `count` of `stride` numbers; the others are 0. */
static inline __attribute__((always_inline)) void copy_row(real *out, long stride, const real *x,
                                                           long count) {
#pragma GCC unroll 2
    for (long v = 0; v < stride; v += LANES) {
        Vector row = {0};
        if (count - v >= LANES)
            row = vector_load(x + v);
        else if (count > v)
            row = vector_load_part(x + v, count - v);
        vector_store(out + v, row);
    }
}

/* Inlined with a constant stride. Copies one row into all parts before the next row, because each
 * row may be on another page. Rows may be too far apart for the processor's own prefetching: the
 * loop prefetches LEAD numbers ahead. */
static inline __attribute__((always_inline)) void pack(real *out, long stride, long apart,
                                                       const real *x, long ld, long k, long width,
                                                       long part, long parts) {
    enum { LINE = 64 / sizeof(real), LEAD = 4096 / sizeof(real) };
    long columns = parts * part < width ? parts * part : width, ahead = (LEAD / columns + 1) * ld;
    for (long p = 0; p < k; p++) {
        for (long j = 0; j < columns; j += LINE) __builtin_prefetch(x + ahead + j);
        for (long q = 0; q < parts; q++)
            if (q * part + stride <= width)
                copy_row(out + q * apart, stride, x + q * part, stride);
            else
                copy_row(out + q * apart, stride, x + q * part, width - q * part);
        x += ld;
        out += stride;
    }
}

void pack_panels(real *out, long apart, const real *x, long ld, long k, long width, long panels) {
    pack(out, PANEL, apart, x, ld, k, width, PANEL, panels);
}

/* Transposes `count` rows and `columns` columns of x, at most LANES each; missing lanes are 0.
 * Inlined, with constants for whole squares. */
static inline __attribute__((always_inline)) void transpose_square(real *out, long stride,
                                                                   const real *x, long ld,
                                                                   long columns, long count) {
    Vector row[LANES];
#pragma GCC unroll 16
    for (long i = 0; i < LANES; i++)
        row[i] = i < count ? vector_load_part(x + i * ld, columns) : (Vector){0};
    vector_transpose(row);
#pragma GCC unroll 16
    for (long i = 0; i < LANES; i++)
        if (i < columns) vector_store(out + i * stride, row[i]);
}

void pack_transposed(real *out, long stride, const real *x, long ld, long k, long width) {
    for (long j = 0; j < width; j += LANES) {
        long count = width - j < LANES ? width - j : LANES, p = 0;
        for (; p + LANES <= k && count == LANES; p += LANES)
            transpose_square(out + p * stride, stride, x + p, ld, LANES, LANES);
        for (; p < k; p += LANES)
            transpose_square(out + p * stride, stride, x + p, ld, k - p < LANES ? k - p : LANES,
                             count);
        out += LANES;
        x += LANES * ld;
    }
}

void pack_strips(real *out, long apart, bool transposed, const real *x, long ld, long k,
                 long rows_left, long height, long strips) {
    if (transposed) {
        pack(out, STRIP_WIDTH, apart, x, ld, k, rows_left, height, strips);
        return;
    }
    for (long s = 0; s < strips; s++) {
        long i = s * height, left = rows_left - i;
        pack_transposed(out + s * apart, STRIP_WIDTH, x + i * ld, ld, k,
                        left < STRIP_WIDTH ? left : STRIP_WIDTH);
    }
}
