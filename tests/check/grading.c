/* ./gradcheck as a teacher uses it, from the template to the points: verdicts, scores and report
 * files. */
#include "check/gradcheck/report.h"
#include "less_confined.h"
#include "ops/ops.h"
#include "points.h"
#include <math.h>

/* y = factor · x². The backward multiplies dy by `slope`. `more` is appended to the file. */
static void write_square(const char *path, const char *factor, const char *slope,
                         const char *more) {
    FILE *f = fopen(path, "w");
    CHECK(f, "%s", path);
    if (!f) return;
    fprintf(f,
            "#include \"ops/ops.h\"\n"
            "static void forward(Node *n) {\n"
            "    real *y = n->out->data;\n"
            "    tensor_copy_out(n->in[0], y);\n"
            "    for (long i = 0; i < shape_count(n->out->shape); i++) y[i] *= %s * y[i];\n"
            "}\n"
            "static void backward(Node *n) {\n"
            "    long N = shape_count(n->out->shape);\n"
            "    real *x = node_memory(n, (size_t)(N + 1) * sizeof *x);\n"
            "    tensor_copy_out(n->in[0], x);\n"
            "    for (long i = 0; i < N; i++) n->in[0]->grad[i] += n->out->grad[i] * (%s);\n"
            "}\n"
            "extern const Op op_square;\n"
            "Tensor *tape_square(Tape *t, Tensor *x) {\n"
            "    return tape_forward(tape_node(t, &op_square, x->shape, INPUTS(x)));\n"
            "}\n"
            "static Tensor *build(Tape *t, Tensor **x) { return tape_square(t, x[0]); }\n"
            "static const CheckCase own[] = {{\"own\", build, {{\"x\", DIMS(2, 3)}}}};\n"
            "const Op op_square = {\"square\", forward, backward, CASES(own)};\n%s",
            factor, slope, more);
    fclose(f);
}

static const char right[] = "2 * x[i]";

static bool is_near(double a, double b) {
    return fabs(a - b) < 0.02; /* each part has a multiple of 1/1024 */
}

/* ---- A file to start from ---- */

/* An operation without marks is no exercise. */
TEST(every_template_compiles) {
    int exercises = 0;
    char path[96], says[96];
    CHECK(mkdir("files", 0777) == 0);
    for (int i = 0; i < ops_count; i++) {
        const char *op = ops_all[i].op->name;
        int status = GRADCHECK("--template", op);
        if (status == STATUS_USAGE && strstr(err, " is no exercise: ")) continue;
        CHECK(status == 0, "%s: %s", op, err);
        exercises++;
        snprintf(path, sizeof path, "files/%s.c", op);
        write_text(path, out);
    }
    CHECK(GRADCHECK("files", "--json") == 1 && !strstr(err, "warning"), "%s", err);
    for (int i = 0; i < ops_count; i++) {
        snprintf(path, sizeof path, "\"file\": \"%s.c\"", ops_all[i].op->name);
        snprintf(says, sizeof says, "bug: %s: ", ops_all[i].op->name);
        CHECK(!has_line(path, "", "") || has_line(path, says, "ward is to be written"), "%s", out);
    }
    CHECK(GRADCHECK("--template", "gru") == STATUS_USAGE && strstr(err, "found 'gru'"), "%s", err);
    CHECK(exercises > ops_count / 2, "%d exercises", exercises);
}

/* Files solved as in the project pass, whatever their arguments, also where the project's cases
 * call other operations. */
TEST(a_solution_is_like_the_operation) {
    static const char *const solved[] = {"softmax", "dropout", "masked_fill", "contiguous"};
    enum { SOLVED = sizeof solved / sizeof *solved };
    char *source[SOLVED], path[PATH_MAX + 64];
    size_t size;
    for (int i = 0; i < SOLVED; i++) {
        snprintf(path, sizeof path, "%s/src/core/ops/%s.c", source_folder, solved[i]);
        source[i] = read_bytes(path, &size);
    }
    for (int i = 0; i < SOLVED; free(source[i++])) {
        char *cases = source[i] ? strstr(source[i], "/* exercise: end */") : NULL;
        char *op = cases ? strstr(cases, "\nconst Op op_") : NULL;
        CHECK(op, "%s", solved[i]);
        if (!op) continue;
        FILE *f = fopen("solved.c", "w");
        fprintf(f, "%.*sstatic const CheckCase cases[1];\n%s", (int)(cases - source[i]), source[i],
                op);
        fclose(f);
        CHECK(GRADCHECK("solved.c", "--like", solved[i], "--json") == 0, "%s: %s%s", solved[i], err,
              out);
    }
}

