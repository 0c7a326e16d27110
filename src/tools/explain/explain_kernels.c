/* kernels: attention as Nadaraya–Watson regression. The estimate at x is a mean of known values y_j,
 * weighted by a kernel of the distance to the known points: ŷ(x) = Σ_j a_j y_j, where a_j is K(x, x_j)
 * divided by its sum over j.
 *
 *     gauss         K = e^(-(x - x_j)² / h)
 *     box           K = 1 where |x - x_j| <= h   its slope in h is 0, so h cannot be learnt
 *     triangle      K = max(0, 1 - |x - x_j| / h)
 *     attention     K = e^(q·k_j / √d_k)         q = W^Q φ(x), k_j = W^K φ(x_j), φ: sines and cosines
 *
 * In the words of attention x is the query, x_j are the keys, y_j the values. The weights (ln h; W^Q and
 * W^K) are learnt by predicting each known point from all others, with the diagonal of a masked. Held-out
 * points only judge. */
#include "base/random.h"
#include "explain/fit.h"
#include "explain/show.h"
#include <math.h>
#include <stdlib.h>

enum {
    KNOWN = 160,
    HELD_OUT = 1000,
    WAVES = 4,
    FEATURES = 2 * WAVES,
    STEPS = 300,
    GRID = 200,
    CURVE = 40
};
#define X_NAME     "x in steps of 1/8 (query)"
#define KNOWN_NAME "4 points x_j a cell (key)"
enum { TOGETHER = KNOWN / CURVE }; /* known points that share a column of a weight map */
static const double longest = 5;   /* x is in [0, longest) */

typedef enum Kernel { GAUSS, BOX, TRIANGLE, ATTENTION, KERNELS } Kernel;
static const char *const kernel_name[KERNELS] = {"gauss", "box", "triangle", "attention"};

typedef struct Points {
    long count;
    real x[HELD_OUT], y[HELD_OUT];
} Points;

typedef struct Regression {
    Kernel kernel;
    Fit fit;
    Tensor log_h, query, key; /* [1], [FEATURES, FEATURES] */
    const Points *known;
} Regression;

static double truth(double x) {
    return 2 * sin(x) + pow(x, 0.8);
}

static int ascending(const void *a, const void *b) {
    real x = *(const real *)a, y = *(const real *)b;
    return (x > y) - (x < y);
}

/* Noisy points of the curve, sorted by x. */
static void draw(Points *p, long count, uint64_t seed, uint64_t which) {
    uint64_t places = random_key(seed, STREAM_EXPERIMENT + 2 * which),
             noise = random_key(seed, STREAM_EXPERIMENT + 2 * which + 1);
    p->count = count;
    for (long i = 0; i < count; i++)
        p->x[i] = (real)(longest * (double)random_uniform(places, (uint64_t)i));
    qsort(p->x, (size_t)count, sizeof *p->x, ascending);
    for (long i = 0; i < count; i++)
        p->y[i] = (real)(truth((double)p->x[i]) + 0.5 * random_normal(noise, (uint64_t)i));
}

/* φ(x): [count, FEATURES] */
static Tensor *features(Tape *t, long count, const real *x) {
    Tensor *f = tape_constant(t, SHAPE(count, FEATURES));
    for (long i = 0; f->data && i < count * WAVES; i++) {
        double angle = (double)(i % WAVES + 1) * acos(-1) * (double)x[i / WAVES] / longest;
        f->data[2 * i] = (real)sin(angle), f->data[2 * i + 1] = (real)cos(angle);
    }
    return f;
}

static bool open(Regression *r, Kernel kernel, double h, const Points *known, uint64_t seed,
                 Error *e) {
    *r = (Regression){.kernel = kernel, .known = known};
    Parameters *p = &r->fit.weights;
    Init start = {INIT_NORMAL, 1 / sqrt(FEATURES)};
    return parameters_add(p, "log_h", SHAPE(1), (Init){INIT_CONSTANT, log(h)}, &r->log_h, e) &&
           parameters_add(p, "query", SHAPE(FEATURES, FEATURES), start, &r->query, e) &&
           parameters_add(p, "key", SHAPE(FEATURES, FEATURES), start, &r->key, e) &&
           fit_start(&r->fit, seed, e);
}

