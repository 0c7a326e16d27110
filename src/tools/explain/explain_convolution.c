/* convolution: a convolution is attention whose weights are fixed and depend on the distance alone.
 *
 *     convolution    y_i = Σ_δ W_δ x_(i+δ)          δ = -1, 0, 1; x is 0 beyond the ends
 *     attention      y_i = Σ_δ W_δ Σ_j a^δ_ij x_j    a^δ = softmax_j(s^δ_ij)
 *
 * There is one head for each δ. Its score s^δ_ij = -α (j - i - δ)² is largest at distance δ; α is
 * the sharpness. The heads are concatenated and projected by W^O = [W_-1 W_0 W_1], which is the sum
 * over δ (3.2.2).
 *
 * At the ends: the weights of a softmax sum to 1, so a head that looks beyond the end gives its
 * weight to the end itself, where the convolution has 0. Where every score but that at distance δ
 * is -∞, the whole row is masked there, and a masked row is 0. Cordonnier et al., arXiv:1911.03584.
 */
#include "explain/fit.h"
#include "explain/show.h"
#include <math.h>

enum { PLACES = 12, IN = 8, OUT = 8, TAPS = 3, SHARPNESSES = 6 };

/* Infinity: that distance alone. */
static const double sharpness[SHARPNESSES] = {0.1, 1, 4, 16, 64, INFINITY};

/* The formula above, by plain loops. */
static void convolve(const Tensor *x, const Tensor *w, double y[PLACES * OUT]) {
    for (int i = 0; i < PLACES; i++)
        for (int c = 0; c < OUT; c++) {
            double sum = 0;
            for (int tap = 0; tap < TAPS; tap++) {
                int j = i + tap - 1;
                if (j < 0 || j >= PLACES) continue;
                for (int b = 0; b < IN; b++)
                    sum +=
                        (double)w->data[c * TAPS * IN + tap * IN + b] * (double)x->data[j * IN + b];
            }
            y[i * OUT + c] = sum;
        }
}

/* a^δ: [PLACES, PLACES] */
static Tensor *relative_weights(Tape *t, int delta, double alpha) {
    Tensor *s = tape_constant(t, SHAPE(PLACES, PLACES));
    if (!s->data) return s;
    for (int i = 0; i < PLACES; i++)
        for (int j = 0; j < PLACES; j++) {
            double off = j - i - delta;
            s->data[i * PLACES + j] = off == 0 ? 0 : (real)(-alpha * off * off);
        }
    return tape_softmax(t, s, -1);
}

/* The heads, concatenated and projected: [PLACES, OUT]. The weights of each head go to `maps`. */
static Tensor *attend(Tape *t, Tensor *x, Tensor *w, double alpha, Tensor *maps[TAPS]) {
    Tensor *head[TAPS];
    for (int tap = 0; tap < TAPS; tap++) {
        maps[tap] = relative_weights(t, tap - 1, alpha);
        head[tap] = tape_matmul(t, maps[tap], x);
    }
    return tape_linear(t, tape_concat(t, 1, TAPS, head), w, NULL, ACT_NONE, NULL);
}

static const Table table = {"convolution",
                            "Can attention compute a convolution?",
                            "convolution  y_i = sum_d W_d x_(i+d),  d = -1, 0, 1\n"
                            "attention    y_i = sum_d W_d sum_j a_ij x_j,\n"
                            "             a_i = softmax_j(-sharpness (j - i - d)^2)",
                            {{"alpha", "sharpness", 9, 1},
                             {"inside", "error inside", 12, AS_POWER},
                             {"ends", "error at the ends", 17, AS_POWER}}};

/* Over every step-th row from first to last. */
static double largest_difference(const Tensor *y, const double *want, int first, int last,
                                 int step) {
    double largest = 0;
    for (int i = first; i <= last; i += step)
        for (int c = 0; c < OUT; c++) { /* gcc 12 for aarch64 crashes on fmax here */
            double off = fabs((double)y->data[i * OUT + c] - want[i * OUT + c]);
            if (!(off <= largest)) largest = off;
        }
    return largest;
}

bool explain_convolution(const ExplainOptions *o, Error *e) {
    Tape *t = o->tape;
    Tensor *x = fit_normals(t, SHAPE(PLACES, IN), o->seed, 0),
           *w = fit_normals(t, SHAPE(OUT, TAPS * IN), o->seed, 1);
    Tensor *maps[TAPS];
    double want[PLACES * OUT], inside[SHARPNESSES], ends[SHARPNESSES];
    if (tape_failed(t, e)) return false;
    convolve(x, w, want);
    show_start(
        o, &table,
        "%d positions, %d channels in, %d out, %d heads, one for each distance d. Infinite "
        "sharpness: "
        "the score is 0 at distance d and -inf elsewhere. The error is the largest difference from "
        "the convolution. At the ends the convolution takes x beyond the end as 0; a softmax whose "
        "scores are finite gives that weight to the end itself.",
        PLACES, IN, OUT, TAPS);
    for (int s = 0; s < SHARPNESSES; s++) {
        Tensor *y = attend(t, x, w, sharpness[s], maps);
        if (tape_failed(t, e)) return false;
        inside[s] = largest_difference(y, want, 1, PLACES - 2, 1);
        ends[s] = largest_difference(y, want, 0, PLACES - 1, PLACES - 1);
        show_row(o, &table, (Cell[]){NUMBER(sharpness[s]), NUMBER(inside[s]), NUMBER(ends[s])});
    }
    static const char *const title[TAPS] = {"Head 1: the token before", "Head 2: the token itself",
                                            "Head 3: the token after"};
    Map drawn[TAPS];
    for (int tap = 0; tap < TAPS; tap++)
        drawn[tap] = (Map){title[tap],
                           tap == 1 ? NULL : "Where the token is beyond an end the row is empty.",
                           PLACES,
                           PLACES,
                           "query",
                           "key",
                           .values = maps[tap]->data};
    enum { INFINITE = SHARPNESSES - 1, FINITE = SHARPNESSES - 2 };
    return show_found(
        o, &table, drawn, TAPS,
        "With -inf outside one distance attention computes the convolution within %.1e, ends "
        "included; with the sharpest finite score within %.1e inside, but it is off by %.1f at "
        "the ends, where a softmax cannot give 0.",
        fmax(inside[INFINITE], ends[INFINITE]), inside[FINITE], ends[FINITE]);
}