/* ---- The teacher's cases ---- */

static const char teachers[] =
    "#include \"ops/ops.h\"\n"
    "static Tensor *build(Tape *t, Tensor **x) { return tape_square(t, x[0]); }\n"
    "static const CheckCase cases[] = {\n"
    "    {\"row\", build, {{\"x\", DIMS(1, 4)}}, .points = 3},\n"
    "    {\"empty\", build, {{\"x\", DIMS(0, 4)}}},\n"
    "};\n"
    "const Op op_square = {\"square\", CASES(cases)};\n";

TEST(a_teachers_cases_judge) {
    write_text("cases.c", teachers);
    write_square("right.c", "1", right, "");
    write_square("wrong.c", "1", "x[i]", "");
    CHECK(GRADCHECK("right.c", "--cases", "cases.c", "--json") == 0, "%s%s", err, out);
    CHECK(strstr(out, "\"case\": \"row\"") && !strstr(out, "\"case\": \"own\""), "%s", out);
    CHECK(GRADCHECK("wrong.c", "--cases", "cases.c", "--json") == 1, "%s", out);
    CHECK(strstr(out, "\"pattern\": \"constant factor\""), "%s", out);
    CHECK(GRADCHECK("right.c", "--cases", "none.c") == STATUS_NO_INPUT, "%s", err);
    char misspelt[sizeof teachers];
    snprintf(misspelt, sizeof misspelt, "%s", teachers);
    memcpy(strstr(misspelt, "tape_square"), "tape_sqaure", strlen("tape_sqaure"));
    const char *const bad[][2] = {{"int f(", "bad.c: does not compile"},
                                  {"int x;", "defines no operation"},
                                  {misspelt, "implicit declaration of function"}};
    for (int i = 0; i < 3; i++) {
        write_text("bad.c", bad[i][0]);
        CHECK(GRADCHECK("right.c", "--cases", "bad.c") == STATUS_BAD_DATA && strstr(err, bad[i][1]),
              "%s", err);
    }
}

/* A right gradient of another function fails --like: an operation, a solution, or either at a
 * teacher's cases. It loses the points of the output; its gradients are compared with those of the
 * reference. */
TEST(another_function_is_found) {
    static const char *const like[] = {"square", "solution.c"}, *const cases[] = {NULL, "--cases"};
    CHECK(mkdir("files", 0777) == 0);
    write_text("cases.c", teachers);
    write_square("solution.c", "1", right, "");
    write_square("files/right.c", "1", "x[i] + x[i]", "");
    write_square("files/twice.c", "2", "4 * x[i]", "");
    write_square("files/output.c", "2", right, "");
    CHECK(GRADCHECK("files/twice.c", "--json") == 0, "%s", out);
    CHECK(GRADCHECK("files/twice.c", "--cases", "cases.c", "--json") == 0, "%s", out);
    for (int i = 0; i < 4; i++) {
        const char *given = i < 2 ? "\"case\": \"" : "\"case\": \"row\"";
        CHECK(GRADCHECK("files", "--gradescope", "g", "--json", "--like", like[i % 2], cases[i / 2],
                        "cases.c") == 1,
              "%s: %s", like[i % 2], err);
        CHECK(has_line("twice.c", "is another function", given) &&
                  has_line("right.c", "\"PASS\"", given) && !has_line("right.c", "\"FAIL\"", ""),
              "%s: %s", like[i % 2], out);
        if (i == 1) CHECK(has_line("right.c", "\"case\": \"own\"", ""), "%s", out);
        Score twice = score_of("g/twice.c.json"), output = score_of("g/output.c.json");
        CHECK(
            i || (is_near(twice.of, 6) && twice.points == 0 && is_near(output.points, 3 + 1.0 / 3)),
            "%g and %g of %g", twice.points, output.points, twice.of);
    }
    static const struct {
        const char *like, *says;
        int status;
    } unfit[] = {{"none.c", "none.c", STATUS_NO_INPUT},
                 {"sqare", "found 'sqare'", STATUS_USAGE},
                 {"bad.c", "bad.c: does not compile", STATUS_BAD_DATA}};
    write_square("bad.c", "1", right, "int f(");
    for (int i = 0; i < 3; i++)
        CHECK(GRADCHECK("files/right.c", "--like", unfit[i].like) == unfit[i].status &&
                  strstr(err, unfit[i].says),
              "%s", err);
}

