/* ./bench: the keys and counts of its lines, in JSON and as a table, and the figures that are no
 * chance. */
#include "child.h"
#include "json_lines.h"

#define BENCH(...) run_program("bench", ARGUMENTS(__VA_ARGS__, "--seconds", "0.001"), (Streams){0})
#define KEYS(...)                                                                                  \
    (const char *const[]) {                                                                        \
        __VA_ARGS__, NULL                                                                          \
    }

/* All lines from `line` on have these keys, and a number above 0 under `key`. */
static void check_lines(const char *line, const char *const *keys, const char *key) {
    CHECK(*line, "no line");
    for (; *line; line = next_line(line)) {
        check_keys(line, keys);
        CHECK(number(line, key) > 0, "%s", line);
    }
}

TEST(step_measures) {
    CHECK(BENCH("step", "seed", "--json") == 0 && !*err && lines_of(out) == 1, "%s%s", err, out);
    check_lines(out,
                KEYS("case", "ms_per_step", "best_ms", "tokens_per_s", "params", "threads",
                     "flops_utilisation", "peak_gflops", "steps", "peak_mb"),
                "ms_per_step");
    CHECK(number(out, "params") == 59904 && number(out, "best_ms") <= number(out, "ms_per_step"),
          "%s", out);
}

/* Plain attention keeps the matrices of weights of each sequence. */
TEST(plain_attention_is_measured) {
    CHECK(BENCH("step", "copy", "--json") == 0 && !*err, "%s%s", err, out);
    double fused = number(out, "peak_mb");
    CHECK(BENCH("step", "copy", "--attention", "plain", "--json") == 0 && !*err, "%s%s", err, out);
    CHECK(number(out, "peak_mb") > 1.2 * fused, "%g MB for fused attention, then %s", fused, out);
}

/* Without --json: a head and a row for each line of JSON. */
TEST(tables_are_for_a_person) {
    CHECK(BENCH("step", "seed") == 0 && !*err, "%s", err);
    CHECK(!strchr(out, '{') && strstr(out, "ms_per_step") && lines_of(out) == 2, "%s", out);
}

TEST(help_shows_subjects_and_cases) {
    CHECK(run_program("bench", ARGUMENTS("--help"), (Streams){0}) == 0 && !*err);
    CHECK(strstr(out, "\n  gemm ") && strstr(out, "\n  words lm      4  256 16 x 128 8192  a word"),
          "%s", out);
}

TEST(unmeasurable_cases_are_refused) {
    static const struct {
        const char *subject, *which, *says;
    } wrong[] = {{"step", "--nonsense", "bench: --nonsense: no such option, see --help all"},
                 {"nothing", "seed", "bench: found 'nothing', need one of step|gemm"},
                 {"step", "sead", "bench: case: found 'sead', need one of seed, "},
                 {"gemm", "seed", "bench: gemm: found a second operand, need none"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int status =
            run_program("bench", ARGUMENTS(wrong[i].subject, wrong[i].which), (Streams){0});
        CHECK(status == 2 && !*out && lines_of(err) == 1 &&
                  !strncmp(err, wrong[i].says, strlen(wrong[i].says)),
              "status %d: %s%s", status, out, err);
    }
}

RUN_PROGRAM_TESTS
