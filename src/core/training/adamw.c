/* AdamW, at step t = 1, 2, … with rate η, for every element g of the (clipped) gradient:
 *
 *     m = β₁ m + (1-β₁) g            v = β₂ v + (1-β₂) g²
 *     w = w - η λ w                  for matrices only
 *     w = w - η (m / (1-β₁ᵗ)) / (√(v / (1-β₂ᵗ)) + ε)
 *
 * Kingma & Ba, arXiv:1412.6980; Loshchilov & Hutter, arXiv:1711.05101; the paper's section 5.3 with
 * λ = 0. */
#include "training/optimizer.h"
#include <math.h>

const double adamw_epsilon = 1e-9;

void adamw_update(const Update *u, long begin, long end, real decay) {
    const Optimizer *o = u->o;
    real beta1 = (real)o->beta1, beta2 = (real)o->beta2, epsilon = (real)adamw_epsilon;
    real rest1 = (real)(1 - o->beta1), rest2 = (real)(1 - o->beta2),
         keep = 1 - (real)u->rate * decay;
    real rate = (real)u->rate * u->correction1, correction2 = u->correction2,
         scale = (real)u->scale;
    real *restrict w = u->p->value, *restrict m = o->moment1, *restrict v = o->moment2;
    const real *restrict g = u->p->grad;
    for (long i = begin; i < end; i++) {
        real gi = g[i] * scale;
        real mi = beta1 * m[i] + rest1 * gi, vi = beta2 * v[i] + rest2 * gi * gi;
        m[i] = mi;
        v[i] = vi;
        w[i] = keep * w[i] - rate * mi / ((real)sqrt(vi * correction2) + epsilon);
    }
}

const OptimizerKind optimizer_adamw = {
    {"adamw", "beta1 beta2"}, .moments = 2, .update = adamw_update};
