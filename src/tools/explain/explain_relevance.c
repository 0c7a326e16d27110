/* relevance: three rules by which a word takes up the meaning v_j of other words, v_i <- Σ_j a_ij
 * v_j.
 *
 *     fixed         a_ii = 3/4; the other words share 1/4 equally
 *     symmetric     a_i = softmax_j(β k_i·k_j), keys of length 1
 *     asymmetric    a_i = softmax_j(q_i·k_j / √d_k)                    section 3.2.1
 *
 * A softmax divides e^score by its sum over j, so that each row of a sums to 1. Every word means +1
 * or -1; all 2^10 sentences are used. Afterwards the sign of word i must be the meaning of the word
 * that i refers to.
 *
 * The bound of the symmetric rule. A key of length 1 fits itself best: k_i·k_j <= k_i·k_i, so a_ij
 * <= a_ii. Let i refer to j. If v_i = v_j, the sign of the sum can always be right. If v_i ≠ v_j,
 * take the two sentences that differ in v_i and v_j being swapped: the sum leans to v_i at least as
 * often as to v_j, so it is right at most half of the time. Together at most 3/4. A word that
 * refers to itself may reach 1. */
#include "base/random.h"
#include "explain/fit.h"
#include "explain/show.h"
#include <math.h>

enum { WORDS = 10, REFERRING = 6, SENTENCES = 1 << WORDS, WIDTH = 16, STEPS = 200 };

static const char *const word[WORDS] = {"Evan's", "dog", "Riley", "is",    "so",
                                        "hyper",  "she", "never", "stops", "moving"};
/* The word that each refers to: Riley to dog, and dog not to Riley. */
static const int refers[WORDS] = {1, 1, 1, 3, 4, 2, 2, 7, 6, 8};

typedef enum Rule { FIXED, SYMMETRIC, ASYMMETRIC, RULES } Rule;
static const char *const rule_name[RULES] = {"fixed", "symmetric", "asymmetric"};

typedef struct Relevance {
    Rule rule;
    Fit fit;
    Tensor query, key, beta; /* W^Q, W^K: [WIDTH, WIDTH]; β: [1] */
    real words[WORDS * WIDTH], meaning[SENTENCES * WORDS], wanted[SENTENCES * WORDS];
} Relevance;

/* Shares of right signs: of words that refer to another, of words that refer to themselves. */
typedef struct Shares {
    double others, selves;
} Shares;

static bool open(Relevance *r, Rule rule, uint64_t seed, Error *e) {
    r->rule = rule;
    r->fit = (Fit){0};
    Init start = {INIT_NORMAL, 1 / sqrt(WIDTH)};
    Parameters *p = &r->fit.weights;
    uint64_t stream = random_key(seed, STREAM_EXPERIMENT);
    for (int i = 0; i < WORDS * WIDTH; i++) r->words[i] = (real)random_normal(stream, (uint64_t)i);
    for (int i = 0; i < SENTENCES * WORDS; i++) {
        int s = i / WORDS;
        r->meaning[i] = s >> i % WORDS & 1 ? 1 : -1;
        r->wanted[i] = s >> refers[i % WORDS] & 1 ? 1 : -1;
    }
    return parameters_add(p, "query", SHAPE(WIDTH, WIDTH), start, &r->query, e) &&
           parameters_add(p, "key", SHAPE(WIDTH, WIDTH), start, &r->key, e) &&
           parameters_add(p, "beta", SHAPE(1), init_ones, &r->beta, e) &&
           fit_start(&r->fit, seed, e);
}

static Tensor *fixed_ratio(Tape *t) {
    Tensor *a = tape_constant(t, SHAPE(WORDS, WORDS));
    if (!a->data) return a;
    for (int i = 0; i < WORDS * WORDS; i++)
        a->data[i] = i % (WORDS + 1) ? (real)0.25 / (WORDS - 1) : (real)0.75;
    return a;
}

/* a: [WORDS, WORDS], each row sums to 1. */
static Tensor *relevance(Relevance *r) {
    Tape *t = r->fit.tape;
    if (r->rule == FIXED) return fixed_ratio(t);
    Tensor *x = fit_data(&r->fit, SHAPE(WORDS, WIDTH), r->words);
    Tensor *k = tape_linear(t, x, &r->key, NULL, ACT_NONE, NULL);
    if (r->rule == SYMMETRIC) {
        k = tape_div(t, k, tape_sqrt(t, tape_sum(t, tape_square(t, k), -1)));
        return tape_softmax(t, tape_mul(t, tape_matmul(t, k, tape_transpose(t, k, 0, 1)), &r->beta),
                            -1);
    }
    Tensor *q = tape_linear(t, x, &r->query, NULL, ACT_NONE, NULL);
    Tensor *scores = tape_matmul(t, q, tape_transpose(t, k, 0, 1));
    return tape_softmax(t, tape_scale(t, scores, (real)(1 / sqrt(WIDTH))), -1);
}

