/* ALiBi (Press et al., arXiv:2108.12409): nothing is added to embeddings. In head a = 1 … h a score falls with the distance
 * of its query and key:
 *
 *     s_ij = q_i·k_j / √d_k - m_a |i - j|      m_a = 2^(-8a/h)
 *
 * These slopes are for h a power of two. Others take those of the next lower power, and then every second one of the
 * power above it, as the authors' code does. */
#include "nn/choices.h"
#include <math.h>

static void slopes(int heads, real *out) {
    int power = 1;
    while (2 * power <= heads) power *= 2;
    for (int a = 0; a < heads; a++) {
        double exponent = a < power ? 8.0 * (a + 1) / power : 4.0 * (2 * (a - power) + 1) / power;
        out[a] = (real)exp2(-exponent);
    }
}

const Positions positions_alibi = {{"alibi"}, .slopes = slopes, .relative = true};
