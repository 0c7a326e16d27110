/* Attention maps: each row is a distribution, and a model that reverses attends to the mirrored position. */
#include "explain/lesson.h"
#include "run/frames.h"
#include "test.h"

/* Frames of one example, with the weights of the model. To be freed with frames_free. */
static Frames look(List source, List target, Tape *t, Model *m) {
    Frames f;
    Error e = {0};
    Trace trace = {0};
    CHECK(frames_new(&f, &m->config, target.count, 16, &e), "%s", e.text);
    frames_set(&f, LIST_SOURCE, source.id, source.count);
    frames_set(&f, LIST_TARGET, target.id, target.count);
    CHECK(frames_reserve(&f, 1, &e) && frames_logits(t, m, source, target, &trace, &e), "%s", e.text);
    CHECK(frames_take(&f, 0, &trace, f.weight) == f.weight + f.weights, "%ld weights", f.weights);
    tape_reset(t);
    return f;
}

/* To reverse n tokens, target position i must attend to source position n-1-i. */
TEST(a_model_that_reverses_looks_at_the_mirrored_position) {
    enum { SYMBOLS = 12, LONGEST = 10, STEPS = SANITIZER ? 2 : 500, ROWS = SANITIZER ? 2 : 100 };
    Lesson l;
    Error e = {0};
    long right = 0, all = 0;
    bool ok = lesson_begin(&l, "reverse", SYMBOLS, LONGEST, STEPS, &attention_dot, 1, &e) &&
              lesson_train(&l, STEPS, &e);
    Batch *b = ok ? task_batch(l.task, ROWS, &e) : NULL;
    CHECK(b, "%s", e.text);
    if (b) task_held_out_batch(l.task, 0, ROWS, b);
    for (long r = 0; b && r < b->rows; r++) {
        BatchRow row = batch_row(b, r);
        long n = row.S;
        Frames f = look((List){row.source, n}, (List){row.target_in, row.T}, l.trainer.tape, l.model);
        Group group[GROUPS];
        frames_groups(&f, 0, group);
        int maps = group[2].layers * group[2].heads;
        const uint8_t *cross = f.weight + f.weights - maps * row.T * n; /* the last group */
        for (long i = 0; i < n; i++, all++) {
            bool found = false;
            for (int map = 0; map < maps; map++) {
                const uint8_t *weight = cross + (map * row.T + i) * n;
                long best = 0;
                for (long j = 1; j < n; j++)
                    if (weight[j] > weight[best]) best = j;
                found |= best == n - 1 - i;
            }
            right += found;
        }
        frames_free(&f);
    }
    printf("  reverse: at %ld of %ld target positions (%.1f %%) a head attends most to the mirrored source\n",
           right, all, 100. * (double)right / (double)all);
    CHECK(all > 0 && (SANITIZER || 10 * right >= 9 * all), "%ld of %ld", right, all);
    batch_free(b);
    lesson_end(&l);
}

/* Rounded to whole percents, a row's weights sum to 1 up to half a unit each. */
TEST(every_row_of_a_map_is_a_distribution) {
    static const int32_t source[] = {3, 1, 4, 1, 5}, target[] = {0, 2, 6, 5, 3, 5, 1};
    ModelConfig configs[] = {config_seq2seq(9, 16, NO_PAD), config_language_model(9, 16)};
    Error e = {0};
    Tape *t = tape_new();
    for (int i = 0; i < 2; i++) {
        bool lm = config_is_lm(&configs[i]);
        Model *m = model_new(&configs[i], false, 1, &e);
        Frames f = look((List){source, lm ? 0 : 5}, (List){target, 7}, t, m);
        Group group[GROUPS];
        int groups = frames_groups(&f, 0, group);
        const uint8_t *weight = f.weight;
        CHECK(groups == (lm ? 1 : 3));
        CHECK(f.weights == (lm ? 4 * 4 * 28 : 2 * 4 * (25 + 28 + 35)), "%ld weights", f.weights);
        for (int g = 0; g < groups; g++)
            for (long row = 0; row < group[g].layers * group[g].heads * group[g].rows.count; row++) {
                long n = frames_row_weights(&group[g], row % group[g].rows.count), sum = 0;
                for (long j = 0; j < n; j++) sum += *weight++;
                CHECK(labs(sum - 100) <= (n + 1) / 2, "group %d, row %ld sums to %ld", g, row, sum);
            }
        frames_free(&f);
        model_free(m);
    }
    tape_free(t);
}

RUN_TESTS
