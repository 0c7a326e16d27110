/* 3.5 Positional encoding: sines and cosines of geometrically growing wavelengths, from 2π to 10000·2π. */
#include "nn/nn.h"
#include <math.h>
#include <pthread.h>

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

/* Threads that decode from one model share its table. Rows below sinusoids_made never change. */
void nn_make_sinusoids(Model *m, long length) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!m->sinusoids) return;
    pthread_mutex_lock(&lock);
    if (length > m->sinusoids_made) {
        rows(m->sinusoids_made, length, m->config.d_model, m->sinusoids);
        m->sinusoids_made = length;
    }
    pthread_mutex_unlock(&lock);
}
