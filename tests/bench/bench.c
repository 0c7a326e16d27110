/* ./bench: what it prints of each subject, in lines of JSON and for a person, and where nothing is left to chance, the
 * figures. */
#include "child.h"
#include "json_lines.h"

#define BENCH(...) run_program("bench", ARGUMENTS(__VA_ARGS__, "--seconds", "0.001"), (Streams){0})
#define KEYS(...)                                                                                            \
    (const char *const[]) {                                                                                  \
        __VA_ARGS__, NULL                                                                                    \
    }

/* The lines from `first` on have these keys, and some number above 0 under `key`. */
static void check_lines(const char *first, const char *const *keys, const char *key) {
    CHECK(*first, "no line");
    for (const char *line = first; *line; line = next_line(line)) {
        check_keys(line, keys);
        CHECK(number(line, key) > 0, "%s", line);
    }
}

/* A line for each size. A token's arithmetic does not depend on the batch, hardly on the context, and grows with the
 * square of the width. */
static void scaling(void) {
    enter_folder();
    const char *const *arguments = ARGUMENTS("scaling", "seed", "--seconds", "0.001", "--json");
    CHECK(run_program("bench", arguments, (Streams){0}) == 0 && !*err && lines_of(out) == 12, "%s%s", err,
          out);
    double most[] = {1, 2, 64}, least[] = {1, 1, 32};
    const char *line = out;
    for (int axis = 0; axis < 3; axis++)
        for (int factor = 1; factor <= 8; factor *= 2, line = next_line(line)) {
            check_keys(line, (const char *const[]){"case", "grows", "factor", "batch", "context", "d_model",
                                                   "us_per_token", "mflop_per_token", "time_ratio",
                                                   "flops_ratio", "flops_utilisation", "threads", NULL});
            double ratio = number(line, "flops_ratio"), grown = factor == 8 ? least[axis] : 1;
            CHECK(number(line, "factor") == factor && number(line, "us_per_token") > 0, "%s", line);
            CHECK(ratio >= grown && ratio <= most[axis] && (factor > 1 || ratio == 1), "%s", line);
        }
}

/* A line for the sum over the weights; then one for a text within its context, beyond it a token at a time, and beyond
 * it by half of it; or for one answer and for as many as the batch has. */
static void decoding(void) {
    enter_folder();
    static const char *const keys[] = {"case",         "decodes",      "batch",   "tokens",
                                       "ms_per_token", "tokens_per_s", "threads", NULL};
    static const char *const cases[] = {"seed", "chars"};
    for (int i = 0; i < 2; i++) {
        const char *const *arguments = ARGUMENTS("decode", cases[i], "--seconds", "0.001", "--json");
        CHECK(run_program("bench", arguments, (Streams){0}) == 0 && !*err, "%s%s", err, out);
        CHECK(lines_of(out) == (i ? 4 : 3), "%s", out);
        check_keys(out, (const char *const[]){"case", "sums_mb", "ms", "threads", NULL});
        const char *first = next_line(out);
        for (const char *line = first; *line; line = next_line(line)) {
            check_keys(line, keys);
            CHECK(number(line, "tokens_per_s") > 0 && number(line, "ms_per_token") > 0, "%s", line);
        }
        CHECK(number(first, "batch") == 1 && number(next_line(first), "batch") == (i ? 1 : 8), "%s", out);
        CHECK(number(first, "tokens") == (i ? 63 : 16), "%s", out);
    }
}

/* A checkpoint is three times the weights and a header, and writing one takes less than a hundredth of the time between
 * two of them. Nothing of it is left. */
static void checkpoints(void) {
    enter_folder();
    const char *const *arguments = ARGUMENTS("checkpoint", "copy", "--seconds", "0.001", "--json");
    CHECK(run_program("bench", arguments, (Streams){0}) == 0 && !*err && lines_of(out) == 1, "%s%s", err,
          out);
    check_keys(out, (const char *const[]){"case", "weights_mb", "file_mb", "file_ratio", "ms", "minutes",
                                          "share_of_training", NULL});
    double ratio = number(out, "file_ratio"), share = number(out, "share_of_training");
    CHECK(ratio > 3 && ratio <= 3.05 && share > 0 && share < 0.01, "%s", out);
    CHECK(number(out, "minutes") == 10 && lines_of(list_folder(".")) == 1, "%s%s", out, listing);
}

