/* 3.5 Positional encoding of the paper: sines and cosines of geometrically growing wavelengths,
 * from 2π to 10000·2π, which are added to the embeddings.
 *
 *     PE(pos, 2i) = sin(pos / 10000^(2i/d))      PE(pos, 2i+1) = cos(pos / 10000^(2i/d)) */
#include "nn/nn.h"
#include <math.h>

double nn_angle(double base, long pos, long i, long d) {
    return (double)pos * exp(-log(base) * (double)i / (double)d);
}

void nn_sinusoids(long pos, long d, real *out) {
    for (long i = 0; i < d; i += 2) {
        double angle = nn_angle(10000, pos, i, d);
        out[i] = (real)sin(angle);
        out[i + 1] = (real)cos(angle);
    }
}

static long width(const ModelConfig *c) {
    return c->d_model;
}

static void row(const ModelConfig *c, long pos, real *out) {
    nn_sinusoids(pos, width(c), out);
}

static bool check(const ModelConfig *c, Status status, Error *e) {
    return c->d_model % 2 == 0 ||
           error_set(e, status, "d_model: found %d, need an even number for sinusoidal positions",
                     c->d_model);
}

const Positions positions_sinusoidal = {
    {"sinusoidal"}, .width = width, .row = row, .added = true, .check = check,
};
