/* ./bench: the keys and counts of its lines, in JSON and as a table, and the figures that are no
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

/* A text within its context, beyond it by single tokens, and beyond it by half the context; or one answer, and
 * a batch of them. */
TEST(decode_measures) {
    static const char *const cases[] = {"seed", "chars"};
    for (int i = 0; i < (SANITIZER ? 1 : 2); i++) {
        CHECK(BENCH("decode", cases[i], "--json") == 0 && !*err && lines_of(out) == (i ? 3 : 2), "%s%s", err,
              out);
        check_lines(out,
                    KEYS("case", "decodes", "batch", "tokens", "ms_per_token", "tokens_per_s", "of_reading",
                         "threads"),
                    "tokens_per_s");
        CHECK(number(out, "batch") == 1 && number(next_line(out), "batch") == (i ? 1 : 8), "%s", out);
        CHECK(number(out, "tokens") == (i ? 63 : 16), "%s", out);
    }
}

TEST(step_measures) {
    CHECK(BENCH("step", "seed", "--json") == 0 && !*err && lines_of(out) == 1, "%s%s", err, out);
    check_lines(out,
                KEYS("case", "ms_per_step", "best_ms", "tokens_per_s", "params", "threads",
                     "flops_utilisation", "peak_gflops", "steps", "peak_mb"),
                "ms_per_step");
    CHECK(number(out, "params") == 59904 && number(out, "best_ms") <= number(out, "ms_per_step"), "%s", out);
}

/* A line for each operation of a step. The shares add up to 1. */
TEST(profile_measures) {
    CHECK(BENCH("profile", "seed", "--json") == 0 && !*err, "%s%s", err, out);
    double share = 0;
    for (const char *line = out; *line; line = next_line(line)) {
        bool product = number(line, "gflops") < INFINITY;
        check_keys(line,
                   KEYS("case", "op", "calls", "forward_ms", "backward_ms", product ? "gflops" : "share",
                        product ? "share" : "threads", product ? "threads" : NULL));
        share += number(line, "share");
    }
    const char *attention = strstr(out, "\"op\": \"attention\"");
    CHECK(attention && number(attention, "calls") == 6, "%s", out); /* 2 + 2 layers, 2 across */
    CHECK(fabs(share - 1) < 0.01, "shares add up to %g:\n%s", share, out);
}

/* Plain attention runs elementary operations: a matrix of weights for each of 8 sequences in 6 attentions. */
TEST(plain_attention_is_measured) {
    CHECK(BENCH("profile", "seed", "--attention", "plain", "--json") == 0 && !*err, "%s%s", err, out);
    const char *softmax = strstr(out, "\"op\": \"softmax\"");
    CHECK(softmax && number(softmax, "calls") == 6 * 8 && !strstr(out, "\"op\": \"attention\""), "%s", out);
}

/* Without --json: a head and a row for each line of JSON. */
TEST(tables_are_for_a_person) {
    static const struct {
        const char *subject, *column;
        int lines;
    } tables[] = {{"step", "ms_per_step", 2}, {"profile", "layer_norm", 0}, {"decode", "ms_per_token", 3}};
    for (int i = 0; i < 3; i++)
        CHECK(BENCH(tables[i].subject, "seed") == 0 && !*err && !strchr(out, '{') &&
                  strstr(out, tables[i].column) && (!tables[i].lines || lines_of(out) == tables[i].lines),
              "%s: %s%s", tables[i].subject, err, out);
}

TEST(help_shows_subjects_and_cases) {
    CHECK(run_program("bench", ARGUMENTS("--help"), (Streams){0}) == 0 && !*err);
    CHECK(strstr(out, "\n  profile ") && strstr(out, "\n  words lm      4  256 16 x 128 8192  a word"), "%s",
          out);
}

TEST(unmeasurable_cases_are_refused) {
    static const struct {
        const char *subject, *which, *says;
    } wrong[] = {{"step", "--nonsense", "bench: --nonsense: no such option, see --help"},
                 {"nothing", "seed", "bench: found 'nothing', need one of step|profile|"},
                 {"step", "sead", "bench: case: found 'sead', need one of seed, "},
                 {"profile", "sead", "bench: case: found 'sead', need one of seed, "},
                 {"decode", "sead", "bench: case: found 'sead', need one of seed, "},
                 {"gemm", "seed", "bench: gemm: found a second operand, need none"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int status = run_program("bench", ARGUMENTS(wrong[i].subject, wrong[i].which), (Streams){0});
        CHECK(status == 2 && !*out && lines_of(err) == 1 &&
                  !strncmp(err, wrong[i].says, strlen(wrong[i].says)),
              "status %d: %s%s", status, out, err);
    }
}

RUN_PROGRAM_TESTS
