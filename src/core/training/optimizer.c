#include "training/optimizer.h"
#include "base/arena.h"
#include "base/pool.h"
#include "base/work.h"
#include <math.h>
#include <string.h>

#define OPTIMIZER(name) &optimizer_##name.choice,
const Choice *const all_optimizers[] = {ALL_OPTIMIZERS(OPTIMIZER) NULL};

Optimizer optim_default(const OptimizerKind *kind) {
    WANT(kind);
    return (Optimizer){.kind = kind, .beta1 = 0.9, .beta2 = 0.98, .matrix_rate = 1, .clip_norm = 1};
}

/* Reals of one thread's scratch memory. */
static long scratch_size(const OptimizerKind *kind, const Parameters *p) {
    long max = 0;
    if (!kind->owns) return 0;
    for (int i = 0; i < p->count; i++) {
        long size = kind->owns(&p->entry[i]) ? kind->scratch(&p->entry[i]) : 0;
        if (size > max) max = size;
    }
    return max;
}

size_t optim_bytes(const OptimizerKind *kind, const Parameters *p) {
    size_t scratch = (size_t)(pool_threads() * scratch_size(kind, p)) * sizeof(real);
    return (size_t)kind->moments * parameters_gradient_bytes(p) + scratch;
}

bool optim_start(Optimizer *o, const Parameters *p, Error *e) {
    WANT(o);
    WANT(o->kind);
    WANT(p);
    o->size = p->size;
    o->bytes = optim_bytes(o->kind, p);
    o->moment1 = pages_alloc(o->bytes, "the optimizer's moments", e);
    if (!o->moment1) return false;
    o->moment2 = o->kind->moments > 1 ? o->moment1 + o->size : NULL;
    o->scratch_size = scratch_size(o->kind, p);
    o->scratch = o->moment1 + o->kind->moments * o->size;
    return true;
}

void optim_stop(Optimizer *o) {
    WANT(o);
    if (o->moment1) pages_free(o->moment1, o->bytes);
    o->moment1 = o->moment2 = o->scratch = NULL;
}

void optim_forget(Optimizer *o) {
    memset(o->moment1, 0, (size_t)o->kind->moments * (size_t)o->size * sizeof(real));
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
    /* Eight chains of additions do not wait for each other, as one would for itself. Parameters
     * fill whole lines of a cache. */
    double total[8] = {0};
    for (long i = begin; i < end; i += 8)
        for (int k = 0; k < 8; k++) total[k] += (double)c->g[i + k] * (double)c->g[i + k];
    c->sum[chunk] = ((total[0] + total[1]) + (total[2] + total[3])) +
                    ((total[4] + total[5]) + (total[6] + total[7]));
}

/* √Σ g² over all parameters, summed in double. The order does not depend on the number of
 * threads. */
static double grad_norm(const Parameters *p) {
    SquareSum c = {.g = p->grad, .size = p->size, .per_chunk = NORM_CHUNK};
    while (chunks_of(c.size, c.per_chunk) > PARTIAL_SUMS) c.per_chunk *= 2;
    long chunks = chunks_of(c.size, c.per_chunk);
    pool_for(chunks, square_sum_chunk, &c);
    double sum = 0;
    for (long i = 0; i < chunks; i++) sum += c.sum[i];
    return sqrt(sum);
}

static void update_range(const Update *u, long begin, long end) {
    long border = u->p->decayed; /* of matrices, which decay, and vectors */
    if (border < begin) border = begin;
    if (border > end) border = end;
    u->o->kind->update(u, begin, border, (real)u->o->weight_decay);
    u->o->kind->update(u, border, end, 0);
}

static void update_chunk(void *context, long chunk) {
    const Update *u = context;
    const OptimizerKind *kind = u->o->kind;
    long begin = chunk * WORK_GRAIN, end = chunk_end(begin, WORK_GRAIN, u->p->size);
    if (!kind->owns) {
        update_range(u, begin, end);
        return;
    }
    for (int i = 0; i < u->p->count; i++) {
        const Parameter *p = &u->p->entry[i];
        long first = p->offset, last = first + shape_count(p->shape);
        if (!kind->owns(p) && first < end && last > begin)
            update_range(u, first > begin ? first : begin, last < end ? last : end);
    }
}

static void update_whole(void *context, long index) {
    const Update *u = context;
    const OptimizerKind *kind = u->o->kind;
    const Parameter *p = &u->p->entry[index];
    real *scratch = u->o->scratch + pool_thread_index() * u->o->scratch_size;
    if (!p->frozen && kind->owns(p)) kind->update_whole(u, p, scratch);
}

double optim_clip(const Optimizer *o, const Parameters *p, double *scale) {
    WANT(o);
    WANT(scale);
    parameters_want_grad(p, "optim_step");
    double norm = grad_norm(p) * *scale;
    /* 1e-6 as in torch.nn.utils.clip_grad_norm_. */
    if (o->clip_norm > 0 && norm > o->clip_norm) *scale = *scale * o->clip_norm / (norm + 1e-6);
    return norm;
}

void optim_update(Optimizer *o, Parameters *p, double learning_rate, double scale) {
    WANT(o);
    WANT(p);
    if (!o->moment1)
        error_bug("optim_update: the optimizer has no moments, want optim_start first");
    if (o->size != p->size)
        error_bug("optim_update: %ld parameters, want the %ld of optim_start", p->size, o->size);
    o->step++;
    Update u = {.o = o,
                .p = p,
                .rate = learning_rate,
                .scale = scale,
                .correction1 = (real)(1 / (1 - pow(o->beta1, (double)o->step))),
                .correction2 = (real)(1 / (1 - pow(o->beta2, (double)o->step)))};
    pool_for(chunks_of(p->size, WORK_GRAIN), update_chunk, &u);
    if (o->kind->owns) pool_for(p->count, update_whole, &u);
}

double optim_step(Optimizer *o, Parameters *p, double learning_rate, double scale) {
    double norm = optim_clip(o, p, &scale);
    if (isfinite(norm)) optim_update(o, p, learning_rate, scale);
    return norm;
}