/* Warnings reach the teacher and the report, and text from a file cannot drive a terminal. */
TEST(warnings_are_shown_and_printable) {
    size_t size;
    write_square("op.c", "1", right, "#warning \033[2J\033]0;title\a\n");
    CHECK(GRADCHECK("op.c", "--gradescope", "g") == 0, "%s", out);
    CHECK(strstr(err, "warning: ") && !strpbrk(err, "\033\a"), "%s", err);
    char *report = read_bytes("g", &size);
    CHECK(report && strstr(report, "op.c:20:2: warning: "), "%s", report);
    free(report);
    write_square("op.c", "1", right, "#error \033[2J\n");
    CHECK(GRADCHECK("op.c") == 1 && strstr(out, "#error") && !strpbrk(out, "\033"), "%s", out);
}

TEST(warnings_of_a_folder_come_below_its_rows) {
    size_t size;
    CHECK(mkdir("files", 0777) == 0);
    write_square("files/a.c", "1", right, "static int unused;\n");
    write_square("files/b.c", "1", right, "");
    int both = open("both", O_WRONLY | O_CREAT | O_APPEND, 0600);
    run_program("gradcheck", ARGUMENTS("files"), (Streams){.terminal = both, .pipe = both});
    close(both);
    char *said = read_bytes("both", &size), *row = said ? strstr(said, "\nb.c ") : NULL;
    CHECK(row && strstr(row, "warning: ") && strstr(said, "warning: ") > row, "%s", said);
    free(said);
}

/* ---- Cases that the checker adds ---- */

TEST(forgotten_sizes_are_checked) {
    enum { SLOPES = 5 };
    static const char *const slopes[SLOPES][2] = {
        {"shape_count(n->out->shape) == 3 ? x[i] : 2 * x[i]", "own, size 1 for 2"},
        {"x[i] > 2 || x[i] < -2 ? 1 : 2 * x[i]", "own, larger values"},
        {"x[i] > 6 ? 1 : 2 * x[i]", "own, much larger values"},
        {"i > 8 ? 0 : 2 * x[i]", "own, size 11 for 2"},
        {"x[i] == 0 ? 1 : 2 * x[i]", "own, zeros among the values"}};
    char path[32];
    CHECK(mkdir("files", 0777) == 0);
    for (int i = 0; i < SLOPES; i++) {
        snprintf(path, sizeof path, "files/%d.c", i);
        write_square(path, "1", slopes[i][0], "");
    }
    /* A size that the operation refuses is none of its faults. */
    write_square("files/refuses.c",
                 "(shape_count(n->out->shape) == 6 ? 1 : (error_bug(\"size\"), 0))", right, "");
    CHECK(GRADCHECK("files", "--json") == 1, "%s", err);
    for (int i = 0; i < SLOPES; i++) {
        snprintf(path, sizeof path, "\"file\": \"%d.c\"", i);
        CHECK(has_line(path, slopes[i][1], "\"FAIL\""), "no '%s': %s", slopes[i][1], out);
    }
    CHECK(has_line("refuses.c", "\"PASS\"", "") && !has_line("refuses.c", "\"FAIL\"", ""), "%s",
          out);
}

/* y = sum of (k + 1) x_k over as many inputs as an operation may have; `slope` stands for the
 * gradient's k
 * + 1. */
static void write_widest(const char *path, const char *slope) {
    FILE *f = fopen(path, "w");
    CHECK(f, "%s", path);
    if (!f) return;
    fprintf(f,
            "#include \"ops/ops.h\"\n"
            "static void forward(Node *n) {\n"
            "    long count = shape_count(n->out->shape);\n"
            "    real *x = node_memory(n, (size_t)(count + 1) * sizeof *x);\n"
            "    for (long i = 0; i < count; i++) n->out->data[i] = 0;\n"
            "    for (int k = 0; k < n->inputs; k++) {\n"
            "        tensor_copy_out(n->in[k], x);\n"
            "        for (long i = 0; i < count; i++) n->out->data[i] += (k + 1) * x[i];\n"
            "    }\n"
            "}\n"
            "static void backward(Node *n) {\n"
            "    for (int k = 0; k < n->inputs; k++)\n"
            "        for (long i = 0; n->in[k]->grad && i < shape_count(n->out->shape); i++)\n"
            "            n->in[k]->grad[i] += n->out->grad[i] * (%s);\n"
            "}\n"
            "extern const Op op_widest;\n"
            "Tensor *tape_widest(Tape *t, int count, Tensor *const *x) {\n"
            "    return tape_forward(tape_node(t, &op_widest, x[0]->shape, count, x));\n"
            "}\n"
            "static Tensor *build(Tape *t, Tensor **x) { return tape_widest(t, MAX_INPUTS, x); }\n"
            "static const CheckCase own[] = {{\"all\", build, {",
            slope);
    for (int k = 0; k < MAX_INPUTS; k++) fprintf(f, "{\"x%d\", DIMS(2), .low = 1, .high = 2}, ", k);
    fprintf(f, "}}};\nconst Op op_widest = {\"widest\", forward, backward, CASES(own)};\n");
    fclose(f);
}

