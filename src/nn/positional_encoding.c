/* 3.5 Positional encoding: sines and cosines of geometrically growing wavelengths, from 2π to 10000·2π. */
#include "nn/nn.h"
#include <math.h>
#include <pthread.h>

static double angle(long pos, long i, long d) {
    return (double)pos * exp(-log(10000.0) * (double)i / (double)d);
}

void nn_sinusoids(long pos, long d, real *out) {
    for (long i = 0; i < d; i += 2)
        out[i] = (real)sin(angle(pos, i, d)), out[i + 1] = (real)cos(angle(pos, i, d));
}

/* A row of the turns of ops/rotary.c: all cosines, then all sines. */
static void turns(long pos, long d, real *out) {
    for (long i = 0; i < d; i += 2)
        out[i / 2] = (real)cos(angle(pos, i, d)), out[(d + i) / 2] = (real)sin(angle(pos, i, d));
}

long nn_position_width(const ModelConfig *c) {
    return c->positions == POSITIONS_SINUSOIDAL ? c->d_model
           : c->positions == POSITIONS_ROTARY   ? c->d_model / c->heads
                                                : 0;
}

/* Threads that decode from one model share its table. Rows below sinusoids_made never change. */
void nn_make_sinusoids(Model *m, long length) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!m->sinusoids) return;
    pthread_mutex_lock(&lock);
    if (length > m->sinusoids_made) {
        long width = nn_position_width(&m->config);
        for (long pos = m->sinusoids_made; pos < length; pos++)
            (m->config.positions == POSITIONS_ROTARY ? turns : nn_sinusoids)(pos, width,
                                                                             m->sinusoids + pos * width);
        m->sinusoids_made = length;
    }
    pthread_mutex_unlock(&lock);
}

/* Tokens beyond the table, of a text that has outgrown the context, get rows of their own. */
const real *nn_turns(const Forward *f, const Tokens *x, const int32_t **at) {
    Model *m = f->model;
    long last = tokens_last_position(x), rows = x->sequences.total_rows;
    long width = nn_position_width(&m->config);
    *at = x->at;
    if (last < m->config.max_length) {
        nn_make_sinusoids(m, last + 1);
        return m->sinusoids;
    }
    *at = NULL;
    real *own = tape_constant(f->tape, SHAPE(rows, width))->data;
    for (long i = 0; own && i < rows; i++) turns(x->at[i], width, own + i * width);
    return own;
}
