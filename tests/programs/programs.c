/* Good input: what train and generate print, write and promise, as a user meets it. */
#include "child.h"
#include "formats/safetensors.h"
#include "record_lines.h"
#include "text/tokenizer.h"
#include <time.h>

/* Models small enough to be trained many times. */
#define TINY "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4"
#define COPY "copy", TINY, "--symbols", "5", "--max-length", "4", "--held-out", "30"
#define LM   "lm", TINY, "--text", "text", "--context", "8"

/* ---- Metrics ---- */

#define FIGURES       "event", "step", "tokens", "seconds", "train_loss", "val_loss", "val_accuracy"
#define PER_CHARACTER "val_nats_per_char", "val_bits_per_char", "val_perplexity"

/* The record has the lines that --json prints. */
static void check_record(const char *path, const char *json) {
    size_t size = 0;
    char *record = read_bytes(path, &size);
    CHECK(record && strcmp(record, json) == 0, "%s has\n%s\nprinted\n%s", path,
          record ? record : "no lines", json);
    free(record);
}

static long count_parameters(const char *path) {
    Error e = {0};
    Safetensors file;
    long count = 0;
    CHECK(safetensors_read(&file, path, &e), "%s", e.text);
    for (int i = 0; i < file.tensors; i++) count += file.tensor[i].count;
    safetensors_free(&file);
    return count;
}

/* --json prints the run, its steps and its evaluations, of which the last has "final"; the run's
 * directory holds the same lines and the model, and no file that README.md does not list. */
TEST(records_are_complete) {
    static const char *const during_copy[] = {FIGURES, NULL},
                             *const during_lm[] = {FIGURES, PER_CHARACTER, NULL},
                             *const final_copy[] = {FIGURES, "val_exact", "final", NULL},
                             *const final_lm[] = {FIGURES, PER_CHARACTER, "final", NULL},
                             *const of_step[] = {"event",     "step",
                                                 "loss",      "learning_rate",
                                                 "grad_norm", "tokens_per_second",
                                                 NULL};
    write_cat_text("text", 1999);
    for (int lm = 0; lm < 2; lm++) {
        const char *task = lm ? "lm" : "copy";
        int status = lm ? TRAIN(LM, "--steps", "23", "--eval-every", "5", "--json", "--quiet")
                        : TRAIN(COPY, "--steps", "23", "--eval-every", "5", "--json", "--quiet");
        CHECK(status == 0 && !*err, "%s", err);
        CHECK(count_events(out, "run") == 1 && count_events(out, "step") == 23, "%s", out);
        const char *line = find_event(out, "step");
        for (int i = 1; line; i++) {
            check_keys(line, of_step);
            CHECK(number(line, "step") == i && number(line, "loss") > 0 && number(line, "loss") < 6,
                  "%s", line);
            line = find_event(next_line(line), "step");
        }
        CHECK(count_events(out, "evaluation") == 5, "%s", out);
        line = find_event(out, "evaluation");
        for (int i = 0; line; i++) {
            if (i < 4)
                check_keys(line, lm ? during_lm : during_copy);
            else
                check_keys(line, lm ? final_lm : final_copy);
            CHECK(number(line, "step") == (i < 4 ? 5 * (i + 1) : 23), "%s", line);
            double tokens = number(line, "tokens"), step = number(line, "step");
            CHECK(lm ? tokens == 32 * step : tokens > 8 * step && tokens <= 20 * step, "%s", line);
            CHECK(number(line, "train_loss") > 0 && number(line, "train_loss") < 6, "%s", line);
            CHECK(number(line, "val_loss") > 0 && number(line, "val_loss") < 6, "%s", line);
            line = find_event(next_line(line), "evaluation");
        }
        char path[2][64];
        snprintf(path[0], sizeof path[0], "runs/%s/model.safetensors", task);
        snprintf(path[1], sizeof path[1], "runs/%s/run.jsonl", task);
        CHECK(number(out, "parameters") == (double)count_parameters(path[0]));
        check_record(path[1], out);
    }
    CHECK(lines_of(list_folder("runs/lm")) == 6, "%s", listing);
}