/* K(x_i, x_j): [count, KNOWN] */
static Tensor *kernel_of(Regression *r, long count, const real *x) {
    Tape *t = r->fit.tape;
    if (r->kernel == ATTENTION) {
        Tensor *q = tape_linear(t, features(t, count, x), &r->query, NULL, ACT_NONE, NULL);
        Tensor *k = tape_linear(t, features(t, KNOWN, r->known->x), &r->key, NULL, ACT_NONE, NULL);
        Tensor *scores = tape_matmul(t, q, tape_transpose(t, k, 0, 1));
        return tape_exp(t, tape_scale(t, scores, (real)(1 / sqrt(FEATURES))));
    }
    double h = exp((double)r->log_h.data[0]);
    Tensor *far = tape_constant(t, SHAPE(count, KNOWN)),
           *inverse_h = tape_exp(t, tape_neg(t, &r->log_h));
    for (long i = 0; far->data && i < count * KNOWN; i++) {
        double distance = fabs((double)(x[i / KNOWN] - r->known->x[i % KNOWN]));
        far->data[i] = r->kernel == BOX ? distance <= h : (real)distance;
    }
    if (r->kernel == BOX) return far;
    if (r->kernel == GAUSS)
        return tape_exp(t, tape_neg(t, tape_mul(t, tape_square(t, far), inverse_h)));
    static const real one = 1;
    return tape_relu(t,
                     tape_sub(t, fit_data(&r->fit, SHAPE(1), &one), tape_mul(t, far, inverse_h)));
}

/* a: [count, KNOWN]; a row sums to 1, or is 0 where no point is near. `leave_out`: no known point counts for
 * itself. */
static Tensor *weights(Regression *r, long count, const real *x, bool leave_out) {
    static uint8_t diagonal[KNOWN * KNOWN];
    Tape *t = r->fit.tape;
    Tensor *k = kernel_of(r, count, x);
    for (int i = 0; i < KNOWN; i++) diagonal[i * KNOWN + i] = 1;
    if (leave_out) k = tape_masked_fill(t, k, diagonal, SHAPE(KNOWN, KNOWN), 0);
    return tape_div(t, k, tape_clamp(t, tape_sum(t, k, -1), (real)1e-30, REAL_MAX));
}

/* The mean squared error of ŷ = Σ_j a_j y_j: [] */
static Tensor *error_of(Regression *r, const Points *p, bool leave_out) {
    Tape *t = r->fit.tape;
    Tensor *known = fit_data(&r->fit, SHAPE(KNOWN, 1), r->known->y),
           *y = fit_data(&r->fit, SHAPE(p->count, 1), p->y);
    Tensor *guess = tape_matmul(t, weights(r, p->count, p->x, leave_out), known);
    return tape_mean(t, tape_square(t, tape_sub(t, guess, y)), ALL_AXES);
}

static bool learn(Regression *r, Error *e) {
    bool ok = true;
    for (int step = 0; ok && step < STEPS; step++)
        ok = fit_step(&r->fit, error_of(r, r->known, true), 0.02, e);
    return ok;
}

static bool judge(Regression *r, const Points *p, double *error, Error *e) {
    const Tensor *mean = error_of(r, p, false);
    if (tape_failed(r->fit.tape, e)) return false;
    *error = (double)mean->data[0];
    tape_reset(r->fit.tape);
    return true;
}

/* The least held-out error on a grid of widths from 0.01 to 100. */
static bool best_of_grid(Kernel kernel, const Points *known, const Points *held_out, double *least,
                         Error *e) {
    Regression r;
    double error = 0;
    bool ok = open(&r, kernel, 1, known, 1, e);
    *least = INFINITY;
    for (int i = 0; ok && i < GRID; i++) {
        r.log_h.data[0] = (real)(log(0.01) + log(1e4) * i / (GRID - 1));
        ok = judge(&r, held_out, &error, e);
        *least = fmin(*least, error);
    }
    fit_stop(&r.fit);
    return ok;
}

/* ---- Output ---- */

static const Table table = {
    "kernels",
    "Is attention a regression that weights known points by their distance?",
    "y(x) = sum_j a_j y_j,  a_j = K_j / sum_j K_j\n"
    "gauss      K_j = e^(-(x - x_j)^2 / h)\n"
    "box        K_j = 1 where |x - x_j| <= h, else 0\n"
    "triangle   K_j = max(0, 1 - |x - x_j| / h)\n"
    "attention  K_j = e^(q.k_j / sqrt(d_k))\n"
    "query = x, keys = x_j, values = y_j",
    {{"kernel", "kernel", 9, AS_TEXT},
     {"width", "width", 6, AS_TEXT},
     {"h", "h", 6, 3},
     {"error", "error", 6, 4},
     {"best", "best h", 6, 4},
     {"distance", "|x - x_j|", 9, 3}}};

/* One row of the table: a kernel, and the width that it has or starts with. */
static const struct Row {
    Kernel kernel;
    double h;
    bool learnt;
} rows[] = {{GAUSS, 20, false},     {GAUSS, 0.01, false}, {GAUSS, 1, true},
            {BOX, 2, false},        {BOX, 0.5, false},    {TRIANGLE, 4, false},
            {TRIANGLE, 0.2, false}, {TRIANGLE, 1, true},  {ATTENTION, 1, true}};
