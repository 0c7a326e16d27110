/* A run saves its weights whatever happens, and reports obstacles before the training. */
#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "record_lines.h"
#include "run/run.h"
#include "run_helpers.h"
#include <errno.h>

enum { FOREVER = 60 * PATIENCE }; /* seconds */
#define ENDLESS "--steps", "2147483647", "--eval-every", "2147483647"

/* Waits for a file that is not empty: the run has locked its directory. False: timeout. */
static bool appears(const char *path) {
    double end = clock_seconds() + FOREVER;
    struct stat s;
    while (clock_seconds() < end) {
        if (stat(path, &s) == 0 && s.st_size > 0) return true;
        sleep_ms(2);
    }
    return false;
}

/* ---- Steps ---- */

/* Ctrl-C between two micro-batches ends the training before that step. */
TEST(within_a_step) {
#define SLOW "--accumulate", "100000", "--schedule", "constant"
    Child t = START(COPY, SLOW, "--steps", "1", "--run", "run");
    CHECK(appears("run/run.jsonl"));
    sleep_ms(400);
    kill(t.pid, SIGINT);
    int status = end_program(t);
    CHECK(status == 128 + SIGINT, "status %d: %s", status, err);
    Error e = {0};
    Checkpoint c;
    CHECK(checkpoint_open(&c, "run", &e) && c.state.step == 0, "%s, step %ld", e.text,
          c.state.step);
    checkpoint_free(&c);
    MUST(TRAIN(COPY, "--steps", "0", "--run", "none"));
    CHECK(same_files("run/model.safetensors", "none/model.safetensors"));
}

/* ---- Saving ---- */

/* With --force all files of the old run stay until the first file of the new run is written. */
TEST(the_old_run_stands) {
    MUST(TRAIN(COPY, "--steps", "2", "--run", "run"));
    char *before = strdup(list_folder("run"));
    Child t = START(COPY, ENDLESS, "--run", "run", "--force");
    CHECK(appears("run/.model.safetensors.tapeformer-tmp"));
    kill(t.pid, SIGKILL);
    CHECK(end_program(t) == 128 + SIGKILL, "%s", err);
    unlink("run/.model.safetensors.tapeformer-tmp");
    char *after = strdup(list_folder("run"));
    CHECK(!strcmp(before, after), "before\n%s\nafter\n%s", before, after);
    /* A run that is stopped within its first step does not replace the old one. */
    t = START(COPY, ENDLESS, "--accumulate", "100000", "--run", "run", "--force");
    CHECK(appears("run/.model.safetensors.tapeformer-tmp"));
    kill(t.pid, SIGINT);
    CHECK(end_program(t) == 128 + SIGINT, "%s", err);
    CHECK(!strcmp(before, list_folder("run")), "before\n%s\nafter\n%s", before, listing);
    free(before);
    free(after);
    MUST(TRAIN(COPY, "--steps", "3", "--eval-every", "9", "--run", "run", "--force"));
    CHECK(!strcmp(steps_of("run/run.jsonl", "evaluation"), "3 ") &&
              lines_of(list_folder("run")) == 6,
          "%s", listing);
}

/* A run is saved before its final evaluation, which here takes far longer than the training. */
TEST(saved_before_it_is_judged) {
    write_cat_text("text", 300000);
    Child t = START(LM, "--tokenizer", "byte", "--tail", "0.9", "--steps", "1", "--run", "run",
                    "--d-model", "64", "--layers", "3");
    CHECK(appears("run/model.safetensors"));
    CHECK(events_in("run/run.jsonl", "evaluation") == 0);
    /* The directory stays locked until the evaluation ends, which is said before a text is read. */
    CHECK(rename("text", "moved") == 0);
    CHECK(TRAIN("--resume", "run", "--steps", "2", "--quiet") == 73, "%s", err);
    CHECK(!strcmp(err, "train: run/model.safetensors: another process is writing it\n"), "%s", err);
    CHECK(end_program(t) == 0, "%s", err);
    CHECK(events_in("run/run.jsonl", "evaluation") == 1);
}

/* Exit status of a process that gets a signal three times, `pause` milliseconds apart. */
static int asked_thrice(int signal_number, long pause) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        interrupt_heed();
        for (int i = 0; i < 3; i++) {
            if (i) sleep_ms(pause);
            raise(signal_number);
        }
        int came = interrupt_signal();
        interrupt_leave();
        _exit(came == signal_number && interrupt_signal() == 0 ? 0 : 1);
    }
    return wait_program(child);
}

/* Signals in quick succession count as one: `timeout` and a closing terminal send two. A later
 * second SIGINT or SIGTERM ends the program at once; a second SIGHUP does not. */
