/* relevance: three rules by which a word takes up the meaning v_j of other words. Every word means
 * +1 or -1; all 2^10 sentences are used. Afterwards the sign of word i must be the meaning of the
 * word that i refers to.
 *
 * The bound of the symmetric rule. A key of length 1 fits itself best: k_i·k_j <= k_i·k_i, so a_ij
 * <= a_ii. Let i refer to j. If v_i = v_j, the sign of the sum can always be right. If v_i ≠ v_j,
 * take the two sentences that differ in v_i and v_j being swapped: the sum leans to v_i at least as
 * often as to v_j, so it is right at most half of the time. Together at most 3/4. A word that
 * refers to itself may reach 1. */
#include "explain/experiment.h"

enum { WORDS = 10, REFERRING = 6, SENTENCES = 1 << WORDS, D_K = 16, STEPS = 200 };

static const char *const word[WORDS] = {"Evan's", "dog", "Riley", "is",    "so",
                                        "hyper",  "she", "never", "stops", "moving"};
/* The word that each refers to: Riley to dog, and dog not to Riley. */
static const int refers[WORDS] = {1, 1, 1, 3, 4, 2, 2, 7, 6, 8};

enum { FIXED, SYMMETRIC, ASYMMETRIC, RULES };

typedef struct Relevance {
    int rule;
    Tensor query, key, log_beta; /* W^Q, W^K: [D_K, D_K]; [1] */
    real a[WORDS * WORDS];
    double others, selves; /* right signs: of words that refer to another, to themselves */
} Relevance;

static real words[WORDS * D_K], meaning[SENTENCES * WORDS], wanted[SENTENCES * WORDS];

/* a: [WORDS, WORDS], each row sums to 1. */
static Tensor *relevance(Lab *l, Relevance *r) {
    Tape *t = l->tape;
    Tensor *x = lab_data(l, SHAPE(WORDS, D_K), words), *k = lab_linear(l, x, &r->key), *q = k;
    if (r->rule == FIXED) return lab_data(l, SHAPE(WORDS, WORDS), r->a);
    if (r->rule == SYMMETRIC)
        q = k = tape_div(t, k, tape_sqrt(t, tape_sum(t, tape_square(t, k), -1)));
    else
        q = lab_linear(l, x, &r->query);
    Tensor *scores = tape_matmul(t, q, tape_transpose(t, k, 0, 1));
    scores = r->rule == SYMMETRIC ? tape_mul(t, scores, tape_exp(t, &r->log_beta))
                                  : tape_scale(t, scores, (real)(1 / sqrt(D_K)));
    return tape_softmax(t, scores, -1);
}

/* Σ_j a_ij v_j times the wanted sign: [SENTENCES, WORDS], above 0 where it is right. */
static Tensor *margins(Lab *l, Tensor *a) {
    Tensor *v = lab_linear(l, lab_data(l, SHAPE(SENTENCES, WORDS), meaning), a);
    return tape_mul(l->tape, v, lab_data(l, SHAPE(SENTENCES, WORDS), wanted));
}

static Tensor *loss(Lab *l, void *model, long step) {
    (void)step;
    Tensor *m = tape_scale(l->tape, margins(l, relevance(l, model)), 8);
    Tensor *log_p = tape_log(l->tape, tape_sigmoid(l->tape, m));
    return tape_neg(l->tape, tape_mean(l->tape, log_p, ALL_AXES));
}

static void learn(Lab *l, Relevance *r) {
    for (int i = 0; i < WORDS * WORDS; i++)
        r->a[i] = i % (WORDS + 1) ? (real)0.25 / (WORDS - 1) : (real)0.75;
    lab_weight(l, &r->query, "query", SHAPE(D_K, D_K), 1 / sqrt(D_K));
    lab_weight(l, &r->key, "key", SHAPE(D_K, D_K), 1 / sqrt(D_K));
    lab_weight(l, &r->log_beta, "log_beta", SHAPE(1), 0);
    lab_train(l, r->rule == FIXED ? 0 : STEPS, 0.03, loss, r);
    Tensor *a = relevance(l, r), *m = margins(l, a);
    lab_want(l, true);
    for (int i = 0; i < SENTENCES * WORDS; i++)
        *(refers[i % WORDS] == i % WORDS ? &r->selves : &r->others) += m->data[i] > 0;
    r->others *= 100. / SENTENCES / REFERRING;
    r->selves *= 100. / SENTENCES / (WORDS - REFERRING);
    tensor_copy_out(a, r->a);
    lab_end(l);
}

static void run(Lab *l) {
    static const char *const name[RULES] = {"fixed", "symmetric", "asymmetric"};
    static const char *const title[RULES] = {"Fixed ratio", "Keys alone", "Queries and keys"};
    static Relevance r[RULES];
    const double bound = 75;
    tensor_copy_out(lab_random(l, SHAPE(WORDS, D_K)), words);
    for (int i = 0; i < SENTENCES * WORDS; i++) {
        int s = i / WORDS;
        meaning[i] = s >> i % WORDS & 1 ? 1 : -1;
        wanted[i] = s >> refers[i % WORDS] & 1 ? 1 : -1;
    }
    lab_start(l,
              "Relevance is not symmetric: Riley takes up the meaning of dog, and dog does not "
              "attend to Riley. %d words refer to another word: Riley -> dog, hyper -> Riley, she "
              "-> Riley, stops -> she, moving -> stops, Evan's -> dog. The other %d refer to "
              "themselves. Every word means +1 or -1; afterwards its sign must be that of the word "
              "it refers to. The table shows right signs over all %d sentences.",
              REFERRING, WORDS - REFERRING, SENTENCES);
    for (int i = 0; i < RULES; i++) {
        r[i] = (Relevance){.rule = i};
        learn(l, &r[i]);
        LAB_ROW(l, TEXT(name[i]), NUMBER(r[i].others), NUMBER(r[i].selves));
    }
    LAB_ROW(l, TEXT("symmetric, at most"), NUMBER(bound), NUMBER(100));
    for (int i = 0; i < RULES; i++) {
        Map map = {title[i], WORDS, WORDS, "word", "attends to", word, word, r[i].a, .high = 1};
        lab_map(l, &map, NULL);
    }
    lab_found(l,
              "Words that refer to another get the right sign in %.2f %% of the sentences with "
              "queries and keys, in %.2f %% with keys alone, whose bound is %.2f %%, and in %.2f "
              "%% with the fixed ratio.",
              r[ASYMMETRIC].others, r[SYMMETRIC].others, bound, r[FIXED].others);
}

const Experiment explain_relevance = {
    "relevance",
    "why words need queries and keys",
    "Why does a word need a query and a key of its own to take up the meaning of another?",
    "fixed       v_i <- 0.75 v_i + 0.25 (mean of the other v_j)\n"
    "symmetric   v_i <- sum_j a_ij v_j,  a_ij = r_ij / sum_j r_ij,\n"
    "            r_ij = e^(beta k_i.k_j),  |k_i| = 1\n"
    "asymmetric  the same with r_ij = e^(q_i.k_j / sqrt(d_k))",
    {{"rule", "rule", 18, AS_TEXT},
     {"to_another", "to another %", 12, 2},
     {"to_itself", "to itself %", 11, 2}},
    run};
