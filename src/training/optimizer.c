#include "training/optimizer.h"
#include "base/arena.h"
#include "base/pool.h"
#include "base/work.h"
#include "training/muon.h"
#include <math.h>
#include <string.h>

Optimizer optim_default(OptimizerKind kind) {
    return (Optimizer){.kind = kind,
                       .beta1 = 0.9,
                       .beta2 = 0.98,
                       .epsilon = 1e-9,
                       .momentum = kind == OPTIM_MUON ? 0.95 : 0.9,
                       .matrix_rate = 1,
                       .clip_norm = 1};
}

static bool has_second_moments(OptimizerKind kind) {
    return kind != OPTIM_SGD;
}

size_t optim_bytes(OptimizerKind kind, const Parameters *p) {
    size_t moments = (has_second_moments(kind) ? 2 : 1) * parameters_bytes(p, false);
    return moments + (kind == OPTIM_MUON ? (size_t)muon_scratch(p) * sizeof(real) : 0);
}

bool optim_start(Optimizer *o, const Parameters *p, Error *e) {
    o->size = p->size;
    o->bytes = optim_bytes(o->kind, p);
    o->moment1 = pages_alloc(o->bytes, "the optimizer's moments", e);
    o->moment2 = o->moment1 && has_second_moments(o->kind) ? o->moment1 + o->size : NULL;
    o->scratch = o->moment1 && o->kind == OPTIM_MUON ? o->moment2 + o->size : NULL;
    return o->moment1 != NULL;
}

void optim_stop(Optimizer *o) {
    if (o->moment1) pages_free(o->moment1, o->bytes);
    o->moment1 = o->moment2 = o->scratch = NULL;
}

void optim_forget(Optimizer *o) {
    memset(o->moment1, 0, (has_second_moments(o->kind) ? 2 : 1) * (size_t)o->size * sizeof(real));
    o->step = 0;
}

enum { NORM_CHUNK = 1 << 15, PARTIAL_SUMS = 256 };

typedef struct SquareSum {
    const real *g;
    long size, per_chunk;
    double sum[PARTIAL_SUMS];
} SquareSum;

static void square_sum_chunk(void *context, long chunk) {
    SquareSum *c = context;
    long begin = chunk * c->per_chunk, end = chunk_end(begin, c->per_chunk, c->size);
    /* Eight chains of additions instead of one that waits for itself; parameters fill whole lines of a
     * cache. */
    double total[8] = {0};
    for (long i = begin; i < end; i += 8)
        for (int k = 0; k < 8; k++) total[k] += (double)c->g[i + k] * (double)c->g[i + k];
    c->sum[chunk] =
        ((total[0] + total[1]) + (total[2] + total[3])) + ((total[4] + total[5]) + (total[6] + total[7]));
}

/* √Σ g² over all parameters. Summed in double, in an order that does not depend on the number of threads. */
static double grad_norm(const Parameters *p) {
    SquareSum c = {.g = p->grad, .size = p->size, .per_chunk = NORM_CHUNK};
    while (chunks_of(c.size, c.per_chunk) > PARTIAL_SUMS) c.per_chunk *= 2;
    long chunks = chunks_of(c.size, c.per_chunk);
    pool_for(chunks, square_sum_chunk, &c);
    double sum = 0;
    for (long i = 0; i < chunks; i++) sum += c.sum[i];
    return sqrt(sum);
}

typedef struct Update {
    const Optimizer *o;
    Parameters *p;
    real rate, scale, correction1, correction2; /* η, what multiplies g, 1/(1-βᵗ) */
} Update;

static void adamw(const Update *u, long begin, long end, real decay) {
    real beta1 = (real)u->o->beta1, beta2 = (real)u->o->beta2, epsilon = (real)u->o->epsilon;
    real rest1 = (real)(1 - u->o->beta1), rest2 = (real)(1 - u->o->beta2), keep = 1 - u->rate * decay;
    real rate = u->rate * u->correction1, correction2 = u->correction2, scale = u->scale;
    real *restrict w = u->p->value, *restrict m = u->o->moment1, *restrict v = u->o->moment2;
    const real *restrict g = u->p->grad;
    for (long i = begin; i < end; i++) {
        real gi = g[i] * scale;
        real mi = beta1 * m[i] + rest1 * gi, vi = beta2 * v[i] + rest2 * gi * gi;
        m[i] = mi, v[i] = vi;
        w[i] = keep * w[i] - rate * mi / ((real)sqrt(vi * correction2) + epsilon);
    }
}

static void sgd(const Update *u, long begin, long end, real decay) {
    real momentum = (real)u->o->momentum, rate = u->rate, scale = u->scale;
    real *restrict w = u->p->value, *restrict m = u->o->moment1;
    const real *restrict g = u->p->grad;
    for (long i = begin; i < end; i++) {
        m[i] = momentum * m[i] + (g[i] * scale + decay * w[i]);
        w[i] -= rate * m[i];
    }
}

static void update_range(const Update *u, long begin, long end) {
    void (*update)(const Update *, long, long, real) = u->o->kind == OPTIM_SGD ? sgd : adamw;
    long border = u->p->decayed;
    border = border < begin ? begin : border > end ? end : border;
    update(u, begin, border, (real)u->o->weight_decay);
    update(u, border, end, 0);
}

static void update_chunk(void *context, long chunk) {
    const Update *u = context;
    long begin = chunk * WORK_GRAIN, end = chunk_end(begin, WORK_GRAIN, u->p->size);
    if (u->o->kind != OPTIM_MUON) {
        update_range(u, begin, end);
        return;
    }
    for (int i = 0; i < u->p->count; i++) {
        const Parameter *p = &u->p->entry[i];
        long first = p->offset, last = first + shape_count(p->shape);
        if (!muon_owns(p) && first < end && last > begin)
            update_range(u, first > begin ? first : begin, last < end ? last : end);
    }
}

double optim_clip(const Optimizer *o, const Parameters *p, double *scale) {
    parameters_want_grad(p, "optim_step");
    double norm = grad_norm(p) * *scale;
    /* 1e-6 as in torch.nn.utils.clip_grad_norm_. */
    if (o->clip_norm > 0 && norm > o->clip_norm) *scale = *scale * o->clip_norm / (norm + 1e-6);
    return norm;
}

void optim_update(Optimizer *o, Parameters *p, double learning_rate, double scale) {
    if (!o->moment1) error_bug("optim_update: the optimizer has no moments, want optim_start first");
    o->step++;
    Update u = {.o = o,
                .p = p,
                .rate = (real)learning_rate,
                .scale = (real)scale,
                .correction1 = (real)(1 / (1 - pow(o->beta1, (double)o->step))),
                .correction2 = (real)(1 / (1 - pow(o->beta2, (double)o->step)))};
    pool_for(chunks_of(p->size, WORK_GRAIN), update_chunk, &u);
    if (o->kind == OPTIM_MUON)
        muon_update(p, o->moment1, learning_rate * o->matrix_rate, o->weight_decay, o->momentum, scale,
                    o->scratch);
}

double optim_step(Optimizer *o, Parameters *p, double learning_rate, double scale) {
    double norm = optim_clip(o, p, &scale);
    if (isfinite(norm)) optim_update(o, p, learning_rate, scale);
    return norm;
}