TEST(every_input_counts) {
    char last[32], wrong[64];
    write_widest("op.c", "k + 1");
    CHECK(GRADCHECK("op.c", "--json", "--gradescope", "g.json") == 0, "%s%s", err, out);
    snprintf(last, sizeof last, "\"part\": \"dx%d\"", MAX_INPUTS - 1);
    CHECK(strstr(out, last), "no %s in %s", last, out);
    Score s = score_of("g.json");
    CHECK(is_near(s.points, s.of) && s.of > 0, "%g of %g points", s.points, s.of);
    snprintf(wrong, sizeof wrong, "k == %d ? 1 : k + 1", MAX_INPUTS - 1);
    write_widest("op.c", wrong);
    CHECK(GRADCHECK("op.c", "--seeds", "2") == 1, "%s", out);
    snprintf(last, sizeof last, "FAIL widest/all, dx%d: ", MAX_INPUTS - 1);
    CHECK(strstr(out, last) && !strstr(out, "FAIL widest/all, dx0: "), "%s", out);
}

TEST(a_function_without_a_slope_proves_nothing) {
    write_square("op.c", "0", "0 * x[i]", "");
    CHECK(GRADCHECK("op.c") == STATUS_INCONCLUSIVE && strstr(out, ".flat = true"), "%s", out);
}

/* ---- Points and reports ---- */

/* Two cases of 3 points and 1: half for the gradient and half for the properties, whatever is
 * handed in. The second has no elements: it has points only if the first is right. A broken property
 * costs the properties' points, as a wrong gradient does its own: of a case of 3 points half. A
 * crash says which property was tested. */
enum { TEACHERS_TESTS = 2 * 2 };

TEST(the_denominator_is_the_teachers) {
    static const struct {
        const char *name, *factor, *slope, *more;
        double points;
        const char *says;
    } files[] = {
        {"right", "1", right, "", 4, ""},
        {"a wrong slope", "1", "3 * x[i]", "", 0, "Nothing is proved where every gradient is 0."},
        {"a constant", "0", "0", "", 0, ""},
        {"does not compile", "1", right, "int f(", 0, ""},
        {"crashes", "1", "*(volatile int *)0", "", 0, ""},
        {"exits", "1", "(exit(0), 1)", "#include <stdlib.h>\n", 0, ""},
        {"calls the project", "1", right,
         "Tensor *f(Tape *t, Tensor *x) { return tape_mul(t, x, x); }\n", 0, ""},
        {"has more cases", "1", right, "const CheckCase more[9];\n", 4, ""},
        {"overwrites", "1", "n->in[0]->grad[i] == 1 ? 1 : 2 * x[i]", "", 2.5,
         "FAIL: the property 'accumulates' (backward adds to what a gradient holds) does not hold: "
         "backward must add"},
        {"crashes late", "1", "n->in[0]->grad[i] == 1 ? *(volatile int *)0 : 2 * x[i]", "", 2.5,
         SANITIZER ? "does not hold: called exit" : "does not hold: crashed"}};
    enum { FILES = sizeof files / sizeof *files };
    char path[64];
    CHECK(mkdir("files", 0777) == 0);
    write_text("cases.c", teachers);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "files/%s.c", files[i].name);
        write_square(path, files[i].factor, files[i].slope, files[i].more);
    }
    CHECK(GRADCHECK("files", "--cases", "cases.c", "--gradescope", "g") == 1, "%s", err);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "g/%s.c.json", files[i].name);
        Score s = score_of(path), says = score_of_part(path, files[i].says);
        CHECK(s.tests == TEACHERS_TESTS && is_near(s.of, 4) && says.tests > 0,
              "%s: %d tests of %g points", files[i].name, s.tests, s.of);
        CHECK(is_near(s.points, files[i].points), "%s: %g points, need %g", files[i].name, s.points,
              files[i].points);
        CHECK(i != 1 || (says.tests == 2 && says.of == 1), "%d tests of %g points prove nothing",
              says.tests, says.of);
    }
    write_text("g.json", "old");
    CHECK(GRADCHECK("op.c", "--cases", "cases.c", "--gradescope", "g.json") == STATUS_NO_INPUT,
          "%s", err);
    Score s = score_of("g.json");
    CHECK(s.tests == TEACHERS_TESTS && is_near(s.of, 4) && s.points == 0,
          "no file: %d tests of %g points", s.tests, s.of);
}