/* A model that has not been trained has no training loss. Its held-out loss is near
 * log(vocabulary). */
TEST(no_steps) {
    MUST(TRAIN(COPY, "--steps", "0", "--json", "--run", "a/b/c"));
    const char *last = last_event(out, "evaluation");
    CHECK(count_events(out, "evaluation") == 1 && isinf(number(last, "train_loss")), "%s", last);
    CHECK(number(last, "tokens") == 0 && count_events(out, "step") == 0, "%s", last);
    CHECK_NEAR(number(last, "val_loss"), log(8), 0.5);
    check_record("a/b/c/run.jsonl", out);
    CHECK(GENERATE("a/b/c", "--prompt", "12") == 0 && lines_of(out) == 1, "%s", err);
}

/* ---- Talk ---- */

static bool occurs(const char *text, const char *what) {
    return strstr(text, what) != NULL;
}

/* Without a terminal: plain lines on stderr, ten of progress, an answer after an evaluation, the
 * result, the answers that the record has. A context of a few characters is enough to write. */
TEST(talk_is_plain_without_a_terminal) {
    write_cat_text("text", 1999);
    CHECK(TRAIN(COPY, "--steps", "20") == 0 && !*out, "%s", err);
    CHECK(!strchr(err, '\033') && !strchr(err, '\r'), "%s", err);
    CHECK(count_of(err, "\ncopy ") == 10 && occurs(err, "\ncopy 20/20  loss "), "%s", err);
    CHECK(count_of(err, " -> ") > 4 && occurs(err, "held-out: loss "), "%s", err);
    CHECK(occurs(err, "% of 30 answers exact\n") && occurs(err, "saved in runs/copy"), "%s", err);
    CHECK(TRAIN("lm", TINY, "--text", "text", "--context", "4", "--steps", "3") == 0 && !*out, "%s",
          err);
    CHECK(occurs(err, "to compare: uniform guess ") &&
              occurs(err, "a sample at temperature 0.8:\n"),
          "%s", err);
    CHECK(TRAIN(LM, "--steps", "3", "--force", "--quiet") == 0 && !*out && !*err, "%s", err);
    int status = TRAIN(COPY, "--steps", "3", "--schedule", "constant", "--lr", "9e17", "--d-ff",
                       "512", "--run", "wild");
    CHECK(sizeof(real) != sizeof(float) ||
              (status == STATUS_NON_FINITE &&
               occurs(err, "saved in wild, for ./generate wild: the weights before that step")),
          "%d: %s", status, err);
}

/* Reads what train prints to a terminal with this many columns. */
static void watch(int columns_wide, const char *kind, char text[MAX_OUTPUT]) {
    int other, terminal = open_terminal(columns_wide, &other);
    setenv("TERM", kind, 1);
    Child child =
        start_program("train", ARGUMENTS(COPY, "--steps", "400", "--eval-every", "50", "--force"),
                      (Streams){.terminal = other});
    close(other);
    read_terminal(terminal, text);
    CHECK(end_program(child) == 0, "%s", text);
}

/* The bar begins each time at the start of a cleared line and leaves the last column free, however
 * narrow. */
