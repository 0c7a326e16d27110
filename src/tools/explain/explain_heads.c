/* heads: "Multi-head attention allows the model to jointly attend to information from different
 * representation subspaces at different positions. With a single attention head, averaging inhibits
 * this" (3.2.2).
 *
 * The task needs two relations at once: at every position of a circle of symbols, name the symbol
 * before and the symbol after. The model is one attention over embeddings and learnt positions,
 * projected to the scores of both answers, with h heads of width 32 / h: every h has the same
 * number of parameters. */
#include "base/random.h"
#include "explain/fit.h"
#include "explain/show.h"
#include "kernels/arrays.h"

enum { PLACES = 8, SYMBOLS = 8, WIDTH = 32, BATCH = 32, TOKENS = BATCH * PLACES };
enum { STEPS = 500, JUDGED = 16, MAX_HEADS = 4, MAP = PLACES * PLACES };

typedef struct Circle {
    Fit fit;
    OneAttention attention;
    int32_t symbol[TOKENS], answer[2 * TOKENS]; /* of a token: the symbols before and after it */
} Circle;

static const Table table = {"heads",
                            "Can one head attend to two positions at once?",
                            "one head     z = sum_j a_j v_j\n"
                            "four heads   z = [z^1 z^2 z^3 z^4],  z^h = sum_j a^h_j v^h_j",
                            {{"heads", "heads", 5, 0}, {"both", "both %", 8, 2}}};

static void draw(Circle *c, uint64_t seed, uint64_t batch) {
    uint64_t key = random_key(seed, STREAM_EXPERIMENT);
    for (int i = 0; i < TOKENS; i++)
        c->symbol[i] = (int32_t)random_below(key, batch * TOKENS + (uint64_t)i, SYMBOLS);
    for (int i = 0; i < TOKENS; i++) {
        int first = i / PLACES * PLACES, place = i % PLACES;
        c->answer[2 * i] = c->symbol[first + (place + PLACES - 1) % PLACES];
        c->answer[2 * i + 1] = c->symbol[first + (place + 1) % PLACES];
    }
}

static long right_answers(const Circle *c, const real *scores) {
    long both = 0;
    for (int i = 0; i < TOKENS; i++) {
        const real *before = scores + 2 * i * SYMBOLS, *after = before + SYMBOLS;
        both += kernel_argmax(SYMBOLS, before) == c->answer[2 * i] &&
                kernel_argmax(SYMBOLS, after) == c->answer[2 * i + 1];
    }
    return both;
}

/* Trains a model, and judges it over batches that training does not use. *both: the percentage of
 * tokens that name both symbols. map: the weights of all heads in the last sequence. */
static bool learn(Circle *c, uint64_t seed, int heads, double *both, real map[MAX_HEADS * MAP],
                  Error *e) {
    AttentionSteps steps[BATCH];
    Parameters *p = &c->fit.weights;
    if (!one_attention_add(&c->attention, p, SYMBOLS, 2 * SYMBOLS, WIDTH, BATCH, PLACES, e))
        return false;
    if (!fit_start(&c->fit, seed, e)) return false;
    Tape *t = c->fit.tape;
    long right = 0;
    for (uint64_t step = 0; step < STEPS + JUDGED; step++) {
        bool trains = step < STEPS;
        draw(c, seed, step);
        Tensor *all =
            one_attention(&c->attention, t, c->symbol, heads, false, trains ? NULL : steps);
        Tensor *scores = tape_reshape(t, all, SHAPE(2 * TOKENS, SYMBOLS));
        if (trains) {
            Tensor *loss = tape_cross_entropy(t, scores, c->answer, -1, 0);
            if (!fit_step(&c->fit, loss, 0.01, e)) return false;
            continue;
        }
        if (tape_failed(t, e)) return false;
        right += right_answers(c, scores->data);
        tensor_copy_out(steps[BATCH - 1].weights, map);
        tape_reset(t);
    }
    *both = 100. * (double)right / (JUDGED * TOKENS);
    return true;
}

static bool run(const ExplainOptions *o, int heads, double *both, real map[MAX_HEADS * MAP],
                Error *e) {
    static Circle c;
    c.fit = (Fit){0};
    bool ok = learn(&c, o->seed, heads, both, map, e);
    if (ok) show_row(o, &table, (Cell[]){NUMBER(heads), NUMBER(*both)});
    fit_stop(&c.fit);
    return ok;
}

bool explain_heads(const ExplainOptions *o, Error *e) {
    static const int heads[] = {1, MAX_HEADS};
    real map[2][MAX_HEADS * MAP];
    double both[2];
    show_start(o, &table,
               "At each of %d positions in a circle of %d symbols, name the symbol before and the "
               "symbol after. The model is one attention of width %d, which the heads share, after "
               "%d steps. The table shows right answers on circles that training does not use.",
               PLACES, SYMBOLS, WIDTH, STEPS);
    for (int i = 0; i < 2; i++)
        if (!run(o, heads[i], &both[i], map[i], e)) return false;
    static const char *const title[1 + MAX_HEADS] = {"One head", "Head 1 of four", "Head 2 of four",
                                                     "Head 3 of four", "Head 4 of four"};
    Map maps[1 + MAX_HEADS];
    for (int i = 0; i <= MAX_HEADS; i++)
        maps[i] = (Map){title[i],
                        NULL,
                        PLACES,
                        PLACES,
                        "query",
                        "key",
                        .values = i ? map[1] + (i - 1) * MAP : map[0],
                        .high = 1};
    return show_found(o, &table, maps, 1 + MAX_HEADS,
                      "Four heads of width %d name both symbols at %.2f %% of the positions, and "
                      "one head of width %d, which gives one mean of both, at %.2f %%.",
                      WIDTH / MAX_HEADS, both[1], WIDTH, both[0]);
}
