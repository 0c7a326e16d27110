/* Batches and sequence tasks: rows are what the tasks say they are, and training never sees what is
 * held out.
 */
#include "expect_bug.h"
#include "task_helpers.h"
#include "tasks/sequence_task.h"
#include "tasks/yardsticks.h"

/* A number for a sequence, different for different sequences of up to 12 symbols below 20. */
static long code(const int32_t *x, long n) {
    long code = 0;
    for (long i = 0; i < n; i++) code = code * 21 + x[i] + 1;
    return code;
}

/* ---- batch ---- */

TEST(teacher_forcing_and_packed_rows_by_hand) {
    Error e = {0};
    Batch *b = batch_new(3, 5, 6, &e);
    for (int round = 0; round < 2; round++) { /* the second over what the first left */
        batch_clear(b);
        CHECK(b->rows == 0 && batch_target_tokens(b) == 0);
        batch_teach(batch_add(b, 0, 3), 7, (int32_t[]){1, 2}, 8);
        BatchRow in_place = batch_add(b, 5, 4);
        CHECK(in_place.S == 5 && in_place.T == 4);
        for (int i = 0; i < 5; i++) in_place.source[i] = 20 + i;
        in_place.target_out[0] = 3;
        in_place.target_out[1] = 4;
        in_place.target_out[2] = 5;
        batch_teach(in_place, 7, in_place.target_out, 8);
        batch_teach(batch_add(b, 1, 1), 7, (int32_t[]){0}, 8);
        static const int32_t in[] = {7, 1, 2, 7, 3, 4, 5, 7}, out[] = {1, 2, 8, 3, 4, 5, 8, 8};
        CHECK(b->rows == 3 && batch_target_tokens(b) == 8);
        CHECK(!memcmp(b->target_in, in, sizeof in));
        CHECK(!memcmp(b->target_out, out, sizeof out));
        CHECK(!memcmp(b->source_start, (long[]){0, 0, 5, 6}, 4 * sizeof(long)));
        CHECK(!memcmp(b->target_start, (long[]){0, 3, 7, 8}, 4 * sizeof(long)));
        BatchRow again = batch_row(b, 1);
        CHECK(again.source == in_place.source && again.source[4] == 24 && again.S == 5 &&
              again.T == 4);
    }
    batch_free(b);
}

TEST(a_batch_that_no_memory_holds_is_refused) {
    Error e = {0};
    CHECK(!batch_new(INT64_MAX / 2, 3, 4, &e) && e.status == STATUS_NO_MEMORY, "%s", e.text);
}

/* ---- sequence tasks ---- */

static bool same_source(BatchRow x, BatchRow y) {
    return x.S == y.S && !memcmp(x.source, y.source, (size_t)x.S * sizeof(int32_t));
}

/* Everything that a row of a sequence task promises, against the definition of each task. */
static void check_row(const Task *task, BatchRow row) {
    long n = row.S, symbols = task->vocab_size - 3;
    const int32_t *x = row.source, *in = row.target_in, *out = row.target_out;
    CHECK(n >= 1 && n <= task->max_S && row.T == n + 1);
    CHECK(task->begin_id == symbols && task->end_id == symbols + 1 && task->pad_id == symbols + 2);
    CHECK(in[0] == task->begin_id && out[n] == task->end_id);
    for (long i = 0; i < n; i++) {
        CHECK(x[i] >= 0 && x[i] < symbols, "symbol %d", (int)x[i]);
        CHECK(in[i + 1] == out[i]);
        if (!strcmp(task->name, "copy")) CHECK(out[i] == x[i]);
        if (!strcmp(task->name, "reverse")) CHECK(out[i] == x[n - 1 - i]);
        if (strcmp(task->name, "sort")) continue;
        long smaller = 0, equal = 0; /* the i-th of the sorted has at most i smaller ones, and with
                                        its equals more */
        for (long j = 0; j < n; j++) {
            smaller += x[j] < out[i];
            equal += x[j] == out[i];
        }
        CHECK(smaller <= i && i < smaller + equal);
    }
}

