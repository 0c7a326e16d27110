/* The sums over one row that backward of layer_norm and rms_norm need. */
#pragma once

#include "kernels/rows.h"

/* With x̂_j = (x_j - mean) r and g_j = dy_j γ_j: adds to dγ and dβ, and computes 1/d Σ_j g_j and
 * 1/d Σ_j g_j x̂_j. dbeta NULL: there is no β; mean_g is 0. The sums run in ROW_LANES lanes, as in
 * kernels/rows.h. */
static inline __attribute__((always_inline)) void norm_row_sums(long d, const real *x,
                                                                const real *dy, const real *gamma,
                                                                real mean, real r, real *dgamma,
                                                                real *dbeta, real *mean_g,
                                                                real *mean_gx) {
    Lanes sum_g = lanes_of(0), sum_gx = sum_g;
    long j = 0;
    for (; j + ROW_LANES <= d; j += ROW_LANES) {
        Lanes dy_j = lanes_load(dy + j), g = lanes_mul(dy_j, lanes_load(gamma + j));
        Lanes normal = lanes_mul(lanes_sub(lanes_load(x + j), lanes_of(mean)), lanes_of(r));
        lanes_store(dgamma + j, lanes_add(lanes_load(dgamma + j), lanes_mul(dy_j, normal)));
        if (dbeta) lanes_store(dbeta + j, lanes_add(lanes_load(dbeta + j), dy_j));
        sum_g = lanes_add(sum_g, g);
        sum_gx = lanes_add(sum_gx, lanes_mul(g, normal));
    }
    real rest_g = 0, rest_gx = 0;
    for (; j < d; j++) {
        real normal = (x[j] - mean) * r, g = dy[j] * gamma[j];
        dgamma[j] += dy[j] * normal;
        if (dbeta) dbeta[j] += dy[j];
        rest_g += g;
        rest_gx += g * normal;
    }
    *mean_g = dbeta ? (lanes_sum(sum_g) + rest_g) / (real)d : 0;
    *mean_gx = (lanes_sum(sum_gx) + rest_gx) / (real)d;
}