TEST(an_old_report_never_stays) {
    static const char *const runs[][3] = {
        {"none.c", NULL, "is missing: nothing was handed in under this name"},
        {"gru", NULL, "found 'gru'"},
        {"softmax", "no such case", "has none like"}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        size_t size;
        write_text("g.json", "old");
        int status = GRADCHECK("--gradescope", "g.json", runs[i][0], runs[i][1]);
        char *json = read_bytes("g.json", &size);
        CHECK(status == STATUS_NO_INPUT || status == STATUS_USAGE, "%s: %d", runs[i][0], status);
        CHECK(json && strstr(json, "\"failed\"") && strstr(json, runs[i][2]), "%s", json);
        free(json);
    }
}

/* Starts a run, and waits for this report of it. */
static Child start_judging(const char *file, const char *reports, const char *first) {
    Child child = start_program(
        "gradcheck", ARGUMENTS(file, "--cases", "cases.c", "--gradescope", reports), (Streams){0});
    for (int i = 0; i < 3000 && score_of(first).tests < TEACHERS_TESTS; i++) usleep(10000);
    return child;
}

/* A run on files that never end loading gets a signal; its status. */
static int end_early(const char *file, const char *reports, const char *first, int signal_number) {
    Child child = start_judging(file, reports, first);
    kill(child.pid, signal_number);
    return end_program(child);
}

static const char never_ends[] =
    "__attribute__((constructor)) static void loop(void) { for (volatile int i = 0;; i++); }\n";

static const char sleeps_a_while[] = "#include <unistd.h>\n__attribute__((constructor)) static "
                                     "void wait(void) { usleep(700000); }\n";

static void expect_no_points(const char *report) {
    Score s = score_of(report);
    CHECK(s.tests == TEACHERS_TESTS && is_near(s.of, 4) && s.points == 0,
          "%s: %d tests of %g points", report, s.tests, s.of);
}

/* A run that is killed leaves a report in which all tests fail; in a directory, one for each file.
 * A run that is asked to end says so in the report, accuses no file and removes its files. */
TEST(runs_that_end_leave_reports) {
    char *json;
    size_t size;
    CHECK(mkdir("files", 0777) == 0 && mkdir("g", 0777) == 0 && mkdir("tmp", 0777) == 0);
    CHECK(setenv("TMPDIR", "tmp", 1) == 0);
    write_text("cases.c", teachers);
    write_text("g/b.c.json", "old");
    write_square("op.c", "1", right, never_ends);
    write_square("files/a.c", "1", right, never_ends);
    write_square("files/b.c", "1", right, "");
    CHECK(end_early("op.c", "g.json", "g.json", SIGTERM) == 128 + SIGTERM);
    expect_no_points("g.json");
    json = read_bytes("g.json", &size);
    CHECK(json && strstr(json, "was asked to end"), "%s", json);
    CHECK(strstr(out, "was asked to end") && !strstr(out, "FAIL"), "%s", out);
    free(json);
    CHECK(rmdir("tmp") == 0 && mkdir("tmp", 0777) == 0, "something is left in TMPDIR");
    unlink("g.json");
    CHECK(end_early("op.c", "g.json", "g.json", SIGKILL) == 128 + SIGKILL);
    expect_no_points("g.json");
    CHECK(end_early("files", "g", "g/b.c.json", SIGKILL) == 128 + SIGKILL);
    expect_no_points("g/a.c.json");
    expect_no_points("g/b.c.json");
}

/* The first child of a process; 0: none, or no such list on this system. */
static pid_t child_of(pid_t parent) {
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%d", &child) != 1) child = 0;
    if (f) fclose(f);
    return child;
}