static void check_batch(const Task *task, const Batch *b) {
    for (long r = 0; r < b->rows; r++) check_row(task, batch_row(b, r));
}

TEST(rows_hold_question_answer_and_specials) {
    static const char *const names[] = {"copy", "reverse", "sort"};
    static const long shapes[][2] = {{2, 1}, {2, 7}, {3, 4}, {15, 16}, {61, 16}, {300, 40}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 6; k++) {
            Task *task = opened(names[i], small(shapes[k][0], shapes[k][1], 100, 1));
            CHECK(!strcmp(task->name, names[i]) && task->vocab_size == shapes[k][0] + 3);
            CHECK(task->max_S == shapes[k][1] && task->max_T == shapes[k][1] + 1);
            CHECK(task->tokenizer->size == shapes[k][0]);
            Batch *b = batch_for(task, 64);
            for (uint64_t step = 0; step < 20; step++) {
                task_training_batch(task, step, 0, 64, b);
                CHECK(b->rows == 64);
                check_batch(task, b);
            }
            long first = 0, rows = task_held_out_batch(task, first, 64, b);
            while (rows) {
                CHECK(rows == b->rows && (rows == 64 || first + rows == task->held_out));
                check_batch(task, b);
                first += rows;
                rows = task_held_out_batch(task, first, 64, b);
            }
            CHECK(first == task->held_out);
            batch_free(b);
            task_free(task);
        }
}

/* Draws all sequences of a few symbols: training and held-out rows have none in common and together
 * are all. Does not ask the task on which side a sequence is. */
TEST(training_and_held_out_are_disjoint_and_complete) {
    static char side[21 * 21 * 21 * 21];
    static const struct {
        long symbols, longest, all, held_out;
    } cases[] = {{3, 4, 3 + 9 + 27 + 81, 1 + 3 + 9 + 27}, {2, 1, 2, 1}, {2, 2, 2 + 4, 1 + 2}};
    for (uint64_t seed = 1; seed <= 5; seed++)
        for (int i = 0; i < 3; i++) {
            memset(side, 0, sizeof side);
            Task *task = opened("sort", small(cases[i].symbols, cases[i].longest, 1000, seed));
            Batch *b = batch_for(task, 100);
            long training = 0, held_out = cases[i].held_out;
            for (uint64_t step = 0; step < 100; step++) {
                task_training_batch(task, step, 0, 100, b);
                for (long r = 0; r < b->rows; r++) {
                    BatchRow row = batch_row(b, r);
                    char *seen = &side[code(row.source, row.S)];
                    training += !*seen;
                    *seen = 1;
                }
            }
            char remark[100];
            sprintf(remark, "sort: --held-out is %ld, not 1000: no more such sequences exist\n",
                    held_out);
            CHECK(task->held_out == held_out && !strcmp(task->remark, remark), "%ld %s",
                  task->held_out, task->remark);
            CHECK(task_held_out_batch(task, 0, 100, b) == held_out);
            for (long r = 0; r < b->rows; r++) {
                BatchRow row = batch_row(b, r);
                char *seen = &side[code(row.source, row.S)];
                CHECK(*seen == 0, "row %ld was %s", r,
                      *seen == 1 ? "trained on" : "held out before");
                *seen = 2;
            }
            CHECK(training == cases[i].all - held_out, "%ld different sequences were trained on",
                  training);
            batch_free(b);
            task_free(task);
        }
}

/* The default task, seeds 1 to 5: 1000 different held-out sequences, 62 or more of every length
 * that has them, in an order whose beginning shows short and long. */