TEST(the_bar_fits_the_terminal) {
    static char text[MAX_OUTPUT];
    for (int i = 0; i < 6; i++) {
        int width = (int[]){80, 60, 40, 20, 10, 3}[i], drawn = 0;
        watch(width, "xterm", text);
        const char *at = text;
        for (;; drawn++) {
            at = strstr(at, "\r\033[K");
            if (!at) break;
            at += strlen("\r\033[K");
            int length = (int)strcspn(at, "\r\n\033");
            int shown = 0; /* of UTF-8, without what continues a character */
            for (int b = 0; b < length; b++) shown += ((unsigned char)at[b] & 0xC0) != 0x80;
            CHECK(shown < width, "%d columns: found %.*s", width, length, at);
            bool is_bar = length > 0 && memcmp(at, "  ", 2) != 0; /* no sample of an evaluation */
            CHECK(width < 80 || !is_bar || (occurs(at, "] ") && memcmp(at, "copy [", 6) == 0),
                  "%.*s", length, at);
        }
        CHECK(drawn >= 2 && count_of(text, "\033") == drawn, "%d drawn: %s", drawn, text);
        if (width >= 20) CHECK(occurs(text, " 400/400"), "%s", text);
        if (width >= 40)
            CHECK(occurs(text, "400/400  loss ") && occurs(text, " taken\r\n"), "%s", text);
        if (width >= 60) CHECK(occurs(text, "  val "), "%s", text);
        if (width >= 80) CHECK(occurs(text, " tok/s") && occurs(text, "####] 400/400"), "%s", text);
    }
    watch(80, "dumb", text);
    CHECK(!strchr(text, '\033') && occurs(text, "\ncopy 40/400"), "%s", text);
    /* A held-out loss is printed with the step at which it was measured. */
    CHECK(occurs(text, "\ncopy 120/400  loss ") && occurs(text, " at 100  ") &&
              occurs(text, " at 350  "),
          "%s", text);
}

/* The help fits 80 columns; that of train without `all` has the 15 options that a beginner uses. */
TEST(help_fits_80_columns) {
    static const char *const programs[] = {"train", "generate"};
    for (int i = 0; i < 4; i++) {
        int options = 0;
        MUST(run_program(programs[i % 2], ARGUMENTS("--help", i < 2 ? NULL : "all"), (Streams){0}));
        CHECK(!strncmp(out, "Usage: ", 7) && !*err, "%s", out);
        for (const char *line = out; *line; line = next_line(line)) {
            CHECK(strcspn(line, "\n") <= 80, "%.100s", line);
            options += strncmp(line, "  --", 4) == 0;
        }
        CHECK(i != 0 || options == 15, "found %d options", options);
        CHECK(i < 2 || strstr(out, "\nExit status\n"), "%s", out);
    }
}

/* Says what a run would take, and takes nothing. */
TEST(a_dry_run_takes_nothing) {
    write_cat_text("text", 1999);
    char *before = strdup(list_folder("."));
    CHECK(TRAIN(COPY, "--dry-run") == 0 && !*err, "%s", err);
    long parameters = 0, last = 0;
    double megabytes = 0;
    const char *at = strstr(out, "heads: ");
    CHECK(at &&
              sscanf(at, "heads: %ld,%3ld parameters, %lf MB", &parameters, &last, &megabytes) ==
                  3 &&
              lines_of(out) == 1,
          "%s", out);
    parameters = 1000 * parameters + last;
    CHECK(megabytes > (double)parameters * 16e-6 && megabytes < 50, "%s", out);
    CHECK(!strcmp(list_folder("."), before), "%s", listing);
    CHECK(TRAIN("copy", "--dry-run", "--batch", "16777216") == 0 && occurs(out, "MB"), "%s", err);
    CHECK(TRAIN(COPY, "--dry-run", "--steps", "5", "--schedule", "constant") == 0 && !*err,
          "no warm-up: %s", err);
    free(before);
    MUST(TRAIN(COPY, "--steps", "0", "--json", "--quiet"));
    CHECK(number(out, "parameters") == (double)parameters, "%s", out);
}

/* The most memory that a training held for itself, in MB, by the system's count. What it said is in
 * err. The system counts the pages of the program and of libc, too, which are files. */
static double peak_megabytes(const char *const *arguments) {
    const double files = 2.5;
    struct rusage usage = {0};
    int status = -1;
    Child child = start_program("train", arguments, (Streams){0});
    CHECK(wait4(child.pid, &status, 0, &usage) == child.pid && status == 0, "status %d", status);
    end_program(child);
    return (double)usage.ru_maxrss * 1024e-6 - files; /* Linux counts it in KB */
}

