/* Verdicts on whole files: a constant earns no point, and a right file is not accused by the cases that the checker adds. */
#include "base/error.h"
#include "child.h"
#include "points.h"

static char *read_student(const char *name) {
    char path[PATH_MAX + 64];
    size_t size;
    snprintf(path, sizeof path, "%s/tests/check/students/%s", source_folder, name);
    char *text = read_bytes(path, &size);
    CHECK(text, "%s", path);
    return text;
}

/* Writes own.c: the text with the header in place of what comes before and at #include "student.h".
 */
static void hand_in(const char *text) {
    static const char line[] = "student.h\"\n";
    char *header = read_student("student.h");
    FILE *f = fopen("own.c", "w");
    CHECK(f != NULL);
    fprintf(f, "%s%s", header, strstr(text, line) + strlen(line));
    fclose(f);
    free(header);
}

/* A constant for an operation of the project, with a recorded node and without: cases without elements or slope and
 * properties that hold of nothing have no points. */
TEST(a_constant_earns_nothing) {
    static const char *const constants[] = {
        "#include \"ops/ops.h\"\n"
        "Tensor *tape_softmax(Tape *t, Tensor *x, int axis) { (void)axis; return tape_constant(t, "
        "x->shape); "
        "}\n",
        "#include \"ops/ops.h\"\n"
        "static void forward(Node *n) {\n"
        "    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] = 1;\n"
        "}\n"
        "static void backward(Node *n) { (void)n; }\n"
        "const Op op_softmax = {\"softmax\", forward, backward};\n"
        "Tensor *tape_softmax(Tape *t, Tensor *x, int axis) {\n"
        "    (void)axis;\n"
        "    return tape_forward(tape_node(t, &op_softmax, x->shape, INPUTS(x)));\n"
        "}\n"};
    static const char cases[] =
        "#include \"ops/ops.h\"\n"
        "BUILD_CASE(rows, tape_softmax(t, x[0], -1))\n"
        "static const CheckCase cases[] = {{\"rows\", rows, {{\"x\", DIMS(3, 4)}}},\n"
        "                                  {\"none\", rows, {{\"x\", DIMS(0, 4)}}}};\n"
        "const Op op_softmax = {\"softmax\", CASES(cases)};\n";
    write_text("cases.c", cases);
    for (int i = 0; i < 4; i++) {
        bool like = i % 2;
        int status;
        write_text("own.c", constants[i / 2]);
        status =
            like ? GRADCHECK("own.c", "--like", "softmax", "--solution", "--gradescope", "r.json")
                 : GRADCHECK("own.c", "--cases", "cases.c", "--gradescope", "r.json");
        CHECK(status == (like ? 1 : 4), "constant %d: %s", i, out);
        CHECK(!like || strstr(out, "softmax/matrix: the property 'forward' does not hold"), "%s",
              out);
        Score found = score_of("r.json");
        CHECK(found.tests > 0 && found.points == 0 && found.passed_without == 0,
              "constant %d: %g points", i, found.points);
    }
}

/* softplus = log(1 + e^x) over a range in which e^x overflows from 709 on: no drawn point lies there. */
TEST(the_ends_of_a_range_are_looked_at) {
    static const char softplus[] =
        "#include \"student.h\"\n"
        "ELEMENTWISE(own, fmax(x, 0) + log1p(exp(-fabs(x))), exp(x) / (1 + exp(x)))\n"
        "static const CheckCase own_cases[] = {{\"low\", own_build, {{\"x\", DIMS(2), .low = -800, "
        ".high = "
        "%s}}}};\n"
        "const Op op_own = {\"own\", own_forward, own_backward, CASES(own_cases)};\n";
    static const char *const high[] = {"80", "800"};
    char text[2048];
    for (int wrong = 0; wrong < 2; wrong++) {
        snprintf(text, sizeof text, softplus, high[wrong]);
        hand_in(text);
        CHECK(GRADCHECK("own.c") == wrong, "up to %s: %s", high[wrong], out);
    }
    CHECK(strstr(out, "at the ends of"), "%s", out);
}

TEST(no_right_file_is_accused) {
    char *text = read_student("domains.c");
    hand_in(text);
    free(text);
    const char *seeds = getenv("ALL") ? "20" : "1";
    CHECK(GRADCHECK("own.c", "--seeds", seeds, "--time-limit", "60") == 0, "%s", out);
}

