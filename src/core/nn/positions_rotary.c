/* Rotary positions (Su et al., arXiv:2104.09864): queries and keys turn by angles that grow with
 * their positions (ops/rotary.c), so that a score depends on the distance. */
#include "nn/nn.h"
#include <math.h>

static long width(const ModelConfig *c) {
    return config_d_k(c);
}

/* The turns of a position: all cosines, then all sines. */
static void turns(const ModelConfig *c, long pos, real *out) {
    long d = width(c);
    for (long i = 0; i < d; i += 2) {
        double angle = nn_angle(c->rotary_base, pos, i, d);
        out[i / 2] = (real)cos(angle);
        out[(d + i) / 2] = (real)sin(angle);
    }
}

static Tensor *turn(const Forward *f, Tensor *x, long heads, const Tokens *tokens, bool normalise) {
    Model *m = f->model;
    nn_make_positions(m, tokens_last_position(tokens) + 1);
    return tape_rotary(f->tape, x, heads, width(&m->config), tokens->at, m->position_table,
                       normalise);
}

static bool check(const ModelConfig *c, Status status, Error *e) {
    return width(c) % 2 == 0 ||
           error_set(
               e, status,
               "heads: found %d, need heads of an even width for rotary positions: d_model is %d",
               c->heads, c->d_model);
}

const Positions positions_rotary = {
    {"rotary", "rotary-base"}, .width = width, .row = turns, .turn = turn, .check = check,
};
