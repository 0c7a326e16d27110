/* recurrence: "In this work we propose the Transformer, a model architecture eschewing recurrence
 * and instead relying entirely on an attention mechanism" (1). Both kinds of network read random
 * symbols and name, at every step, the symbol of d steps before:
 *
 *     recurrent    h_t = tanh(W x_t + U h_(t-1))          answer W^O h_t
 *     attention    z_t = Σ_s a_ts v_s over s <= t         answer W^O z_t
 *
 * The state h_t must hold the last d symbols in numbers that do not become more, and by the chain
 * rule
 *
 *     ∂h_t/∂h_(t-d) = Π_(s = t-d+1 … t) diag(1 - h_s²) U
 *
 * has d factors: it shrinks or grows exponentially with d, and with it what can be learnt from so
 * far back (Bengio, Simard & Frasconi 1994). In attention ∂z_t/∂v_s = a_ts at any distance. */
#include "base/random.h"
#include "explain/fit.h"
#include "explain/show.h"
#include "kernels/arrays.h"
#include <math.h>
#include <string.h>

enum {
    SYMBOLS = 8,
    LENGTH = 24,
    WIDTH = 32,
    BATCH = 32,
    TOKENS = BATCH * LENGTH,
    STEPS = 300,
    JUDGED = 8
};
enum { DISTANCES = 3, RECURRENT = 0, ATTENTION, READERS };
static const int distance_of[DISTANCES] = {1, 4, 16};

typedef struct Recall {
    int reader, distance;
    Fit fit;
    Tensor in, again, out; /* of the network: W by symbols, U, W^O */
    OneAttention attention;
    int32_t symbol[TOKENS],
        answer[TOKENS]; /* of the network step by step, of attention sequence by sequence */
} Recall;

static bool open(Recall *r, int reader, int distance, uint64_t seed, Error *e) {
    r->reader = reader;
    r->distance = distance;
    r->fit = (Fit){0};
    Parameters *p = &r->fit.weights;
    Init start = {INIT_NORMAL, 1 / sqrt(WIDTH)};
    if (reader == ATTENTION)
        return one_attention_add(&r->attention, p, SYMBOLS, SYMBOLS, WIDTH, BATCH, LENGTH, e) &&
               fit_start(&r->fit, seed, e);
    return parameters_add(p, "in", SHAPE(SYMBOLS, WIDTH), start, &r->in, e) &&
           parameters_add(p, "again", SHAPE(WIDTH, WIDTH), start, &r->again, e) &&
           parameters_add(p, "out", SHAPE(SYMBOLS, WIDTH), start, &r->out, e) &&
           fit_start(&r->fit, seed, e);
}

/* The first `distance` steps of a sequence have no answer. */
static void draw(Recall *r, uint64_t seed, uint64_t batch) {
    uint64_t key = random_key(seed, STREAM_EXPERIMENT);
    for (int s = 0; s < BATCH; s++)
        for (int t = 0; t < LENGTH; t++) {
            long i = r->reader == RECURRENT ? t * BATCH + s : s * LENGTH + t,
                 step = r->reader == RECURRENT ? BATCH : 1;
            r->symbol[i] =
                (int32_t)random_below(key, batch * TOKENS + (uint64_t)(s * LENGTH + t), SYMBOLS);
            r->answer[i] = t < r->distance ? -1 : r->symbol[i - r->distance * step];
        }
}

