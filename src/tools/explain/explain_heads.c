/* heads: "Multi-head attention allows the model to jointly attend to information from different
 * representation subspaces at different positions. With a single attention head, averaging inhibits
 * this" (3.2.2).
 *
 * The task needs two relations at once: at every position of a circle of symbols, name the symbol
 * before and the symbol after. The model is one attention over embeddings and learnt positions,
 * projected to the scores of both answers, with h heads of width 32 / h: every h has the same
 * number of parameters. */
#include "base/random.h"
#include "explain/experiment.h"

enum { PLACES = 8, SYMBOLS = 8, WIDTH = 32, BATCH = 32, TOKENS = BATCH * PLACES };
enum { STEPS = 500, JUDGED = 16, MAX_HEADS = 4, MAP = PLACES * PLACES };

typedef struct Circle {
    Reader reader; /* answers of a token: the symbols before and after it */
    OneAttention attention;
} Circle;

static void draw(Reader *r, uint64_t key, uint64_t first) {
    for (int i = 0; i < TOKENS; i++)
        r->symbol[i] = (int32_t)random_below(key, first + (uint64_t)i, SYMBOLS);
    for (int i = 0; i < TOKENS; i++) {
        const int32_t *circle = r->symbol + i / PLACES * PLACES;
        r->answer[2 * i] = circle[(i + PLACES - 1) % PLACES];
        r->answer[2 * i + 1] = circle[(i + 1) % PLACES];
    }
}

static Tensor *scores(Lab *l, Reader *r) {
    return one_attention(l, &((Circle *)r)->attention, r->symbol, NULL);
}

/* Returns the percentage of tokens that name both symbols. map: the weights of all heads in the
 * last sequence. */
static double learn(Lab *l, int heads, real map[MAX_HEADS * MAP]) {
    static Circle c;
    AttentionSteps steps[BATCH];
    c.reader = (Reader){TOKENS, SYMBOLS, .group = 2, .draw = draw, .scores = scores};
    c.attention.heads = heads;
    one_attention_add(l, &c.attention, SYMBOLS, 2 * SYMBOLS, WIDTH, BATCH, PLACES);
    lab_begin(l);
    double both = lab_read(l, &c.reader, STEPS, JUDGED);
    LAB_ROW(l, NUMBER(heads), NUMBER(both));
    one_attention(l, &c.attention, c.reader.symbol, steps);
    lab_want(l, true);
    tensor_copy_out(steps[BATCH - 1].weights, map);
    lab_end(l);
    return both;
}

static void run(Lab *l) {
    static const char *const title[1 + MAX_HEADS] = {"One head", "Head 1 of four", "Head 2 of four",
                                                     "Head 3 of four", "Head 4 of four"};
    real weights[(1 + MAX_HEADS) * MAP];
    lab_start(l,
              "At each of %d positions in a circle of %d symbols, name the symbol before and the "
              "symbol after. The model is one attention of width %d, which the heads share, after "
              "%d steps. The table shows right answers on circles that training does not use.",
              PLACES, SYMBOLS, WIDTH, STEPS);
    double one = learn(l, 1, weights), four = learn(l, MAX_HEADS, weights + MAP);
    for (int i = 0; i <= MAX_HEADS; i++) {
        Map map = {title[i], PLACES, PLACES, "query", "key", .high = 1};
        map.values = weights + i * MAP;
        lab_map(l, &map, NULL);
    }
    lab_found(l,
              "Four heads of width %d name both symbols at %.2f %% of the positions, and one head "
              "of width %d, which gives one mean of both, at %.2f %%.",
              WIDTH / MAX_HEADS, four, WIDTH, one);
}

const Experiment explain_heads = {"heads",
                                  "one head and four on a task with two relations",
                                  "Can one head attend to two positions at once?",
                                  "one head     z = sum_j a_j v_j\n"
                                  "four heads   z = [z^1 z^2 z^3 z^4],  z^h = sum_j a^h_j v^h_j",
                                  {{"heads", "heads", 5, 0}, {"both", "both %", 8, 2}},
                                  run};