TEST(the_default_held_out_set_seeds_1_to_5) {
    for (uint64_t seed = 1; seed <= 5; seed++) {
        TaskOptions o = task_defaults();
        o.seed = seed;
        Task *task = opened("copy", o);
        Batch *b = batch_for(task, 1000);
        CHECK(task->vocab_size == 64 && task->max_S == 16 && task->held_out == 1000);
        CHECK(task_held_out_batch(task, 0, 1000, b) == 1000);
        long of_length[17] = {0}, short_ones = 0;
        for (long r = 0; r < 1000; r++) {
            BatchRow row = batch_row(b, r);
            of_length[row.S]++;
            short_ones += r < 100 && row.S <= 8;
            CHECK(task_sequence_held_out(task, row.source, row.S));
            for (long q = 0; q < r; q++) CHECK(!same_source(row, batch_row(b, q)));
        }
        CHECK(of_length[1] == 7, "%ld of length 1", of_length[1]);
        for (int n = 2; n <= 16; n++)
            CHECK(of_length[n] >= 62, "%ld of length %d", of_length[n], n);
        CHECK(short_ones > 25 && short_ones < 65, "%ld of the first 100 are short", short_ones);
        batch_free(b);
        task_free(task);
    }
}

/* Another seed splits another way, and draws other held-out sequences. */
TEST(another_seed_another_split) {
    Task *one = opened("copy", small(61, 16, 1000, 1)),
         *two = opened("copy", small(61, 16, 1000, 2));
    Batch *a = batch_for(one, 1000), *b = batch_for(two, 1000);
    task_held_out_batch(one, 0, 1000, a);
    task_held_out_batch(two, 0, 1000, b);
    long both = 0, other = 0;
    for (long r = 0; r < 1000; r++) {
        BatchRow row = batch_row(a, r);
        both += task_sequence_held_out(two, row.source, row.S);
        other += !same_source(row, batch_row(b, r));
    }
    CHECK(both > 50 && both < 200,
          "%ld of 1000 are held out with either seed, want about 1000 · 7 / 61", both);
    CHECK(other > 900, "%ld of 1000 held-out sequences differ", other);
    /* Row by row the lengths, which no split touches, agree as often as chance has it. */
    task_training_batch(one, 0, 0, 1000, a);
    task_training_batch(two, 0, 0, 1000, b);
    long same = 0;
    for (long r = 0; r < 1000; r++) same += batch_row(a, r).S == batch_row(b, r).S;
    CHECK(same < 125, "%ld of 1000 training rows have the same length, want about 1000 / 16", same);
    batch_free(a);
    batch_free(b);
    task_free(one);
    task_free(two);
}

/* Chi-squared of counts against a uniform distribution, minus its mean, over its standard
 * deviation. */
static double surprise(const long *count, long cells) {
    double total = 0, chi = 0;
    for (long i = 0; i < cells; i++) total += (double)count[i];
    double want = total / (double)cells, freedom = (double)cells - 1;
    for (long i = 0; i < cells; i++)
        chi += ((double)count[i] - want) * ((double)count[i] - want) / want;
    return (chi - freedom) / sqrt(2 * freedom);
}

/* Lengths are uniform; at length 2, small enough to count, so is every sequence of the training
 * side; at lengths so long that the held-out ones leave no trace, so is the symbol at every place,
 * the first included, which is solved for, and so are the first two together. */
