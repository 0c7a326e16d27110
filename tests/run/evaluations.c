/* The held-out curve: every evaluation judges the same rows, of the whole tail, so that its
 * values can be compared. */
#include "base/interrupt.h"
#include "child.h"
#include "record_lines.h"
#include "run/run.h"
#include <math.h>

#define TINY  "--layers", "1", "--heads", "2", "--d-model", "16"
#define COPY  "copy", TINY, "--max-length", "4"
#define STILL "--preset", "gpt", "--lr", "1e-30", "--schedule", "constant", "--dropout", "0"

/* A text whose end is another language than its middle: rows of one part do not stand for all. */
static void write_two_languages(void) {
    FILE *f = fopen("text", "w");
    if (!f) exit(1);
    for (int i = 0; i < 2000; i++) fputs("the cat sat on the mat, \n", f);
    for (int i = 0; i < 100; i++) fputs("ZZZZZZ QQQQQQQ XXXXXX 77\n", f);
    fclose(f);
}

/* The held-out losses of a run's evaluations, at most `max`; returns their number. */
static int losses_of(const char *run, double *loss, int max) {
    char path[100];
    size_t size;
    int count = 0;
    snprintf(path, sizeof path, "%s/run.jsonl", run);
    char *record = read_bytes(path, &size);
    const char *line = find_event(record ? record : "", "evaluation");
    while (line && count < max) {
        loss[count++] = number(line, "val_loss");
        line = find_event(next_line(line), "evaluation");
    }
    free(record);
    return count;
}

/* A model that does not change has the same held-out loss at every evaluation on the way, with
 * every batch. The last evaluation is of all held-out data and near it. */
TEST(the_same_rows_every_time) {
    static const char *const batches[] = {"1", "7", "64"};
    double first = NAN, loss[4];
    write_two_languages();
    for (int i = 0; i < 3; i++) {
        MUST(TRAIN("lm", TINY, STILL, "--text", "text", "--tokenizer", "byte", "--context", "16",
                   "--batch", batches[i], "--steps", "5", "--eval-every", "2", "--run", batches[i],
                   "--quiet"));
        CHECK(losses_of(batches[i], loss, 4) == 3);
        if (i == 0) first = loss[0];
        CHECK(loss[0] == first && loss[1] == first, "batch %s: %.6f, %.6f, first %.6f", batches[i],
              loss[0], loss[1], first);
        CHECK(loss[2] != first && fabs(loss[2] - first) < 0.05,
              "all held-out data %.6f, %.6f on the way", loss[2], first);
    }
}

static void (*add_held_out_row)(const Task *task, long row, Batch *b);
static long rows_until_signal;

static void add_row_and_interrupt(const Task *task, long row, Batch *b) {
    if (rows_until_signal-- == 0) raise(SIGINT);
    add_held_out_row(task, row, b);
}

/* Ctrl-C in the last evaluation, or in the answers after it, ends each with the micro-batch at
 * hand. */
TEST(a_signal_ends_the_last_evaluation) {
    enum { ROWS = 4, HELD_OUT = 60 };
    Error e = {0};
    TaskOptions o = task_defaults();
    o.held_out = HELD_OUT;
    Task *task = task_open("reverse", &o, &e);
    ModelConfig c = config_seq2seq((int)task->vocab_size, (int)task->max_T, task->pad_id);
    TrainConfig config = {.quiet = true};
    Trainer t = {.model = model_new(&c, true, 1, &e),
                 .task = task,
                 .optimizer = optim_default(&optimizer_sgd),
                 .schedule = {.kind = &schedule_constant, .rate = 1},
                 .rows = ROWS,
                 .accumulate = 1};
    CHECK(trainer_start(&t, &e), "%s", e.text);
    add_held_out_row = task->add_held_out_row;
    task->add_held_out_row = add_row_and_interrupt;
    for (int during_answers = 0; during_answers < 2; during_answers++) {
        Evaluation v;
        double exact;
        Pace pace = {0};
        Run r = {.config = &config, .trainer = &t, .pace = &pace};
        rows_until_signal = 9 + during_answers * HELD_OUT;
        interrupt_heed();
        CHECK(run_evaluate_last(&r, &v, &exact, &e), "%s", e.text);
        interrupt_leave();
        CHECK(v.rows == (during_answers ? HELD_OUT : 12) && r.answers == (during_answers ? 12 : 4),
              "%ld rows, %ld answers", v.rows, r.answers);
    }
    trainer_stop(&t);
    model_free(t.model);
    task_free(task);
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
        {"0", NULL},
        {"0.25", "The training loss is with dropout 0.25, the held-out loss without."}};
    for (int i = 0; i < 2; i++) {
        size_t size;
        MUST(TRAIN(COPY, "--steps", "3", "--held-out", "30", "--dropout", cases[i][0],
                   "--label-smoothing", "0", "--force"));
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
    CHECK(TRAIN("--resume", "a b's") == 0 && strstr(err, "train --resume 'a b'\\''s' --steps N\n"),
          "%s", err);
}

RUN_PROGRAM_TESTS
