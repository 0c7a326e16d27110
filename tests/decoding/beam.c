/* Sequences that grow together, and beam search: against searches of the test's own that compute
 * every score from scratch and neither share nor reorder anything. */
#include "decoding/beam.h"
#include "base/random.h"
#include "decoding/decode.h"
#include "slow_decoding.h"

enum { LONGEST = 24, SOURCE = 5, BEGIN = 1, END = 0, MAX_FOUND = 2000 };

/* A model, what it is given, and how long its texts get. */
typedef struct Setup {
    Model *m;
    Tape *tape;
    int32_t prompt[LONGEST], source[SOURCE];
    long n, more;             /* prompt tokens; tokens after it */
    int32_t begin, end, stop; /* stop: a token that ends a hypothesis and belongs to it; -1: none */
    bool alike;               /* four tokens at a time write the same text */
} Setup;

static Setup setup(ModelConfig c, uint64_t seed, long more) {
    Setup s = {.m = lively(c, seed),
               .tape = tape_new(),
               .n = 1,
               .more = more,
               .begin = NO_PAD,
               .end = NO_PAD,
               .stop = -1};
    batch_random_tokens(&c, random_key(seed, 1), SOURCE, s.source);
    batch_random_tokens(&c, random_key(seed, 2), LONGEST, s.prompt);
    if (config_is_lm(&c))
        s.n = 3;
    else {
        s.prompt[0] = s.begin = BEGIN;
        s.end = END;
    }
    return s;
}

static void setup_free(Setup *s) {
    tape_free(s->tape);
    model_free(s->m);
}

static void open_decoder(Decoder *d, Setup *s, long sequences) {
    static const long start[] = {0, SOURCE};
    Error e = {0};
    Given given = {.prompt = s->prompt,
                   .prompt_tokens = s->n,
                   .next = {NULL, s->begin, s->end, s->m->config.pad_id}};
    if (!config_is_lm(&s->m->config)) {
        given.sources = 1;
        given.start = start;
        given.source = s->source;
    }
    CHECK(decoder_open(d, s->tape, s->m, sequences, &given, s->more, &e), "%s", e.text);
}

/* log P of every token after the prompt and n more tokens, as the window shows them, and the scores
 * themselves. Begin and padding are no text: P = 0. */
static void slow_scores(const Setup *s, const int32_t *ids, long n, real *score, double *log_p) {
    int32_t all[2 * LONGEST];
    long V = s->m->config.vocab_size, seen = s->n + n, context = s->m->config.max_length;
    long first = 0;
    memcpy(all, s->prompt, (size_t)s->n * sizeof *all);
    memcpy(all + s->n, ids, (size_t)n * sizeof *all);
    while (config_is_lm(&s->m->config) && seen - first > context) first += (context + 1) / 2;
    next_scores(s->m, s->source, SOURCE, all + first, seen - first, score);
    for (int32_t i = 0; i < V; i++)
        if (i == s->begin || i == s->m->config.pad_id) score[i] = -INFINITY;
    double largest = -INFINITY, sum = 0;
    for (long i = 0; i < V; i++) largest = fmax(largest, (double)score[i]);
    for (long i = 0; i < V; i++) sum += exp((double)score[i] - largest);
    for (long i = 0; i < V; i++) log_p[i] = (double)score[i] - (largest + log(sum));
}

typedef struct Found {
    double score, sum;
    int32_t ids[LONGEST];
    long n;
} Found;

static Found found[MAX_FOUND];
static long found_count;

/* Equation 14 of Wu et al.; n counts the end. */
static void keep(double sum, double a, const int32_t *ids, long n, long scored) {
    Found *f = &found[found_count++];
    CHECK(found_count <= MAX_FOUND);
    *f = (Found){.score = sum / pow((5 + (double)scored) / 6, a), .n = n};
    memcpy(f->ids, ids, (size_t)n * sizeof *ids);
}