/* A file whose judge dies is judged again, and nothing is lost. */
TEST(a_judge_may_die) {
    pid_t judge = 0;
    if (access("/proc/self/task", R_OK) != 0) return;
    CHECK(mkdir("files", 0777) == 0);
    write_text("cases.c", teachers);
    write_square("files/a.c", "1", right, sleeps_a_while);
    Child child = start_judging("files", "g", "g/a.c.json");
    for (int i = 0; i < 3000 && !judge; i++) usleep(10000), judge = child_of(child.pid);
    CHECK(judge > 0 && kill(judge, SIGKILL) == 0);
    CHECK(end_program(child) == 0, "%s%s", out, err);
    CHECK(is_near(score_of("g/a.c.json").points, 4), "%s", out);
}

/* A disk that is full for a while costs no points: the file is judged again. If it stays full, the
 * report names it. */
TEST(a_lack_of_the_machine_costs_nothing) {
    static const char script[] =
        "#!/bin/sh\nsleep 0.5\n[ -e ${0%cc}room ] || { echo No space left on device; exit 1; }\n"
        "exec /usr/bin/cc \"$@\"\n";
    char cc[256];
    CHECK(mkdir("files", 0777) == 0 && chmod(".", 0755) == 0);
    write_text("cases.c", teachers);
    write_square("files/a.c", "1", right, "");
    write_text("cc", script);
    CHECK(chmod("cc", 0777) == 0);
    snprintf(cc, sizeof cc, "%s/cc", folder);
    setenv("CC", cc, 1);
    CHECK(GRADCHECK("files", "--gradescope", "g") == STATUS_INCONCLUSIVE, "%s%s", out, err);
    CHECK(strstr(out, "the machine lacks memory, processes or disk space: No space left"), "%s",
          out);
    Child child = start_program("gradcheck", ARGUMENTS("files"), (Streams){0});
    usleep(800000);
    write_text("room", "");
    CHECK(end_program(child) == 0, "%s%s", out, err);
}

/* A reader of the table that closes the pipe does not change the grade. */
TEST(a_reader_that_goes_costs_no_grade) {
    write_text("cases.c", teachers);
    write_square("op.c", "1", right, "");
    int end[2];
    CHECK(pipe(end) == 0);
    close(end[0]);
    CHECK(run_program("gradcheck",
                      ARGUMENTS("op.c", "--cases", "cases.c", "--gradescope", "g.json"),
                      (Streams){.pipe = end[1]}) == STATUS_IO);
    close(end[1]);
    Score s = score_of("g.json");
    CHECK(is_near(s.points, 4), "%g points", s.points);
}

/* An endless loop costs a few time limits, and not one in each of many cases. */
TEST(loops_get_less_time) {
    write_square("op.c", "1", right, "");
    write_text("cases.c",
               "#include \"ops/ops.h\"\n"
               "static Tensor *build(Tape *t, Tensor **x) { for (;;) tape_square(t, x[0]); }\n"
               "static const CheckCase cases[] = {\n"
               "    {\"1\", build, {{\"x\", DIMS(1)}}}, {\"2\", build, {{\"x\", DIMS(2)}}},\n"
               "    {\"3\", build, {{\"x\", DIMS(3)}}}, {\"4\", build, {{\"x\", DIMS(4)}}},\n"
               "    {\"5\", build, {{\"x\", DIMS(5)}}}, {\"6\", build, {{\"x\", DIMS(6)}}},\n"
               "};\n"
               "const Op op_square = {\"square\", CASES(cases)};\n");
    CHECK(GRADCHECK("op.c", "--cases", "cases.c", "--time-limit", "0.5") == 1, "%s", err);
    CHECK(strstr(out, "square/1: did not end within its time limit of 0.5 s"), "%s", out);
    CHECK(strstr(out, "square/6: did not end within its time limit of 0.05 s"), "%s", out);
}

/* Cases that the checker adds are not run where the file's own never end: they would take a time
 * limit each. */
TEST(cases_are_not_added_to_loops) {
    write_square("op.c", "1", "({ volatile long n = N; while (n == 6) continue; x[i]; })", "");
    CHECK(GRADCHECK("op.c", "--time-limit", "0.5", "--threads", "1") == 1, "%s", err);
    CHECK(strstr(out, "time limit of 0.5 s") && !strstr(out, "size 11"), "%s", out);
}

