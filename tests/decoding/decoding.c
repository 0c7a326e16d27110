/* Decoding against loops that feed a model its own output one sequence at a time and compute
 * everything from scratch. */
#include "base/pool.h"
#include "decoding/decode.h"
#include "expect_bug.h"
#include "slow_decoding.h"
#include <pthread.h>

/* The token chosen after ids[0 … n). */
static int32_t choose(const Sampler *s, const Model *m, const real *scores, uint64_t sequence,
                      const int32_t *ids, long n) {
    double p[64];
    return (int32_t)decode_choose(s, &(Scores){m->config.vocab_size, scores, ids, n}, sequence, p);
}

enum { ROWS = 7, LONGEST_SOURCE = 9, MAX = 12, VOCABULARY = 11, BEGIN = 9, END = 10 };

static long answer_alone(Model *m, const Sampler *s, uint64_t row, const int32_t *source, long S,
                         long max, int32_t *out) {
    int32_t prefix[MAX + 1] = {BEGIN};
    real scores[VOCABULARY];
    for (long n = 0; n < max; n++) {
        next_scores(m, source, S, prefix, n + 1, scores);
        scores[BEGIN] = scores[m->config.pad_id] = -INFINITY; /* are no text */
        int32_t id = choose(s, m, scores, row, prefix, n + 1);
        if (id == END) return n;
        out[n] = prefix[n + 1] = id;
    }
    return max;
}

/* Sources of all lengths from LONGEST_SOURCE down, one after another. */
typedef struct Sources {
    int32_t id[ROWS * LONGEST_SOURCE];
    long start[ROWS + 1];
} Sources;

static void add_source(Sources *s, long i, const int32_t *ids, long n) {
    memcpy(s->id + s->start[i], ids, (size_t)n * sizeof *ids);
    s->start[i + 1] = s->start[i] + n;
}

static Sources random_sources(const ModelConfig *c, uint64_t seed) {
    Sources s = {0};
    for (long i = 0; i < ROWS; i++) {
        int32_t ids[LONGEST_SOURCE];
        batch_random_tokens(c, random_key(seed, (uint64_t)i), LONGEST_SOURCE - i, ids);
        add_source(&s, i, ids, LONGEST_SOURCE - i);
    }
    return s;
}

static void decode(Model *m, const Sampler *s, long count, const Sources *from, int32_t end,
                   long max, int32_t *out, long *length) {
    Error e = {0};
    Tape *t = tape_new();
    CHECK(decode_answers(t, m, s, count, from->start, from->id, BEGIN, end, max, out, length, &e),
          "%s", e.text);
    CHECK(t->nodes == 0 && !t->no_grad, "the tape is not as it was");
    tape_free(t);
}

static void check_answers(ModelConfig c, Sampler s, uint64_t seed, int *cut, int *ended) {
    Model *m = lively(c, seed);
    Sources from = random_sources(&c, seed);
    int32_t out[ROWS][MAX];
    long length[ROWS];
    memset(out, 0x7F, sizeof out);
    decode(m, &s, ROWS, &from, END, MAX, out[0], length);
    for (long i = 0; i < ROWS; i++) {
        int32_t want[MAX];
        long n = answer_alone(m, &s, (uint64_t)i, from.id + from.start[i],
                              from.start[i + 1] - from.start[i], MAX, want);
        CHECK(length[i] == n, "row %ld: found %ld tokens, want %ld", i, length[i], n);
        CHECK(memcmp(out[i], want, (size_t)n * sizeof *want) == 0, "row %ld differs", i);
        *cut += n == MAX;
        *ended += n > 0 && n < MAX;
    }
    model_free(m);
}

static ModelConfig answering(NormPlace norm, const Positions *positions) {
    ModelConfig c = small_seq2seq();
    c.norm = norm;
    c.final_norm = norm == NORM_PRE;
    c.positions = positions;
    c.vocab_size = VOCABULARY;
    return c;
}

/* Rows of different lengths that end at different times give together what each gives alone. */
TEST(answers_are_those_of_one_by_one) {
    int cut = 0, ended = 0;
    for (uint64_t seed = 0; seed < 6; seed++)
        for (int sampled = 0; sampled < 2; sampled++) {
            Sampler s = {.temperature = sampled, .top_k = seed % 2 ? 5 : 0, .seed = seed};
            check_answers(answering(NORM_POST, &positions_sinusoidal), s, seed, &cut, &ended);
            check_answers(answering(NORM_PRE, &positions_learned), s, seed, &cut, &ended);
        }
    CHECK(cut > 20 && ended > 20, "%d answers were cut and %d ended: not both are tested", cut,
          ended);
}