/* A sanitizer holds memory of its own, and so does a BLAS library. */
#if !defined SANITIZED && !defined BLAS && defined __linux__
enum { ALL_MEMORY_IS_OURS = true };
#else
enum { ALL_MEMORY_IS_OURS = false };
#endif

/* The peak memory of the whole process is foretold within a tenth, for small and large trainings,
 * by the training as by a dry run. Linux counts the pages of a process to 64 a processor. */
TEST(the_peak_is_foretold) {
    if (!ALL_MEMORY_IS_OURS) return;
    write_cat_text("text", 1999);
    static const char *const cases[][20] = {
        {COPY},
        {LM, "--threads", "1"},
        {LM, "--threads", "4"},
        {"copy", "--held-out", "20"},
        {"lm", "--text", "text"},
        {"lm", "--text", "text", "--context", "128", "--layers", "1", "--batch", "64", "--dropout",
         "0.1"},
        {"sort", "--batch", "1500", "--layers", "1", "--d-model", "64", "--accumulate", "2",
         "--held-out", "20"},
        {"copy", "--d-model", "512", "--layers", "1", "--batch", "4", "--optimizer", "sgd",
         "--held-out", "20"},
        {"reverse", "--symbols", "9000", "--layers", "1", "--batch", "8", "--held-out", "20"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *arguments[28] = {"--steps", "2", "--force"};
        int n = 3;
        for (int j = 0; cases[i][j]; j++) arguments[n++] = cases[i][j];
        double peak = peak_megabytes(arguments);
        const char *said[] = {err, out};
        arguments[n] = "--dry-run";
        for (int dry = 0; dry < 2; dry++) {
            double megabytes = 0;
            if (dry) MUST(run_program("train", arguments, (Streams){0}));
            const char *at = strstr(said[dry], "parameters, ");
            CHECK(at && sscanf(at, "parameters, %lf MB", &megabytes) == 1, "%s", said[dry]);
            CHECK(fabs(megabytes - peak) < 0.1 * peak + 0.7, "case %zu: said %.1f MB, took %.1f", i,
                  megabytes, peak);
        }
    }
}

/* ---- Learning ---- */

/* The whole way of a sequence task: what was learned in training is there in the file. */
TEST(learns_to_copy) {
    MUST(TRAIN("copy", "--d-model", "32", "--layers", "1", "--symbols", "8", "--max-length", "3",
               "--held-out", "30", "--steps", "250", "--batch", "32", "--lr", "0.01", "--dropout",
               "0", "--json"));
    const char *last = last_event(out, "evaluation");
    CHECK(number(last, "val_exact") >= 0.9, "%s", out);
    write_text("lines", "123\n8\n77\r\n456");
    int same = 0;
    MUST(run_program("generate", ARGUMENTS("runs/copy"), (Streams){.input = "lines"}));
    CHECK(lines_of(out) == 4 && !*err, "%s", out);
    CHECK(GENERATE("runs/copy", "--prompt", "5128") == 0 && lines_of(out) == 1, "%s", err);
    for (int i = 0; i < 5; i++) {
        const char *prompt = (const char *[]){"12", "345", "8", "66", "781"}[i];
        MUST(GENERATE("runs/copy", "--prompt", prompt));
        same += !strncmp(out, prompt, strlen(prompt)) && out[strlen(prompt)] == '\n';
    }
    CHECK(same >= 4, "%d of 5 are copied", same);
}

/* ---- generate ---- */

/* Text is a function of model, prompt, temperature, top-k and seed; its length is as asked for. */
TEST(samples_are_reproducible) {
    char first[200];
    write_cat_text("text", 1999);
    MUST(TRAIN(LM, "--tokenizer", "char", "--steps", "20", "--quiet", "--run", "run"));
#define SAMPLE(...) GENERATE("run", "--prompt", "the cat sat on", "--length", "60", __VA_ARGS__)
    CHECK(SAMPLE("--temperature", "1", "--seed", "3") == 0 && strlen(out) == 14 + 60 + 1, "%s",
          out);
    CHECK(!strncmp(out, "the cat sat on", 14), "%s", out);
    snprintf(first, sizeof first, "%.199s", out);
    CHECK(SAMPLE("--temperature", "1", "--seed", "3", "--threads", "3") == 0 && !strcmp(out, first),
          "%s", out);
    CHECK(SAMPLE("--temperature", "1", "--seed", "4") == 0 && strcmp(out, first) != 0, "%s", out);
    CHECK(SAMPLE("--temperature", "1", "--seed", "3", "--top-k", "2") == 0 &&
              strcmp(out, first) != 0,
          "%s", out);
    CHECK(SAMPLE("--temperature", "0") == 0, "%s", err);
    snprintf(first, sizeof first, "%.199s", out);
    CHECK(SAMPLE("--temperature", "1", "--top-k", "1", "--seed", "9") == 0 && !strcmp(out, first),
          "%s", out);
    write_text("lines", "the cat sat on\n");
    CHECK(run_program("generate", ARGUMENTS("run", "--greedy", "--length", "60"),
                      (Streams){.input = "lines"}) == 0);
    CHECK(!strcmp(out, first) && !*err, "%s", out);
}

/* ---- Signals ---- */

static void sleep_a_little(void) {
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* Waits until the training in `run` has recorded at least so many evaluations. Returns their
 * number. */
static int wait_for_evaluations(int min) {
    for (int i = 0; i < 4000; i++) {
        int found = events_in("run/run.jsonl", "evaluation");
        if (found >= min) return found;
        sleep_a_little();
    }
    CHECK(false, "fewer than %d evaluations", min);
    return 0;
}

/* Starts a training that never ends, in `run`. */
static Child start_endless(void) {
    Child child =
        START(COPY, "--steps", "2147483647", "--eval-every", "500", "--json", "--run", "run");
    wait_for_evaluations(1);
    return child;
}

/* Ctrl-C, SIGTERM or a closed terminal ends training; model, figures and samples are there; then
 * the program ends by the signal. Until then no other run can train in the same directory. */
TEST(signals_end_a_training) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        int signal_number = numbers[i];
        Child child = start_endless();
        CHECK(TRAIN(COPY, "--run", "run", "--force") == 73, "%s", err);
        CHECK(!strcmp(err, "train: run/model.safetensors: another process is writing it\n"), "%s",
              err);
        kill(child.pid, signal_number);
        int status = end_program(child);
        CHECK(status == 128 + signal_number, "status %d", status);
        CHECK(strstr(last_event(out, "evaluation"), "\"final\": true"), "%s", out);
        CHECK(occurs(err, "stopped after step ") && occurs(err, "saved in run"), "%s", err);
        check_record("run/run.jsonl", out);
        CHECK(GENERATE("run", "--prompt", "12") == 0 && lines_of(out) == 1, "%s", err);
        CHECK(GENERATE("run", "--prompt", "12", "--length", "1") == 0 && strlen(out) <= 2, "%s%s",
              out, err);
        CHECK(GENERATE("run", "--prompt", "12", "--length", "1000") == 0 && lines_of(out) == 1,
              "%s", err);
        CHECK(lines_of(list_folder("run")) == 6, "%s", listing);
        rename("run", (const char *[]){"first", "second", "third"}[i]);
    }
}

/* A run in the background, which Ctrl-C is not meant for, goes on. A killed one leaves nothing that
 * the next would stumble over. */
TEST(ignored_signals_do_not_end_a_training) {
    signal(SIGINT, SIG_IGN);
    Child child = start_endless();
    kill(child.pid, SIGINT);
    wait_for_evaluations(wait_for_evaluations(1) + 2);
    kill(child.pid, SIGKILL);
    CHECK(end_program(child) == 128 + SIGKILL);
    CHECK(!occurs(err, "stopped after"), "%s", err);
    CHECK(access("run/model.safetensors", F_OK) != 0);
    MUST(TRAIN(COPY, "--steps", "2", "--run", "run"));
    CHECK(lines_of(list_folder("run")) == 6, "%s", listing);
}

RUN_PROGRAM_TESTS