TEST(training_rows_are_uniform) {
    enum { SYMBOLS = 19, RESERVED = 2, LONGEST = 6, ROWS = 1000, STEPS = 200 };
    for (uint64_t seed = 1; seed <= 5; seed++) {
        Task *task = opened("copy", small(SYMBOLS, LONGEST, 10, seed));
        Batch *b = batch_for(task, ROWS);
        long length[LONGEST] = {0}, place[LONGEST][SYMBOLS] = {{0}};
        long two[SYMBOLS * SYMBOLS] = {0}, first_two[SYMBOLS * SYMBOLS] = {0};
        for (uint64_t step = 0; step < STEPS; step++) {
            task_training_batch(task, step, 0, ROWS, b);
            for (long r = 0; r < ROWS; r++) {
                const int32_t *x = batch_row(b, r).source;
                long n = batch_row(b, r).S;
                length[n - 1]++;
                if (n == 2) two[x[0] * SYMBOLS + x[1]]++;
                if (n < 5) continue;
                for (long i = 0; i < n; i++) place[i][x[i]]++;
                first_two[x[0] * SYMBOLS + x[1]]++;
            }
        }
        long drawn = 0;
        for (long i = 0; i < SYMBOLS * SYMBOLS; i++)
            if (two[i]) two[drawn++] = two[i];
        CHECK(drawn == SYMBOLS * (SYMBOLS - RESERVED), "%ld different ones of length 2", drawn);
        CHECK(fabs(surprise(two, drawn)) < 4, "%g", surprise(two, drawn));
        CHECK(fabs(surprise(length, LONGEST)) < 4, "%g", surprise(length, LONGEST));
        for (int i = 0; i < LONGEST; i++)
            CHECK(fabs(surprise(place[i], SYMBOLS)) < 4, "place %d: %g", i,
                  surprise(place[i], SYMBOLS));
        CHECK(fabs(surprise(first_two, SYMBOLS * SYMBOLS)) < 4, "%g",
              surprise(first_two, SYMBOLS * SYMBOLS));
        batch_free(b);
        task_free(task);
    }
}

static bool same_row(const Batch *a, long r, const Batch *b, long q) {
    BatchRow x = batch_row(a, r), y = batch_row(b, q);
    size_t target = (size_t)x.T * sizeof(int32_t);
    return same_source(x, y) && x.T == y.T && !memcmp(x.target_in, y.target_in, target) &&
           !memcmp(x.target_out, y.target_out, target);
}

/* A row is a function of (seed, step, row): whatever was drawn before, however the rows are cut
 * into batches, and by whichever opening of the task. Steps and rows differ from one another. */
TEST(a_row_depends_on_seed_step_and_row_alone) {
    static const char *const names[] = {"copy", "lm"};
    for (int i = 0; i < 2; i++) {
        Task *task = opened(names[i], task_defaults()), *other = opened(names[i], task_defaults());
        Batch *whole = batch_for(task, 96), *part = batch_for(other, 96);
        for (long step = 5; step >= 0; step--) {
            task_training_batch(task, (uint64_t)step, 0, 96, whole);
            long first = 0, rows = 1;
            while (first < 96) {
                task_training_batch(other, (uint64_t)step, first, rows, part);
                for (long r = 0; r < rows; r++)
                    CHECK(same_row(whole, first + r, part, r), "%s", names[i]);
                first += rows;
                rows = 2 * rows < 96 - first ? 2 * rows : 96 - first;
            }
            task_training_batch(other, (uint64_t)step + 1, 0, 96, part);
            long same = 0;
            for (long r = 0; r < 96; r++)
                same += same_row(whole, r, part, r) + (r && same_row(whole, r, whole, r - 1));
            CHECK(same < 5, "%s: %ld rows again", names[i], same);
        }
        task_held_out_batch(task, 0, 96, whole);
        for (long r = 0; r < 96; r++) {
            CHECK(task_held_out_batch(other, r, 1, part) == 1);
            CHECK(same_row(whole, r, part, 0), "%s", names[i]);
        }
        CHECK(task_held_out_batch(task, task->held_out, 8, whole) == 0);
        CHECK(task_held_out_batch(task, task->held_out - 3, 8, whole) == 3);
        batch_free(whole);
        batch_free(part);
        task_free(task);
        task_free(other);
    }
}

/* Rows that are asked for lie in the middles of as many equal parts of the held-out ones, however
 * they are cut into batches; if more are asked for than there are, they are all. */
