/* kernels: attention as Nadaraya–Watson regression. The estimate at x is a mean of known values
 * y_j, weighted by a kernel of the distance to the known points: ŷ(x) = Σ_j a_j y_j, where a_j is
 * K(x, x_j) divided by its sum over j.
 *
 *     gauss         K = e^(-(x - x_j)² / h)
 *     attention     K = e^(q·k_j / √d_k)    q = W^Q φ(x), k_j = W^K φ(x_j), φ: sines, cosines
 *
 * In the words of attention x is the query, x_j are the keys, y_j the values. The weights (ln h;
 * W^Q and W^K) are learnt by predicting each known point from all others, with the diagonal of a
 * masked. Held-out points only judge. */
#include "base/random.h"
#include "explain/fit.h"
#include "explain/show.h"
#include <math.h>
#include <stdlib.h>

enum { KNOWN = 160, HELD_OUT = 1000, WAVES = 4, FEATURES = 2 * WAVES, STEPS = 300, ROWS = 4 };
#define LONGEST 5.0 /* x is in [0, LONGEST) */

typedef struct Points {
    long count;
    real x[HELD_OUT], y[HELD_OUT];
} Points;

/* One row of the table: a kernel, and the width that it has or starts with; 0: attention. */
typedef struct Regression {
    double h;
    bool learnt;
    Fit fit;
    Tensor log_h, query, key; /* [1], [FEATURES, FEATURES] */
    double error, distance;   /* of held-out points; the mean of |x - x_j| under the weights */
} Regression;

static const Table table = {
    "kernels",
    "Is attention a regression that weights known points by their distance?",
    "y(x) = sum_j a_j y_j,  a_j = K_j / sum_j K_j\n"
    "gauss      K_j = e^(-(x - x_j)^2 / h)\n"
    "attention  K_j = e^(q.k_j / sqrt(d_k))\n"
    "query = x, keys = x_j, values = y_j",
    {{"kernel", "kernel", 9, AS_TEXT},
     {"width", "width", 6, AS_TEXT},
     {"h", "h", 6, 3},
     {"error", "error", 6, 4},
     {"distance", "|x - x_j|", 9, 3}}};

static int ascending(const void *a, const void *b) {
    real x = *(const real *)a, y = *(const real *)b;
    return (x > y) - (x < y);
}

/* Noisy points of the curve 2 sin x + x^0.8, sorted by x. */
static void draw(Points *p, long count, uint64_t seed, uint64_t which) {
    uint64_t places = random_key(seed, STREAM_EXPERIMENT + 2 * which);
    uint64_t noise = random_key(seed, STREAM_EXPERIMENT + 2 * which + 1);
    p->count = count;
    for (long i = 0; i < count; i++)
        p->x[i] = (real)(LONGEST * (double)random_uniform(places, (uint64_t)i));
    qsort(p->x, (size_t)count, sizeof *p->x, ascending);
    for (long i = 0; i < count; i++) {
        double x = (double)p->x[i];
        p->y[i] = (real)(2 * sin(x) + pow(x, 0.8) + 0.5 * random_normal(noise, (uint64_t)i));
    }
}

/* φ(x): [count, FEATURES] */
static Tensor *features(Tape *t, const Points *p) {
    Tensor *f = tape_constant(t, SHAPE(p->count, FEATURES));
    if (!f->data) return f;
    for (long i = 0; i < p->count * WAVES; i++) {
        double angle = (double)(i % WAVES + 1) * acos(-1) * (double)p->x[i / WAVES] / LONGEST;
        f->data[2 * i] = (real)sin(angle);
        f->data[2 * i + 1] = (real)cos(angle);
    }
    return f;
}

/* a: [count, KNOWN], each row sums to 1. `leave_out`: no known point counts for itself. */
static Tensor *weights(Regression *r, const Points *p, const Points *known, bool leave_out) {
    static uint8_t diagonal[KNOWN * KNOWN];
    Tape *t = r->fit.tape;
    Tensor *s;
    if (r->h == 0) {
        Tensor *q = tape_linear(t, features(t, p), &r->query, NULL, ACT_NONE, NULL);
        Tensor *k = tape_linear(t, features(t, known), &r->key, NULL, ACT_NONE, NULL);
        s = tape_scale(t, tape_matmul(t, q, tape_transpose(t, k, 0, 1)), (real)sqrt(1. / FEATURES));
    } else {
        Tensor *x = fit_data(&r->fit, SHAPE(p->count, 1), p->x);
        Tensor *far = tape_sub(t, x, fit_data(&r->fit, SHAPE(1, KNOWN), known->x));
        s = tape_neg(t, tape_div(t, tape_square(t, far), tape_exp(t, &r->log_h)));
    }
    for (int i = 0; i < KNOWN; i++) diagonal[i * KNOWN + i] = 1;
    if (leave_out) s = tape_masked_fill(t, s, diagonal, SHAPE(KNOWN, KNOWN), (real)-INFINITY);
    return tape_softmax(t, s, -1);
}

