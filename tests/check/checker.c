/* ./gradcheck on the operations of this project: what it prints of them and what it refuses. */
#include "child.h"
#include "json_lines.h"
#include "ops/ops.h"
#include <sys/stat.h>

/* ---- Output ---- */

TEST(every_operation_is_listed) {
    CHECK(GRADCHECK("--list") == 0 && !*err, "%s", err);
    CHECK(lines_of(out) == 2 * ops_count, "%d lines for %d operations", lines_of(out), ops_count);
    const char *line = out;
    for (int i = 0; i < ops_count; i++) {
        char first[512], second[512];
        snprintf(first, sizeof first, "%-22s %-7s %s\n", ops_all[i].op->name, ops_all[i].section,
                 ops_all[i].formula);
        snprintf(second, sizeof second, "%31s%s\n", "", ops_all[i].arguments);
        CHECK(!strncmp(line, first, strlen(first)), "want %sfound %.120s", first, line);
        line = next_line(line);
        CHECK(!strncmp(line, second, strlen(second)), "want %sfound %.120s", second, line);
        line = next_line(line);
    }
    CHECK(GRADCHECK("--help-grading") == 0 && !*err &&
              strstr(out, "--gradescope results/results.json\n"),
          "%s", out);
}

/* A line an operation, in the order of the list, with as many cases as its file has; then the sums of them. */
TEST(all_are_proved) {
    CHECK(GRADCHECK("--threads", "2") == 0 && !*err, "%s%s", err, out);
    const char *line = out;
    long sum = 0;
    for (int i = 0; i < ops_count; i++) {
        char name[64] = "", verdict[16] = "", want[64];
        long cases = 0, gradients, elements;
        line = next_line(line);
        CHECK(sscanf(line, "%63s %ld %ld %ld %*s %15s", name, &cases, &gradients, &elements,
                     verdict) == 5,
              "%.120s", line);
        CHECK(!strcmp(name, ops_all[i].op->name) && cases == ops_all[i].op->n_cases &&
                  !strcmp(verdict, "PASS"),
              "%.120s", line);
        sum += cases;
        if (i + 1 < ops_count) continue;
        snprintf(want, sizeof want, "\n%d operations, %ld cases, ", ops_count, sum);
        CHECK(strstr(out, want), "no %s", want);
        snprintf(want, sizeof want, "\n%ld passed, 0 failed, 0 inconclusive\n", sum);
        CHECK(strstr(out, want), "no %s", want);
    }
}

/* One operation, or those of its cases that a word is a part of; each at several points. */
TEST(cases_are_chosen) {
    CHECK(GRADCHECK("softmax", "one") == 0 && !*err, "%s", err);
    CHECK(!strncmp(out, "softmax: y_i = ", 15) &&
              strstr(out, "\nsoftmax/masked, one row wholly dx") &&
              strstr(out, "\nsoftmax/one element ") && !strstr(out, "softmax/matrix"),
          "%s", out);
    CHECK(strstr(out, "\n1 operation, 2 cases, 2 gradients, 12 elements in ") &&
              strstr(out, "\n2 passed, 0 failed, 0 inconclusive\n"),
          "%s", out);
    double worst = 0;
    for (int seed = 1; seed <= 5; seed++) {
        char text[4];
        snprintf(text, sizeof text, "%d", seed);
        CHECK(GRADCHECK("tanh", "matrix", "--json", "--seed", text) == 0 && lines_of(out) == 1,
              "%s", out);
        worst = fmax(worst, number(out, "error"));
    }
    CHECK(GRADCHECK("tanh", "matrix", "--json", "--seeds", "5") == 0 && lines_of(out) == 1, "%s",
          out);
    CHECK(number(out, "error") == worst, "of five points the worst, %g, is not shown: %s", worst,
          out);
}

/* Far out gelu's derivative is 0 but for numbers below the smallest with all digits: that these differ is no error. */
TEST(numbers_without_digits_are_no_error) {
    CHECK(GRADCHECK("gelu", "far away", "--json", "--seeds", "200") == 0 && lines_of(out) == 1,
          "%s", out);
    CHECK(number(out, "error") < 1e-9, "%s", out);
}

/* ---- Refusals ---- */

TEST(refuses) {
    static const struct {
        const char *arguments[5];
        int status;
        const char *want;
    } cases[] = {
        {{"gru"}, 2, "operation: found 'gru', need one that --list shows, a file or a directory"},
        {{"\x1B[2J"},
         2,
         "operation: found '\\x1B[2J', need one that --list shows, a file or a directory"},
        {{"softmax", "nonsense"}, 2, "case: softmax has none like 'nonsense'"},
        {{"softmax", "one", "more"},
         2,
         "\"more\": found one operand too many, need [OPERATION [CASE] | FILE.c | FILE.py | "
         "DIRECTORY]"},
        {{"softmax", "--cases", "c.c"}, 2, "--cases: found no C file or folder to grade, need one"},
        {{"--like", "softmax"}, 2, "--like: found no C file or folder to grade, need one"},
        {{"a.c", "--like", "gru"},
         2,
         "--like: found 'gru', need an operation that --list shows, or a .c file"},
        {{"--template", "gru"}, 2, "--template: found 'gru', need an operation that --list shows"},
        {{"empty"}, 66, "empty: found no C or Python files in it, need one"},
        {{"--seeds", "0"}, 2, "--seeds: found \"0\", need an integer in [1,1000000]"},
        {{"--time-limit", "0"}, 2, "--time-limit: found \"0\", need a number in (0,86400]"},
        {{"model", "gpt"}, 2, "model: found 'gpt', need seq2seq or lm"},
        {{"model", "lm", "--weights", "w"},
         2,
         "model: found 'lm' and --weights, which say the same"},
        {{"model", "--batch", "b"}, 2, "--batch: found two models, need seq2seq, lm or --weights"},
        {{"model", "--out", "o"}, 2, "--out: found two models, need seq2seq, lm or --weights"},
        {{"model", "--weights", "none"}, 66, "none: No such file or directory"},
    };
    CHECK(mkdir("empty", 0777) == 0);
    char *before = strdup(list_folder("."));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512];
        const char *const *a = cases[i].arguments;
        int status = run_program("gradcheck", a, (Streams){0});
        const char *command = strchr(err, ':');
        snprintf(line, sizeof line, ": %s\n", cases[i].want);
        CHECK(status == cases[i].status, "%s %s: status %d: %s", a[0], a[1] ? a[1] : "", status,
              err);
        CHECK(command && !strncmp(err, "gradcheck", 9) && !strcmp(command, line), "found %swant %s",
              err, line);
        CHECK(lines_of(err) == 1 && !*out, "%s%s", err, out);
    }
    CHECK(!strcmp(before, list_folder(".")), "before\n%safter\n%s", before, listing);
    free(before);
}

RUN_SHIPPED_TESTS
