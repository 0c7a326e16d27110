/* grammar: the next word of sentences that a probabilistic context-free grammar makes. Verbs agree in number with a
 * subject that may be far away, and relative clauses nest. A row is one sentence; the token "\n" begins and ends it.
 *
 * The grammar is unambiguous, so that the probability of a sentence is that of its derivation, and its entropy is exact.
 * With p(r) the probability of rule r of a symbol A, and H(A) the entropy of its expansion,
 *
 *     H(A) = Σ_r p(r) (-log p(r) + Σ_{B in r} H(B)),    L(A) = Σ_r p(r) Σ_{B in r} L(B),    H = 0 and L = 1 for a word,
 *
 * which is solved by iteration. No model has a lower expected loss than H(S) / (L(S) + 1) nats a token, the end counted.
 * Sentences of MAX_WORDS words or more, less than one in 10⁹, are drawn anew.
 *
 * Held-out sentences are drawn from a stream of their own. A short one may be in both: to keep them apart would change
 * the distribution, and its entropy. */
#include "base/random.h"
#include "tasks/tasks.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A symbol and its alternatives, each with a weight. S is the sentence; 1 is singular, 2 plural: subjects S1 S2, noun
 * phrases P1 P2, relative clauses R1 R2, verb phrases V1 V2, verbs without and with object I1 I2 T1 T2, nouns N1 N2,
 * determiners D1 D2, C1 C2 at the start of a sentence. All others are words. */
static const char *const grammar[][2] = {
    {"S", "5 S1 V1 | 4 S2 V2"},
    {"S1", "6 C1 N1 | 2 C1 N1 R1"},
    {"S2", "6 C2 N2 | 2 C2 N2 R2"},
    {"P", "5 P1 | 4 P2"},
    {"P1", "6 D1 N1 | 1 D1 N1 R1"},
    {"P2", "6 D2 N2 | 1 D2 N2 R2"},
    {"R1", "2 that V1 | 1 that P1 T1 | 1 that P2 T2"},
    {"R2", "2 that V2 | 1 that P1 T1 | 1 that P2 T2"},
    {"V1", "4 I1 | 5 T1 P"},
    {"V2", "4 I2 | 5 T2 P"},
    {"I1", "5 sleeps | 3 sings | 2 waits | 1 dreams"},
    {"I2", "5 sleep | 3 sing | 2 wait | 1 dream"},
    {"T1", "5 sees | 3 likes | 2 follows | 1 forgets"},
    {"T2", "5 see | 3 like | 2 follow | 1 forget"},
    {"N1", "8 dog | 6 cat | 4 bird | 3 child | 2 baker | 1 king"},
    {"N2", "8 dogs | 6 cats | 4 birds | 3 children | 2 bakers | 1 kings"},
    {"D1", "5 the | 3 a | 1 every"},
    {"D2", "5 the | 2 some | 1 many"},
    {"C1", "5 The | 3 A | 1 Every"},
    {"C2", "5 The | 2 Some | 1 Many"},
};
enum {
    SYMBOLS = sizeof grammar / sizeof *grammar,
    MOST_RULES = 96,
    MOST_PARTS = 3,
    MOST_TOKENS = 64,
    MAX_WORDS = 63,
    LINE_END = 1, /* its token; 0 is [UNK] */
};

typedef struct Rule {
    double probability;
    int parts, part[MOST_PARTS]; /* a symbol's number, or SYMBOLS + a token */
} Rule;

typedef struct GrammarTask {
    Task task;
    Rule rule[MOST_RULES];
    int first[SYMBOLS + 1]; /* rules of symbol s: first[s] … first[s + 1] - 1 */
    char word[MOST_TOKENS][20];
    int words; /* tokens in use */
    uint64_t training_key, held_out_key;
} GrammarTask;

/* ---- The grammar as numbers ---- */

/* A symbol's number, or SYMBOLS + the token of a word. A word has a space before it unless it begins a sentence. */
static int part_of(GrammarTask *g, const char *name) {
    char text[20];
    for (int s = 0; s < SYMBOLS; s++)
        if (strcmp(grammar[s][0], name) == 0) return s;
    snprintf(text, sizeof text, "%s%s", *name >= 'A' && *name <= 'Z' ? "" : " ", name);
    for (int i = 0; i < g->words; i++)
        if (strcmp(g->word[i], text) == 0) return SYMBOLS + i;
    strcpy(g->word[g->words], text);
    return SYMBOLS + g->words++;
}

static void read_grammar(GrammarTask *g) {
    int rules = 0;
    g->words = LINE_END + 1;
    for (int s = 0; s < SYMBOLS; s++) {
        double sum = 0;
        g->first[s] = rules;
        for (const char *at = grammar[s][1]; *at; rules++) {
            Rule *r = &g->rule[rules];
            char name[16];
            int n;
            sscanf(at, "%lf%n", &r->probability, &n);
            for (at += n; sscanf(at, " %15[A-Za-z0-9]%n", name, &n) == 1; at += n)
                r->part[r->parts++] = part_of(g, name);
            at += strspn(at, " |");
            sum += r->probability;
        }
        for (int i = g->first[s]; i < rules; i++) g->rule[i].probability /= sum;
    }
    g->first[SYMBOLS] = rules;
}

