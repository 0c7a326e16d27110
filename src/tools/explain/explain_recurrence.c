/* recurrence: "In this work we propose the Transformer, a model architecture eschewing recurrence
 * and instead relying entirely on an attention mechanism" (1). Both kinds of network read random
 * symbols and name, at every step, the symbol of d steps before.
 *
 * The state h_t must hold the last d symbols in numbers that do not become more, and its derivative
 * with respect to h_(t-d) has d factors: it shrinks or grows exponentially with d, and with it what
 * can be learnt from so far back (Bengio, Simard & Frasconi 1994). In attention ∂z_t/∂v_s = a_ts at
 * any distance. */
#include "base/random.h"
#include "explain/experiment.h"

enum { SYMBOLS = 8, LENGTH = 24, WIDTH = 32, BATCH = 32, TOKENS = BATCH * LENGTH };
enum { STEPS = 300, JUDGED = 8, DISTANCES = 3 };

typedef struct Recall {
    Reader reader; /* of the network step by step, of attention sequence by sequence */
    bool recurrent;
    int distance;
    Tensor in, again, out; /* of the network: W by symbols, U, W^O */
    OneAttention attention;
} Recall;

/* The first `distance` steps of a sequence have no answer. */
static void draw(Reader *reader, uint64_t key, uint64_t first) {
    const Recall *r = (const Recall *)reader;
    for (int n = 0; n < TOKENS; n++) {
        int sequence = n / LENGTH, t = n % LENGTH, step = r->recurrent ? BATCH : 1;
        int i = r->recurrent ? t * BATCH + sequence : n;
        reader->symbol[i] = (int32_t)random_below(key, first + (uint64_t)n, SYMBOLS);
        reader->answer[i] = t < r->distance ? -1 : reader->symbol[i - r->distance * step];
    }
}

/* Scores of the answers of all steps: [TOKENS, SYMBOLS] */
static Tensor *scores(Lab *l, Reader *reader) {
    Recall *r = (Recall *)reader;
    Tape *t = l->tape;
    if (!r->recurrent) return one_attention(l, &r->attention, reader->symbol, NULL);
    Tensor *x = tape_embedding(t, &r->in, TOKENS, reader->symbol, 1, NULL, NULL), *h[LENGTH];
    for (long i = 0; i < LENGTH; i++) {
        Tensor *in = tape_slice(t, x, 0, i * BATCH, (i + 1) * BATCH);
        h[i] = tape_tanh(t, i ? tape_add(t, in, tape_matmul(t, h[i - 1], &r->again)) : in);
    }
    for (int parts = LENGTH, joined; parts > 1; parts = joined)
        for (joined = 0; joined * MAX_INPUTS < parts; joined++) {
            int left = parts - joined * MAX_INPUTS;
            h[joined] =
                tape_concat(t, 0, left < MAX_INPUTS ? left : MAX_INPUTS, h + joined * MAX_INPUTS);
        }
    return tape_linear(t, h[0], &r->out, NULL, ACT_NONE, NULL);
}

/* Trains a model: the percentage of right answers. */
static double learn(Lab *l, bool recurrent, int distance) {
    static Recall r;
    r.reader = (Reader){TOKENS, SYMBOLS, .group = 1, .draw = draw, .scores = scores};
    r.recurrent = recurrent;
    r.distance = distance;
    r.attention.heads = 1;
    r.attention.causal = true;
    if (recurrent) {
        lab_weight(l, &r.in, "in", SHAPE(SYMBOLS, WIDTH), 1 / sqrt(WIDTH));
        lab_weight(l, &r.again, "again", SHAPE(WIDTH, WIDTH), 1 / sqrt(WIDTH));
        lab_weight(l, &r.out, "out", SHAPE(SYMBOLS, WIDTH), 1 / sqrt(WIDTH));
    } else {
        one_attention_add(l, &r.attention, SYMBOLS, SYMBOLS, WIDTH, BATCH, LENGTH);
    }
    lab_begin(l);
    double percent = lab_read(l, &r.reader, STEPS, JUDGED);
    lab_end(l);
    return percent;
}

static void run(Lab *l) {
    static const int distance[DISTANCES] = {1, 4, 16};
    double recurrent[DISTANCES], worst = 100;
    lab_start(l,
              "At every step of a sequence of %d random symbols of %d, name the symbol of some "
              "steps before. Both models have width %d and take %d training steps for each "
              "distance. The table shows right answers on sequences that training does not use.",
              LENGTH, SYMBOLS, WIDTH, STEPS);
    for (int i = 0; i < DISTANCES; i++) {
        recurrent[i] = learn(l, true, distance[i]);
        double attention = learn(l, false, distance[i]);
        worst = fmin(worst, attention);
        LAB_ROW(l, NUMBER(distance[i]), NUMBER(recurrent[i]), NUMBER(attention));
    }
    lab_found(l,
              "The recurrent network names the symbol of %d step before in %.2f %% of the answers "
              "and that of %d steps before in %.2f %%, where a guess is right in %.2f %%; "
              "attention is right in at least %.2f %% at every distance.",
              distance[0], recurrent[0], distance[DISTANCES - 1], recurrent[DISTANCES - 1],
              100. / SYMBOLS, worst);
}

const Experiment explain_recurrence = {
    "recurrence",
    "recall by distance: a recurrent network and attention",
    "How far back can a network remember that reads step by step, and how far attention?",
    "recurrent  h_t = tanh(W x_t + U h_(t-1))\n"
    "           dh_t/dh_(t-d) = product of d factors diag(1 - h_s^2) U\n"
    "attention  z_t = sum_s a_ts v_s,  dz_t/dv_s = a_ts",
    {{"distance", "steps before", 12, 0},
     {"recurrent", "recurrent %", 11, 2},
     {"attention", "attention %", 11, 2}},
    run};