TEST(rows_that_lie_evenly) {
    static const long counts[] = {1, 7, 48, 96, 5000};
    Task *task = opened("lm", task_defaults());
    Batch *rows = batch_for(task, 96), *row = batch_for(task, 1);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        long count = counts[i] < task->held_out ? counts[i] : task->held_out, seen = 0;
        long n = task_spread_batch(task, counts[i], seen, 1, rows);
        while (n) {
            for (long r = 0; r < n; r++) {
                task_held_out_batch(task, (2 * (seen + r) + 1) * task->held_out / (2 * count), 1,
                                    row);
                CHECK(same_row(rows, r, row, 0), "row %ld of %ld", seen + r, count);
            }
            seen += n;
            n = task_spread_batch(task, counts[i], seen, 96, rows);
        }
        CHECK(seen == count, "%ld rows of %ld", seen, count);
    }
    batch_free(rows);
    batch_free(row);
    task_free(task);
}

/* A guess is any of the symbols, or the end of the answer. */
TEST(a_guess_may_end_an_answer) {
    Error e = {0};
    Yardsticks y;
    Task *task = opened("copy", small(5, 4, 10, 1));
    CHECK(task_yardsticks(task, &y, &e) && y.count == 1, "%s", e.text);
    CHECK_NEAR(y.of[0].loss, log(5 + 1), 1e-12);
    task_free(task);
}

TEST(symbols_print_as_rising_characters) {
    Error e = {0};
    Task *task = opened("sort", small(65, 4, 10, 1));
    char *string = tokenizer_string(task->tokenizer, &e);
    CHECK(!strcmp(string, "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz一丁丂七"),
          "%s", string);
    char before[TOKEN_LABEL], now[TOKEN_LABEL];
    for (int32_t id = 1; id < 65; id++)
        CHECK(strcmp(tokenizer_label(task->tokenizer, id - 1, before),
                     tokenizer_label(task->tokenizer, id, now)) < 0);
    free(string);
    task_free(task);
}

TEST(tasks_refuse_options_out_of_range) {
    TaskOptions o = task_defaults();
    Error e = {0};
    CHECK(!task_open("cpoy\n", &o, &e));
    CHECK_ERROR(e, STATUS_USAGE,
                "task: found 'cpoy\\x0A', need one of copy, reverse, sort, add, pairs, lm");
    TaskOptions usual = o;
    const struct {
        const char *what;
        long *option, low, high;
    } ranges[] = {{"symbols", &o.symbols, 2, 20000},
                  {"longest sequence", &o.max_length, 1, 4096},
                  {"held-out rows", &o.held_out, 1, 10000},
                  {"digits", &o.digits, 1, 9},
                  {"context", &o.context, 1, 1048576}};
    for (int i = 0; i < 10; i++) {
        char want[100];
        long low = ranges[i / 2].low, high = ranges[i / 2].high, found = i % 2 ? high + 1 : low - 1;
        o = usual;
        *ranges[i / 2].option = found;
        e = (Error){0};
        sprintf(want, "copy: %s: found %ld, need %ld to %ld", ranges[i / 2].what, found, low, high);
        CHECK(!task_open("copy", &o, &e));
        CHECK_ERROR(e, STATUS_USAGE, want);
    }
    o = usual;
    o.validation = NAN;
    e = (Error){0};
    CHECK(!task_open("lm", &o, &e));
    CHECK_ERROR(e, STATUS_USAGE, "lm: held-out share: found nan, need one from 0 to less than 1");
    Task *task = opened("copy", small(2, 2, 1, 1));
    EXPECT_BUG("task_spread_batch: first is -1, rows 1, of 1, want at least 0",
               task_held_out_batch(task, -1, 1, NULL));
    EXPECT_BUG("task_spread_batch: first is 0, rows -1, of 1, want at least 0",
               task_held_out_batch(task, 0, -1, NULL));
    task_free(task);
    /* The largest and the smallest that are allowed work. */
    task_free(opened("reverse", small(20000, 1, 10000, 1)));
    task_free(opened("reverse", small(2, 4096, 10000, 1)));
}

RUN_TESTS
