/* scaling: "We suspect that for large values of d_k, the dot products grow large in magnitude,
 * pushing the softmax function into regions where it has extremely small gradients" (3.2.1,
 * footnote 4).
 *
 * The components of q and k are independent, uniform within ±√3: mean 0, variance 1. Then q·k has
 * mean 0 and variance d_k. Measured are that variance, and for a softmax over 64 keys its entropy
 * and the gradient of its input for a random gradient of its output, once with the scores S as
 * input and once with S'. The gradient of S is that of S' times 1/√d_k, the backward of the
 * division. */
#include "explain/experiment.h"
#include <stdlib.h>

enum { ROWS = 64, KEYS = 64, SIZES = 13, SOFTMAXES = 32, QUERIES = SOFTMAXES * ROWS };

/* The measurements at one d_k. Index 0: without the division; 1: with it. */
typedef struct Measured {
    double variance, entropy[2];
    double squares[2][QUERIES]; /* of each query's gradient, in the first 32 groups, ascending */
} Measured;

/* Measures the softmax of one group's scores for a random gradient of its output. */
static void measure_softmax(Lab *l, Measured *m, int scaled, long group, Tensor *s, Tensor *dp) {
    real gradient[ROWS * KEYS] = {0};
    Tensor *p = tape_softmax(l->tape, tape_leaf(l->tape, s->shape, s->data, gradient), -1);
    lab_want(l, true);
    tape_backward_from(l->tape, p, dp->data);
    for (long i = 0; i < ROWS * KEYS; i++) {
        double share = (double)p->data[i], g = (double)gradient[i];
        if (share > 0) m->entropy[scaled] -= share * log(share) / QUERIES;
        m->squares[scaled][group * ROWS + i / KEYS] += g * g;
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
    *m = (Measured){0};
    for (long group = 0; group < groups; group++) {
        Tensor *q = lab_random(l, SHAPE(ROWS, d_k)), *k = lab_random(l, SHAPE(KEYS, d_k));
        Tensor *s = lab_linear(l, q, k), *dp = lab_random(l, SHAPE(ROWS, KEYS));
        lab_want(l, true);
        for (long i = 0; i < ROWS * KEYS; i++)
            m->variance += (double)(s->data[i] * s->data[i]) / (double)(groups * ROWS * KEYS);
        if (group < SOFTMAXES) {
            Tensor *divided = tape_scale(t, s, (real)(1 / sqrt((double)d_k)));
            measure_softmax(l, m, 0, group, s, dp);
            measure_softmax(l, m, 1, group, divided, dp);
        }
        tape_reset(t);
    }
    for (int i = 0; i < 2; i++) qsort(m->squares[i], QUERIES, sizeof *m->squares[i], ascending);
}

static void run(Lab *l) {
    static Measured m;
    double off = 0, without = 0, with = 0, d_k = 0;
    l->tape->keep = true; /* backward runs once for each of the two softmaxes */
    lab_start(l,
              "q and k have d_k components of mean 0 and variance 1. The table shows the variance "
              "of S; then, for a softmax over %d keys of S and of S', its entropy (at most ln %d = "
              "%.3f) and the median length of the gradient of its input. The last column is that "
              "at S' divided by sqrt(d_k), as backward divides it.",
              KEYS, KEYS, log(KEYS));
    for (int i = 0; i < SIZES; i++) {
        d_k = 1 << i;
        measure(l, &m, 1 << i);
        off = fmax(off, fabs(m.variance / d_k - 1));
        without = sqrt(m.squares[0][QUERIES / 2]);
        with = sqrt(m.squares[1][QUERIES / 2]);
        LAB_ROW(l, NUMBER(d_k), NUMBER(m.variance), NUMBER(m.entropy[0]), NUMBER(without),
                NUMBER(m.entropy[1]), NUMBER(with), NUMBER(with / sqrt(d_k)));
    }
    lab_found(l,
              "The variance of q.k is d_k within %.2f %%; at d_k = %g half of the queries get a "
              "gradient below %.1e without the division, and above %.1e with it, of which "
              "backward's own 1/sqrt(d_k) leaves %.1e at S.",
              100 * off, d_k, without, with, with / sqrt(d_k));
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