static int by_score(const void *a, const void *b) {
    double x = ((const Found *)a)->score, y = ((const Found *)b)->score;
    return (x < y) - (x > y);
}

static bool ends_with_stop(void *setup, const int32_t *ids, long n) {
    return n > 0 && ids[n - 1] == ((const Setup *)setup)->stop;
}

static bool is_alike(void *setup, const int32_t *a, long a_tokens, const int32_t *b,
                     long b_tokens) {
    (void)setup;
    long i = 0;
    while (i < a_tokens && i < b_tokens && a[i] / 4 == b[i] / 4) i++;
    return i == a_tokens && i == b_tokens;
}

/* The first of found texts that are alike remains. */
static void remove_alike(void) {
    long left = 0;
    for (long i = 0; i < found_count; i++) {
        long j = 0;
        while (j < left && !is_alike(NULL, found[i].ids, found[i].n, found[j].ids, found[j].n)) j++;
        if (j == left) found[left++] = found[i];
    }
    found_count = left;
}

/* Beam search gives these hypotheses, in this order, with these scores. Returns whether it stopped
 * early. */
static bool check_beam(Setup *s, long width, double a, long n_best, const char *what) {
    Hypothesis best[16];
    Decoder d;
    Error e = {0};
    long count = 0;
    BeamOptions o = {a, n_best, s->stop >= 0 ? ends_with_stop : NULL, s->alike ? is_alike : NULL,
                     s};
    qsort(found, (size_t)found_count, sizeof *found, by_score);
    if (s->alike) remove_alike();
    open_decoder(&d, s, width);
    CHECK(beam_search(&d, &o, best, &count, &e), "%s", e.text);
    CHECK(count == (n_best < found_count ? n_best : found_count), "%s: found %ld", what, count);
    for (long i = 0; i < count; i++) {
        CHECK(fabs(best[i].score - found[i].score) < 1e-9, "%s: hypothesis %ld: %.12g, want %.12g",
              what, i, best[i].score, found[i].score);
        bool same = false; /* as one of those that have this score */
        for (long j = 0; j < found_count; j++)
            same |= fabs(found[j].score - best[i].score) < 1e-9 && best[i].n == found[j].n &&
                    !memcmp(best[i].ids, found[j].ids, (size_t)best[i].n * sizeof(int32_t));
        CHECK(same, "%s: hypothesis %ld differs", what, i);
        free(best[i].ids);
    }
    bool early = d.length < d.capacity;
    decoder_close(&d);
    CHECK(s->tape->nodes == 0 && !s->tape->no_grad, "the tape is not as it was");
    return early;
}

/* ---- A plain beam ---- */

static const double penalties[] = {0, 0.6, 1, 3};
enum { WIDEST = 6 };

/* The search as beam.h defines it, to the end: it never stops early, and every score is computed
 * from scratch. */
static void plain_beam(const Setup *s, long width, double a) {
    static Found live[WIDEST], next[WIDEST];
    long count = 1;
    live[0] = (Found){0};
    for (long n = 0; count > 0; n++) {
        double sum[WIDEST][16];
        real score[WIDEST][16];
        bool taken[WIDEST][16] = {{false}};
        long more = 0;
        for (long i = 0; i < count; i++) slow_scores(s, live[i].ids, n, score[i], sum[i]);
        for (long k = 0; k < width && k < count * s->m->config.vocab_size; k++) {
            long at = -1, id = 0;
            for (long i = 0; i < count; i++)
                for (long j = 0; j < s->m->config.vocab_size; j++)
                    if (!taken[i][j] &&
                        (at < 0 || live[i].sum + sum[i][j] > live[at].sum + sum[at][id])) {
                        at = i;
                        id = j;
                    }
            taken[at][id] = true;
            Found f = live[at];
            f.sum += sum[at][id];
            f.ids[n] = (int32_t)id;
            if (id == s->end)
                keep(f.sum, a, f.ids, n, n + 1);
            else if (n + 1 == s->more || id == s->stop)
                keep(f.sum, a, f.ids, n + 1, n + 1);
            else
                next[more++] = f;
        }
        memcpy(live, next, sizeof live);
        count = more;
    }
}

