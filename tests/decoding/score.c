/* Scores of files, against sums of one token at a
 * time. */
#include "decoding/score.h"
#include "folder.h"
#include "slow_decoding.h"
#include <sys/stat.h>

/* A run with this model, whose tokenizer has `characters`. */
static SavedRun run_with(Model *m, const char *characters) {
    Error e = {0};
    SavedRun r;
    const Metadata notes[] = {{"vocabulary", characters}, {"begin_id", "4"}, {"end_id", "5"}};
    mkdir("run", 0777);
    CHECK(model_save(m, "run/model.safetensors", notes, 3, &e), "%s", e.text);
    CHECK(saved_run_open(&r, "run", false, &e), "%s", e.text);
    return r;
}

/* -log P of id after ids[0 … n). */
static double slow_loss(Model *m, const int32_t *source, long S, const int32_t *ids, long n,
                        int32_t id) {
    real score[8];
    double sum = 0;
    next_scores(m, source, S, ids, n, score);
    for (long i = 0; i < m->config.vocab_size; i++) sum += exp((double)score[i]);
    return log(sum) - (double)score[id];
}

static Score score_of(const SavedRun *r, const char *text) {
    Error e = {0};
    Score s = {0};
    Tape *t = tape_new();
    write_text("file", text);
    CHECK(score_file(t, r, "file", NULL, &s, &e), "%s", e.text);
    CHECK(t->nodes == 0 && !t->no_grad, "the tape is not as it was");
    tape_free(t);
    return s;
}

/* A text is cut into windows that do not overlap; the last one may be shorter. Every token but the
 * first counts. */
TEST(a_text_has_the_loss_of_its_tokens) {
    enum { LONGEST = 200 };
    for (int i = 0; i < 8; i++) {
        ModelConfig c = small_language_model();
        c.vocab_size = 4;
        c.max_length = (int[]){1, 2, 7, 80}[i % 4];
        if (i > 3) c.positions = &positions_rotary;
        Model *m = lively(c, (uint64_t)i);
        SavedRun r = run_with(m, "abcé");
        char text[2 * LONGEST + 1] = "";
        int32_t ids[LONGEST];
        long n = (long[]){2, 3, 50, LONGEST}[i % 4];
        double nats = 0;
        batch_random_tokens(&c, random_key(7, (uint64_t)i), n, ids);
        for (long k = 0; k < n; k++) strcat(text, (const char *[]){"a", "b", "c", "é"}[ids[k]]);
        for (long k = 1; k < n; k++) {
            long first = (k - 1) / c.max_length * c.max_length;
            nats += slow_loss(m, NULL, 0, ids + first, k - first, ids[k]);
        }
        Score s = score_of(&r, text);
        CHECK(s.tokens == n - 1 && s.characters == (double)n - 1, "%ld tokens, %g characters",
              s.tokens, s.characters);
        CHECK(fabs(s.nats - nats) < 1e-4 * (1 + nats), "found %g, want %g", s.nats, nats);
        write_text("file", "é");
        Error e = {0};
        Tape *t = tape_new();
        CHECK(!score_file(t, &r, "file", NULL, &s, &e) && e.status == STATUS_BAD_DATA);
        CHECK(!strcmp(e.text, "file: found 1 token, need at least 2"), "%s", e.text);
        tape_free(t);
        saved_run_close(&r);
        model_free(m);
    }
}

/* The targets of pairs count, with their ends. Blank lines do not count. */
TEST(pairs_have_the_loss_of_their_targets) {
    ModelConfig c = small_seq2seq();
    c.vocab_size = 7;
    c.pad_id = 6;
    c.max_length = 6;
    Model *m = lively(c, 1);
    SavedRun r = run_with(m, "abcé");
    static const int32_t source[] = {0, 1, 3}, target[] = {4, 2, 3, 5}, other[] = {4, 1, 5};
    double nats = 0;
    for (long k = 1; k < 4; k++) nats += slow_loss(m, source, 3, target, k, target[k]);
    for (long k = 1; k < 3; k++) nats += slow_loss(m, source + 2, 1, other, k, other[k]);
    Score s = score_of(&r, "abé\tcé\n\r\né\tb");
    CHECK(s.pairs == 2 && s.tokens == 5 && s.characters == 3,
          "%ld pairs, %ld tokens, %g characters", s.pairs, s.tokens, s.characters);
    CHECK(fabs(s.nats - nats) < 1e-4 * nats, "found %g, want %g", s.nats, nats);

    static const struct {
        const char *text, *want;
    } cases[] = {
        {"a\tb\n\nab\n", "file: line 3: found no tab, need a source, a tab and a target"},
        {"a\tb\tc\n", "file: line 1: found a second tab, need a source, a tab and a target"},
        {"a\tb\n\na\tx\n", "file: line 3: byte 0: found 'x' (U+0078), need one of the 4 characters "
                           "of the vocabulary"},
        {"a\tabcabc\n", "file: line 1: found 6 tokens, need at most 5"},
        {"\n", "file: found 0 different sources, need at least 1"},
    };
    Tape *t = tape_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Error e = {0};
        write_text("file", cases[i].text);
        CHECK(!score_file(t, &r, "file", NULL, &s, &e) && !strcmp(e.text, cases[i].want), "%s",
              e.text);
        CHECK(e.status == STATUS_BAD_DATA);
    }
    tape_free(t);
    saved_run_close(&r);
    model_free(m);
}

RUN_TESTS_AFTER(enter_folder)