enum { ROWS = sizeof rows / sizeof *rows, GAUSS_ROW = 2, TRIANGLE_ROW = 7, ATTENTION_ROW = 8 };

/* A row's result: its estimates and its weights over the range of x. */
typedef struct Result {
    double h, error, distance;     /* mean of |x - x_j| under the weights */
    real map[CURVE * CURVE], most; /* the largest of the map */
} Result;

static bool look(Regression *r, Result *result, Error *e) {
    real x[CURVE];
    for (int i = 0; i < CURVE; i++) x[i] = (real)(longest * i / CURVE);
    Tensor *a = weights(r, CURVE, x, false);
    if (tape_failed(r->fit.tape, e)) return false;
    for (int i = 0; i < CURVE * KNOWN; i++) {
        double weight = (double)a->data[i], far = (double)(x[i / KNOWN] - r->known->x[i % KNOWN]);
        result->map[i / TOGETHER] += a->data[i];
        result->distance += weight * fabs(far) / CURVE;
    }
    for (int i = 0; i < CURVE * CURVE; i++)
        result->most = (real)fmax((double)result->most, (double)result->map[i]);
    tape_reset(r->fit.tape);
    return true;
}

static bool run_row(const ExplainOptions *o, const struct Row *row, const Points *known,
                    const Points *held_out, double best, Result *result, Error *e) {
    Regression r;
    *result = (Result){0};
    bool ok = open(&r, row->kernel, row->h, known, o->seed, e) && (!row->learnt || learn(&r, e)) &&
              judge(&r, held_out, &result->error, e) && look(&r, result, e);
    if (ok) {
        result->h = row->kernel == ATTENTION ? NAN : exp((double)r.log_h.data[0]);
        show_row(o, &table,
                 (Cell[]){TEXT(kernel_name[row->kernel]), TEXT(row->learnt ? "learnt" : "fixed"),
                          NUMBER(result->h), NUMBER(result->error), NUMBER(best),
                          NUMBER(result->distance)});
        if (row->kernel == ATTENTION) { /* for tests that compute the results again */
            show_array(o, &table, "W^Q", r.query.data, FEATURES * FEATURES);
            show_array(o, &table, "W^K", r.key.data, FEATURES * FEATURES);
        }
    }
    fit_stop(&r.fit);
    return ok;
}

/* Maps and conclusion. */
static bool conclude(const ExplainOptions *o, const Result *result, const double best[KERNELS]) {
    const Result *g = &result[GAUSS_ROW], *t = &result[TRIANGLE_ROW], *a = &result[ATTENTION_ROW];
    const Map maps[] = {
        {"Weights: gauss, learnt", "The nearer a known point is to x, the larger its weight.",
         CURVE, CURVE, X_NAME, KNOWN_NAME, .values = g->map, .high = (double)g->most},
        {"Weights: trained attention",
         "Large weights lie far from the diagonal: attention mixes far points so that their mean "
         "is right. "
         "The loss asks for no more.",
         CURVE, CURVE, X_NAME, KNOWN_NAME, .values = a->map, .high = (double)a->most}};
    return show_found(
        o, &table, maps, 2,
        "The learnt widths come within %.1f %% (gauss) and %.1f %% (triangle) of the least "
        "error of any width; trained attention has an error of %.4f against %.4f for gauss, "
        "from points that are %.3f away on average against %.3f.",
        100 * (g->error / best[GAUSS] - 1), 100 * (t->error / best[TRIANGLE] - 1), a->error,
        g->error, a->distance, g->distance);
}

bool explain_kernels(const ExplainOptions *o, Error *e) {
    static Points known, held_out;
    static Result result[ROWS];
    draw(&known, KNOWN, o->seed, 0);
    draw(&held_out, HELD_OUT, o->seed, 1);
    show_start(o, &table,
               "%d points (x_j, y_j) are known: y = f(x) + noise of variance 0.25, f(x) = 2 sin x "
               "+ x^0.8. "
               "The table shows the mean squared error at %d other points, for this h and for the "
               "best of %d "
               "widths; then the mean distance |x - x_j| of the points, weighted by a_j.",
               KNOWN, HELD_OUT, GRID);
    show_array(o, &table, "x", known.x, KNOWN), show_array(o, &table, "y", known.y, KNOWN);
    show_array(o, &table, "held_out_x", held_out.x, HELD_OUT);
    show_array(o, &table, "held_out_y", held_out.y, HELD_OUT);
    double best[KERNELS] = {[ATTENTION] = NAN};
    for (Kernel k = GAUSS; k < ATTENTION; k++)
        if (!best_of_grid(k, &known, &held_out, &best[k], e)) return false;
    for (int i = 0; i < ROWS; i++)
        if (!run_row(o, &rows[i], &known, &held_out, best[rows[i].kernel], &result[i], e))
            return false;
    return conclude(o, result, best);
}
