/* A run saves its weights whatever happens, and reports obstacles before the training. */
#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "formats/safetensors.h"
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

/* The weights before a step that is not finite are saved. The first step makes all weights 9e17,
 * the limit of a model file; in the second, products of them overflow in float, not in double. */
TEST(before_a_bad_step) {
#define WILD "--schedule", "constant", "--lr", "9e17", "--d-ff", "512", "--eval-every", "100"
    int status = TRAIN(COPY, WILD, "--steps", "3", "--run", "run");
    if (sizeof(real) != sizeof(float)) return;
    CHECK(status == STATUS_NON_FINITE && !strncmp(err, "train: step 2: found a loss that is ", 36),
          "%d: %s", status, err);
    Error e = {0};
    Checkpoint c;
    CHECK(checkpoint_open(&c, "run", &e) && c.state.step == 1, "%s, step %ld", e.text,
          c.state.step);
    checkpoint_free(&c);
    CHECK(TRAIN(COPY, WILD, "--steps", "1", "--run", "one") == STATUS_NON_FINITE, "%s", err);
    CHECK(same_files("run/model.safetensors", "one/model.safetensors"), "%s", err);
}

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

/* After a bad step a save that fails is reported: the disk holds the model but no checkpoint, or
 * the weights before that step are themselves too large for a file. The message says whether an
 * earlier checkpoint stands. */
TEST(unsaved_after_a_bad_step) {
    if (sizeof(real) != sizeof(float)) return;
    static const struct {
        const char *rate;
        rlim_t limit;
        const char *said;
    } cases[] = {
        {"9e17", 120000,
         "not saved: run/checkpoint.safetensors: File too large; there is no checkpoint\n"},
        {"1e19", RLIM_INFINITY, "not saved: step 1: found a weight of "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enter_folder();
        struct rlimit before;
        getrlimit(RLIMIT_FSIZE, &before);
        signal(SIGXFSZ, SIG_DFL);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){cases[i].limit, before.rlim_max});
        int status = TRAIN(COPY, "--schedule", "constant", "--lr", cases[i].rate, "--d-ff", "512",
                           "--steps", "3", "--eval-every", "9", "--run", "run");
        setrlimit(RLIMIT_FSIZE, &before);
        CHECK(status == STATUS_NON_FINITE && strstr(err, cases[i].said), "%zu: status %d: %s", i,
              status, err);
    }
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

/* A limit on file sizes is reported before the first step, as a full disk is. */
TEST(no_room) {
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_DFL);
    int status = TRAIN(COPY, "--steps", "3", "--eval-every", "1", "--run", "limited");
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(status == STATUS_IO && strstr(err, "File too large"), "status %d: %s", status, err);
    CHECK(events_in("limited/run.jsonl", "step") == 0);
}

/* If the best model cannot be written, the run continues and is saved at its end. */
TEST(no_best_model) {
    CHECK(mkdir("run", 0777) == 0 && mkdir("run/best.safetensors", 0777) == 0);
    MUST(TRAIN(COPY, "--steps", "3", "--eval-every", "1", "--run", "run"));
    CHECK(!strncmp(err,
                   "no best model at step 1: run/best.safetensors: found a directory, need a "
                   "regular file\n",
                   84),
          "%s", err);
    CHECK(!strcmp(steps_of("run/run.jsonl", "evaluation"), "1 2 3 "), "%s",
          steps_of("run/run.jsonl", "evaluation"));
    CHECK(rmdir("run/best.safetensors") == 0);
    CHECK(TRAIN("--resume", "run", "--steps", "5", "--quiet") == 0 && !*err, "%s", err);
    CHECK(access("run/best.safetensors", F_OK) == 0 && GENERATE("run", "--prompt", "12") == 0, "%s",
          err);
}

/* A damaged line is reported and stays; the lines of the resumed run follow. */
TEST(a_damaged_line) {
    MUST(TRAIN(COPY, "--steps", "7", "--eval-every", "2", "--run", "run"));
    size_t size;
    char *record = read_bytes("run/run.jsonl", &size), *at = strstr(record, "\"step\": 4");
    *at = '!';
    write_text("run/run.jsonl", record);
    CHECK(TRAIN("--resume", "run", "--quiet", "--steps", "8") == 0, "%s", err);
    CHECK(!strcmp(err, "run/run.jsonl: line 16 is damaged\nrun/run.jsonl: found 6 steps, need the "
                       "7 of the checkpoint\n"),
          "%s", err);
    char *after = read_bytes("run/run.jsonl", &size);
    CHECK(!strncmp(after, record, strlen(record)) && strlen(after) > strlen(record));
    free(record);
    free(after);
}