/* With all weights 0, all scores are equal and the likeliest token is 0. Answers are cut off at the
 * caller's limit and at the model's last position, and are empty if 0 is the end. */
TEST(answers_have_bounded_lengths) {
    ModelConfig c = answering(NORM_POST, &positions_sinusoidal);
    c.pad_id = 8;
    c.max_length = MAX - 2;
    Model *m = new_model(c, 1);
    memset(m->parameters.value, 0, (size_t)m->parameters.size * sizeof(real));
    Sources source = {.id = {1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4}, .start = {0, 3, 12}};
    Sampler greedy = {0};
    for (long max = 0; max <= MAX; max++) {
        int32_t out[2 * MAX];
        long length[2] = {-1, -1}, want = max < c.max_length ? max : c.max_length;
        memset(out, 0x7F, sizeof out);
        decode(m, &greedy, 2, &source, END, max, out, length);
        CHECK(length[0] == want && length[1] == want, "found %ld and %ld, want %ld", length[0],
              length[1], want);
        for (long i = 0; i < 2 * MAX; i++) {
            bool written = i < 2 * max && i % (max ? max : 1) < want;
            CHECK(out[i] == (written ? 0 : 0x7F7F7F7F), "of %ld: %ld is %d", max, i, out[i]);
        }
        decode(m, &greedy, 2, &source, 0, max, out, length);
        CHECK(length[0] == 0 && length[1] == 0);
    }
    int32_t none;
    decode(m, &greedy, 0, &source, END, MAX, &none, NULL);
    model_free(m);
}

/* ---- Language models ---- */

enum { PROMPT = 3, MORE = 20 };

typedef struct Heard {
    int32_t id[MORE];
    long count, max;
} Heard;

static bool hear(void *context, long sequence, int32_t id) {
    CHECK(sequence == 0);
    Heard *h = context;
    if (h->count < MORE) h->id[h->count] = id;
    return ++h->count < h->max;
}

/* The tokens that a text of n tokens shows: all, or those that are left when half a context leaves
 * at a time. */
static long window_length(long n, long context) {
    while (n > context) n -= (context + 1) / 2;
    return n;
}

/* The scores after each token of a text that outgrows the context are those after the same text
 * given as a prompt, and those of its window computed without a cache: for all kinds of positions,
 * in one layer and in several, whose cached keys depend on earlier tokens. */
TEST(a_text_beyond_the_context_equals_the_same_prompt) {
    enum { CONTEXT = 7, TEXT = 3 * CONTEXT + 2, EPSILONS = 50000 };
    static const Positions *const kinds[] = {&positions_sinusoidal, &positions_learned,
                                             &positions_rotary, &positions_alibi};
    for (int i = 0; i < 12; i++) {
        ModelConfig c = small_language_model();
        int32_t text[TEXT + 1];
        real from_window[16];
        Error e = {0};
        Decoder d, given_all;
        Given given = {
            .prompt = text, .prompt_tokens = 1, .next = {NULL, NO_PAD, NO_PAD, c.pad_id}};
        c.positions = kinds[i % 4];
        c.encoder_layers = (int[]){1, 2, 4}[i / 4];
        c.max_length = CONTEXT;
        Model *m = lively(c, (uint64_t)i);
        Tape *t = tape_new(), *other = tape_new();
        batch_random_tokens(&c, 3, TEXT + 1, text);
        CHECK(decoder_open(&d, t, m, 1, &given, TEXT, &e), "%s", e.text);
        for (long n = 1; n <= TEXT; n++) {
            long seen = window_length(n, CONTEXT);
            CHECK(d.length == n && decoder_next(&d, &e), "%s", e.text);
            const real *found = decoder_scores(&d, 0).scores;
            given.prompt_tokens = n;
            CHECK(decoder_open(&given_all, other, m, 1, &given, 1, &e) &&
                      decoder_next(&given_all, &e),
                  "%s", e.text);
            next_scores(m, NULL, 0, text + n - seen, seen, from_window);
            CHECK(same_sums(found, decoder_scores(&given_all, 0).scores, c.vocab_size, EPSILONS),
                  "%s, %d layers, %ld tokens: not as the prompt", c.positions->choice.name,
                  c.encoder_layers, n);
            CHECK(same_sums(found, from_window, c.vocab_size, EPSILONS),
                  "%s, %d layers, %ld tokens: not as the window", c.positions->choice.name,
                  c.encoder_layers, n);
            decoder_close(&given_all);
            decoder_ids(&d, 0)[n] = text[n];
            decoder_advance(&d);
        }
        decoder_close(&d);
        tape_free(t);
        tape_free(other);
        model_free(m);
    }
}