TEST(asked_twice_at_once) {
    CHECK(asked_thrice(SIGINT, 0) == 0 && asked_thrice(SIGTERM, 0) == 0 &&
          asked_thrice(SIGHUP, 0) == 0);
    CHECK(asked_thrice(SIGINT, 600) == 128 + SIGINT && asked_thrice(SIGTERM, 600) == 128 + SIGTERM);
    CHECK(asked_thrice(SIGHUP, 600) == 0);
    Child t = START(COPY, ENDLESS, "--run", "run");
    CHECK(appears("run/run.jsonl"));
    sleep_ms(50);
    for (int i = 0; i < 20; i++) {
        kill(t.pid, SIGHUP);
        sleep_ms(1);
    }
    CHECK(end_program(t) == 128 + SIGHUP, "%s", err);
    CHECK(events_in("run/run.jsonl", "evaluation") == 1 &&
          access("run/checkpoint.safetensors", F_OK) == 0);
}

/* ---- The last evaluation ---- */

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

/* ---- Places ---- */

/* If a run's directory is moved and another run takes its place, that run is not touched; the
 * moved directory keeps the weights. */
TEST(a_moved_folder) {
    Child t = START(COPY, ENDLESS, "--run", "run", "--checkpoint-every", "100");
    CHECK(appears("run/run.jsonl") && rename("run", "moved") == 0);
    MUST(TRAIN(COPY, "--steps", "2", "--run", "run"));
    char *before = strdup(list_folder("run"));
    sleep_ms(50);
    kill(t.pid, SIGINT);
    CHECK(end_program(t) == 73, "%s", err);
    CHECK(strstr(err, "train: run: the run's directory was moved, and another is in its place\n"),
          "%s", err);
    CHECK(!strcmp(before, list_folder("run")), "before\n%s\nafter\n%s", before, listing);
    CHECK(access("moved/model.safetensors", F_OK) == 0);
    free(before);
}

/* A directory deleted during training is made again, also with --force. */
static void deleted_folder_of(bool replaced) {
    Child t = START(COPY, ENDLESS, "--run", "run", "--force");
    CHECK(appears(replaced ? "run/.model.safetensors.tapeformer-tmp" : "run/run.jsonl"));
    sleep_ms(50);
    CHECK(system("rm -r run") == 0);
    kill(t.pid, SIGTERM);
    int status = end_program(t);
    CHECK(status == 128 + SIGTERM, "status %d: %s", status, err);
    MUST(GENERATE("run", "--prompt", "12"));
    CHECK(events_in("run/run.jsonl", "evaluation") == 1 && lines_of(list_folder("run")) == 5, "%s",
          listing);
}

TEST(a_deleted_folder) {
    deleted_folder_of(false);
    deleted_folder_of(true);
}

/* Kills a run after so many lines of its record, which it prints into a pipe: it cannot be further
 * ahead than the pipe holds. Its status. */
static int killed_after(const char *const *arguments, int lines, int signal_number) {
    int ends[2];
    bool piped = pipe(ends) == 0 && fcntl(ends[0], F_SETPIPE_SZ, 4096) > 0;
    CHECK(piped, "%s", strerror(errno));
    Child t = start_program("train", arguments, (Streams){.pipe = ends[1]});
    close(ends[1]);
    char c;
    while (lines > 0 && read(ends[0], &c, 1) == 1) lines -= c == '\n';
    if (lines == 0) kill(t.pid, signal_number); /* else it has closed its output, and ends */
    while (read(ends[0], &c, 1) == 1) continue;
    close(ends[0]);
    return end_program(t);
}

/* A run that is killed by any signal, again and again, and resumed with other numbers of threads
 * has each step once and in order, the weights of an uninterrupted one, and no temporary file. */
TEST(killed_at_any_moment) {
    static const int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGKILL};
#define KILLED COPY, "--steps", "120", "--eval-every", "10", "--checkpoint-every", "7", "--json"
    char want[600] = "";
    for (int i = 1; i <= 120; i++) sprintf(want + strlen(want), "%d ", i);
    MUST(TRAIN(KILLED, "--run", "whole"));
    uint32_t random = 7;
    for (int runs = 0; runs < 3; runs++) {
        int kills = 0, status = -1;
        CHECK(system("rm -rf run") == 0);
        while (status && kills < 60) {
            bool resumes = access("run/checkpoint.safetensors", F_OK) == 0;
            const char *threads = kills % 2 ? "1" : "2";
            random = random * 1664525 + 1013904223;
            status = killed_after(
                resumes ? ARGUMENTS("--resume", "run", "--quiet", "--json", "--threads", threads)
                        : ARGUMENTS(KILLED, "--run", "run", "--force"),
                3 + (int)(random >> 16) % 40, signals[kills % 5]);
            CHECK(status == 0 || status == 128 + signals[kills % 5], "status %d: %s", status, err);
            kills += status != 0;
        }
        CHECK(status == 0 && kills > 0, "status %d after %d kills", status, kills);
        CHECK(same_files("run/model.safetensors", "whole/model.safetensors"));
        CHECK(!strcmp(steps_of("run/run.jsonl", "step"), want), "%s",
              steps_of("run/run.jsonl", "step"));
        CHECK(!strcmp(steps_of("run/run.jsonl", "evaluation"),
                      "10 20 30 40 50 60 70 80 90 100 110 120 "),
              "%s", steps_of("run/run.jsonl", "evaluation"));
        CHECK(system("test -z \"$(find run -name '.*tmp')\"") == 0, "%s", list_folder("run"));
    }
}

RUN_PROGRAM_TESTS
