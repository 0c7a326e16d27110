/* scaling: "We suspect that for large values of d_k, the dot products grow large in magnitude,
 * pushing the softmax function into regions where it has extremely small gradients" (3.2.1,
 * footnote 4).
 *
 * The components of q and k are independent, uniform within ±√3: mean 0, variance 1. Then q·k has
 * mean 0 and variance d_k. Measured are that variance, and for a softmax over 64 keys its entropy
 * and the gradient of its input for a random gradient of its output, once with the scores S as
 * input and once with S'. The gradient of S is that of S' times 1/√d_k, the backward of the
 * division. */
#include "base/random.h"
#include "explain/experiment.h"
#include <stdlib.h>

enum { ROWS = 64, KEYS = 64, SIZES = 13, SOFTMAXES = 32, QUERIES = SOFTMAXES * ROWS };

/* The measurements at one d_k. Index 0: without the division; 1: with it. */
typedef struct Measured {
    long d_k;
    uint64_t key, drawn; /* of the random numbers; numbers taken */
    double variance, entropy[2];
    double length[2][QUERIES]; /* of each query's gradient, in the first 32 groups, ascending */
} Measured;

static Tensor *draw(Lab *l, Measured *m, Shape shape) {
    Tensor *x = tape_constant(l->tape, shape);
    lab_want(l, true);
    for (long i = 0; i < shape_count(shape); i++)
        x->data[i] = (real)(sqrt(3) * (2 * (double)random_uniform(m->key, m->drawn++) - 1));
    return x;
}

/* Measures the softmax of one group's scores, without and with the division. */
static void measure_softmax(Lab *l, Measured *m, long group, Tensor *scores) {
    Tape *t = l->tape;
    Tensor *dp = draw(l, m, SHAPE(ROWS, KEYS));
    for (int scaled = 0; scaled < 2; scaled++) {
        real gradient[ROWS * KEYS] = {0};
        double entropy = 0;
        Tensor *s = scaled ? tape_scale(t, scores, (real)(1 / sqrt((double)m->d_k))) : scores;
        Tensor *p = tape_softmax(t, tape_leaf(t, s->shape, s->data, gradient), -1);
        lab_want(l, true);
        tape_backward_from(t, p, dp->data);
        for (long i = 0; i < ROWS * KEYS; i++) {
            double share = (double)p->data[i];
            if (share > 0) entropy -= share * log(share);
        }
        for (long i = 0; i < ROWS; i++) {
            double squares = 0;
            for (long k = 0; k < KEYS; k++)
                squares += (double)(gradient[i * KEYS + k] * gradient[i * KEYS + k]);
            m->length[scaled][group * ROWS + i] = sqrt(squares);
        }
        m->entropy[scaled] += entropy / ROWS / SOFTMAXES;
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Over groups of 64 queries and 64 keys, all pairs of a group. Their number bounds the relative
 * standard error of the variance, at most √((2/64² + 4/(64 d_k)) / groups), by 0.4 %. */
static void measure(Lab *l, Measured *m, long d_k) {
    Tape *t = l->tape;
    long groups = 4000 / d_k + 32;
    *m = (Measured){.d_k = d_k, .key = random_key(l->seed, STREAM_EXPERIMENT + (uint64_t)d_k)};
    for (long group = 0; group < groups; group++) {
        Tensor *q = draw(l, m, SHAPE(ROWS, d_k)), *k = draw(l, m, SHAPE(KEYS, d_k));
        Tensor *scores = tape_matmul(t, q, tape_transpose(t, k, 0, 1));
        lab_want(l, true);
        for (long i = 0; i < ROWS * KEYS; i++)
            m->variance += (double)(scores->data[i] * scores->data[i]);
        if (group < SOFTMAXES) measure_softmax(l, m, group, scores);
        tape_reset(t);
    }
    m->variance = m->variance / (double)groups / (ROWS * KEYS);
    for (int i = 0; i < 2; i++) qsort(m->length[i], QUERIES, sizeof *m->length[i], ascending);
}

static void run(Lab *l) {
    static Measured m;
    double off = 0, without = 0, with = 0, through = 0;
    l->tape->keep = true; /* backward runs once for each of the two softmaxes */
    lab_start(l,
              "q and k have d_k components of mean 0 and variance 1. The table shows the variance "
              "of S; then, for a softmax over %d keys of S and of S', its entropy (at most ln %d = "
              "%.3f) and the median length of the gradient of its input. The last column is that "
              "at S' divided by sqrt(d_k), as backward divides it.",
              KEYS, KEYS, log(KEYS));
    for (int i = 0; i < SIZES; i++) {
        double d_k = 1 << i;
        measure(l, &m, 1 << i);
        off = fmax(off, fabs(m.variance / d_k - 1));
        without = m.length[0][QUERIES / 2];
        with = m.length[1][QUERIES / 2];
        through = with / sqrt(d_k);
        LAB_ROW(l, NUMBER(d_k), NUMBER(m.variance), NUMBER(m.entropy[0]), NUMBER(without),
                NUMBER(m.entropy[1]), NUMBER(with), NUMBER(through));
    }
    lab_found(l,
              "The variance of q.k is d_k within %.2f %%; at d_k = %ld half of the queries get a "
              "gradient below %.1e without the division, and above %.1e with it, of which "
              "backward's own 1/sqrt(d_k) leaves %.1e at S.",
              100 * off, m.d_k, without, with, through);
}

const Experiment explain_scaling = {"scaling",
                                    "why scores are divided by the root of d_k",
                                    "Why are scores divided by the square root of d_k?",
                                    "S = q.k,  S' = S / sqrt(d_k),  dS = dS' / sqrt(d_k)",
                                    {{"d_k", "d_k", 4, 0},
                                     {"variance", "var(S)", 7, 2},
                                     {"entropy", "S: ent.", 7, 3},
                                     {"median", "gradient", 8, AS_POWER},
                                     {"entropy_scaled", "S': ent.", 8, 3},
                                     {"median_scaled", "gradient", 8, AS_POWER},
                                     {"median_through", "at S", 7, AS_POWER}},
                                    run};