/* emit ends the text by returning false. It is not called without a further token. */
TEST(a_text_ends_when_emit_returns_false) {
    Error e = {0};
    Model *m = lively(small_language_model(), 1);
    Tape *t = tape_new();
    int32_t ids[PROMPT + MORE] = {1, 2, 3};
    Sampler greedy = {0};
    for (long max = 1; max <= MORE; max += 5) {
        Heard heard = {.max = max};
        for (int i = PROMPT; i < PROMPT + MORE; i++) ids[i] = -1;
        CHECK(decode_continue(t, m, &greedy, ids, PROMPT, MORE, hear, &heard, &e), "%s", e.text);
        CHECK(heard.count == max && !memcmp(heard.id, ids + PROMPT, (size_t)max * sizeof *ids),
              "found %ld, want %ld", heard.count, max);
        CHECK(max == MORE || ids[PROMPT + max] == -1);
    }
    Heard heard = {.max = MORE};
    CHECK(decode_continue(t, m, &greedy, ids, PROMPT, 0, hear, &heard, &e) && heard.count == 0);
    tape_free(t);
    model_free(m);
}

/* ---- The cache ---- */

enum { TOGETHER = 3, LONG = 90 };

/* Sequences that begin alike with `begin` tokens, and then grow by a token of their own at a time:
 * their scores are those of all their tokens computed from scratch. */
static void check_cache(ModelConfig c, uint64_t seed, long begin) {
    enum { EPSILONS = 50000 }; /* large weights amplify rounding; a tenth of this was seen */
    bool lm = config_is_lm(&c);
    int32_t source[LONGEST_SOURCE], text[TOGETHER][LONG + 1];
    long start[] = {0, LONGEST_SOURCE};
    real want[64];
    Error e = {0};
    Decoder d;
    c.max_length = LONG;
    Model *m = lively(c, seed);
    Tape *t = tape_new();
    batch_random_tokens(&c, random_key(seed, 1), LONGEST_SOURCE, source);
    for (int s = 0; s < TOGETHER; s++) {
        batch_random_tokens(&c, random_key(seed, 100 + (uint64_t)s), LONG + 1, text[s]);
        memcpy(text[s], text[0], (size_t)begin * sizeof **text);
    }
    Given given = {text[0], begin, lm ? 0 : 1, start, source, {NULL, NO_PAD, NO_PAD, NO_PAD}};
    CHECK(decoder_open(&d, t, m, TOGETHER, &given, LONG + 1 - begin, &e), "%s", e.text);
    for (long n = begin; n <= LONG; n++) {
        CHECK(decoder_next(&d, &e), "%s", e.text);
        for (int s = 0; s < TOGETHER; s++) {
            decoder_ids(&d, s)[n] = text[s][n];
            if (n >= begin + 20 && n % 7 && n < LONG - 2) continue;
            next_scores(m, source, lm ? 0 : LONGEST_SOURCE, text[s], n, want);
            CHECK(same_sums(decoder_scores(&d, s).scores, want, c.vocab_size, EPSILONS),
                  "sequence %d after %ld tokens", s, n);
        }
        decoder_advance(&d);
    }
    decoder_close(&d);
    tape_free(t);
    model_free(m);
}

/* Scores with the cache have the bits of those computed from scratch: over more tokens than a block
 * of attention, for widths of whole vectors and others, one and more threads, prompts of one token
 * and of many.
 */
TEST(cached_scores_are_the_recomputed_ones) {
    static const long begins[] = {1, 2, 17, 70};
    for (int i = 0; i < 4; i++) {
        pool_set_threads(1 + i % 3);
        ModelConfig lm = small_language_model(), paper = small_seq2seq(), pre = paper;
        pre.norm = NORM_PRE;
        pre.final_norm = true;
        pre.positions = &positions_learned;
        pre.tied = false;
        ModelConfig rotary = lm, rms = pre;
        rotary.positions = rms.positions = &positions_rotary;
        rotary.qk_norm = rms.qk_norm = true;
        rms.norm_kind = &norm_rms;
        rms.activation = &activation_swiglu;
        rotary.activation = &activation_silu;
        ModelConfig alibi = lm, answers = pre;
        alibi.positions = answers.positions = &positions_alibi;
        check_cache(alibi, (uint64_t)i, begins[i]);
        check_cache(answers, (uint64_t)i, begins[i]);
        check_cache(rotary, (uint64_t)i, begins[i]);
        check_cache(rms, (uint64_t)i, begins[i]);
        if (i % 2) {
            lm.d_model = 48;
            lm.d_ff = 100;
            lm.heads = 3;
        }
        check_cache(lm, (uint64_t)i, begins[i]);
        check_cache(paper, (uint64_t)i, begins[i]);
        check_cache(pre, (uint64_t)i, begins[i]);
    }
    pool_set_threads(1);
}