/* ---- A folder ---- */

TEST(a_folder_is_a_table) {
    CHECK(mkdir("files", 0777) == 0);
    write_square("files/anna.c", "1", right, "");
    write_square("files/bert.c", "1", "x[i]", "");
    write_text("files/carl.c", "int f(");
    write_text("cases.c", teachers);
    write_text("files/dora.C", "int f("), write_text("files/notes.txt", "");
    CHECK(GRADCHECK("files", "--cases", "cases.c", "--gradescope", "g") == 1, "%s%s", err, out);
    CHECK(strstr(out, "\nleft out, because they do not end in .c or .py: dora.C, notes.txt\n"),
          "%s", out);
    CHECK(strstr(out, "anna.c ") && strstr(out, "bert.c ") && strstr(out, "carl.c "), "%s", out);
    CHECK(strstr(out, "does not compile"), "%s", out);
    Score anna = score_of("g/anna.c.json"), bert = score_of("g/bert.c.json"),
          carl = score_of("g/carl.c.json");
    CHECK(is_near(anna.points, 4) && bert.points == 0 && carl.points == 0, "%g %g %g", anna.points,
          bert.points, carl.points);
    CHECK(is_near(anna.of, 4) && is_near(bert.of, 4) && is_near(carl.of, 4), "%g %g %g", anna.of,
          bert.of, carl.of);
    unlink("files/bert.c"), unlink("files/carl.c");
    CHECK(GRADCHECK("files", "--cases", "cases.c", "--json") == 0 &&
              strstr(out, "\"file\": \"anna.c\""),
          "%s%s", err, out);
    /* As exports have them: a folder for each. Hidden ones and links are not gone into. */
    CHECK(mkdir("files/dora 1", 0777) == 0 && rename("files/anna.c", "files/dora 1/op.c") == 0);
    CHECK(mkdir("files/.git", 0777) == 0 && symlink("..", "files/dora 1/up") == 0);
    write_text("files/.git/x.c", "");
    CHECK(GRADCHECK("files", "--cases", "cases.c", "--gradescope", "g") == 0, "%s%s", err, out);
    CHECK(strstr(out, "\ndora 1/op.c ") && !strstr(out, "x.c") && strstr(out, ".py: dora 1/up"),
          "%s", out);
    CHECK(is_near(score_of("g/dora 1/op.c.json").points, 4));
    unlink("files/dora 1/op.c");
    CHECK(GRADCHECK("files") == STATUS_NO_INPUT && strstr(err, "found no C or Python files"), "%s",
          err);
}

/* Files of one name, a long name, links: each has a line and a report of its own, and costs no
 * other file its points. */
TEST(every_file_has_its_own_line) {
    char name[256] = "", path[300], report[300];
    size_t size;
    CHECK(mkdir("files", 0777) == 0);
    memset(name, 'n', 250);
    strcpy(name + 250, ".c");
    snprintf(path, sizeof path, "files/%s", name);
    write_square(path, "1", right, "");
    write_square("solution.c", "1", right, "");
    write_square("files/anna.c", "1", right, "");
    write_text("files/anna.py", "x = (\n");
    CHECK(symlink("../solution.c", "files/link.c") == 0 &&
          symlink("/etc/shadow", "files/shadow.c") == 0);
    CHECK(symlink("none", "files/none.c") == 0 && mkfifo("files/pipe.c", 0600) == 0);
    CHECK(GRADCHECK("files", "--like", "solution.c", "--gradescope", "g", "--reports", "lines") ==
              1,
          "%s", err);
    snprintf(report, sizeof report, "g/%.220s-3.json", name);
    CHECK(is_near(score_of(report).points, 1) && is_near(score_of("g/anna.c.json").points, 1), "%s",
          out);
    CHECK(score_of("g/anna.py.json").points == 0 && score_of("g/anna.py.json").of > 0, "%s", out);
    CHECK(score_of("g/link.c.json").points == 0 && score_of("g/shadow.c.json").points == 0, "%s",
          out);
    CHECK(strstr(out, "link.c: found a link, need a regular file") && !strstr(out, "root:"), "%s",
          out);
    CHECK(strstr(out, "pipe.c: found something else, need a regular file"), "%s", out);
    char *lines = read_bytes("lines", &size);
    CHECK(lines && strstr(lines, "\"file\": \"anna.c\"") &&
              strstr(lines, "\"file\": \"anna.py\"") && strstr(lines, "\"file\": \"shadow.c\"") &&
              strstr(lines, name),
          "%s", lines);
    free(lines);
    CHECK(GRADCHECK("files/link.c", "--like", "solution.c") == STATUS_NO_INPUT &&
              strstr(err, "found a link"),
          "%s", err);
}

