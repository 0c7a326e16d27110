/* relevance: three ways in which a word takes up the meaning of others, v_i ← Σ_j a_ij v_j:
 *
 *     fixed         a_ii = 3/4, and 1/4 goes to all others alike
 *     symmetric     a_i = softmax_j(β k_i·k_j), keys of length 1
 *     asymmetric    a_i = softmax_j(q_i·k_j / √d_k)                    section 3.2.1
 *
 * The task: every word means +1 or -1, all 2^10 sentences of them, and afterwards the sign of word i has to be the
 * meaning of the word that it refers to. In "Evan's dog Riley is so hyper, she never stops moving" the word she refers
 * to Riley, and Riley to itself.
 *
 * What symmetry allows. A word of length 1 is nearest to itself: k_i·k_j <= k_i·k_i, and so a_ij <= a_ii, as in the
 * fixed case. Let i refer to j. Where both mean the same, the sign of the sum is right at most always. Of two sentences
 * that differ in v_i and v_j being swapped, v_i ≠ v_j, the sum leans to v_i at least as often as to v_j, so it is right
 * at most half of the time. Together at most 3/4; words that refer to themselves may reach 1. */
#include "base/random.h"
#include "explain/fit.h"
#include "explain/show.h"
#include <math.h>
#include <stdlib.h>

enum { WORDS = 10, SENTENCES = 1 << WORDS, WIDTH = 16, STEPS = 200, SEEDS = 5 };

static const char *const word[WORDS] = {"Evan's", "dog", "Riley", "is",    "so",
                                        "hyper",  "she", "never", "stops", "moving"};
/* The word that each refers to. */
static const int refers[WORDS] = {1, 2, 2, 3, 4, 2, 2, 7, 6, 8};

typedef enum Way { FIXED, SYMMETRIC, ASYMMETRIC, WAYS } Way;
static const char *const way_name[WAYS] = {"fixed", "symmetric", "asymmetric"};

typedef struct Relevance {
    Way way;
    Fit fit;
    Tensor query, key, beta; /* W^Q, W^K: [WIDTH, WIDTH]; β: [1] */
    real words[WORDS * WIDTH];
    real *meaning, *wanted; /* [SENTENCES, WORDS] */
} Relevance;

/* Shares of signs that are right: of words that refer to another, of those that refer to themselves, of all. */
typedef struct Shares {
    double others, selves, all;
} Shares;

static bool open(Relevance *r, Way way, uint64_t seed, Error *e) {
    *r = (Relevance){.way = way};
    Init start = {INIT_NORMAL, 1 / sqrt(WIDTH)};
    Parameters *p = &r->fit.weights;
    bool ok = parameters_add(p, "query", SHAPE(WIDTH, WIDTH), start, &r->query, e) &&
              parameters_add(p, "key", SHAPE(WIDTH, WIDTH), start, &r->key, e) &&
              parameters_add(p, "beta", SHAPE(1), (Init){INIT_ONE, 0}, &r->beta, e) &&
              fit_start(&r->fit, seed, e);
    r->meaning = calloc(2 * SENTENCES * WORDS, sizeof *r->meaning);
    if (ok && !r->meaning) ok = error_set(e, STATUS_NO_MEMORY, "memory: %d sentences", SENTENCES);
    if (!ok) return false;
    r->wanted = r->meaning + SENTENCES * WORDS;
    uint64_t stream = random_key(seed, STREAM_EXPERIMENT);
    for (int i = 0; i < WORDS * WIDTH; i++) r->words[i] = (real)random_normal(stream, (uint64_t)i);
    for (int s = 0; s < SENTENCES; s++)
        for (int i = 0; i < WORDS; i++) {
            r->meaning[s * WORDS + i] = s >> i & 1 ? 1 : -1;
            r->wanted[s * WORDS + i] = s >> refers[i] & 1 ? 1 : -1;
        }
    return true;
}

static void shut(Relevance *r) {
    fit_stop(&r->fit);
    free(r->meaning);
}

static Tensor *fixed_ratio(Tape *t) {
    Tensor *a = tape_constant(t, SHAPE(WORDS, WORDS));
    for (int i = 0; a->data && i < WORDS * WORDS; i++)
        a->data[i] = i % (WORDS + 1) ? (real)0.25 / (WORDS - 1) : (real)0.75;
    return a;
}

/* a: [WORDS, WORDS], each row sums to 1. */
static Tensor *relevance(Relevance *r) {
    Tape *t = r->fit.tape;
    if (r->way == FIXED) return fixed_ratio(t);
    Tensor *x = fit_data(&r->fit, SHAPE(WORDS, WIDTH), r->words);
    Tensor *k = tape_linear(t, x, &r->key, NULL, ACT_NONE, NULL);
    if (r->way == SYMMETRIC) {
        k = tape_div(t, k, tape_sqrt(t, tape_sum(t, tape_square(t, k), -1)));
        return tape_softmax(t, tape_mul(t, tape_matmul(t, k, tape_transpose(t, k, 0, 1)), &r->beta), -1);
    }
    Tensor *q = tape_linear(t, x, &r->query, NULL, ACT_NONE, NULL);
    Tensor *scores = tape_matmul(t, q, tape_transpose(t, k, 0, 1));
    return tape_softmax(t, tape_scale(t, scores, (real)(1 / sqrt(WIDTH))), -1);
}

