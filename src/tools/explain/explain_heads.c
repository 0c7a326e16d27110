/* heads: "Multi-head attention allows the model to jointly attend to information from different
 * representation subspaces at different positions. With a single attention head, averaging inhibits this"
 * (3.2.2).
 *
 * The task needs two relations at once: at every position of a circle of symbols, name the symbol before
 * and the symbol after. The model is one attention over embeddings and learnt positions, projected to the
 * scores of both answers, with h heads of width 32 / h: every h has the same number of parameters. */
#include "base/random.h"
#include "explain/fit.h"
#include "explain/show.h"
#include "kernels/arrays.h"
#include <math.h>

enum {
    PLACES = 8,
    SYMBOLS = 8,
    WIDTH = 32,
    BATCH = 32,
    TOKENS = BATCH * PLACES,
    STEPS = 500,
    JUDGED = 16,
    SEEDS = 5
};

typedef struct Circle {
    Fit fit;
    int heads;
    OneAttention attention;
    int32_t symbol[TOKENS],
        answer[2 * TOKENS]; /* of every token: the symbol before, the symbol after */
} Circle;

static bool open(Circle *c, int heads, uint64_t seed, Error *e) {
    c->heads = heads, c->fit = (Fit){0};
    return one_attention_add(&c->attention, &c->fit.weights, SYMBOLS, 2 * SYMBOLS, WIDTH, BATCH,
                             PLACES, e) &&
           fit_start(&c->fit, seed, e);
}

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

/* Scores of both answers: [2 TOKENS, SYMBOLS] */
static Tensor *scores(Circle *c, AttentionSteps *steps) {
    Tape *t = c->fit.tape;
    return tape_reshape(t, one_attention(&c->attention, t, c->symbol, c->heads, false, steps),
                        SHAPE(2 * TOKENS, SYMBOLS));
}

static bool train(Circle *c, uint64_t seed, Error *e) {
    bool ok = true;
    for (uint64_t step = 0; ok && step < STEPS; step++) {
        draw(c, seed, JUDGED + step);
        Tensor *loss = tape_cross_entropy(c->fit.tape, scores(c, NULL), c->answer, -1, 0);
        ok = fit_step(&c->fit, loss, 0.01, e);
    }
    return ok;
}

/* The percentage of tokens that name both symbols, over batches that training does not use. */
static bool judge(Circle *c, uint64_t seed, double *percent, Error *e) {
    double both = 0;
    for (uint64_t batch = 0; batch < JUDGED; batch++) {
        draw(c, seed, batch);
        Tensor *y = scores(c, NULL);
        if (tape_failed(c->fit.tape, e)) return false;
        for (int i = 0; i < TOKENS; i++)
            both += kernel_argmax(SYMBOLS, y->data + 2 * i * SYMBOLS) == c->answer[2 * i] &&
                    kernel_argmax(SYMBOLS, y->data + (2 * i + 1) * SYMBOLS) == c->answer[2 * i + 1];
        tape_reset(c->fit.tape);
    }
    *percent = 100 * both / (JUDGED * TOKENS);
    return true;
}

/* The weights of all heads in the first sequence of the first batch: [heads, PLACES, PLACES]. */
static bool look(Circle *c, uint64_t seed, real *maps, Error *e) {
    AttentionSteps steps[BATCH];
    draw(c, seed, 0);
    scores(c, steps);
    if (tape_failed(c->fit.tape, e)) return false;
    tensor_copy_out(steps[0].weights, maps);
    tape_reset(c->fit.tape);
    return true;
}

enum { MAX_HEADS = 4, COUNTS = 3 };
static const int heads_of[COUNTS] = {1, 2, MAX_HEADS};

static const Table table = {
    "heads",
    "Can one head attend to two positions at once?",
    "one head     z = sum_j a_j v_j\n"
    "four heads   z = [z^1 z^2 z^3 z^4],  z^h = sum_j a^h_j v^h_j",
    {{"heads", "heads", 5, 0}, {"seed", "seed", 5, 0}, {"both", "both %", 8, 2}}};

static bool run(const ExplainOptions *o, int heads, uint64_t seed, double *both, real *maps,
                Error *e) {
    static Circle c;
    bool ok = open(&c, heads, seed, e) && train(&c, seed, e) && judge(&c, seed, both, e) &&
              look(&c, seed, maps, e);
    if (ok) show_row(o, &table, (Cell[]){NUMBER(heads), NUMBER(seed), NUMBER(*both)});
    fit_stop(&c.fit);
    return ok;
}

bool explain_heads(const ExplainOptions *o, Error *e) {
    real maps[COUNTS][MAX_HEADS * PLACES * PLACES], others[MAX_HEADS * PLACES * PLACES];
    double both, least[COUNTS] = {100, 100, 100}, most[COUNTS] = {0};
    int seeds_below_half[COUNTS] = {0};
    show_start(
        o, &table,
        "At each of %d positions in a circle of %d symbols, name the symbol before and the symbol "
        "after. The model is one attention of width %d, which the heads share, after %d steps. The "
        "table shows right answers on circles that training does not use.",
        PLACES, SYMBOLS, WIDTH, STEPS);
    for (int i = 0; i < COUNTS; i++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) { /* the first seed gives the maps */
            if (!run(o, heads_of[i], o->seed + seed, &both, seed ? others : maps[i], e))
                return false;
            least[i] = fmin(least[i], both), most[i] = fmax(most[i], both);
            seeds_below_half[i] += both < 50;
        }
    Map drawn[1 + MAX_HEADS];
    static const char *const title[1 + MAX_HEADS] = {"One head", "Head 1 of four", "Head 2 of four",
                                                     "Head 3 of four", "Head 4 of four"};
    for (int i = 0; i < 1 + MAX_HEADS; i++)
        drawn[i] = (Map){title[i],
                         i ? NULL
                           : "One head has a single distribution a row for both neighbours. Only "
                             "unequal weights tell them apart.",
                         PLACES,
                         PLACES,
                         "query",
                         "key",
                         .values = i ? maps[COUNTS - 1] + (i - 1) * PLACES * PLACES : maps[0],
                         .high = 1};
    return show_found(
        o, &table, drawn, 1 + MAX_HEADS,
        "Over %d seeds four heads of width %d name both symbols at %.2f %% of the positions or "
        "more, and one head of width %d, which gives one mean of both, at %.2f to %.2f %%, for "
        "%d of %d seeds at less than half of them.",
        SEEDS, WIDTH / MAX_HEADS, least[COUNTS - 1], WIDTH, least[0], most[0], seeds_below_half[0],
        SEEDS);
}