/* A gradient of 0 in the whole case is one verdict, whosoever's the case is; where another case decides, it is not tested. */
TEST(gradients_of_0_have_one_rule) {
    static const char relu[] =
        "#include \"student.h\"\n"
        "ELEMENTWISE(own, x > 0 ? x : 0, x > 0)\n"
        "extern const Op op_own;\n"
        "Tensor *tape_own(Tape *t, Tensor *x);\n"
        "Tensor *tape_own(Tape *t, Tensor *x) { return own_build(t, &x); }\n"
        "%sconst Op op_own = {\"own\", own_forward, own_backward, CASES(cases)};\n";
    static const char cases[] =
        "#include \"ops/ops.h\"\nTensor *tape_own(Tape *t, Tensor *x);\n%sconst Op "
        "op_own = {\"own\", CASES(cases)};\n";
    static const char *const tables[] = {
        "{\"zero\", build, {{\"x\", DIMS(1), .low = -2, .high = -1}}}",
        ("{\"zero\", build, {{\"x\", DIMS(1), .low = -2, .high = -1}}}, "
         "{\"more\", build, {{\"x\", DIMS(5)}}}"),
        "{\"zero\", build, {{\"x\", DIMS(1), .low = -2, .high = -1}}, .flat = true}"};
    static const int status[] = {STATUS_INCONCLUSIVE, 0, 0};
    char table[512], text[2048];
    for (int i = 0; i < 3; i++) {
        snprintf(table, sizeof table,
                 "BUILD_CASE(build, tape_own(t, x[0]))\nstatic const CheckCase cases[] = {%s};\n",
                 tables[i]);
        snprintf(text, sizeof text, relu, table);
        hand_in(text);
        snprintf(text, sizeof text, cases, table);
        write_text("cases.c", text);
        CHECK(GRADCHECK("own.c") == status[i] && (!status[i] || strstr(out, ".flat = true")),
              "%d: %s%s", i, err, out);
        CHECK(GRADCHECK("own.c", "--cases", "cases.c") == status[i] &&
                  (!status[i] || strstr(out, ".flat = true")),
              "%d: %s%s", i, err, out);
        CHECK((strstr(out, "not tested: its gradients are 0") != NULL) == (i == 1), "%d: %s", i,
              out);
    }
}

/* A smaller case is one that forward takes: here it reads beside an input of another size. */
TEST(the_smallest_case_is_one_of_the_function) {
    hand_in("#include \"student.h\"\n"
            "static void own_forward(Node *n) { n->out->data[0] = n->in[0]->data[0] * "
            "n->in[0]->data[2]; }\n"
            "static void own_backward(Node *n) {\n"
            "    n->in[0]->grad[0] += n->out->grad[0] * n->in[0]->data[1];\n"
            "    n->in[0]->grad[2] += n->out->grad[0] * n->in[0]->data[0];\n"
            "}\n"
            "BUILD(own, SHAPE(1), x[0])\n"
            "static const CheckCase cases[] = {{\"three\", own_build, {{\"x\", DIMS(3)}}}};\n"
            "const Op op_own = {\"own\", own_forward, own_backward, CASES(cases)};\n");
    CHECK(GRADCHECK("own.c") == 1 && strstr(out, "  x [3] = ") && !strstr(out, "yours nan"), "%s",
          out);
}

/* Sums whose order depends on the calls may be told to differ in their last digits. */
TEST(last_digits_may_depend_on_calls) {
    static const char sums[] =
        "#include \"student.h\"\n"
        "static int calls;\n"
        "ELEMENTWISE(own, x * x, 2 * x * (1 + (calls++ / 12 %% 3) * %s))\n"
        "static const CheckCase own_cases[] = {{\"plain\", own_build, {{\"x\", DIMS(12)}}}};\n"
        "const Op op_own = {\"own\", own_forward, own_backward, CASES(own_cases)};\n";
    static const char *const digits[] = {"1e-15", "1e-11"};
    char text[2048];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, sums, digits[i]);
        hand_in(text);
        CHECK(GRADCHECK("own.c") == 1 && strstr(out, "--nondeterminism 1e-"), "%s: %s", digits[i],
              out);
        CHECK(GRADCHECK("own.c", "--nondeterminism", "1e-12") == i, "%s: %s", digits[i], out);
    }
}

RUN_SHIPPED_TESTS
