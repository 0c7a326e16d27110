/* convolution: a convolution is attention whose weights are fixed and depend on the distance alone.
 * There is one head for each distance δ. Its score -α (j - i - δ)² is largest at distance δ; α is
 * the sharpness. The heads are concatenated and projected by W^O = [W_-1 W_0 W_1], which is the sum
 * over δ (3.2.2).
 *
 * At the ends: the weights of a softmax sum to 1, so a head that looks beyond the end gives its
 * weight to the end itself, where the convolution has 0. Where every score but that at distance δ
 * is -∞, the whole row is masked there, and a masked row is 0. Cordonnier et al., arXiv:1911.03584.
 */
#include "explain/experiment.h"

enum { PLACES = 12, IN = 8, OUT = 8, TAPS = 3, SHARPNESSES = 6 };

/* The convolution by plain loops, at place i of channel c. */
static double convolve(const Tensor *x, const Tensor *w, int i, int c) {
    double y = 0;
    for (int n = 0; n < TAPS * IN; n++) {
        int j = i + n / IN - 1;
        bool is_inside = j >= 0 && j < PLACES;
        if (is_inside) y += (double)(w->data[c * TAPS * IN + n] * x->data[j * IN + n % IN]);
    }
    return y;
}

/* a^δ: [PLACES, PLACES] */
static Tensor *relative_weights(Lab *l, int delta, double alpha) {
    Tensor *s = tape_constant(l->tape, SHAPE(PLACES, PLACES));
    lab_want(l, true);
    for (int n = 0; n < PLACES * PLACES; n++) {
        double off = n % PLACES - n / PLACES - delta;
        s->data[n] = off == 0 ? 0 : (real)(-alpha * off * off);
    }
    return tape_softmax(l->tape, s, -1);
}

static void run(Lab *l) {
    /* Infinity: that distance alone. */
    static const double sharpness[SHARPNESSES] = {0.1, 1, 4, 16, 64, INFINITY};
    static const char *const title[TAPS] = {"Head 1: the token before", "Head 2: the token itself",
                                            "Head 3: the token after"};
    Tape *t = l->tape;
    Tensor *x = lab_random(l, SHAPE(PLACES, IN)), *w = lab_random(l, SHAPE(OUT, TAPS * IN));
    Tensor *weights[TAPS], *head[TAPS];
    enum { INSIDE, ENDS };
    double off[SHARPNESSES][2] = {{0}};
    lab_start(l,
              "%d positions, %d channels in, %d out, %d heads, one for each distance d. Infinite "
              "sharpness: the score is 0 at distance d and -inf elsewhere. The error is the "
              "largest difference from the convolution. At the ends the convolution takes x beyond "
              "the end as 0; a softmax whose scores are finite gives that weight to the end "
              "itself.",
              PLACES, IN, OUT, TAPS);
    for (int s = 0; s < SHARPNESSES; s++) {
        for (int tap = 0; tap < TAPS; tap++) {
            weights[tap] = relative_weights(l, tap - 1, sharpness[s]);
            head[tap] = tape_matmul(t, weights[tap], x);
        }
        Tensor *y = lab_linear(l, tape_concat(t, 1, TAPS, head), w);
        lab_want(l, true);
        for (int n = 0; n < PLACES * OUT; n++) {
            int i = n / OUT;
            double *largest = &off[s][i == 0 || i == PLACES - 1 ? ENDS : INSIDE];
            double error = fabs((double)y->data[n] - convolve(x, w, i, n % OUT));
            if (!(error <= *largest)) *largest = error;
        }
        LAB_ROW(l, NUMBER(sharpness[s]), NUMBER(off[s][INSIDE]), NUMBER(off[s][ENDS]));
    }
    for (int tap = 0; tap < TAPS; tap++) {
        Map map = {title[tap], PLACES, PLACES, "query", "key", .values = weights[tap]->data};
        bool is_beyond = tap != 1;
        lab_map(l, &map, is_beyond ? "Where the token is beyond an end the row is empty." : NULL);
    }
    const double *infinite = off[SHARPNESSES - 1], *finite = off[SHARPNESSES - 2];
    lab_found(l,
              "With -inf outside one distance attention computes the convolution within %.1e, ends "
              "included; with the sharpest finite score within %.1e inside, but it is off by %.1f "
              "at the ends, where a softmax cannot give 0.",
              fmax(infinite[INSIDE], infinite[ENDS]), finite[INSIDE], finite[ENDS]);
}

const Experiment explain_convolution = {"convolution",
                                        "a convolution as attention with fixed weights",
                                        "Can attention compute a convolution?",
                                        "convolution  y_i = sum_d W_d x_(i+d),  d = -1, 0, 1\n"
                                        "attention    y_i = sum_d W_d sum_j a_ij x_j,\n"
                                        "             a_i = softmax_j(-sharpness (j - i - d)^2)",
                                        {{"alpha", "sharpness", 9, 1},
                                         {"inside", "error inside", 12, AS_POWER},
                                         {"ends", "error at the ends", 17, AS_POWER}},
                                        run};