/* Tokens without room, or several after the first pass, are a bug. */
TEST(a_cache_is_not_overrun) {
    ModelConfig c = small_language_model();
    Model *m = new_model(c, 1);
    KvCache cache;
    Tokens two;
    Error e = {0};
    static const int32_t ids[5] = {0};
    CHECK(tokens_new(&two, 2, 4, &e) && kv_cache_new(&cache, &c, &m->parameters, 2, 2, 2, &e), "%s",
          e.text);
    tokens_fill(&two, 2, 2, ids, NO_PAD);
    kv_cache_advance(&cache, &two.sequences);
    EXPECT_BUG("kv_cache: several tokens, want one: others came before",
               kv_cache_advance(&cache, &two.sequences));
    tokens_next(&two, 2, ids, 1);
    EXPECT_BUG("kv_cache: more than 2 tokens", kv_cache_advance(&cache, &two.sequences));
    EXPECT_BUG("kv_cache: 1 sequences, want 2", kv_cache_advance(&cache, &(Sequences){.count = 1}));
    EXPECT_BUG("kv_cache: a source is [99999,16], want at most [2,16]",
               kv_layer_keep_source(&cache.layer[0], &(Tensor){.shape = SHAPE(99999, 16)}));
    EXPECT_BUG("tokens: 3 sequences, want at most 2", tokens_next(&two, 3, ids, 0));
    EXPECT_BUG("tokens: more than 4 rows", tokens_pack(&two, 1, (long[]){0, 5}, ids));
    kv_cache_clear(&cache);
    kv_cache_advance(&cache, &two.sequences);
    CHECK(cache.length[1] == 1);
    tokens_free(&two);
    kv_cache_free(&cache);
    model_free(m);
}

/* Decoding in the middle of training leaves dropout on. */
TEST(training_goes_on_after_decoding) {
    int32_t out[MAX], text[MAX] = {1};
    long start[] = {0, 1}, length;
    Error e = {0};
    Tape *t = tape_new();
    Model *model[] = {new_model(small_seq2seq(), 1), new_model(small_language_model(), 1)};
    for (int training = 0; training < 2; training++) {
        t->training = training;
        CHECK(
            decode_answers(t, model[0], &(Sampler){0}, 1, start, text, 1, 2, MAX, out, &length, &e),
            "%s", e.text);
        CHECK(t->training == training && !t->no_grad);
        CHECK(decode_continue(t, model[1], &(Sampler){0}, text, 1, MAX - 1, NULL, NULL, &e), "%s",
              e.text);
        CHECK(t->training == training && !t->no_grad);
    }
    tape_free(t);
    model_free(model[0]);
    model_free(model[1]);
}

/* ---- Threads ---- */

typedef struct Shared {
    Model *m;
    int times; /* of ROWS answers the last time */
    int32_t out[ROWS * MAX];
    long length[ROWS];
} Shared;

static void *decode_sequences(void *shared) {
    static const int32_t source[ROWS] = {1, 2, 3, 4, 5, 6, 7};
    static const long start[ROWS + 1] = {0, 1, 2, 3, 4, 5, 6, 7};
    Shared *s = shared;
    Error e = {0};
    Tape *t = tape_new();
    for (int i = 0; i < s->times; i++)
        decode_answers(t, s->m, &(Sampler){.temperature = 1}, 1 + i % ROWS, start, source, BEGIN,
                       END, MAX, s->out, s->length, &e);
    tape_free(t);
    return NULL;
}

/* Two threads that decode from one model give what one gives; ThreadSanitizer finds no race
 * (SAN=thread). */
TEST(threads_share_a_model) {
    ModelConfig c = small_seq2seq();
    for (int again = 0; again < 5; again++) {
        Model *m = lively(c, 1), *same = lively(c, 1);
        Shared alone = {.m = same, .times = ROWS},
               s[2] = {{.m = m, .times = 40 * ROWS}, {.m = m, .times = 60 * ROWS}};
        pthread_t other;
        decode_sequences(&alone);
        CHECK(pthread_create(&other, NULL, decode_sequences, &s[0]) == 0);
        decode_sequences(&s[1]);
        pthread_join(other, NULL);
        for (int i = 0; i < 2; i++)
            CHECK(memcmp(s[i].out, alone.out, sizeof alone.out) == 0 &&
                  memcmp(s[i].length, alone.length, sizeof alone.length) == 0);
        model_free(m);
        model_free(same);
    }
}

RUN_TESTS
