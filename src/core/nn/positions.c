/* 3.5 Positional encoding: the table of a model, whose rows a kind of positions computes. */
#include "nn/nn.h"
#include <pthread.h>

long nn_position_width(const ModelConfig *c) {
    return c->positions->width ? c->positions->width(c) : 0;
}

/* Threads that decode from one model share its table. Rows below positions_made never change. */
void nn_make_positions(Model *m, long length) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (!m->position_table) return;
    if (length > m->config.max_length)
        error_bug("positions: %ld tokens, want at most %d", length, m->config.max_length);
    pthread_mutex_lock(&lock);
    long width = nn_position_width(&m->config);
    for (; m->positions_made < length; m->positions_made++)
        m->config.positions->row(&m->config, m->positions_made,
                                 m->position_table + m->positions_made * width);
    pthread_mutex_unlock(&lock);
}