/* Seven points in thirteen parts are seven. */
TEST(points_add_up) {
    static const char seven[] =
        "#include \"ops/ops.h\"\n"
        "static Tensor *build(Tape *t, Tensor **x) { return tape_square(t, x[0]); }\n"
        "static const CheckCase cases[] = {{\"row\", build, {{\"x\", DIMS(1, 4)}}, .points = 7}};\n"
        "const Op op_square = {\"square\", CASES(cases)};\n";
    write_text("cases.c", seven);
    write_square("op.c", "1", right, "");
    MUST(GRADCHECK("op.c", "--cases", "cases.c", "--gradescope", "g.json"));
    Score s = score_of("g.json");
    CHECK(s.points == 7 && s.of == 7, "%.17g of %.17g", s.points, s.of);
}

/* With --solution no path leads to the project's operations, wherever the project lies. */
static void try_paths(void) {
    char odd[256], command[3 * PATH_MAX], more[PATH_MAX];
    const char *const paths[] = {"ops/square.c", "%s/src/core/ops/square.c",
                                 "%s/./src/../src/core/ops/square.c", "link/square.c"};
    snprintf(odd, sizeof odd, "%s/a b#c$d", folder);
    snprintf(
        command, sizeof command,
        "mkdir -p '%s/here' '%s/double' && cp -r '%s/src' '%s' && cp '%s/%sgradcheck' '%s/double'",
        odd, odd, source_folder, odd, program_folder, program_precision("gradcheck"), odd);
    CHECK(system(command) == 0 && chmod(".", 0755) == 0);
    snprintf(program_folder, sizeof program_folder, "%s/here", odd);
    snprintf(command, sizeof command, "%s/src/core/ops", odd);
    CHECK(symlink(command, "link") == 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int length = snprintf(more, sizeof more, "#include \"");
        length += snprintf(more + length, sizeof more - (size_t)length, paths[i], odd);
        snprintf(more + length, sizeof more - (size_t)length, "\"\n");
        FILE *f = fopen("op.c", "w");
        CHECK(f && fputs(more, f) >= 0 && fclose(f) == 0);
        CHECK(GRADCHECK("op.c", "--like", "square", "--solution", "--gradescope", "g.json") == 1,
              "%s%s", err, out);
        Score s = score_of("g.json");
        CHECK(s.points == 0 && s.of > 0, "%s: %g points", paths[i], s.points);
    }
    write_square("op.c", "1", right, "");
    CHECK(GRADCHECK("op.c", "--like", "square", "--solution") == 0, "%s%s", err, out);
}

TEST(no_path_leads_to_the_solution) {
    try_paths();
}
TEST(no_path_leads_to_the_solution_without_landlock) {
    if (confine_less(NO_LANDLOCK)) try_paths();
}

/* A run ends with the reason if no file can be judged, or no report written. */
TEST(a_folder_may_be_unfit) {
    CHECK(mkdir("files", 0777) == 0);
    write_square("files/anna.c", "1", right, "");
    write_text("cases.c", teachers);
    write_text("bad.c", "int f(");
    CHECK(GRADCHECK("files") == 0 && strstr(out, "anna.c "), "by its own cases: %s%s", err, out);
    CHECK(GRADCHECK("files", "--cases", "bad.c") == STATUS_BAD_DATA &&
              strstr(err, "bad.c: does not compile"),
          "%s", err);
    CHECK(GRADCHECK("files", "--cases", "cases.c", "--gradescope", "cases.c/in/it") ==
                  STATUS_CANNOT_CREATE &&
              !strstr(out, "anna.c "),
          "%s%s", err, out);
    CHECK(GRADCHECK(longest_path()) == STATUS_NO, "%s", err);
    setenv("CC", "no-such-compiler", 1);
    CHECK(GRADCHECK("files", "--gradescope", "g") == STATUS_UNAVAILABLE, "%s", out);
    CHECK(strcmp(err, "gradcheck: CC: no-such-compiler: cannot be run\n") == 0, "%s", err);
    CHECK(score_of("g/anna.c.json").tests == 1, "%s", out);
}

RUN_SHIPPED_TESTS
