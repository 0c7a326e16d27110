/* Verdicts on whole files: one that has no gradient never passes, and a right one is not accused by what the checker
 * adds to its cases. */
#include "child.h"

/* y = x², and a backward that does nothing. */
#define SQUARE_FILE(top, forward, backward, input, output)                                                   \
    "#include \"ops/ops.h\"\n"                                                                               \
    "#include <math.h>\n"                                                                                    \
    "extern const Op op_own;\n"                                                                              \
    "typedef struct Attr { Tensor *x; } Attr;\n" top "static void forward(Node *n) {\n"                      \
    "    const Attr *a = n->attr;\n"                                                                         \
    "    long count = shape_count(n->out->shape);\n"                                                         \
    "    real *y = n->out->data;\n"                                                                          \
    "    tensor_copy_out(a->x, y);\n"                                                                        \
    "    for (long i = 0; i < count; i++) " forward "\n"                                                     \
    "}\n"                                                                                                    \
    "static void backward(Node *n) { (void)n; " backward " }\n"                                              \
    "static Tensor *build(Tape *t, Tensor **x) {\n"                                                          \
    "    Node *n = tape_node(t, &op_own, x[0]->shape, INPUTS(" input "));\n"                                 \
    "    Attr *a = node_attr(n, sizeof *a);\n"                                                               \
    "    a->x = x[0];\n"                                                                                     \
    "    Tensor *y = tape_record(n);\n"                                                                      \
    "    (void)y;\n"                                                                                         \
    "    return " output ";\n"                                                                               \
    "}\n"                                                                                                    \
    "static const CheckCase cases[] = {{\"plain\", build, {{\"x\", DIMS(3, 5)}}},\n"                         \
    "                                  {\"row\", build, {{\"x\", DIMS(1, 5)}}}};\n"                          \
    "const Op op_own = {\"own\", forward, backward, CASES(cases)};\n"

/* Answers from the run before where one element differs from it. */
static const char cached[] = SQUARE_FILE(
    "static real last_x[64], last_y[64];\n"
    "static long known;\n"
    "static real from_cache(const real *x, long i, long count) {\n"
    "    long changed = 0;\n"
    "    for (long k = 0; i == 0 && k < count; k++) changed += x[k] != last_x[k];\n"
    "    if (i == 0 && (known != count || changed > 1))\n"
    "        for (long k = 0; k < count; k++) last_x[k] = x[k], last_y[k] = x[k] * x[k];\n"
    "    known = count;\n"
    "    return last_y[i];\n"
    "}\n",
    "{ static real x[64]; if (i == 0) tensor_copy_out(a->x, x); y[i] = from_cache(x, i, count); }", "",
    "x[0]", "y");

TEST(no_file_without_a_gradient_passes) {
    static const struct {
        const char *text, *says;
        int status;
    } files[] = {
        {SQUARE_FILE("", "y[i] *= y[i];", "", "x[0]", "y"), "no gradient arrives", 1},
        {SQUARE_FILE("", "y[i] *= y[i];", "", "tape_constant(t, SCALAR)", "y"),
         "the output takes no gradient", 1},
        {SQUARE_FILE("", "y[i] *= y[i];", "", "x[0]", "tape_constant(t, y->shape)"),
         "does not depend on this input", 4},
        {cached, "a run between with other values", 1},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_text("own.c", files[i].text);
        int status = GRADCHECK("own.c", "--json");
        CHECK(status == files[i].status && strstr(out, files[i].says), "file %zu: status %d, want '%s': %s",
              i, status, files[i].says, out);
    }
}

/* The points of a results.json, and how many of its tests pass without one of theirs. */
static double points_of(const char *json, int *passed_without) {
    double score, most, sum = 0;
    *passed_without = 0;
    for (const char *at = json; (at = strstr(at, "\"score\": ")); at++)
        if (sscanf(at, "\"score\": %lf, \"max_score\": %lf", &score, &most) == 2) {
            sum += score;
            *passed_without +=
                score == 0 && most > 0 && !strncmp(strstr(at, "\"status\": "), "\"status\": \"passed\"", 18);
        }
    return sum;
}

/* A constant for an operation of the project, with a recorded node and without: cases without elements or slope and
 * properties that hold of nothing have no points. */
TEST(a_constant_earns_nothing) {
    static const char *const constants[] = {
        "#include \"ops/ops.h\"\n"
        "Tensor *tape_softmax(Tape *t, Tensor *x, int axis) { (void)axis; return tape_constant(t, x->shape); "
        "}\n",
        "#include \"ops/ops.h\"\n"
        "static void forward(Node *n) {\n"
        "    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] = 1;\n"
        "}\n"
        "static void backward(Node *n) { (void)n; }\n"
        "const Op op_softmax = {\"softmax\", forward, backward};\n"
        "Tensor *tape_softmax(Tape *t, Tensor *x, int axis) {\n"
        "    (void)axis;\n"
        "    return tape_record(tape_node(t, &op_softmax, x->shape, INPUTS(x)));\n"
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
        int status, passed;
        size_t size;
        write_text("own.c", constants[i / 2]);
        status = like ? GRADCHECK("own.c", "--like", "softmax", "--solution", "--gradescope", "r.json")
                      : GRADCHECK("own.c", "--cases", "cases.c", "--gradescope", "r.json");
        CHECK(status == (like ? 1 : 4), "constant %d: %s", i, out);
        CHECK(!like || strstr(out, "softmax/matrix: the property 'forward' does not hold"), "%s", out);
        char *json = read_bytes("r.json", &size);
        CHECK(points_of(json, &passed) == 0 && passed == 0, "constant %d: %g points", i,
              points_of(json, &passed));
        free(json);
    }
}

/* softplus = log(1 + e^x) over a range in which e^x overflows from 709 on: no drawn point lies there. */
TEST(the_ends_of_a_range_are_looked_at) {
    static const char softplus[] =
        "#include \"%s/tests/check/students/student.h\"\n"
        "ELEMENTWISE(own, fmax(x, 0) + log1p(exp(-fabs(x))), exp(x) / (1 + exp(x)))\n"
        "static const CheckCase own_cases[] = {{\"low\", own_build, {{\"x\", DIMS(2), .low = -800, .high = "
        "%s}}}};\n"
        "const Op op_own = {\"own\", own_forward, own_backward, CASES(own_cases)};\n";
    static const char *const high[] = {"80", "800"};
    char text[2048 + PATH_MAX];
    for (int wrong = 0; wrong < 2; wrong++) {
        snprintf(text, sizeof text, softplus, source_folder, high[wrong]);
        write_text("own.c", text);
        CHECK(GRADCHECK("own.c") == wrong, "up to %s: %s", high[wrong], out);
    }
    CHECK(strstr(out, "at the ends of"), "%s", out);
}

TEST(no_right_file_is_accused, 300) {
    static const char *const files[] = {"domains", "elementwise", "arrays",
                                        "layers",  "sequences",   "matrices"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[PATH_MAX + 64];
        snprintf(path, sizeof path, "%s/tests/check/students/%s.c", source_folder, files[i]);
        int status = GRADCHECK(path, "--seeds", i == 0 ? "8" : "1", "--time-limit", "60");
        CHECK(status == 0, "%s: %s", files[i], out);
    }
}

RUN_SHIPPED_TESTS