/* The mean squared error of ŷ = Σ_j a_j y_j: [] */
static Tensor *error_of(Regression *r, Tensor *a, const Points *p, const Points *known) {
    Tape *t = r->fit.tape;
    Tensor *guess = tape_matmul(t, a, fit_data(&r->fit, SHAPE(KNOWN, 1), known->y));
    Tensor *off = tape_sub(t, guess, fit_data(&r->fit, SHAPE(p->count, 1), p->y));
    return tape_mean(t, tape_square(t, off), ALL_AXES);
}

static bool run(Regression *r, const Points *known, const Points *held_out, uint64_t seed,
                Error *e) {
    Parameters *p = &r->fit.weights;
    Init start = {INIT_NORMAL, 1 / sqrt(FEATURES)}, width = {INIT_CONSTANT, log(fmax(r->h, 0.01))};
    if (!parameters_add(p, "log_h", SHAPE(1), width, &r->log_h, e)) return false;
    if (!parameters_add(p, "query", SHAPE(FEATURES, FEATURES), start, &r->query, e)) return false;
    if (!parameters_add(p, "key", SHAPE(FEATURES, FEATURES), start, &r->key, e)) return false;
    if (!fit_start(&r->fit, seed, e)) return false;
    int steps = r->learnt ? STEPS : 0;
    for (int step = 0; step < steps; step++) {
        Tensor *error = error_of(r, weights(r, known, known, true), known, known);
        if (!fit_step(&r->fit, error, 0.02, e)) return false;
    }
    Tensor *a = weights(r, held_out, known, false);
    Tensor *error = error_of(r, a, held_out, known);
    if (tape_failed(r->fit.tape, e)) return false;
    r->error = (double)error->data[0];
    for (int i = 0; i < HELD_OUT * KNOWN; i++)
        r->distance += (double)a->data[i] / HELD_OUT *
                       fabs((double)(held_out->x[i / KNOWN] - known->x[i % KNOWN]));
    return true;
}

bool explain_kernels(const ExplainOptions *o, Error *e) {
    static Points known, held_out;
    Regression r[ROWS] = {{.h = 20}, {.h = 0.01}, {.h = 1, .learnt = true}, {.learnt = true}};
    const Regression *gauss = &r[ROWS - 2], *attention = &r[ROWS - 1];
    bool ok = true;
    draw(&known, KNOWN, o->seed, 0);
    draw(&held_out, HELD_OUT, o->seed, 1);
    show_start(o, &table,
               "%d points (x_j, y_j) are known: y = f(x) + noise of variance 0.25, f(x) = 2 sin x "
               "+ x^0.8. The table shows the mean squared error at %d other points, then the mean "
               "distance |x - x_j| of the points, weighted by a_j.",
               KNOWN, HELD_OUT);
    show_array(o, &table, "x", known.x, KNOWN);
    show_array(o, &table, "y", known.y, KNOWN);
    show_array(o, &table, "held_out_x", held_out.x, HELD_OUT);
    show_array(o, &table, "held_out_y", held_out.y, HELD_OUT);
    for (int i = 0; i < ROWS; i++) {
        ok = run(&r[i], &known, &held_out, o->seed, e);
        if (!ok) break;
        double h = r[i].h == 0 ? NAN : exp((double)r[i].log_h.data[0]);
        show_row(o, &table,
                 (Cell[]){TEXT(r[i].h == 0 ? "attention" : "gauss"),
                          TEXT(r[i].learnt ? "learnt" : "fixed"), NUMBER(h), NUMBER(r[i].error),
                          NUMBER(r[i].distance)});
    }
    if (ok) {
        show_array(o, &table, "W^Q", attention->query.data, FEATURES * FEATURES);
        show_array(o, &table, "W^K", attention->key.data, FEATURES * FEATURES);
    }
    for (int i = 0; i < ROWS; i++) fit_stop(&r[i].fit);
    if (!ok) return false;
    return show_found(o, &table, NULL, 0,
                      "Trained attention has an error of %.4f against %.4f for the learnt width, "
                      "from points that are %.3f away on average against %.3f: the loss asks that "
                      "the mean is right, not that near points make it.",
                      attention->error, gauss->error, attention->distance, gauss->distance);
}
