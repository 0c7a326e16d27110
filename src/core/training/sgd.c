/* SGD with momentum:
 *
 *     g = g + λ w (matrices)         m = μ m + g             w = w - η m */
#include "training/optimizer.h"

static const double sgd_momentum = 0.9; /* μ */

static void update(const Update *u, long begin, long end, real decay) {
    real momentum = (real)sgd_momentum, rate = (real)u->rate, scale = (real)u->scale;
    real *restrict w = u->p->value, *restrict m = u->o->moment1;
    const real *restrict g = u->p->grad;
    for (long i = begin; i < end; i++) {
        m[i] = momentum * m[i] + (g[i] * scale + decay * w[i]);
        w[i] -= rate * m[i];
    }
}

const OptimizerKind optimizer_sgd = {{"sgd"}, .moments = 1, .update = update};