static ModelConfig configuration(int kind) {
    ModelConfig c = kind < 2 ? small_seq2seq() : small_language_model();
    if (kind == 1) {
        c.norm = NORM_PRE;
        c.final_norm = true;
        c.positions = &positions_learned;
    }
    if (kind == 3) {
        c.norm = NORM_POST;
        c.final_norm = false;
        c.positions = &positions_sinusoidal;
    }
    if (kind == 4) {
        c.positions = &positions_rotary;
        c.qk_norm = true;
        c.norm_kind = &norm_rms;
        c.activation = &activation_swiglu;
    }
    if (kind < 2) c.pad_id = 10;
    return c;
}

/* A setup of the i-th kind; texts have this context. */
static Setup numbered(int i, long context, long more) {
    ModelConfig c = configuration(i % 5);
    if (i % 5 > 1) c.max_length = (int)context;
    return setup(c, (uint64_t)i, more);
}

/* The beams of all models agree with the plain one: where a text fits into the context, fills it on
 * the way, or begins beyond it. */
TEST(beams_are_those_of_a_plain_search) {
    int early = 0;
    for (int kind = 0; kind < 5; kind++)
        for (int i = 0; i < 12; i++) {
            long width = (long[]){1, 2, 3, 6}[i % 4], context = (long[]){40, 6, 2}[i / 4];
            ModelConfig c = configuration(kind);
            char what[64];
            if (kind > 1) c.max_length = (int)context;
            Setup s = setup(c, (uint64_t)i, 14);
            if (kind > 1) s.stop = i % 2 ? 7 : -1;
            s.alike = i / 2 % 2;
            found_count = 0;
            plain_beam(&s, width, penalties[(i + kind) % 4]);
            snprintf(what, sizeof what, "model %d, width %ld, context %ld", kind, width, context);
            early += check_beam(&s, width, penalties[(i + kind) % 4], 1 + i % width, what);
            setup_free(&s);
        }
    CHECK(early >= 5, "only %d searches stopped early", early);
}

/* ---- Sequences that grow together ---- */

/* Sequences of one prompt or source are those of one at a time with the seeds S, S + 1, …. */
TEST(texts_drawn_together_are_those_of_one_by_one) {
    enum { TOGETHER = 6 };
    for (int i = 0; i < 10; i++) {
        Setup s = numbered(i, 8, 14);
        Sampler sampler = {.temperature = 3, .top_p = 0.9, .repetition_penalty = 1.2, .seed = 3};
        Decoder all, one;
        Error e = {0};
        int different = 0;
        open_decoder(&all, &s, TOGETHER);
        CHECK(decoder_run(&all, &sampler, NULL, NULL, &e), "%s", e.text);
        for (long k = 0; k < TOGETHER; k++) {
            sampler.seed = 3 + (uint64_t)k;
            open_decoder(&one, &s, 1);
            CHECK(decoder_run(&one, &sampler, NULL, NULL, &e), "%s", e.text);
            CHECK(one.tokens[0] == all.tokens[k] &&
                      !memcmp(decoder_ids(&one, 0), decoder_ids(&all, k),
                              (size_t)one.tokens[0] * sizeof(int32_t)),
                  "model %d, text %ld", i, k);
            different += memcmp(decoder_ids(&all, k), decoder_ids(&all, 0),
                                (size_t)(s.n + 4) * sizeof(int32_t)) != 0;
            decoder_close(&one);
        }
        CHECK(different > 0, "model %d: all texts are the same", i);
        decoder_close(&all);
        setup_free(&s);
    }
}

RUN_TESTS
