/* scaling: "We suspect that for large values of d_k, the dot products grow large in magnitude, pushing the softmax
 * function into regions where it has extremely small gradients" (3.2.1, footnote 4).
 *
 * Components of q and k are drawn independently with mean 0 and variance 1, uniformly within ±√3; then q·k has mean 0
 * and variance d_k. Here that is measured, and what a softmax over 64 keys makes of such scores, as they are and over
 * √d_k: its entropy, and the length of the gradient that passes it from a random one behind it. */
#include "base/random.h"
#include "explain/show.h"
#include "ops/ops.h"
#include <math.h>

enum { ROWS = 64, KEYS = 64, LARGEST = 4096, SIZES = 13, SOFTMAXES = 32 };

/* Of one d_k: the variance of q·k; then without and with the division, means over the queries of the first 32 groups. */
typedef struct Measured {
    double variance, entropy[2], gradient[2];
} Measured;

/* Groups of 64 queries and 64 keys, all pairs of a group. Their number bounds the relative standard error of the
 * variance, at most √((2/64² + 4/(64 d_k)) / groups), by 0.4 %. */
static long groups_of(long d_k) {
    return 4000 / d_k + 32;
}

static Tensor *draw(Tape *t, Shape shape, uint64_t key, uint64_t *at) {
    Tensor *x = tape_constant(t, shape);
    double bound = sqrt(3);
    for (long i = 0; x->data && i < shape_count(shape); i++)
        x->data[i] = (real)(bound * (2 * (double)random_uniform(key, (*at)++) - 1));
    return x;
}

static double mean_entropy(const Tensor *p) {
    double sum = 0;
    for (long i = 0; i < ROWS * KEYS; i++)
        if (p->data[i] > 0) sum -= (double)p->data[i] * log((double)p->data[i]);
    return sum / ROWS;
}

/* The mean length of a row. */
static double mean_length(const real *x) {
    double sum = 0;
    for (long i = 0; i < ROWS; i++) {
        double squares = 0;
        for (long j = 0; j < KEYS; j++) squares += (double)(x[i * KEYS + j] * x[i * KEYS + j]);
        sum += sqrt(squares);
    }
    return sum / ROWS;
}

/* What a softmax makes of one group's scores. */
static bool measure_softmax(Tape *t, long d_k, Tensor *scores, Tensor *dp, Measured *m, Error *e) {
    for (int scaled = 0; scaled < 2; scaled++) {
        real gradient[ROWS * KEYS] = {0};
        Tensor *s = scaled ? tape_scale(t, scores, (real)(1 / sqrt((double)d_k))) : scores;
        Tensor *p = tape_softmax(t, tape_leaf(t, s->shape, s->data, gradient), -1);
        if (tape_failed(t, e)) return false;
        m->entropy[scaled] += mean_entropy(p);
        tape_backward_from(t, p, dp->data);
        m->gradient[scaled] += mean_length(gradient);
    }
    return true;
}

/* One group; its squares are added to *squares. */
static bool measure_group(Tape *t, long d_k, long group, uint64_t key, uint64_t *at, double *squares,
                          Measured *m, Error *e) {
    Tensor *q = draw(t, SHAPE(ROWS, d_k), key, at), *k = draw(t, SHAPE(KEYS, d_k), key, at);
    Tensor *scores = tape_matmul(t, q, tape_transpose(t, k, 0, 1));
    if (tape_failed(t, e)) return false;
    for (long i = 0; i < ROWS * KEYS; i++) *squares += (double)(scores->data[i] * scores->data[i]);
    bool ok =
        group >= SOFTMAXES || measure_softmax(t, d_k, scores, draw(t, SHAPE(ROWS, KEYS), key, at), m, e);
    tape_reset(t);
    return ok;
}

static bool measure(long d_k, uint64_t seed, Measured *m, Error *e) {
    Tape *t = tape_new();
    t->keep = true; /* backward runs once for each of the two softmaxes */
    *m = (Measured){0};
    uint64_t key = random_key(seed, STREAM_EXPERIMENT + (uint64_t)d_k), at = 0;
    double squares = 0, groups = (double)groups_of(d_k);
    bool ok = true;
    for (long g = 0; ok && g < groups_of(d_k); g++) ok = measure_group(t, d_k, g, key, &at, &squares, m, e);
    m->variance = squares / groups / (ROWS * KEYS);
    for (int i = 0; i < 2; i++) m->entropy[i] /= SOFTMAXES, m->gradient[i] /= SOFTMAXES;
    tape_free(t);
    return ok;
}

static const Column columns[] = {{"d_k", "d_k", 5, 0},
                                 {"variance", "var(q.k)", 9, 2},
                                 {"variance_over_d_k", "/ d_k", 7, 4},
                                 {"entropy", "entropy", 8, 3},
                                 {"gradient", "gradient", 9, AS_POWER},
                                 {"entropy_scaled", "scaled", 8, 3},
                                 {"gradient_scaled", "gradient", 9, AS_POWER}};
enum { COLUMNS = sizeof columns / sizeof *columns };

bool explain_scaling(const ExplainOptions *o, Error *e) {
    double d_k[SIZES], variance[SIZES], gradient[2][SIZES], worst = 0;
    Measured m = {0};
    show_say(
        o,
        "q and k have d_k components of mean 0 and variance 1. The variance of q.k, the entropy of a softmax "
        "over %d of them (at most ln %d = %.3f), and the length of its gradient; then the same of "
        "q.k / sqrt(d_k).",
        KEYS, KEYS, log(KEYS));
    show_head(o, columns, COLUMNS);
    for (int i = 0; i < SIZES; i++) {
        d_k[i] = 1 << i;
        if (!measure(1 << i, o->seed, &m, e)) return false;
        variance[i] = m.variance;
        gradient[0][i] = m.gradient[0], gradient[1][i] = m.gradient[1];
        double off = fabs(m.variance / d_k[i] - 1);
        worst = off > worst ? off : worst;
        show_row(o, "scaling", columns, COLUMNS,
                 (Cell[]){NUMBER(d_k[i]), NUMBER(m.variance), NUMBER(m.variance / d_k[i]),
                          NUMBER(m.entropy[0]), NUMBER(m.gradient[0]), NUMBER(m.entropy[1]),
                          NUMBER(m.gradient[1])});
    }
    Series variances[] = {{"variance of q.k", SIZES, d_k, variance, .points = true},
                          {"d_k", SIZES, d_k, d_k}};
    Series gradients[] = {{"q.k", SIZES, d_k, gradient[0]}, {"q.k / sqrt(d_k)", SIZES, d_k, gradient[1]}};
    Picture pictures[] = {
        {PICTURE_CHART, "Variance of q.k",
         "The measured variance of q.k lies on the line of d_k, from 1 to 4096.",
         .chart = {"d_k", "variance", true, true, .series = variances, .count = 2}},
        {PICTURE_CHART, "Length of the softmax's gradient",
         "Without the division the gradient falls as d_k grows; with it the gradient stays as it is.",
         .chart = {"d_k", "gradient", true, true, .series = gradients, .count = 2}}};
    if (!show_pictures(o, pictures, 2, e)) return false;
    show_found(
        o, "scaling",
        "the variance of q.k is d_k, within %.2f %%. At d_k = %d the softmax's gradient is %.3g times as "
        "long with the division by sqrt(d_k) as without, and its entropy %.2f instead of %.2f.",
        100 * worst, LARGEST, m.gradient[1] / m.gradient[0], m.entropy[1], m.entropy[0]);
    return true;
}