/* Scores of the answers of all steps: [TOKENS, SYMBOLS] */
static Tensor *recur(Recall *r) {
    Tape *t = r->fit.tape;
    Tensor *x = tape_embedding(t, &r->in, TOKENS, r->symbol, 1, NULL, NULL), *h[LENGTH];
    for (long i = 0; i < LENGTH; i++) {
        Tensor *in = tape_slice(t, x, 0, i * BATCH, (i + 1) * BATCH);
        h[i] = tape_tanh(t, i ? tape_add(t, in, tape_matmul(t, h[i - 1], &r->again)) : in);
    }
    for (long parts = LENGTH, joined; parts > 1; parts = joined)
        for (joined = 0; joined * MAX_INPUTS < parts; joined++) {
            long left = parts - joined * MAX_INPUTS;
            h[joined] = tape_concat(t, 0, left < MAX_INPUTS ? (int)left : MAX_INPUTS,
                                    h + joined * MAX_INPUTS);
        }
    return tape_linear(t, h[0], &r->out, NULL, ACT_NONE, NULL);
}

static Tensor *scores(Recall *r) {
    return r->reader == RECURRENT
               ? recur(r)
               : one_attention(&r->attention, r->fit.tape, r->symbol, 1, true, NULL);
}

static bool learn(Recall *r, uint64_t seed, double *percent, Error *e) {
    Tape *t = r->fit.tape;
    double right = 0, all = 0;
    for (uint64_t batch = 0; batch < STEPS + JUDGED; batch++) {
        draw(r, seed, batch);
        Tensor *y = scores(r);
        if (batch < STEPS) {
            Tensor *loss = tape_cross_entropy(t, y, r->answer, -1, 0);
            if (!fit_step(&r->fit, loss, 0.01, e)) return false;
            continue;
        }
        if (tape_failed(t, e)) return false;
        for (int i = 0; i < TOKENS; i++) {
            right += kernel_argmax(SYMBOLS, y->data + i * SYMBOLS) == r->answer[i];
            all += r->answer[i] >= 0;
        }
        tape_reset(t);
    }
    *percent = 100 * right / all;
    return true;
}

/* Trains a model and judges it over batches that training does not use: the percentage of right
 * answers. */
static bool run(int reader, int distance, uint64_t seed, double *percent, Error *e) {
    static Recall r;
    bool ok = open(&r, reader, distance, seed, e) && learn(&r, seed, percent, e);
    fit_stop(&r.fit);
    return ok;
}

static const Table table = {
    "recurrence",
    "How far back can a network remember that reads step by step, and how far attention?",
    "recurrent  h_t = tanh(W x_t + U h_(t-1))\n"
    "           dh_t/dh_(t-d) = product of d factors diag(1 - h_s^2) U\n"
    "attention  z_t = sum_s a_ts v_s,  dz_t/dv_s = a_ts",
    {{"distance", "steps before", 12, 0},
     {"recurrent", "recurrent %", 11, 2},
     {"attention", "attention %", 11, 2}}};

bool explain_recurrence(const ExplainOptions *o, Error *e) {
    double percent[READERS][DISTANCES], distance[DISTANCES], least = 100;
    show_start(
        o, &table,
        "At every step of a sequence of %d random symbols of %d, name the symbol of some steps "
        "before. Both models have width %d and take %d training steps for each distance. The table "
        "shows right answers on sequences that training does not use.",
        LENGTH, SYMBOLS, WIDTH, STEPS);
    for (int i = 0; i < DISTANCES; i++) {
        distance[i] = distance_of[i];
        for (int reader = 0; reader < READERS; reader++)
            if (!run(reader, distance_of[i], o->seed, &percent[reader][i], e)) return false;
        least = fmin(least, percent[ATTENTION][i]);
        show_row(o, &table,
                 (Cell[]){NUMBER(distance[i]), NUMBER(percent[RECURRENT][i]),
                          NUMBER(percent[ATTENTION][i])});
    }
    return show_found(
        o, &table, NULL, 0,
        "The recurrent network names the symbol of %d step before in %.2f %% of the answers "
        "and that of %d steps before in %.2f %%, where a guess is right in %.2f %%; attention "
        "is right in at least %.2f %% at every distance.",
        distance_of[0], percent[RECURRENT][0], distance_of[DISTANCES - 1],
        percent[RECURRENT][DISTANCES - 1], 100. / SYMBOLS, least);
}