/* Σ_j a_ij v_j times the sign wanted: [SENTENCES, WORDS], above 0 where it is right. */
static Tensor *margins(Relevance *r, Tensor *a) {
    Tensor *v = fit_data(&r->fit, SHAPE(SENTENCES, WORDS), r->meaning);
    Tensor *wanted = fit_data(&r->fit, SHAPE(SENTENCES, WORDS), r->wanted);
    return tape_mul(r->fit.tape, tape_linear(r->fit.tape, v, a, NULL, ACT_NONE, NULL), wanted);
}

static bool train(Relevance *r, Error *e) {
    Tape *t = r->fit.tape;
    for (int step = 0; step < STEPS && r->way != FIXED; step++) {
        Tensor *m = tape_scale(t, margins(r, relevance(r)), 8);
        Tensor *loss = tape_neg(t, tape_mean(t, tape_log(t, tape_sigmoid(t, m)), ALL_AXES));
        if (!fit_step(&r->fit, loss, 0.03, e)) return false;
    }
    return true;
}

/* Over all sentences; the relevance itself goes into `a`. */
static bool judge(Relevance *r, Shares *s, double a[WORDS * WORDS], Error *e) {
    Tensor *relevances = relevance(r), *m = margins(r, relevances);
    if (tape_failed(r->fit.tape, e)) return false;
    double others = 0, selves = 0, referring = 0;
    for (int i = 0; i < WORDS; i++) {
        long right = 0;
        for (int n = 0; n < SENTENCES; n++) right += m->data[n * WORDS + i] > 0;
        *(refers[i] == i ? &selves : &others) += (double)right / SENTENCES;
        referring += refers[i] != i;
    }
    for (int i = 0; i < WORDS * WORDS; i++) a[i] = (double)relevances->data[i];
    *s = (Shares){others / referring, selves / (WORDS - referring), (others + selves) / WORDS};
    tape_reset(r->fit.tape);
    return true;
}

static bool run(Way way, uint64_t seed, Shares *s, double a[WORDS * WORDS], Error *e) {
    Relevance r;
    bool ok = open(&r, way, seed, e) && train(&r, e) && judge(&r, s, a, e);
    shut(&r);
    return ok;
}

static const Column columns[] = {{"way", "relevance", 10, AS_TEXT},
                                 {"seed", "seed", 5, 0},
                                 {"to_another", "to another %", 12, 2},
                                 {"to_itself", "to itself %", 11, 2},
                                 {"all", "all words %", 11, 2}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void print(const ExplainOptions *o, const char *name, double seed, Shares s) {
    show_row(o, "relevance", columns, COLUMNS,
             (Cell[]){TEXT(name), NUMBER(seed), NUMBER(100 * s.others), NUMBER(100 * s.selves),
                      NUMBER(100 * s.all)});
}

/* At most 3/4 where the word is another; see above. */
static Shares symmetric_bound(void) {
    double referring = 0;
    for (int i = 0; i < WORDS; i++) referring += refers[i] != i;
    return (Shares){0.75, 1, 1 - 0.25 * referring / WORDS};
}

bool explain_relevance(const ExplainOptions *o, Error *e) {
    double a[WAYS][WORDS * WORDS];
    Shares s, best[WAYS] = {0}, worst[WAYS] = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
    show_say(o,
             "Every word means +1 or -1. Afterwards it has to mean what the word meant that it refers to: "
             "she, hyper and dog refer to Riley, Riley to itself. Signs that are right, of all %d "
             "sentences:",
             SENTENCES);
    show_head(o, columns, COLUMNS);
    for (Way way = FIXED; way < WAYS; way++)
        for (uint64_t i = SEEDS; i-- > 0;) { /* the pictures are of the seed asked for, the last */
            if (!run(way, o->seed + i, &s, a[way], e)) return false;
            if (way != FIXED || i == 0)
                print(o, way_name[way], way == FIXED ? NAN : (double)(o->seed + i), s);
            best[way].others = fmax(best[way].others, s.others);
            worst[way].all = fmin(worst[way].all, s.all);
        }
    Shares bound = symmetric_bound();
    print(o, "at most", NAN, bound);
    Picture pictures[WAYS];
    static const char *const title[] = {"A fixed ratio", "Symmetric: k.k'", "Asymmetric: q.k'"};
    static const char *const description[] = {
        "Every word keeps three quarters of itself and takes of all others alike.",
        "Every word looks at itself at least as much as at any other.",
        "Every word looks at the one that it refers to."};
    for (int i = 0; i < WAYS; i++)
        pictures[i] = (Picture){PICTURE_ARCS, title[i], description[i], .arcs = {word, a[i], WORDS}};
    if (!show_pictures(o, pictures, WAYS, e)) return false;
    show_found(o, "relevance",
               "over %d seeds queries and keys get at least %.2f %% of all words right. Of the words that "
               "refer to another, keys alone get at most %.2f %%, where symmetry allows %.2f %%, and a "
               "fixed ratio %.2f %%.",
               SEEDS, 100 * worst[ASYMMETRIC].all, 100 * best[SYMMETRIC].others, 100 * bound.others,
               100 * best[FIXED].others);
    return true;
}
