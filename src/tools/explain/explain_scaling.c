/* scaling: "We suspect that for large values of d_k, the dot products grow large in magnitude,
 * pushing the softmax function into regions where it has extremely small gradients" (3.2.1,
 * footnote 4).
 *
 * The components of q and k are independent, uniform within ±√3: mean 0, variance 1. Then q·k has
 * mean 0 and variance d_k. Measured are that variance, and for a softmax over 64 keys its entropy
 * and the gradient of its input for a random gradient of its output, once with the scores S = q·k
 * as input and once with S' = S / √d_k. The gradient of S is that of S' times 1/√d_k, the backward
 * of the division. */
#include "base/random.h"
#include "explain/show.h"
#include "ops/ops.h"
#include <math.h>
#include <stdlib.h>

enum {
    ROWS = 64,
    KEYS = 64,
    LARGEST = 4096,
    SIZES = 13,
    SOFTMAXES = 32,
    QUERIES = SOFTMAXES * ROWS
};

/* The measurements at one d_k. Index 0: without the division; 1: with it. */
typedef struct Measured {
    Tape *tape;
    long d_k;
    uint64_t key, drawn; /* of the random numbers; numbers taken */
    double variance, entropy[2], median[2];
    double
        length[2]
              [QUERIES]; /* of each query's gradient, in the first 32 groups; their median above */
} Measured;

/* Groups of 64 queries and 64 keys, all pairs of a group. Their number bounds the relative standard
 * error of the variance, at most √((2/64² + 4/(64 d_k)) / groups), by 0.4 %. */
static long groups_of(long d_k) {
    return 4000 / d_k + 32;
}

static Tensor *draw(Measured *m, Shape shape) {
    Tensor *x = tape_constant(m->tape, shape);
    double bound = sqrt(3);
    if (!x->data) return x;
    for (long i = 0; i < shape_count(shape); i++)
        x->data[i] = (real)(bound * (2 * (double)random_uniform(m->key, m->drawn++) - 1));
    return x;
}

static double mean_entropy(const Tensor *p) {
    double sum = 0;
    for (long i = 0; i < ROWS * KEYS; i++)
        if (p->data[i] > 0) sum -= (double)p->data[i] * log((double)p->data[i]);
    return sum / ROWS;
}

/* The length of each of ROWS rows. */
static void lengths_of(const real *x, double *length) {
    for (long i = 0; i < ROWS; i++) {
        double squares = 0;
        for (long j = 0; j < KEYS; j++) squares += (double)(x[i * KEYS + j] * x[i * KEYS + j]);
        length[i] = sqrt(squares);
    }
}

/* Measures the softmax of one group's scores, without and with the division. */
static bool measure_softmax(Measured *m, long group, Tensor *scores, Error *e) {
    Tape *t = m->tape;
    Tensor *dp = draw(m, SHAPE(ROWS, KEYS));
    for (int scaled = 0; scaled < 2; scaled++) {
        real gradient[ROWS * KEYS] = {0};
        Tensor *s = scaled ? tape_scale(t, scores, (real)(1 / sqrt((double)m->d_k))) : scores;
        Tensor *p = tape_softmax(t, tape_leaf(t, s->shape, s->data, gradient), -1);
        if (tape_failed(t, e)) return false;
        m->entropy[scaled] += mean_entropy(p) / SOFTMAXES;
        tape_backward_from(t, p, dp->data);
        lengths_of(gradient, m->length[scaled] + group * ROWS);
    }
    return true;
}

static bool measure_group(Measured *m, long group, Error *e) {
    Tape *t = m->tape;
    Tensor *q = draw(m, SHAPE(ROWS, m->d_k)), *k = draw(m, SHAPE(KEYS, m->d_k));
    Tensor *scores = tape_matmul(t, q, tape_transpose(t, k, 0, 1));
    if (tape_failed(t, e)) return false;
    for (long i = 0; i < ROWS * KEYS; i++)
        m->variance += (double)(scores->data[i] * scores->data[i]);
    bool ok = group >= SOFTMAXES || measure_softmax(m, group, scores, e);
    tape_reset(t);
    return ok;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool measure(Measured *m, Tape *t, long d_k, uint64_t seed, Error *e) {
    *m = (Measured){
        .tape = t, .d_k = d_k, .key = random_key(seed, STREAM_EXPERIMENT + (uint64_t)d_k)};
    for (long g = 0; g < groups_of(d_k); g++)
        if (!measure_group(m, g, e)) return false;
    m->variance = m->variance / (double)groups_of(d_k) / (ROWS * KEYS);
    for (int i = 0; i < 2; i++) {
        qsort(m->length[i], QUERIES, sizeof *m->length[i], ascending);
        m->median[i] = m->length[i][QUERIES / 2];
    }
    return true;
}

static const Table table = {"scaling",
                            "Why are scores divided by the square root of d_k?",
                            "S = q.k,  S' = S / sqrt(d_k),  dS = dS' / sqrt(d_k)",
                            {{"d_k", "d_k", 4, 0},
                             {"variance", "var(S)", 7, 2},
                             {"entropy", "S: ent.", 7, 3},
                             {"median", "gradient", 8, AS_POWER},
                             {"entropy_scaled", "S': ent.", 8, 3},
                             {"median_scaled", "gradient", 8, AS_POWER},
                             {"median_through", "at S", 7, AS_POWER}}};

bool explain_scaling(const ExplainOptions *o, Error *e) {
    double d_k[SIZES], off = 0;
    static Measured m;
    o->tape->keep = true; /* backward runs once for each of the two softmaxes */
    show_start(
        o, &table,
        "q and k have d_k components of mean 0 and variance 1. The table shows the variance of S; "
        "then, for a softmax over %d keys of S and of S', its entropy (at most ln %d = %.3f) and "
        "the "
        "median length of the gradient of its input. The last column is that at S' divided by "
        "sqrt(d_k), as backward divides it.",
        KEYS, KEYS, log(KEYS));
    for (int i = 0; i < SIZES; i++) {
        d_k[i] = 1 << i;
        if (!measure(&m, o->tape, 1 << i, o->seed, e)) return false;
        off = fmax(off, fabs(m.variance / d_k[i] - 1));
        show_row(o, &table,
                 (Cell[]){NUMBER(d_k[i]), NUMBER(m.variance), NUMBER(m.entropy[0]),
                          NUMBER(m.median[0]), NUMBER(m.entropy[1]), NUMBER(m.median[1]),
                          NUMBER(m.median[1] / sqrt(d_k[i]))});
    }
    return show_found(
        o, &table, NULL, 0,
        "The variance of q.k is d_k within %.2f %%; at d_k = %d half of the queries get a "
        "gradient below %.1e without the division, and above %.1e with it, of which backward's "
        "own 1/sqrt(d_k) leaves %.1e at S.",
        100 * off, LARGEST, m.median[0], m.median[1], m.median[1] / sqrt(LARGEST));
}
