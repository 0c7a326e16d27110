/* 3.5 Positional encoding: sines and cosines of geometrically growing wavelengths, from 2π to 10000·2π. */
#include "nn/nn.h"
#include <math.h>

void nn_sinusoids(Model *m, long length) {
    long d = m->config.d_model;
    real *out = m->sinusoids;
    for (long pos = m->sinusoids_made; out && pos < length; m->sinusoids_made = ++pos)
        for (long i = 0; i < d; i += 2) {
            double angle = (double)pos * exp(-log(10000.0) * (double)i / (double)d);
            out[pos * d + i] = (real)sin(angle);
            out[pos * d + i + 1] = (real)cos(angle);
        }
}
