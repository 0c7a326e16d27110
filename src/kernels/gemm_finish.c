#include "kernels/gemm_finish.h"
#include "kernels/vector.h"
#include "kernels/vector_math.h"

static void activate(Activation activation, real x[LANES]) {
    if (activation == ACT_RELU)
        for (int l = 0; l < LANES; l++) x[l] = x[l] < 0 ? 0 : x[l]; /* NaN stays */
    if (activation == ACT_GELU)
        for (int l = 0; l < LANES; l++) x[l] = vm_gelu(x[l]);
}

void gemm_finish(const Gemm *g, long at, long column, long rows, long columns) {
    bool keep = g->before && g->activation != ACT_NONE;
    for (long i = 0; i < rows; i++, at += g->ldc)
        for (long j = 0; j < columns; j += LANES) {
            long count = columns - j < LANES ? columns - j : LANES;
            Vector v = vector_load_part(g->c + at + j, count);
            if (g->bias) v += vector_load_part(g->bias + column + j, count);
            if (keep) vector_store_part(g->before + at + j, v, count);
            real x[LANES];
            vector_store(x, v);
            activate(g->activation, x);
            vector_store_part(g->c + at + j, vector_load(x), count);
        }
}