/* A line, with the figures by which implementations are set side by side. */
static void steps(void) {
    CHECK(BENCH("step", "seed", "--json") == 0 && !*err && lines_of(out) == 1, "%s%s", err, out);
    check_lines(out,
                KEYS("case", "ms_per_step", "best_ms", "tokens_per_s", "params", "threads",
                     "flops_utilisation", "peak_gflops", "steps", "peak_mb"),
                "ms_per_step");
    CHECK(number(out, "params") == 59904 && number(out, "best_ms") <= number(out, "ms_per_step"), "%s", out);
    CHECK(BENCH("step", "seed") == 0 && !*err && strstr(out, "seed") && lines_of(out) < 4, "%s%s", err, out);
}

/* A line for each operation of a step, whose shares are the whole; or for each of its sizes, and then one for each
 * elementary operation alone. */
static void operations(void) {
    static const char *const subjects[] = {"profile", "ops"};
    for (int i = 0; i < 2; i++) {
        CHECK(BENCH(subjects[i], "seed", "--json") == 0 && !*err, "%s%s", err, out);
        double share = 0, attention = 0;
        for (const char *line = out; *line; line = next_line(line)) {
            const char *rate = number(line, "gflops") < INFINITY ? "gflops" : "gbytes_per_s";
            check_keys(line, KEYS("case", "op", "operands", "calls", "forward_ms", "backward_ms", rate,
                                  "share", "threads"));
            share += number(line, "share");
            const char attends[] = "\"op\": \"attention\"", *op = strstr(line, "\"op\": ");
            if (op && !strncmp(op, attends, sizeof attends - 1)) attention += number(line, "calls");
        }
        CHECK(attention == 6, "%g calls of attention:\n%s", attention, out); /* 2 + 2 layers, 2 across */
        CHECK(i || fabs(share - 1) < 0.01, "shares add up to %g:\n%s", share, out);
        CHECK(BENCH(subjects[i], "seed") == 0 && !*err && strstr(out, "layer_norm"), "%s%s", err, out);
    }
}

static void dispatch(void) {
    CHECK(BENCH("dispatch", "seed", "--json") == 0 && !*err && lines_of(out) == 3, "%s%s", err, out);
    check_lines(out, KEYS("dispatch", "operations", "record_ns", "backward_ns", "ns_per_operation"),
                "ns_per_operation");
    CHECK(BENCH("dispatch", "seed") == 0 && !*err && strstr(out, "nothing, of three"), "%s%s", err, out);
}

/* For a person the same figures are lines of a table. */
static void tables(void) {
    enter_folder();
    static const char *const subjects[] = {"scaling", "decode", "checkpoint"};
    for (int i = 0; i < 3; i++)
        CHECK(BENCH(subjects[i], "seed") == 0 && !*err && lines_of(out) >= 1 && !strchr(out, '{'), "%s%s",
              err, out);
}

static void what_is_not_measured(void) {
    static const struct {
        const char *subject, *which, *says;
    } wrong[] = {{"step", "--nonsense", "bench: --nonsense: no such option, see --help"},
                 {"nothing", "seed", "bench: found 'nothing', need one of step|profile|"},
                 {"ops", NULL, "bench: ops: found no case, need one"},
                 {"step", "sead", "bench: case: found 'sead', need one of seed, "},
                 {"profile", "sead", "bench: case: found 'sead', need one of seed, "},
                 {"ops", "sead", "bench: case: found 'sead', need one of seed, "},
                 {"dispatch", "sead", "bench: case: found 'sead', need one of seed, "},
                 {"scaling", "sead", "bench: case: found 'sead', need one of seed, "},
                 {"decode", "sead", "bench: case: found 'sead', need one of seed, "},
                 {"checkpoint", "sead", "bench: case: found 'sead', need one of seed, "},
                 {"gemm", "seed", "bench: gemm: found a second operand, need none"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int status = run_program("bench", ARGUMENTS(wrong[i].subject, wrong[i].which), (Streams){0});
        CHECK(status == 2 && !*out && lines_of(err) == 1 &&
                  !strncmp(err, wrong[i].says, strlen(wrong[i].says)),
              "status %d: %s%s", status, out, err);
    }
}

PROGRAM_TEST_MAIN({"scaling measures", scaling}, {"decode measures", decoding},
                  {"checkpoint measures", checkpoints}, {"step measures", steps},
                  {"profile and ops measure", operations}, {"dispatch measures", dispatch},
                  {"tables are for a person", tables}, {"what is not measured", what_is_not_measured})