/* Σ_j a_ij v_j times the wanted sign: [SENTENCES, WORDS], above 0 where it is right. */
static Tensor *margins(Relevance *r, Tensor *a) {
    Tensor *v = fit_data(&r->fit, SHAPE(SENTENCES, WORDS), r->meaning);
    Tensor *wanted = fit_data(&r->fit, SHAPE(SENTENCES, WORDS), r->wanted);
    return tape_mul(r->fit.tape, tape_linear(r->fit.tape, v, a, NULL, ACT_NONE, NULL), wanted);
}

/* Over all sentences; copies the relevance itself into `a`. */
static bool judge(Relevance *r, Shares *share, real a[WORDS * WORDS], Error *e) {
    double others = 0, selves = 0;
    Tensor *found = relevance(r), *m = margins(r, found);
    if (tape_failed(r->fit.tape, e)) return false;
    for (int i = 0; i < SENTENCES * WORDS; i++)
        *(refers[i % WORDS] == i % WORDS ? &selves : &others) +=
            (double)(m->data[i] > 0) / SENTENCES;
    tensor_copy_out(found, a);
    *share = (Shares){others / REFERRING, selves / (WORDS - REFERRING)};
    return true;
}

static bool run(Rule rule, uint64_t seed, Shares *share, real a[WORDS * WORDS], Error *e) {
    static Relevance r;
    bool ok = open(&r, rule, seed, e);
    int steps = ok && rule != FIXED ? STEPS : 0;
    for (int step = 0; step < steps; step++) {
        Tape *t = r.fit.tape;
        Tensor *m = tape_scale(t, margins(&r, relevance(&r)), 8);
        ok = fit_step(&r.fit, tape_neg(t, tape_mean(t, tape_log(t, tape_sigmoid(t, m)), ALL_AXES)),
                      0.03, e);
        if (!ok) break;
    }
    ok = ok && judge(&r, share, a, e);
    fit_stop(&r.fit);
    return ok;
}

static const Table table = {
    "relevance",
    "Why does a word need a query and a key of its own to take up the meaning of another?",
    "fixed       v_i <- 0.75 v_i + 0.25 (mean of the other v_j)\n"
    "symmetric   v_i <- sum_j a_ij v_j,  a_ij = r_ij / sum_j r_ij,\n"
    "            r_ij = e^(beta k_i.k_j),  |k_i| = 1\n"
    "asymmetric  the same with r_ij = e^(q_i.k_j / sqrt(d_k))",
    {{"rule", "rule", 18, AS_TEXT},
     {"to_another", "to another %", 12, 2},
     {"to_itself", "to itself %", 11, 2}}};

static void print(const ExplainOptions *o, const char *name, Shares s) {
    show_row(o, &table, (Cell[]){TEXT(name), NUMBER(100 * s.others), NUMBER(100 * s.selves)});
}

bool explain_relevance(const ExplainOptions *o, Error *e) {
    static const Shares bound = {0.75, 1}; /* of the symmetric rule; see above */
    real a[RULES][WORDS * WORDS];
    Shares s[RULES];
    show_start(
        o, &table,
        "In \"Evan's dog Riley is so hyper, she never stops moving\" Riley attends to dog, and dog "
        "does not attend to Riley. %d words refer to another word: Riley -> dog, hyper -> Riley, "
        "she "
        "-> Riley, stops -> she, moving -> stops, Evan's -> dog. The other %d refer to themselves. "
        "Every word means +1 or -1; afterwards its sign must be that of the word it refers to. The "
        "table shows right signs over all %d sentences.",
        REFERRING, WORDS - REFERRING, SENTENCES);
    for (Rule rule = FIXED; rule < RULES; rule++) {
        if (!run(rule, o->seed, &s[rule], a[rule], e)) return false;
        print(o, rule_name[rule], s[rule]);
    }
    print(o, "symmetric, at most", bound);
    static const char *const title[] = {"Fixed ratio", "Symmetric: k.k'", "Asymmetric: q.k'"};
    Map maps[RULES];
    for (int i = 0; i < RULES; i++)
        maps[i] =
            (Map){title[i], NULL, WORDS, WORDS, "word", "attends to", word, word, a[i], .high = 1};
    return show_found(o, &table, maps, RULES,
                      "Words that refer to another get the right sign in %.2f %% of the sentences "
                      "with queries and keys, in %.2f %% with keys alone, whose bound is %.2f %%, "
                      "and in %.2f %% with the fixed ratio.",
                      100 * s[ASYMMETRIC].others, 100 * s[SYMMETRIC].others, 100 * bound.others,
                      100 * s[FIXED].others);
}
