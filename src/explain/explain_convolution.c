/* convolution: a convolution is attention whose weights are fixed and depend on the distance alone.
 *
 *     convolution:  y_i = Σ_δ W_δ x_(i+δ)        δ = -1, 0, 1; 0 beyond the ends
 *     attention:    y_i = Σ_δ W_δ Σ_j a^δ_ij x_j                a^δ = softmax_j(s^δ_ij)
 *
 * One head for every δ. With s^δ_ij = -α (j - i - δ)², the head looks at the place δ away, the more sharply the larger
 * α is; where the score is -∞ at all other places it looks there alone, and a place beyond the ends gives 0, as a row
 * that is wholly masked does; a finite score would look at the end instead. Heads that are concatenated and projected
 * by W^O = [W_-1 W_0 W_1] are that sum (3.2.2).
 * Cordonnier et al., arXiv:1911.03584. */
#include "base/random.h"
#include "explain/show.h"
#include "ops/ops.h"
#include <math.h>

enum { PLACES = 12, IN = 8, OUT = 8, TAPS = 3, SHARPNESSES = 6 };

/* Infinity: at that place alone. */
static const double sharpness[SHARPNESSES] = {0.1, 1, 4, 16, 64, INFINITY};

/* The sum as it stands above, by plain loops. */
static void convolve(const Tensor *x, const Tensor *w, double y[PLACES * OUT]) {
    for (int i = 0; i < PLACES; i++)
        for (int c = 0; c < OUT; c++) {
            double sum = 0;
            for (int tap = 0; tap < TAPS; tap++) {
                int j = i + tap - 1;
                for (int b = 0; b < IN && j >= 0 && j < PLACES; b++)
                    sum += (double)w->data[c * TAPS * IN + tap * IN + b] * (double)x->data[j * IN + b];
            }
            y[i * OUT + c] = sum;
        }
}

/* a^δ: [PLACES, PLACES] */
static Tensor *relative_weights(Tape *t, int delta, double alpha) {
    Tensor *s = tape_constant(t, SHAPE(PLACES, PLACES));
    for (int i = 0; s->data && i < PLACES; i++)
        for (int j = 0; j < PLACES; j++) {
            double off = j - i - delta;
            s->data[i * PLACES + j] = off == 0 ? 0 : (real)(-alpha * off * off);
        }
    return tape_softmax(t, s, -1);
}

/* Heads side by side, projected: [PLACES, OUT]. The weights of all heads go to `maps`. */
static Tensor *attend(Tape *t, Tensor *x, Tensor *w, double alpha, Tensor *maps[TAPS]) {
    Tensor *head[TAPS];
    for (int tap = 0; tap < TAPS; tap++) {
        maps[tap] = relative_weights(t, tap - 1, alpha);
        head[tap] = tape_matmul(t, maps[tap], x);
    }
    return tape_linear(t, tape_concat(t, 1, TAPS, head), w, NULL, ACT_NONE, NULL);
}

static Tensor *draw(Tape *t, Shape shape, uint64_t seed, uint64_t which) {
    Tensor *x = tape_constant(t, shape);
    uint64_t key = random_key(seed, STREAM_EXPERIMENT + which);
    for (long i = 0; x->data && i < shape_count(shape); i++)
        x->data[i] = (real)random_normal(key, (uint64_t)i);
    return x;
}

static const Column columns[] = {{"alpha", "sharpness", 9, 1},
                                 {"inside", "off inside", 10, AS_POWER},
                                 {"ends", "off at the ends", 15, AS_POWER}};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Over the rows from first to last, every step-th. */
static double largest_difference(const Tensor *y, const double *want, int first, int last, int step) {
    double largest = 0;
    for (int i = first; i <= last; i += step)
        for (int c = 0; c < OUT; c++) { /* not by fmax, at whose vectors gcc 12 for aarch64 breaks off */
            double off = fabs((double)y->data[i * OUT + c] - want[i * OUT + c]);
            if (!(off <= largest)) largest = off;
        }
    return largest;
}

static bool run(const ExplainOptions *o, Tape *t, double *difference, Error *e) {
    Tensor *x = draw(t, SHAPE(PLACES, IN), o->seed, 0), *w = draw(t, SHAPE(OUT, TAPS * IN), o->seed, 1);
    Tensor *maps[TAPS];
    double want[PLACES * OUT], map[TAPS][PLACES * PLACES];
    if (tape_failed(t, e)) return false;
    convolve(x, w, want);
    show_head(o, columns, COLUMNS);
    for (int s = 0; s < SHARPNESSES; s++) {
        Tensor *y = attend(t, x, w, sharpness[s], maps);
        if (tape_failed(t, e)) return false;
        double inside = largest_difference(y, want, 1, PLACES - 2, 1);
        double ends = largest_difference(y, want, 0, PLACES - 1, PLACES - 1);
        *difference = fmax(inside, ends);
        show_row(o, "convolution", columns, COLUMNS,
                 (Cell[]){NUMBER(sharpness[s]), NUMBER(inside), NUMBER(ends)});
    }
    static const char *const title[TAPS] = {"Head 1: the place before", "Head 2: the place itself",
                                            "Head 3: the place behind"};
    Picture pictures[TAPS];
    for (int tap = 0; tap < TAPS; tap++) {
        for (int i = 0; i < PLACES * PLACES; i++) map[tap][i] = (double)maps[tap]->data[i];
        pictures[tap] =
            (Picture){PICTURE_MAP, title[tap], "The whole weight of every row lies on one diagonal.",
                      .map = {PLACES, PLACES, "query", "key", .values = map[tap]}};
    }
    return show_pictures(o, pictures, TAPS, e);
}

bool explain_convolution(const ExplainOptions *o, Error *e) {
    Tape *t = tape_new();
    double difference = 0;
    show_say(o,
             "A convolution of %d places, %d channels into %d, %d taps; and %d heads that look at a fixed "
             "distance, "
             "with scores -sharpness (j - i - distance)^2, or -inf but at that distance. How far the two are "
             "apart:",
             PLACES, IN, OUT, TAPS, TAPS);
    bool ok = run(o, t, &difference, e);
    if (ok)
        show_found(o, "convolution",
                   "with fixed relative weights attention gives what the convolution gives, within %.1e.",
                   difference);
    tape_free(t);
    return ok;
}
