/* ALiBi (Press et al., arXiv:2108.12409): nothing is added to embeddings. In head a = 1 … h a score
 * falls with the distance of its query and key:
 *
 *     s_ij = q_i·k_j / √d_k - m_a |i - j|      m_a = 2^(-8a/h)
 *
 * These slopes are for h a power of two. Others take those of the next lower power, and then every
 * second one of the power above it, as the authors' code does. */
#include "nn/nn.h"
#include <math.h>
#include <stdlib.h>

static void slopes(int heads, real *out) {
    int power = 1;
    while (2 * power <= heads) power *= 2;
    for (int a = 0; a < heads; a++) {
        double exponent = a < power ? 8.0 * (a + 1) / power : 4.0 * (2 * (a - power) + 1) / power;
        out[a] = (real)exp2(-exponent);
    }
}

static Tensor *scores(const Forward *f, Tensor *scaled, long offset) {
    long h = scaled->shape.size[0], n = scaled->shape.size[1], m = scaled->shape.size[2];
    real *slope = tape_constant(f->tape, SHAPE(h))->data;
    Tensor *bias = tape_constant(f->tape, scaled->shape);
    real *b = bias->data;
    if (!slope || !b) return tape_sub(f->tape, scaled, bias); /* the tape has failed */
    slopes((int)h, slope);
    for (long head = 0; head < h; head++)
        for (long i = 0; i < n; i++)
            for (long j = 0; j < m; j++) *b++ = slope[head] * (real)labs(i + offset - j);
    return tape_sub(f->tape, scaled, bias);
}

const Positions positions_alibi = {
    {"alibi"},
    .slopes = slopes,
    .scores = scores,
};
