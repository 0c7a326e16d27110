/* Programs at a terminal, under signals, and as the system sees them; *.console has what they print
 * otherwise. */
#include "child.h"
#include "record_lines.h"
#include "run_helpers.h"

/* ---- A terminal ---- */

#define LOUD                                                                                       \
    "copy", "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4", "--symbols", "5",   \
        "--max-length", "4", "--held-out", "30"
#define TEXT                                                                                       \
    "the cat sat on the mat, and the rat sat on the cat; the mat was red and the hat was flat.\n"

static bool occurs(const char *text, const char *what) {
    return strstr(text, what) != NULL;
}

/* Reads what train prints to a terminal with this many columns. */
static void watch(int columns_wide, const char *kind, char text[MAX_OUTPUT]) {
    int other, terminal = open_terminal(columns_wide, &other);
    setenv("TERM", kind, 1);
    Child child =
        start_program("train", ARGUMENTS(LOUD, "--steps", "400", "--eval-every", "50", "--force"),
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
        /* A sample follows the line of its step. */
        CHECK(width < 40 || count_of(text, " at 50\r\n  ") == 1, "%s", text);
        if (width >= 80) CHECK(occurs(text, " tok/s") && occurs(text, "####] 400/400"), "%s", text);
    }
    watch(80, "dumb", text);
    CHECK(!strchr(text, '\033') && occurs(text, "\ncopy 40/400"), "%s", text);
    /* A held-out loss is printed with the step at which it was measured. */
    CHECK(occurs(text, "\ncopy 120/400  loss ") && occurs(text, " at 100  ") &&
              occurs(text, " at 350  "),
          "%s", text);
}

/* A text's escape sequences reach files and pipes. A terminal gets U+FFFD for the character that
 * begins one, from generate as from the sample of a training. */
TEST(control_characters_reach_no_terminal) {
    write_text("text", "a\x1B[31mb\na\x1B[31mb\na\x1B[31mb\na\x1B[31mb\n");
    int shown, terminal = open_terminal(80, &shown);
    CHECK(run_program("train",
                      ARGUMENTS("lm", "--text", "text", "--tokenizer", "char", "--tail", "0",
                                "--context", "8", "--steps", "60", "--lr", "0.01", "--d-model",
                                "16", "--heads", "2", "--layers", "1", "--run", "run"),
                      (Streams){.terminal = shown}) == 0);
    MUST(run_program("generate", ARGUMENTS("run", "--prompt", "a\x1B", "--length", "9"),
                     (Streams){.output = ptsname(terminal)}));
    close(shown);
    read_terminal(terminal, out);
    char *sample = strstr(out, "a sample"), *end = strstr(out, "report: ");
    CHECK(sample && end && !memchr(sample, 0x1B, (size_t)(end - sample)) &&
              strstr(sample, "\xEF\xBF\xBD[31mb"),
          "%s", out);
    CHECK(end && strstr(end, "a\xEF\xBF\xBD[31mb\r\n") && !strchr(end, 0x1B), "%s", end);
    CHECK(GENERATE("run", "--prompt", "a\x1B", "--length", "4") == 0 && !strcmp(out, "a\x1B[31m\n"),
          "%s", out);
}

/* At a terminal the model begins, a line continues what was said, an empty one lets the model go
 * on, and an invalid one changes nothing. */
