/* Attention maps: each row is a distribution, and a model that reverses attends to the mirrored position. */
#include "explain/lesson.h"
#include "run/attention_look.h"
#include "test.h"

/* The weights of a forward pass over x, in percent. */
static bool look(const PageExample *x, Tape *t, Model *m, uint8_t *const weights[PAGE_GROUPS], Error *e) {
    Trace trace = {0};
    bool ok = attention_logits(x, t, m, &trace, e);
    if (ok) attention_take(x, &trace, weights);
    tape_reset(t);
    return ok;
}

/* To reverse n tokens, target position i must attend to source position n-1-i. */
TEST(a_model_that_reverses_looks_at_the_mirrored_position, 240) {
    enum { SYMBOLS = 12, LONGEST = 10, STEPS = 500, ROWS = 100 };
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
        PageExample x;
        uint8_t weights[PAGE_GROUPS][10000];
        attention_example(&x, &l.model->config, row.source, n, row.target_in, row.T);
        CHECK(look(&x, l.trainer.tape, l.model, (uint8_t *[]){weights[0], weights[1], weights[2]}, &e), "%s",
              e.text);
        const PageGroup *cross = &x.group[2];
        int maps = cross->layers * cross->heads;
        for (long i = 0; i < n; i++, all++) {
            bool found = false;
            for (int map = 0; map < maps; map++) {
                const uint8_t *weight = weights[2] + (map * cross->rows + i) * n;
                long best = 0;
                for (long j = 1; j < n; j++)
                    if (weight[j] > weight[best]) best = j;
                found |= best == n - 1 - i;
            }
            right += found;
        }
    }
    printf("  reverse: at %ld of %ld target positions (%.1f %%) a head attends most to the mirrored source\n",
           right, all, 100. * (double)right / (double)all);
    CHECK(all > 0 && 10 * right >= 9 * all, "%ld of %ld", right, all);
    batch_free(b);
    lesson_end(&l);
}

/* Rounded to whole percents, a row's weights sum to 1 up to half a unit each. */
static void check_rows(const PageExample *x, uint8_t *const weights[PAGE_GROUPS]) {
    for (int g = 0; g < x->groups; g++)
        for (int map = 0; map < x->group[g].layers * x->group[g].heads; map++)
            for (long i = 0; i < x->group[g].rows; i++) {
                long n = page_row_weights(&x->group[g], i), sum = 0, columns = x->group[g].columns;
                for (long j = 0; j < n; j++) sum += weights[g][(map * x->group[g].rows + i) * columns + j];
                CHECK(labs(sum - 100) <= (n + 1) / 2, "group %d, map %d, row %ld sums to %ld", g, map, i,
                      sum);
            }
}

TEST(every_row_of_a_map_is_a_distribution) {
    int32_t source[] = {3, 1, 4, 1, 5}, target[] = {0, 2, 6, 5, 3, 5, 1}, likeliest[7];
    ModelConfig configs[] = {config_seq2seq(9, 16, NO_PAD), config_language_model(9, 16)};
    Error e = {0};
    Tape *t = tape_new();
    for (int i = 0; i < 2; i++) {
        bool lm = config_is_lm(&configs[i]);
        Model *m = model_new(&configs[i], false, 1, &e);
        PageExample x;
        attention_example(&x, &configs[i], lm ? NULL : source, lm ? 0 : 5, target, 7);
        CHECK(x.groups == (lm ? 1 : 3));
        CHECK(page_weights(&x) == (lm ? 4 * 4 * 28 : 2 * 4 * (25 + 28 + 35)), "%ld weights",
              page_weights(&x));
        uint8_t *weights[PAGE_GROUPS] = {0};
        for (int g = 0; g < x.groups; g++) weights[g] = calloc((size_t)page_group_size(&x.group[g]), 1);
        CHECK(look(&x, t, m, weights, &e) && attention_likeliest(&x, t, m, likeliest, &e), "%s", e.text);
        check_rows(&x, weights);
        for (int g = 0; g < x.groups; g++) free(weights[g]);
        model_free(m);
    }
    tape_free(t);
}

RUN_TESTS
