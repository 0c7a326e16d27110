/* recurrence: "In this work we propose the Transformer, a model architecture eschewing recurrence
 * and instead relying entirely on an attention mechanism" (1). Both kinds of network read random
 * symbols and name, at every step, the symbol of d steps before.
 *
 * The state h_t must hold the last d symbols in numbers that do not become more, and its derivative
 * with respect to h_(t-d) has d factors: it shrinks or grows exponentially with d, and with it what
 * can be learnt from so far back (Bengio, Simard & Frasconi 1994). In attention ∂z_t/∂v_s = a_ts at
 * any distance. */
#include "explain/experiment.h"

enum { LENGTH = RECALL_LENGTH, BATCH = RECALL_BATCH, STEPS = 300, JUDGED = 8, DISTANCES = 3 };

/* h_t of all sequences side by side: [BATCH, LENGTH · width] */
static Tensor *network(Lab *l, Recall *r) {
    Tape *t = l->tape;
    Tensor *all = NULL, *h = NULL;
    static int32_t read[LENGTH][BATCH];
    for (int i = 0; i < LENGTH; i++) {
        for (int s = 0; s < BATCH; s++) read[i][s] = r->symbol[s * LENGTH + i];
        Tensor *x = tape_embedding(t, &r->in, BATCH, read[i], 1 / sqrt(RECALL_WIDTH), NULL, NULL);
        h = tape_tanh(t, h ? tape_add(t, x, tape_matmul(t, h, &r->again)) : x);
        all = all ? tape_concat(t, 1, 2, (Tensor *[]){all, h}) : h;
    }
    Tensor *rows = tape_reshape(t, all, SHAPE(BATCH * LENGTH, RECALL_WIDTH));
    return lab_linear(l, rows, &r->out);
}

static double learn(Lab *l, int distance, Tensor *(*scores)(Lab *l, Recall *r)) {
    static Recall r;
    r = (Recall){
        .length = LENGTH, .offsets = 1, .offset = {-distance}, .heads = 1, .scores = scores};
    return recall_learn(l, &r, STEPS, JUDGED);
}

static void run(Lab *l) {
    static const int distance[DISTANCES] = {1, 4, 16};
    double recurrent[DISTANCES], worst = 100;
    lab_start(l,
              "At every step of a sequence of %d random symbols of %d, name the symbol of some "
              "steps before. Both models have width %d and take %d training steps for each "
              "distance. The table shows right answers on sequences that training does not use.",
              LENGTH, RECALL_SYMBOLS, RECALL_WIDTH, STEPS);
    for (int i = 0; i < DISTANCES; i++) {
        double attention = learn(l, distance[i], recall_attention);
        recurrent[i] = learn(l, distance[i], network);
        worst = fmin(worst, attention);
        LAB_ROW(l, NUMBER(distance[i]), NUMBER(recurrent[i]), NUMBER(attention));
    }
    lab_found(l,
              "The recurrent network names the symbol of %d step before in %.2f %% of the answers "
              "and that of %d steps before in %.2f %%, where a guess is right in %.2f %%; "
              "attention is right in at least %.2f %% at every distance.",
              distance[0], recurrent[0], distance[DISTANCES - 1], recurrent[DISTANCES - 1],
              100. / RECALL_SYMBOLS, worst);
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