TEST(a_conversation_remembers) {
    write_text("text", TEXT TEXT TEXT TEXT);
    MUST(TRAIN(LM, "--tokenizer", "char", "--steps", "30", "--lr", "0.01", "--run", "run"));
    int other, terminal = open_terminal(80, &other);
    static const char typed[] = "the c\n\nZ\nand\n\004"; /* Ctrl-D at the end */
    CHECK(write(terminal, typed, strlen(typed)) == (ssize_t)strlen(typed));
    MUST(run_program("generate", ARGUMENTS("run", "--length", "20"),
                     (Streams){.input = ptsname(terminal)}));
    static const char *const lines[] = {"", "\nthe c", "", "\nand"};
    char *said = strdup(out), text[200] = "\n", want[400] = ""; /* a text begins as a line begins */
    CHECK(lines_of(err) == 2 && strstr(err, "line 3: byte 0: found 'Z'"), "%s", err);
    for (int i = 0; i < 4; i++) {
        size_t before = strlen(text);
        strcat(text, lines[i]);
        MUST(GENERATE("run", "--prompt", text, "--length", "20"));
        snprintf(text, sizeof text, "%.*s", (int)strlen(out) - 1, out);
        snprintf(want + strlen(want), sizeof want - strlen(want), "%s\n",
                 text + before + (*lines[i] != 0));
    }
    CHECK(!strcmp(said, want), "%s, want %s", said, want);
    free(said);
    /* Without a conversation each line is a prompt, and an invalid one is no end either. */
    CHECK(write(terminal, "Z\nthe c\n\004", 9) == 9);
    MUST(run_program("generate", ARGUMENTS("run", "--beam", "1"),
                     (Streams){.input = ptsname(terminal)}));
    CHECK(lines_of(out) == 1 && strstr(err, "line 1: byte 0: found 'Z'"), "%s%s", out, err);
    close(other);
    close(terminal);
}

/* A terminal shows the losses of a scored text's tokens in colours, and the line's at its end. */
TEST(losses_are_coloured) {
    write_text("text", TEXT TEXT);
    MUST(TRAIN(LM, "--tokenizer", "char", "--steps", "9", "--run", "run"));
    MUST(GENERATE("run", "--score", "text", "--show"));
    int tokens = count_of(out, "{");
    int other, terminal = open_terminal(80, &other);
    setenv("TERM", "xterm", 1);
    MUST(run_program("generate", ARGUMENTS("run", "--score", "text", "--show"),
                     (Streams){.output = ptsname(terminal)}));
    close(other);
    read_terminal(terminal, out);
    CHECK(count_of(out, "\x1B[30;48;5;") == tokens + 1 && !strchr(out, '{'), "%s", out);
}

/* ---- Memory ---- */

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
#define TEXT_RUN                                                                                   \
    "lm", "--d-model", "8", "--heads", "2", "--layers", "1", "--batch", "4", "--text", "text",     \
        "--context", "8"
    static const char *const cases[][20] = {
        {LOUD},
        {TEXT_RUN, "--threads", "1"},
        {TEXT_RUN, "--threads", "4"},
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

/* ---- Signals ---- */

/* Waits until the training in `run` has recorded at least so many evaluations. Returns their
 * number. */
static int wait_for_evaluations(int min) {
    for (int i = 0; i < 4000; i++) {
        int found = events_in("run/run.jsonl", "evaluation");
        if (found >= min) return found;
        sleep_ms(5);
    }
    CHECK(false, "fewer than %d evaluations", min);
    return 0;
}

/* Starts a training that never ends, in `run`. */
static Child start_endless(void) {
    Child child =
        START(LOUD, "--steps", "2147483647", "--eval-every", "500", "--json", "--run", "run");
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
        CHECK(TRAIN(LOUD, "--run", "run", "--force") == 73, "%s", err);
        CHECK(!strcmp(err, "train: run/model.safetensors: another process is writing it\n"), "%s",
              err);
        kill(child.pid, signal_number);
        int status = end_program(child);
        CHECK(status == 128 + signal_number, "status %d", status);
        CHECK(strstr(last_event(out, "evaluation"), "\"final\": true"), "%s", out);
        CHECK(occurs(err, "stopped after step ") && occurs(err, "saved in run"), "%s", err);
        size_t size = 0;
        char *record = read_bytes("run/run.jsonl", &size);
        CHECK(record && !strcmp(record, out), "%s", record);
        free(record);
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
    MUST(TRAIN(LOUD, "--steps", "2", "--run", "run"));
    CHECK(lines_of(list_folder("run")) == 6, "%s", listing);
}

RUN_PROGRAM_TESTS
