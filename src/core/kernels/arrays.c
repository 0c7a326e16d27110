#include "kernels/arrays.h"
#include "base/pool.h"
#include "base/work.h"
#include <string.h>

typedef struct ScaleTo {
    long count;
    real factor;
    const real *x;
    real *y;
    bool accumulate;
} ScaleTo;

static void scale_to_chunk(void *context, long chunk) {
    const ScaleTo *c = context;
    long begin = chunk * WORK_GRAIN, end = chunk_end(begin, WORK_GRAIN, c->count);
    const real *x = c->x;
    real *y = c->y, factor = c->factor;
    if (c->accumulate)
        for (long i = begin; i < end; i++) y[i] += factor * x[i];
    else
        for (long i = begin; i < end; i++) y[i] = factor * x[i];
}

void kernel_scale_to(long count, real factor, const real *x, real *y, bool accumulate) {
    pool_for(chunks_of(count, WORK_GRAIN), scale_to_chunk,
             &(ScaleTo){count, factor, x, y, accumulate});
}

typedef struct ColumnSums {
    long rows, columns, ld;
    const real *x;
    real *out;
    bool accumulate;
} ColumnSums;

/* Columns of a chunk: whole cache lines, and few enough for the sums to stay in registers. */
enum { STRIP = 64 };

static void column_strip(void *context, long strip) {
    const ColumnSums *c = context;
    long begin = strip * STRIP, width = chunk_end(begin, STRIP, c->columns) - begin;
    real total[STRIP];
    for (long j = 0; j < width; j++) total[j] = c->accumulate ? c->out[begin + j] : 0;
    for (long block = 0; block < c->rows; block += COLUMN_BLOCK) {
        real sum[STRIP] = {0};
        long end = chunk_end(block, COLUMN_BLOCK, c->rows);
        for (long i = block; i < end; i++) {
            const real *row = c->x + i * c->ld + begin;
            if (width == STRIP)
                for (long j = 0; j < STRIP; j++) sum[j] += row[j];
            else
                for (long j = 0; j < width; j++) sum[j] += row[j];
        }
        for (long j = 0; j < width; j++) total[j] += sum[j];
    }
    memcpy(c->out + begin, total, (size_t)width * sizeof(real));
}

void kernel_column_sums(long rows, long columns, const real *x, long ld, real *out,
                        bool accumulate) {
    ColumnSums c = {rows, columns, ld, x, out, accumulate};
    long strips = chunks_of(columns, STRIP);
    if (rows * columns >= WORK_GRAIN)
        pool_for(strips, column_strip, &c);
    else
        for (long i = 0; i < strips; i++) column_strip(&c, i);
}

long kernel_argmax(long count, const real *x) {
    long best = 0;
    for (long i = 1; i < count; i++)
        if (x[i] > x[best]) best = i;
    return best;
}
