/* 3.5 Positional encoding: sines and cosines of geometrically growing wavelengths, from 2π to 10000·2π. */
#include "nn/nn.h"
#include <math.h>

static void rows(long from, long to, long d, real *out) {
    for (long pos = from; pos < to; pos++)
        for (long i = 0; i < d; i += 2) {
            double angle = (double)pos * exp(-log(10000.0) * (double)i / (double)d);
            out[pos * d + i] = (real)sin(angle);
            out[pos * d + i + 1] = (real)cos(angle);
        }
}

void nn_sinusoids(long length, long d, real *out) {
    rows(0, length, d, out);
}

void nn_reach(Model *m, long length) {
    if (!m->sinusoids || length <= m->sinusoids_made) return;
    rows(m->sinusoids_made, length, m->config.d_model, m->sinusoids);
    m->sinusoids_made = length;
}
