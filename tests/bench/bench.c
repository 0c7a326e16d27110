/* ./bench: the keys and counts of its lines, for a program and for a person, and the figures that are no
 * chance. */
#include "child.h"
#include "json_lines.h"

#define BENCH(...) run_program("bench", ARGUMENTS(__VA_ARGS__, "--seconds", "0.001"), (Streams){0})
#define KEYS(...)                                                                                            \
    (const char *const[]) {                                                                                  \
        __VA_ARGS__, NULL                                                                                    \
    }

/* All lines from `line` on have these keys, and a number above 0 under `key`. */
static void check_lines(const char *line, const char *const *keys, const char *key) {
    CHECK(*line, "no line");
    for (; *line; line = next_line(line)) {
        check_keys(line, keys);
        CHECK(number(line, key) > 0, "%s", line);
    }
}

/* A line for each size. A token's arithmetic is constant in the batch, nearly so in the context, and
 * quadratic in the width. */
TEST(scaling_measures) {
    const double most[] = {1, 2, 64}, least[] = {1, 1, 32};
    CHECK(BENCH("scaling", "seed", "--json") == 0 && !*err && lines_of(out) == 12, "%s%s", err, out);
    check_lines(out,
                KEYS("case", "grows", "factor", "batch", "context", "d_model", "us_per_token",
                     "mflop_per_token", "time_ratio", "flops_ratio", "flops_utilisation", "threads"),
                "us_per_token");
    const char *line = out;
    for (int axis = 0; axis < 3; axis++)
        for (int factor = 1; factor <= 8; factor *= 2, line = next_line(line)) {
            double ratio = number(line, "flops_ratio"), grown = factor == 8 ? least[axis] : 1;
            CHECK(number(line, "factor") == factor && ratio >= grown && ratio <= most[axis], "%s", line);
            CHECK(factor > 1 || ratio == 1, "%s", line);
        }
}

/* The sum over the weights; then a text within its context, beyond it by single tokens, and beyond it by half
 * the context; or one answer, and a batch of them. */
TEST(decode_measures) {
    static const char *const cases[] = {"seed", "chars"};
    for (int i = 0; i < 2; i++) {
        CHECK(BENCH("decode", cases[i], "--json") == 0 && !*err && lines_of(out) == (i ? 4 : 3), "%s%s", err,
              out);
        check_keys(out, KEYS("case", "sums_mb", "ms", "threads"));
        const char *first = next_line(out);
        check_lines(first,
                    KEYS("case", "decodes", "batch", "tokens", "ms_per_token", "tokens_per_s", "threads"),
                    "tokens_per_s");
        CHECK(number(first, "batch") == 1 && number(next_line(first), "batch") == (i ? 1 : 8), "%s", out);
        CHECK(number(first, "tokens") == (i ? 63 : 16), "%s", out);
    }
}

/* A checkpoint is three times the weights and a header. Writing it takes less than a hundredth of the time
 * between two, and nothing of it is left. */
TEST(checkpoint_measures) {
    enter_folder();
    CHECK(BENCH("checkpoint", "copy", "--json") == 0 && !*err && lines_of(out) == 1, "%s%s", err, out);
    check_keys(out,
               KEYS("case", "weights_mb", "file_mb", "file_ratio", "ms", "minutes", "share_of_training"));
    double ratio = number(out, "file_ratio"), share = number(out, "share_of_training");
    CHECK(ratio > 3 && ratio <= 3.05 && share > 0 && share < 0.01, "%s", out);
    CHECK(number(out, "minutes") == 10 && lines_of(list_folder(".")) == 1, "%s%s", out, listing);
}

TEST(step_measures) {
    CHECK(BENCH("step", "seed", "--json") == 0 && !*err && lines_of(out) == 1, "%s%s", err, out);
    check_lines(out,
                KEYS("case", "ms_per_step", "best_ms", "tokens_per_s", "params", "threads",
                     "flops_utilisation", "peak_gflops", "steps", "peak_mb"),
                "ms_per_step");
    CHECK(number(out, "params") == 59904 && number(out, "best_ms") <= number(out, "ms_per_step"), "%s", out);
}

/* A line for each operation of a step, whose shares add up to 1; or one for each of its shapes, and one for
 * each elementary operation. */
TEST(profile_and_ops_measure) {
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
    }
}

/* Plain attention is what its operations are: a matrix of weights for each of 8 sequences in 6 attentions. */
TEST(plain_attention_is_measured) {
    CHECK(BENCH("profile", "seed", "--attention", "plain", "--json") == 0 && !*err, "%s%s", err, out);
    const char *softmax = strstr(out, "\"op\": \"softmax\"");
    CHECK(softmax && number(softmax, "calls") == 6 * 8 && !strstr(out, "\"op\": \"attention\""), "%s", out);
}

TEST(dispatch_measures) {
    CHECK(BENCH("dispatch", "seed", "--json") == 0 && !*err && lines_of(out) == 3, "%s%s", err, out);
    check_lines(out, KEYS("dispatch", "operations", "record_ns", "backward_ns", "ns_per_operation"),
                "ns_per_operation");
}

/* Without --json: a head and a row for each line of JSON. */
TEST(tables_are_for_a_person) {
    enter_folder();
    static const struct {
        const char *subject, *column;
        int lines;
    } tables[] = {{"step", "ms_per_step", 2},     {"profile", "layer_norm", 0}, {"ops", "layer_norm", 0},
                  {"dispatch", "record_ns", 4},   {"scaling", "width", 13},     {"decode", "ms_per_token", 5},
                  {"checkpoint", "file_ratio", 2}};
    for (int i = 0; i < 7; i++)
        CHECK(BENCH(tables[i].subject, "seed") == 0 && !*err && !strchr(out, '{') &&
                  strstr(out, tables[i].column) && (!tables[i].lines || lines_of(out) == tables[i].lines),
              "%s: %s%s", tables[i].subject, err, out);
}

TEST(help_shows_subjects_and_cases) {
    CHECK(run_program("bench", ARGUMENTS("--help"), (Streams){0}) == 0 && !*err);
    CHECK(strstr(out, "\n  checkpoint ") && strstr(out, "\n  words lm      4  256 16 x 128 8192  a word"),
          "%s", out);
}

TEST(what_is_not_measured) {
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

RUN_PROGRAM_TESTS
