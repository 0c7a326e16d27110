/* heads: "Multi-head attention allows the model to jointly attend to information from different
 * representation subspaces at different positions. With a single attention head, averaging inhibits
 * this" (3.2.2).
 *
 * The task needs two relations at once: at every position of a circle of symbols, name the symbol
 * before and the symbol after. The model is one attention with h heads of width 32 / h: every h has
 * the same number of parameters. */
#include "explain/experiment.h"

enum { PLACES = 8, STEPS = 500, JUDGED = 16, HEADS = 4, MAP = PLACES * PLACES };

static double learn(Lab *l, int heads, real *map) {
    static Recall r;
    r = (Recall){.length = PLACES,
                 .offsets = 2,
                 .offset = {-1, 1},
                 .circle = true,
                 .heads = heads,
                 .map = map,
                 .scores = recall_attention};
    double both = recall_learn(l, &r, STEPS, JUDGED);
    LAB_ROW(l, NUMBER(heads), NUMBER(both));
    return both;
}

static void run(Lab *l) {
    real weights[(1 + HEADS) * MAP];
    lab_start(l,
              "At each of %d positions in a circle of %d symbols, name the symbol before and the "
              "symbol after. The model is one attention of width %d, which the heads share, after "
              "%d steps. The table shows right answers on circles that training does not use.",
              PLACES, RECALL_SYMBOLS, RECALL_WIDTH, STEPS);
    double one = learn(l, 1, weights), four = learn(l, HEADS, weights + MAP);
    for (int i = 0; i <= HEADS; i++) {
        char title[32] = "One head";
        if (i) snprintf(title, sizeof title, "Head %d of four", i);
        Map map = {title, PLACES, PLACES, "query", "key", .values = weights + i * MAP, .high = 1};
        lab_map(l, &map, NULL);
    }
    lab_found(l,
              "Four heads of width %d name both symbols at %.2f %% of the positions, and one head "
              "of width %d, which gives one mean of both, at %.2f %%.",
              RECALL_WIDTH / HEADS, four, RECALL_WIDTH, one);
}

const Experiment explain_heads = {"heads",
                                  "one head and four on a task with two relations",
                                  "Can one head attend to two positions at once?",
                                  "one head     z = sum_j a_j v_j\n"
                                  "four heads   z = [z^1 z^2 z^3 z^4],  z^h = sum_j a^h_j v^h_j",
                                  {{"heads", "heads", 5, 0}, {"both", "both %", 8, 2}},
                                  run};
