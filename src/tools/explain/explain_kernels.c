/* kernels: attention as Nadaraya–Watson regression. The estimate at x is a mean of known values
 * y_j, weighted by a kernel of the distance to the known points. In the words of attention x is the
 * query, x_j are the keys, y_j the values; q = W^Q φ(x), k_j = W^K φ(x_j), φ: sines and cosines.
 *
 * The weights (ln h; W^Q and W^K) are learnt by predicting each known point from all others, with
 * the diagonal of a masked. Held-out points only judge. */
#include "base/random.h"
#include "explain/experiment.h"

enum { KNOWN = 160, HELD_OUT = 1000, WAVES = 4, FEATURES = 2 * WAVES, STEPS = 300, ROWS = 4 };
#define LONGEST 5.0 /* x is in [0, LONGEST) */

typedef struct Points {
    const char *x_name, *y_name;
    long count;
    real x[HELD_OUT], y[HELD_OUT];
} Points;

static Points known = {"x", "y", KNOWN}, held_out = {"held_out_x", "held_out_y", HELD_OUT};

/* One row of the table. */
typedef struct Regression {
    double h;                  /* the width that the kernel has or starts with; 0: attention */
    int steps;                 /* of training */
    Tensor longer, query, key; /* ln of the width / h, [1]; [FEATURES, FEATURES] */
    double error, distance;    /* of held-out points; the mean of |x - x_j| under the weights */
} Regression;

/* Draws noisy points of the curve 2 sin x + x^0.8. */
static void draw(Lab *l, Points *p, uint64_t which) {
    uint64_t places = random_key(l->seed, STREAM_EXPERIMENT + 2 * which);
    uint64_t noise = random_key(l->seed, STREAM_EXPERIMENT + 2 * which + 1);
    for (long i = 0; i < p->count; i++) {
        double x = LONGEST * (double)random_uniform(places, (uint64_t)i);
        p->x[i] = (real)x;
        p->y[i] = (real)(2 * sin(x) + pow(x, 0.8) + 0.5 * random_normal(noise, (uint64_t)i));
    }
    lab_array(l, p->x_name, p->x, p->count);
    lab_array(l, p->y_name, p->y, p->count);
}

/* φ(x): [count, FEATURES] */
static Tensor *features(Lab *l, const Points *p) {
    Tensor *f = tape_constant(l->tape, SHAPE(p->count, FEATURES));
    lab_want(l, true);
    for (long i = 0; i < p->count * WAVES; i++) {
        double angle = (double)(i % WAVES + 1) * acos(-1) * (double)p->x[i / WAVES] / LONGEST;
        f->data[2 * i] = (real)sin(angle);
        f->data[2 * i + 1] = (real)cos(angle);
    }
    return f;
}

/* a: [count, KNOWN], each row sums to 1. No known point counts for itself. */
static Tensor *weights(Lab *l, Regression *r, const Points *p) {
    static uint8_t diagonal[KNOWN * KNOWN];
    Tape *t = l->tape;
    Tensor *s;
    if (r->h == 0) {
        Tensor *q = lab_linear(l, features(l, p), &r->query);
        s = lab_linear(l, q, lab_linear(l, features(l, &known), &r->key));
        s = tape_scale(t, s, (real)sqrt(1. / FEATURES));
    } else {
        Tensor *x = lab_data(l, SHAPE(p->count, 1), p->x);
        Tensor *far = tape_sub(t, x, lab_data(l, SHAPE(1, KNOWN), known.x));
        s = tape_div(t, tape_square(t, far), tape_exp(t, &r->longer));
        s = tape_scale(t, s, (real)(-1 / r->h));
    }
    for (int i = 0; i < KNOWN; i++) diagonal[i * KNOWN + i] = 1;
    if (p == &known) s = tape_masked_fill(t, s, diagonal, SHAPE(KNOWN, KNOWN), (real)-INFINITY);
    return tape_softmax(t, s, -1);
}

/* The mean squared error of ŷ = Σ_j a_j y_j: [] */
static Tensor *error_of(Lab *l, Tensor *a, const Points *p) {
    Tensor *guess = tape_matmul(l->tape, a, lab_data(l, SHAPE(KNOWN, 1), known.y));
    Tensor *off = tape_sub(l->tape, guess, lab_data(l, SHAPE(p->count, 1), p->y));
    return tape_mean(l->tape, tape_square(l->tape, off), ALL_AXES);
}

static Tensor *loss(Lab *l, void *model, long step) {
    (void)step;
    return error_of(l, weights(l, model, &known), &known);
}

static void learn(Lab *l, Regression *r) {
    bool is_attention = r->h == 0;
    lab_weight(l, &r->longer, "longer", SHAPE(1), 0);
    lab_weight(l, &r->query, "query", SHAPE(FEATURES, FEATURES), 1 / sqrt(FEATURES));
    lab_weight(l, &r->key, "key", SHAPE(FEATURES, FEATURES), 1 / sqrt(FEATURES));
    lab_train(l, r->steps, 0.02, loss, r);
    Tensor *a = weights(l, r, &held_out), *error = error_of(l, a, &held_out);
    lab_want(l, true);
    r->error = (double)error->data[0];
    for (int i = 0; i < HELD_OUT * KNOWN; i++)
        r->distance += (double)a->data[i] / HELD_OUT *
                       fabs((double)(held_out.x[i / KNOWN] - known.x[i % KNOWN]));
    LAB_ROW(l, TEXT(is_attention ? "attention" : "gauss"), TEXT(r->steps ? "learnt" : "fixed"),
            NUMBER(is_attention ? NAN : r->h * exp((double)r->longer.data[0])), NUMBER(r->error),
            NUMBER(r->distance));
    if (is_attention) {
        lab_array(l, "W^Q", r->query.data, FEATURES * FEATURES);
        lab_array(l, "W^K", r->key.data, FEATURES * FEATURES);
    }
    lab_end(l);
}

static void run(Lab *l) {
    Regression r[ROWS] = {{20, 0}, {0.01, 0}, {1, STEPS}, {0, STEPS}};
    const Regression *gauss = &r[ROWS - 2], *attention = &r[ROWS - 1];
    lab_start(l,
              "%d points (x_j, y_j) are known: y = f(x) + noise of variance 0.25, f(x) = 2 sin x "
              "+ x^0.8. The table shows the mean squared error at %d other points, then the mean "
              "distance |x - x_j| of the points, weighted by a_j.",
              KNOWN, HELD_OUT);
    draw(l, &known, 0);
    draw(l, &held_out, 1);
    for (int i = 0; i < ROWS; i++) learn(l, &r[i]);
    lab_found(l,
              "Trained attention has an error of %.4f against %.4f for the learnt width, from "
              "points that are %.3f away on average against %.3f: the loss asks that the mean is "
              "right, not that near points make it.",
              attention->error, gauss->error, attention->distance, gauss->distance);
}

const Experiment explain_kernels = {
    "kernels",
    "attention as a regression from known points",
    "Is attention a regression that weights known points by their distance?",
    "y(x) = sum_j a_j y_j,  a_j = K_j / sum_j K_j\n"
    "gauss      K_j = e^(-(x - x_j)^2 / h)\n"
    "attention  K_j = e^(q.k_j / sqrt(d_k))\n"
    "query = x, keys = x_j, values = y_j",
    {{"kernel", "kernel", 9, AS_TEXT},
     {"width", "width", 6, AS_TEXT},
     {"h", "h", 6, 3},
     {"error", "error", 6, 4},
     {"distance", "|x - x_j|", 9, 3}},
    run};
