/* The held-out curve: every evaluation judges the same rows, of the whole tail, so that its values can be compared. */
#include "child.h"
#include "run/csv.h"
#include <math.h>

#define TINY  "--layers", "1", "--heads", "2", "--d-model", "16"
#define COPY  "copy", TINY, "--max-length", "4"
#define STILL "--preset", "gpt", "--lr", "1e-30", "--schedule", "constant", "--dropout", "0"

/* A text whose end is another language than its middle: rows of one part do not stand for all. */
static void write_two_languages(void) {
    FILE *f = fopen("text", "w");
    for (int i = 0; f && i < 2000; i++) fputs("the cat sat on the mat, \n", f);
    for (int i = 0; f && i < 100; i++) fputs("ZZZZZZ QQQQQQQ XXXXXX 77\n", f);
    if (f) fclose(f);
}

static Csv metrics_of(const char *path) {
    Csv t;
    Error e = {0};
    CHECK(csv_read(&t, path, &e), "%s", e.text);
    return t;
}

/* A model that does not change has the same held-out loss at every evaluation, the last one too, and with every batch. It is
 * near that of all held-out data, which has a column of its own. */
TEST(the_same_rows_every_time) {
    static const char *const batches[] = {"1", "7", "64"};
    double first = NAN;
    write_two_languages();
    for (int i = 0; i < 3; i++) {
        MUST(TRAIN("lm", TINY, STILL, "--text", "text", "--tokenizer", "byte", "--context", "16", "--batch",
                   batches[i], "--steps", "5", "--eval-every", "2", "--run", batches[i], "--quiet"));
        Csv t = metrics_of(i == 0 ? "1/metrics.csv" : i == 1 ? "7/metrics.csv" : "64/metrics.csv");
        const double *loss = csv_column(&t, "val_loss"), *all = csv_column(&t, "final_loss");
        CHECK(t.rows == 3 && loss && all, "%ld rows", t.rows);
        if (i == 0) first = loss[0];
        for (long row = 0; row < t.rows; row++) {
            CHECK(loss[row] == first, "batch %s: %.6f, first %.6f", batches[i], loss[row], first);
            CHECK(isnan(all[row]) == (row < 2), "row %ld: %g", row, all[row]);
        }
        CHECK(all[2] != first && fabs(all[2] - first) < 0.05, "all held-out data %.6f, %.6f on the way",
              all[2], first);
        csv_free(&t);
    }
}

/* The drawn tasks, too. */
TEST(the_same_sequences_every_time) {
    double first = NAN;
    for (int i = 0; i < 2; i++) {
        MUST(TRAIN(COPY, STILL, "--held-out", "700", "--symbols", "9", "--batch", i ? "64" : "2", "--steps",
                   "2", "--eval-every", "1", "--run", "run", "--force", "--quiet"));
        Csv t = metrics_of("run/metrics.csv");
        const double *loss = csv_column(&t, "val_loss"), *all = csv_column(&t, "final_loss");
        if (i == 0) first = loss[0];
        CHECK(t.rows == 2 && loss[0] == first && loss[1] == first && all[1] != first, "%.6f, %.6f", loss[0],
              loss[1]);
        csv_free(&t);
    }
}

/* The weights of the last step may be the best; the last line of progress is about them. */
TEST(the_last_step_may_be_the_best) {
    MUST(TRAIN(COPY, "--held-out", "30", "--steps", "30", "--eval-every", "7", "--batch", "8"));
    CHECK(same_files("runs/copy/best.safetensors", "runs/copy/model.safetensors"));
    CHECK(strstr(err, "\ncopy 30/30  loss ") && strstr(err, " at 30  "), "%s", err);
}

/* A line, and the page, say so if the training loss is another function than the held-out loss. */
TEST(losses_that_are_not_the_same_function) {
    static const char *const cases[][2] = {
        {"0", NULL}, {"0.25", "The training loss is with dropout 0.25, the held-out loss without."}};
    for (int i = 0; i < 2; i++) {
        size_t size;
        MUST(TRAIN(COPY, "--steps", "3", "--held-out", "30", "--dropout", cases[i][0], "--label-smoothing",
                   "0", "--force"));
        CHECK(i ? strstr(err, cases[i][1]) != NULL : !strstr(err, "The training loss"), "%s", err);
        char *page = read_bytes("runs/copy/report.html", &size);
        CHECK(page && (i ? strstr(page, cases[i][1]) != NULL : !strstr(page, "The training loss")));
        free(page);
    }
    CHECK(TRAIN(COPY, "--steps", "3", "--held-out", "30", "--force") == 0 &&
              strstr(err, "is with dropout 0.1 and label smoothing 0.1, the"),
          "%s", err);
}

/* A folder's name is quoted in the commands that a run prints. */
TEST(commands_are_quoted) {
    MUST(TRAIN(COPY, "--steps", "3", "--held-out", "30", "--run", "a b's"));
    CHECK(strstr(err, "generate 'a b'\\''s'\n"), "%s", err);
    CHECK(TRAIN("--resume", "a b's") == 0 && strstr(err, "train --resume 'a b'\\''s' --steps N\n"), "%s",
          err);
}

RUN_PROGRAM_TESTS