/* What follows a checkpoint is written again, and a line that a kill has cut. */
TEST(lines_beyond_the_checkpoint) {
    MUST(TRAIN(COPY, "--steps", "7", "--eval-every", "2", "--run", "run"));
    FILE *f = fopen("run/run.jsonl", "a");
    fputs("{\"event\": \"step\", \"step\": 8, \"loss\": 1}\n{\"event\": \"step\", \"st", f);
    fclose(f);
    CHECK(TRAIN("--resume", "run", "--quiet", "--steps", "9") == 0 && !*err, "%s", err);
    CHECK(!strcmp(steps_of("run/run.jsonl", "step"), "1 2 3 4 5 6 7 8 9 "));
    CHECK(!strcmp(steps_of("run/run.jsonl", "evaluation"), "2 4 6 7 8 9 "));
    CHECK(!strcmp(steps_of("run/run.jsonl", "run"), "0 7 "));
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

/* ---- Resuming ---- */

/* --resume reports that a run is finished, that --steps is below its step, or that --steps
 * stretches a cosine; noam does not depend on --steps. */
TEST(steps_of_a_run_that_goes_on) {
#define LOUD                                                                                       \
    "copy", "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4", "--symbols", "5",   \
        "--held-out", "30"
    MUST(TRAIN(LOUD, "--steps", "10", "--warmup", "2", "--run", "run"));
    CHECK(
        TRAIN("--resume", "run") == 0 &&
            strstr(err,
                   "run is finished after 10 steps; to continue: ./train --resume run --steps N\n"),
        "%s", err);
    CHECK(TRAIN("--resume", "run", "--steps", "9") == STATUS_USAGE &&
              !strcmp(err, "train: --steps: found 9, need at least the 10 that run has made\n"),
          "%s", err);
    /* ½ 0.002 (1 + cos(π 7/8)), and ½ 0.002 (1 + cos(π 8/18)) */
    CHECK(
        TRAIN("--resume", "run", "--steps", "20") == 0 &&
            strstr(
                err,
                "the schedule now ends at step 20, not 10: the learning rate goes from 7.61e-05 to "
                "0.00117\n"),
        "%s", err);
    CHECK(!strstr(err, " 0 tok/s"), "a line before the first step: %s", err);
    CHECK(TRAIN("--resume", "run", "--steps", "20") == 0 && !strstr(err, "schedule"), "%s", err);
    CHECK(TRAIN(LOUD, "--steps", "5", "--schedule", "noam", "--run", "noam") == 0 &&
              TRAIN("--resume", "noam", "--steps", "9") == 0 && !strstr(err, "schedule"),
          "%s", err);
}

/* ---- Limits ---- */

/* Runs train with a limit on the stack, or else on open files. */
static int limited(bool stack, rlim_t limit) {
    struct rlimit before;
    stack ? getrlimit(RLIMIT_STACK, &before) : getrlimit(RLIMIT_NOFILE, &before);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        for (int fd = STDERR_FILENO + 1; fd < 64; fd++) close(fd);
        before.rlim_cur = limit;
        stack ? setrlimit(RLIMIT_STACK, &before) : setrlimit(RLIMIT_NOFILE, &before);
        int status = TRAIN(COPY, "--steps", "3", "--run", "run");
        write_text("said", err);
        _exit(status);
    }
    int status = wait_program(child);
    size_t size;
    char *said = read_bytes("said", &size);
    snprintf(err, sizeof err, "%s", said ? said : "");
    free(said);
    return status;
}

/* Too few open files, or too small a stack: one line before the first step. */
TEST(too_little) {
    for (rlim_t files = 6; files < 8; files++) {
        int status = limited(false, files);
        CHECK(status == STATUS_CANNOT_CREATE && lines_of(err) == 1 &&
                  strstr(err, "Too many open files"),
              "%d files, status %d: %s", (int)files, status, err);
    }
#ifndef SANITIZED /* a sanitizer's frames are larger */
    CHECK(limited(true, 192 << 10) == STATUS_NO_MEMORY &&
              !strcmp(err, "train: stack: found a limit of 192 KB, need 256 KB, see ulimit -s\n"),
          "%s", err);
#endif
}

/* ---- Texts ---- */