static Tokenizer *vocabulary(const GrammarTask *g, Error *e) {
    char text[MOST_TOKENS * 24], *end = text;
    end += sprintf(end, "tokenizer word\n1 \n\n");
    for (int i = LINE_END + 1; i < g->words; i++)
        end += sprintf(end, "%zu %s\n", strlen(g->word[i]), g->word[i]);
    return tokenizer_parse("grammar", text, e);
}

/* H(S) / (L(S) + 1), as the header defines them: nats a token. */
static double entropy(const GrammarTask *g) {
    double H[SYMBOLS] = {0}, L[SYMBOLS] = {0};
    for (double change = 1; change > 1e-14;) {
        change = 0;
        for (int s = 0; s < SYMBOLS; s++) {
            double h = 0, l = 0;
            for (const Rule *r = &g->rule[g->first[s]]; r < &g->rule[g->first[s + 1]]; r++) {
                double p = r->probability;
                h -= p * log(p);
                for (int i = 0; i < r->parts; i++) {
                    bool symbol = r->part[i] < SYMBOLS;
                    h += symbol ? p * H[r->part[i]] : 0;
                    l += symbol ? p * L[r->part[i]] : p;
                }
            }
            change = fmax(change, fabs(h - H[s]) + fabs(l - L[s]));
            H[s] = h, L[s] = l;
        }
    }
    return H[0] / (L[0] + 1);
}

/* ---- Sentences ---- */

typedef struct Sentence {
    int32_t word[MAX_WORDS];
    long words;
    double nats; /* -log of its probability */
} Sentence;

/* Expands a symbol by a random rule, depth first, down to words. False: the sentence is too long. */
static bool expand(const GrammarTask *g, int symbol, uint64_t key, uint64_t *position, Sentence *s) {
    double u = (random_bits(key, (*position)++) + 0.5) * 0x1p-32;
    const Rule *r = &g->rule[g->first[symbol]], *last = &g->rule[g->first[symbol + 1]] - 1;
    while (r < last && u >= r->probability) u -= r++->probability;
    s->nats -= log(r->probability);
    for (int i = 0; i < r->parts; i++) {
        if (r->part[i] < SYMBOLS) {
            if (!expand(g, r->part[i], key, position, s)) return false;
        } else {
            if (s->words == MAX_WORDS) return false;
            s->word[s->words++] = r->part[i] - SYMBOLS;
        }
    }
    return true;
}

static void draw(const GrammarTask *g, uint64_t key, Sentence *s) {
    uint64_t position = 0;
    do *s = (Sentence){0};
    while (!expand(g, 0, key, &position, s));
}

static void add_row(const GrammarTask *g, uint64_t key, long row, Batch *b) {
    Sentence s;
    draw(g, random_key(key, (uint64_t)row), &s);
    batch_teach(batch_add(b, 0, s.words + 1), LINE_END, s.word, LINE_END);
}

static void add_training_row(const Task *task, uint64_t step, long row, Batch *b) {
    const GrammarTask *g = (const GrammarTask *)task;
    add_row(g, random_key(g->training_key, step), row, b);
}

static void add_held_out_row(const Task *task, long row, Batch *b) {
    const GrammarTask *g = (const GrammarTask *)task;
    add_row(g, g->held_out_key, row, b);
}

static double held_out_entropy(const GrammarTask *g) {
    double nats = 0;
    long tokens = 0;
    for (long r = 0; r < g->task.held_out; r++) {
        Sentence s;
        draw(g, random_key(g->held_out_key, (uint64_t)r), &s);
        nats += s.nats, tokens += s.words + 1;
    }
    return nats / (double)tokens;
}

bool task_grammar_open(Task **out, const TaskKind *kind, const TaskOptions *o, Error *e) {
    GrammarTask *g = task_new(out, kind, sizeof *g, e);
    if (!g) return false;
    Task *task = &g->task;
    read_grammar(g);
    task->tokenizer = vocabulary(g, e);
    if (!task->tokenizer) return false;
    g->training_key = random_key(o->seed, STREAM_TRAINING);
    g->held_out_key = random_key(o->seed, STREAM_HELD_OUT);
    task->vocab_size = task->tokenizer->size, task->max_T = MAX_WORDS + 1, task->held_out = o->held_out;
    task->add_training_row = add_training_row, task->add_held_out_row = add_held_out_row;
    task->opening_id = LINE_END;
    task->entropy = entropy(g), task->held_out_entropy = held_out_entropy(g);
    return true;
}