/* Installed programs call themselves and each other tapeformer-NAME. */
TEST(installed_names) {
    char link[PATH_MAX + 32], *folder_before = strdup(program_folder);
    for (int i = 0; i < 2; i++) {
        static const char *const names[] = {"train", "generate"};
        char to[32];
        snprintf(link, sizeof link, "%s/%s", program_folder, names[i]);
        snprintf(to, sizeof to, "tapeformer-%s", names[i]);
        CHECK(symlink(link, to) == 0);
    }
    snprintf(program_folder, sizeof program_folder, ".");
    CHECK(run_program("tapeformer-train", ARGUMENTS("copy", "--steps", "x"), (Streams){0}) == 2 &&
              !strncmp(err, "tapeformer-train: --steps: ", 27),
          "%s", err);
    CHECK(run_program("tapeformer-train", ARGUMENTS(LOUD, "--steps", "2", "--run", "run"),
                      (Streams){0}) == 0 &&
              strstr(err, "saved in run, for tapeformer-generate run\n"),
          "%s", err);
    CHECK(run_program("tapeformer-train", ARGUMENTS("--resume", "run"), (Streams){0}) == 0 &&
              strstr(err, "tapeformer-train --resume run"),
          "%s", err);
    size_t size;
    char *page = read_bytes("run/report.html", &size);
    CHECK(page && strstr(page, "\"command\": \"tapeformer-train copy ") &&
          !strstr(page, "./train"));
    free(page);
    CHECK(run_program("tapeformer-generate", ARGUMENTS("--help"), (Streams){0}) == 0 &&
              !strncmp(out, "Usage: tapeformer-generate ", 27) && strstr(out, "tapeformer-train") &&
              !strstr(out, "./train"),
          "%s", out);
    snprintf(program_folder, sizeof program_folder, "%s", folder_before);
    free(folder_before);
}

/* A byte-order mark and carriage returns are reported; --newline unix removes the latter. */
TEST(texts_from_elsewhere) {
    write_text("plain", "one line\nand another one\nand a third that is long enough\n");
    write_text("marked",
               "\xEF\xBB\xBFone line\r\nand another one\r\nand a third that is long enough\r\n");
#define SHORT                                                                                      \
    "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4", "--context", "4",           \
        "--steps", "2"
    MUST(TRAIN("lm", "--text", "marked", SHORT, "--run", "a"));
    CHECK(strstr(err, "marked: skipped a byte-order mark\n") &&
              strstr(err, "marked: kept 3 carriage returns as characters; --newline unix"),
          "%s", err);
    MUST(TRAIN("lm", "--text", "marked", "--newline", "unix", SHORT, "--run", "b"));
    CHECK(!strstr(err, "carriage"), "%s", err);
    MUST(TRAIN("lm", "--text", "plain", "--newline", "unix", SHORT, "--run", "c"));
    CHECK(same_files("b/model.safetensors", "c/model.safetensors"));
}

/* A finished run that was extended keeps all lines when it is resumed once more. */
TEST(a_run_extended_twice) {
    MUST(TRAIN(COPY, "--steps", "4", "--run", "extended"));
    MUST(TRAIN("--resume", "extended", "--steps", "8", "--quiet"));
    size_t before, after;
    char *record = read_bytes("extended/run.jsonl", &before);
    CHECK(TRAIN("--resume", "extended") == 0 && strstr(err, "is finished after 8 steps"), "%s",
          err);
    char *again = read_bytes("extended/run.jsonl", &after);
    CHECK(before == after && !memcmp(record, again, before), "%zu bytes, then %zu", before, after);
    free(record);
    free(again);
}

/* Section 3.4: embeddings are scaled if positions are sinusoids, also in a language model. */
TEST(sinusoids_do_not_drown_a_text) {
    write_text("text", "a text that is long enough for the context that is asked for, and for a "
                       "tail that is held out");
    static const char *const positions[] = {"learned", "sinusoidal"}, *const scaled[] = {"false",
                                                                                         "true"};
    for (int i = 0; i < 2; i++) {
        Safetensors s;
        Error e = {0};
        MUST(TRAIN(LM, "--steps", "0", "--positions", positions[i], "--run", positions[i]));
        CHECK(safetensors_read(&s, i ? "sinusoidal/model.safetensors" : "learned/model.safetensors",
                               &e),
              "%s", e.text);
        const char *found = safetensors_metadata(&s, "scale_embedding");
        CHECK(found && !strcmp(found, scaled[i]), "%s: %s", positions[i], found ? found : "none");
        safetensors_free(&s);
    }
}

RUN_PROGRAM_TESTS
