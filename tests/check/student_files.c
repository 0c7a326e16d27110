/* Folders of hostile files. Each file gets a clear verdict, stdout stays JSON, and the other cases of the file are judged.
 * Hostile code runs in the case `bad` alone, so the case `good` passes. A file without a right gradient of its own never
 * passes. */
#include "formats/json.h"
#include "points.h"

static const char includes[] = "#include \"ops/ops.h\"\n"
                               "#include <fcntl.h>\n"
                               "#include <math.h>\n"
                               "#include <pthread.h>\n"
                               "#include <signal.h>\n"
                               "#include <stdio.h>\n"
                               "#include <stdlib.h>\n"
                               "#include <string.h>\n"
                               "#include <unistd.h>\n";

/* The place of the hostile code. */
typedef enum Place {
    TOP, /* outside of all functions */
    FORWARD,
    BACKWARD,
    BUILD,
    PLACES
} Place;

/* y = 2 x. In the case `bad` x has three elements. */
static void write_operation(const char *path, Place place, const char *code) {
    const char *at[PLACES] = {"", "", "", ""};
    at[place] = code;
    FILE *f = fopen(path, "w");
    CHECK(f, "%s", path);
    if (!f) return;
    fprintf(f, "%s%s\n", includes, at[TOP]);
    fprintf(f,
            "extern const Op op_twice;\n"
            "static void forward(Node *n) {\n"
            "    real *y = n->out->data;\n"
            "    tensor_copy_out(n->in[0], y);\n"
            "    for (long i = 0; i < shape_count(n->out->shape); i++) y[i] *= 2;\n"
            "    if (shape_count(n->in[0]->shape) == 3) { %s }\n"
            "}\n",
            at[FORWARD]);
    fprintf(f,
            "static void backward(Node *n) {\n"
            "    real *dx = n->in[0]->grad, *dy = n->out->grad;\n"
            "    for (long i = 0; i < shape_count(n->out->shape); i++) dx[i] += 2 * dy[i];\n"
            "    if (shape_count(n->in[0]->shape) == 3) { %s }\n"
            "}\n",
            at[BACKWARD]);
    fprintf(f,
            "Tensor *tape_twice(Tape *t, Tensor **x) {\n"
            "    Shape out = x[0]->shape;\n"
            "    if (shape_count(x[0]->shape) == 3) { %s }\n"
            "    return tape_forward(tape_node(t, &op_twice, out, INPUTS(x[0])));\n"
            "}\n"
            "static const CheckCase cases[] = {{\"own\", tape_twice, {{\"x\", DIMS(2)}}}};\n"
            "const Op op_twice = {\"twice\", forward, backward, CASES(cases)};\n",
            at[BUILD]);
    fclose(f);
}

static const char teachers[] =
    "#include \"ops/ops.h\"\n"
    "Tensor *tape_twice(Tape *t, Tensor **x);\n"
    "BUILD_CASE(build, tape_twice(t, x))\n"
    "static const CheckCase cases[] = {{\"good\", build, {{\"x\", DIMS(2)}}},\n"
    "    {\"bad\", build, {{\"x\", DIMS(3)}}}, {\"as good\", build, {{\"x\", DIMS(4)}}}};\n"
    "const Op op_twice = {\"twice\", CASES(cases)};\n";

/* True if every line of text is one JSON value. */
static bool is_json_lines(const char *text) {
    bool all = true;
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        char *copy = strndup(line, length);
        Error e = {0};
        Json j = json_over("line", copy, length, &e);
        json_skip(&j);
        if (!json_end(&j)) all = false;
        free(copy);
        line += length + (line[length] == '\n');
    }
    return all;
}

/* The path of the folder's file number i; in `name` as reports have it. */
static const char *path_of(int i, char name[32]) {
    static char path[32];
    snprintf(path, sizeof path, "files/%02d.c", i);
    snprintf(name, 32, "\"file\": \"%02d.c\"", i);
    return path;
}

typedef struct Hostile {
    const char *name;
    Place place;
    const char *code;
    const char *verdict; /* of the case `bad`; NULL: one of PASS and FAIL, by who is quicker */
    const char *says;    /* its reason has this in it */
} Hostile;

static const Hostile hostile[] = {
    {"nothing", TOP, "", "PASS", ""},
    {"exit(0)", FORWARD, "exit(0);", "FAIL", "called exit(0) before it was done"},
    {"_exit(0)", BACKWARD, "_exit(0);", "FAIL", "called exit(0) before it was done"},
    {"exit(1)", BUILD, "exit(1);", "FAIL", "called exit(1) before it was done"},
    {"a null pointer", FORWARD, "*(volatile int *)0 = 1;", "FAIL", "signal 11"},
    {"abort", BACKWARD, "abort();", "FAIL", "signal 6"},
    {"endless recursion", TOP,
     "static int deep(volatile int *p) { volatile int a[1000]; a[0] = *p; return deep(a) + a[0]; "
     "}\n"
     "static void fall(void) { volatile int a = 0; deep(&a); }\n"
     "#define tensor_copy_out(x, y) (tensor_copy_out(x, y), shape_count((x)->shape) == 3 ? fall() "
     ": (void)0)",
     "FAIL", "signal 11"},
    {"an endless loop", BACKWARD, "for (volatile int i = 0;; i++) continue;", "FAIL",
     "time limit of 1 s"},
    {"an endless loop that ignores its limit", FORWARD,
     "signal(SIGXCPU, SIG_IGN); for (volatile int i = 0;; i++) continue;", "FAIL",
     "time limit of 1 s"},
    {"sleep", FORWARD, "sleep(1000);", "FAIL", "time limit of 1 s"},
    {"100 GB", FORWARD, "char *volatile p = malloc(100000000000); memset(p, 1, 100000000000);",
     "FAIL", "out of memory: asked for 100000000000 bytes"},
    {"100 GB in parts", FORWARD, "for (char *volatile p;;) *(p = malloc(1 << 24)) = 1;", "FAIL",
     "out of memory"},
    {"100 GB on the tape", BUILD, "tape_constant(t, SHAPE(100000, 125000));", "FAIL",
     "memory: the tape would take 100 GB"},
    {"garbage printed", BACKWARD,
     "printf(\"\\033[2J{\\\"verdict\\\": \\\"PASS\\\"}\\n\"); fprintf(stderr, "
     "\"\\377garbage\\n\");",
     "PASS", ""},
    {"a megabyte printed", FORWARD, "for (int i = 0; i < 100000; i++) puts(\"garbage, garbage\");",
     "PASS", ""},
    {"a crash among many runs", FORWARD, "static int calls; if (calls++ == 40) abort();", "FAIL",
     "signal 6"},
    {"a crash at values that were tried to explain what is wrong", BACKWARD,
     "if (n->in[0]->data[0] == 0 && n->in[0]->data[1] == 0) abort(); dx[2] += n->in[0]->data[0] * "
     "dy[2];",
     "FAIL", "\"wrong\": 1,"},
    {"an end among many runs", FORWARD, "static int calls; if (calls++ == 40) exit(0);", "FAIL",
     "called exit(0) before it was done"},
    {"an output that grows on the way", BUILD,
     "static int calls; if (calls++ == 17) out = SHAPE(4000);", "FAIL",
     "elements at one point and"},
    {"a bug", BUILD, "tape_reshape(t, x[0], SHAPE(7));", "FAIL", "bug: reshape"},
    {"a tensor of wrong shape", BUILD, "out = SHAPE(4);", "FAIL", ""},
    {"no tensor", BUILD, "return NULL;", "FAIL", "build returned no tensor"},
    {"a tensor from nowhere", BUILD, "return (Tensor *)8;", "FAIL", "signal 11"},
    {"NaN forward", FORWARD, "y[1] = (real)NAN;", "INCONCLUSIVE", ""},
    {"NaN backward", BACKWARD, "dx[1] = (real)NAN;", "FAIL", "not finite"},
    {"infinity backward", BACKWARD, "dx[1] = (real)INFINITY;", "FAIL", "not finite"},
    {"random numbers", FORWARD, "y[0] *= (real)rand();", "FAIL", "same bits"},
    {"an input that is written to", BACKWARD, "n->in[0]->data[0] = 0;", "FAIL", "changed input x"},
    {"an output that is written to", BACKWARD, "n->out->data[0] = 0;", "FAIL",
     "changed the output"},
    {"memory beside a gradient", BACKWARD, "dx[3] += 1; dx[-1] += 1;", "FAIL",
     "memory beside the gradient of x"},
    {"a step too far", BACKWARD, "for (long i = 0; i <= 3; i++) dx[i] += 0 * dy[i];", "FAIL",
     "memory beside the gradient of x"},
    {"memory beside the output", FORWARD, "y[3] = 1;", "FAIL", "memory beside the output"},
    {"memory beside the upstream gradient", BACKWARD, "dy[-1] = 1;", "FAIL",
     "memory beside the output or its gradient"},
    {"beside the upstream gradient, read", BACKWARD, "dx[2] += 0 * dy[3];", "FAIL",
     "from beside an array"},
    {"an output that is not written", FORWARD, "y[1] = y[3];", "INCONCLUSIVE", ""},
    {"something else at first", BACKWARD, "static int calls; if (!calls++) dx[0] += 1;", "FAIL",
     "a later run must give the bits of the first"},
    {"something left from the run before", BACKWARD,
     "static real x; static int calls; dx[0] += calls++ && x != n->in[0]->data[0]; x = "
     "n->in[0]->data[0];",
     "FAIL", "a run between with other values must change no bits"},
    {"a child that stays", FORWARD, "if (fork() == 0) for (;;) pause();", "PASS", ""},
    {"a child that prints a report", FORWARD,
     "if (fork() == 0) { for (int fd = 3; fd < 1024; fd++) if (write(fd, \"PASS\", 4)) continue; "
     "_exit(0); }",
     NULL, ""},
    {"threads that stay", TOP,
     "static void *stay(void *x) { for (;;) pause(); return x; }\n"
     "static void leave(void) { pthread_t t; pthread_create(&t, NULL, stay, NULL); }\n"
     "#define tensor_copy_out(x, y) (tensor_copy_out(x, y), leave())",
     "PASS", ""},
    {"every descriptor closed", FORWARD, "for (int fd = 0; fd < 1024; fd++) close(fd);", "FAIL",
     "closed a descriptor"},
    {"a signal to itself", FORWARD, "raise(SIGKILL);", "FAIL", "signal 9"},
    {"stopped", FORWARD, "raise(SIGSTOP);", "FAIL", "time limit of 1 s"},
    {"another program", FORWARD, "execl(\"/bin/true\", \"true\", NULL); _exit(0);", "FAIL",
     "exit(0)"},
};
enum { HOSTILE = sizeof hostile / sizeof *hostile };

/* Seconds for a file: with sanitizers a right case may need one. */
#define LIMIT (SANITIZER ? "3" : "1")

/* Under a sanitizer, what is said of memory needs terabytes of address space. */
static bool is_tried(const Hostile *h) {
    return !SANITIZER || !strstr(h->says, "memory");
}

TEST(every_hostile_case_gets_a_verdict) {
    char name[32];
    CHECK(mkdir("files", 0777) == 0);
    write_text("cases.c", teachers);
    for (int i = 0; i < HOSTILE; i++)
        if (is_tried(&hostile[i]))
            write_operation(path_of(i, name), hostile[i].place, hostile[i].code);
    CHECK(GRADCHECK("files", "--cases", "cases.c", "--json", "--time-limit", LIMIT,
                    "--memory-limit", "1") == 1,
          "%s", err);
    CHECK(is_json_lines(out), "no JSON: %s", out);
    for (int i = 0; i < HOSTILE; i++) {
        const Hostile *h = &hostile[i];
        char verdict[40];
        path_of(i, name);
        snprintf(verdict, sizeof verdict, "\"verdict\": \"%s\"", h->verdict ? h->verdict : "");
        if (!h->verdict) verdict[strlen(verdict) - 1] = 0;
        if (!is_tried(h)) continue;
        CHECK(has_line(name, "\"case\": \"bad\"", verdict), "%s: not %s: %s", h->name, verdict,
              out);
        CHECK(SANITIZER || has_line(name, "\"case\": \"bad\"", h->says),
              "%s: does not say '%s': %s", h->name, h->says, out);
        CHECK(has_line(name, "\"case\": \"good\"", "\"PASS\"") &&
                  has_line(name, "\"case\": \"as good\"", "\"PASS\""),
              "%s: the others are not graded: %s", h->name, out);
    }
}

/* --- Files that are no operation at all. --- */

#define OPS "#include \"ops/ops.h\"\n"
#define CONSTRUCTOR(code)                                                                          \
    OPS "__attribute__((constructor)) static void f(void) { " code " }\nconst Op op_x = {\"x\"};"

static const struct File {
    const char *name, *text, *says;
} files[] = {
    {"does not compile", "int f(void) { return 1 }", ".c:1:23: error:"},
    {"an unknown function", OPS "const Op op_x = {\"x\", no_such_function};", "does not compile"},
    {"a function that is nowhere", OPS "void nowhere(Node *n);\nconst Op op_x = {\"x\", nowhere};",
     "nowhere"},
    {"an endless include", "#include \"submission.c\"", "does not compile"},
    {"an endless source", "#include \"/dev/zero\"\nint", "does not compile"},
    {"empty", "", "is empty"},
    {"no operation", "int x;", "defines no operation"},
    {"an operation in a comment", "/* const Op op_x = {0}; */", "defines no operation"},
    {"no cases", OPS "const Op op_x = {\"x\"};", "has no check cases"},
    {"a static operation", OPS "static const Op op_x = {\"x\"};", "is it static?"},
    {"exit in a constructor", "#include <stdlib.h>\n" CONSTRUCTOR("exit(0);"),
     "called exit(0) before it was done while it was loaded"},
    {"a crash in a constructor", CONSTRUCTOR("__builtin_trap();"), "crashed: signal 4"},
    {"a loop in a constructor", CONSTRUCTOR("for (volatile int i = 0;; i++);"),
     "time limit of 1 s"},
    {"a case without a function",
     OPS "static const CheckCase c[] = {{\"c\"}};\nconst Op op_x = {\"x\", CASES(c)};",
     "signal 11"},
    {"a case without a name",
     OPS "static const CheckCase c[] = {{0}};\nconst Op op_x = {\"x\", CASES(c)};", "signal 11"},
    {"too many cases",
     OPS "static const CheckCase c[1];\nconst Op op_x = {\"x\", .cases = c, .n_cases = 1 << 30};",
     ""},
};

TEST(every_hostile_file_gets_a_verdict) {
    enum { FILES = sizeof files / sizeof *files };
    char name[32];
    CHECK(mkdir("files", 0777) == 0);
    for (int i = 0; i < FILES; i++) write_text(path_of(i, name), files[i].text);
    CHECK(GRADCHECK("files", "--json", "--time-limit", LIMIT, "--memory-limit", "1") == 1, "%s",
          err);
    CHECK(is_json_lines(out), "no JSON: %s", out);
    for (int i = 0; i < FILES; i++) {
        path_of(i, name);
        CHECK(has_line(name, "\"verdict\": \"FAIL\"", SANITIZER ? "" : files[i].says),
              "%s: does not say '%s': %s", files[i].name, files[i].says, out);
    }
    write_operation("-op.c", FORWARD, "");
    CHECK(GRADCHECK("--json", "--", "-op.c") == 0, "a name like a flag's: %s%s", err, out);
    setenv("CC", "no-such-compiler -m64", 1);
    write_operation("op.c", FORWARD, "");
    CHECK(GRADCHECK("op.c") == STATUS_UNAVAILABLE &&
              strstr(err, "CC: no-such-compiler: cannot be run"),
          "%s", err);
    write_operation("op.c", TOP, "#ifdef __OPTIMIZE__\n#error optimized\n#endif");
    setenv("CC", "cc -O0", 1);
    CHECK(GRADCHECK("op.c") == 0, "options of CC win: %s%s", err, out);
    unsetenv("CC");
    CHECK(GRADCHECK("op.c") == 1 && strstr(out, "optimized"), "%s%s", err, out);
    CHECK(mkdir("folder.c", 0777) == 0);
    CHECK(GRADCHECK("folder.c") == 66 && strstr(err, "folder.c: found no C or Python files"),
          "a folder: %s%s", err, out);
}

/* The compiler's first error is whole in every report, with its line of the file, however long the path is. */
TEST(compile_errors_are_whole) {
    static const char *const says[] = {
        "submission.c:2:9: error: ",
        "a_name_that_is_longer_than_most_screens_are_wide_and_that_no_header_declares_anywhere"};
    static const char line[] =
        "int x = "
        "a_name_that_is_longer_than_most_screens_are_wide_and_that_no_header_declares_anywhere;";
    char folder_name[201], path[256], text[256];
    memset(folder_name, 'f', 200), folder_name[200] = 0;
    snprintf(path, sizeof path, "%s/submission.c", folder_name);
    snprintf(text, sizeof text, "#include \"ops/ops.h\"\n%s\n", line);
    CHECK(mkdir(folder_name, 0777) == 0);
    write_text(path, text);
    CHECK(GRADCHECK(path, "--gradescope", "g.json", "--reports", "lines") == 1, "%s", err);
    size_t size;
    char *json = read_bytes("g.json", &size), *lines = read_bytes("lines", &size);
    const char *const report[] = {out, json, lines};
    for (int i = 0; i < 3; i++)
        CHECK(strstr(report[i], says[0]) && strstr(report[i], says[1]) && strstr(report[i], line),
              "%s", report[i]);
    free(json), free(lines);
    CHECK(GRADCHECK(path, "--json") == 1 && strstr(out, says[0]) && strstr(out, line), "%s", out);
    CHECK(GRADCHECK(folder_name) == 1 && strstr(out, says[0]) && !strstr(out, line), "%s", out);
}

/* A file's function may have the name of one of the project's, and other parameters. */
TEST(own_names_are_its_own) {
    static const char text[] =
        "#include \"ops/ops.h\"\n"
        "extern const Op op_swiglu;\n"
        "static double random_uniform(int seed) { return seed; }\n"
        "Tensor *tape_swiglu(Tape *t, Tensor *x, double beta, int axis) {\n"
        "    (void)beta, (void)axis, (void)random_uniform(1);\n"
        "    return tape_forward(tape_node(t, &op_swiglu, x->shape, INPUTS(x)));\n"
        "}\n"
        "static void forward(Node *n) { tensor_copy_out(n->in[0], n->out->data); }\n"
        "static void backward(Node *n) {\n"
        "    for (long i = 0; i < shape_count(n->out->shape); i++) n->in[0]->grad[i] += "
        "n->out->grad[i];\n"
        "}\n"
        "BUILD_CASE(plain, tape_swiglu(t, x[0], 1, 2))\n"
        "static const CheckCase cases[] = {{\"plain\", plain, {{\"x\", DIMS(3, 4)}}}};\n"
        "const Op op_swiglu = {\"swiglu\", forward, backward, CASES(cases)};\n";
    write_text("op.c", text), write_text("solution.c", text);
    CHECK(GRADCHECK("op.c") == 0, "%s%s", err, out);
    CHECK(GRADCHECK("op.c", "--like", "solution.c") == 0, "as a solution: %s%s", err, out);
}

/* ---- Files without a right gradient of their own ---- */

/* The operation `own` of one input. `forward` computes y[i] in place. */
#define SQUARE_FILE(top, forward, backward, input, output)                                         \
    OWN_FILE(top, forward, backward, input, output,                                                \
             "{\"plain\", own_build, {{\"x\", DIMS(3, 5)}}}, {\"row\", own_build, {{\"x\", "       \
             "DIMS(1, 5)}}}")
#define OWN_FILE(top, forward, backward, input, output, cases)                                     \
    "#include \"ops/ops.h\"\n"                                                                     \
    "#include <math.h>\n"                                                                          \
    "extern const Op op_own;\n"                                                                    \
    "typedef struct Attr { Tensor *x; } Attr;\n" top "static void own_forward(Node *n) {\n"        \
    "    const Attr *a = n->attr;\n"                                                               \
    "    long count = shape_count(n->out->shape);\n"                                               \
    "    real *y = n->out->data;\n"                                                                \
    "    tensor_copy_out(a->x, y);\n"                                                              \
    "    for (long i = 0; i < count; i++) " forward "\n"                                           \
    "}\n"                                                                                          \
    "static void own_backward(Node *n) { (void)n; " backward " }\n"                                \
    "static Tensor *own_build(Tape *t, Tensor **x) {\n"                                            \
    "    Node *n = tape_node(t, &op_own, x[0]->shape, INPUTS(" input "));\n"                       \
    "    Attr *a = node_attr(n, sizeof *a);\n"                                                     \
    "    a->x = x[0];\n"                                                                           \
    "    Tensor *y = tape_forward(n);\n"                                                           \
    "    (void)y;\n"                                                                               \
    "    return " output ";\n"                                                                     \
    "}\n"                                                                                          \
    "static const CheckCase own_cases[] = {" cases "};\n"                                          \
    "const Op op_own = {\"own\", own_forward, own_backward, CASES(own_cases)};\n"

/* Files that compute y = x³ and try to pass. */
#define CUBE "y[i] *= y[i] * y[i];"
#define HEADERS                                                                                    \
    "#include <dlfcn.h>\n#include <stdio.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
#define FOR_EACH                                                                                   \
    "const Attr *a = n->attr;\n"                                                                   \
    "long N = shape_count(n->out->shape);\n"                                                       \
    "real *dx = n->in[0]->grad, *dy = n->out->grad, *x = node_memory(n, (size_t)(N + 1) * sizeof " \
    "*x);\n"                                                                                       \
    "tensor_copy_out(a->x, x);\n"                                                                  \
    "for (long i = 0; i < N; i++) "
#define CHEAT(top, backward, output) SQUARE_FILE(HEADERS top, CUBE, backward, "x[0]", output)

TEST(no_file_without_a_gradient_passes) {
    static const struct {
        const char *name, *text, *says;
        bool fails; /* otherwise nothing is proved */
    } cheats[] = {
        {"nothing", SQUARE_FILE("", "y[i] *= y[i];", "", "x[0]", "y"), "no gradient arrives", true},
        {"a constant input", SQUARE_FILE("", "y[i] *= y[i];", "", "tape_constant(t, SCALAR)", "y"),
         "the output takes no gradient", true},
        {"a constant output",
         SQUARE_FILE("", "y[i] *= y[i];", "", "x[0]", "tape_constant(t, y->shape)"),
         "does not depend on this input", false},
        {"a forged report",
         CHEAT("",
               "char report[1 << 16] = {0};\n"
               "for (int fd = 3; fd < 1024; fd++)\n"
               "    if (write(fd, report, sizeof report) > 0) write(fd, \"E\", 1);\n"
               "puts(\"{\\\"verdict\\\": \\\"PASS\\\"}\");",
               "y"),
         "wrote to a descriptor that is not its own", true},
        {"exit", CHEAT("", "_exit(0);", "y"), "called exit(0)", true},
        {"a patched checker",
         CHEAT("static void patch(void) {\n"
               "    const char *const names[] = {\"gradcheck_case\", \"gradcheck_case_with\", "
               "\"check_entries\",\n"
               "                                 \"plan_run\", \"show_report\"};\n"
               "    for (int i = 0; i < 5; i++) {\n"
               "        char *at = dlsym(RTLD_DEFAULT, names[i]);\n"
               "        void *page = (void *)((size_t)at & ~4095UL);\n"
               "        if (at && mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) "
               "*at = "
               "(char)0xC3;\n"
               "    }\n"
               "}\n",
               "patch();", "y"),
         "no gradient", true},
        {"asked whether it is checked",
         CHEAT("",
               "if (!dlsym(RTLD_DEFAULT, \"gradcheck_case\")) return;\n" FOR_EACH
               "dx[i] += 3 * x[i] * x[i] * dy[i];",
               "y"),
         "no gradient", true},
        {"build that calls the project", CHEAT("", "", "tape_exp(t, x[0])"), "tape_exp", true},
        {"an included solution", CHEAT("#include \"ops/exp.c\"\n", "", "tape_exp(t, x[0])"),
         "ops/exp.c", true},
        {"only an empty case",
         OWN_FILE("", CUBE, "", "x[0]", "y", "{\"empty\", own_build, {{\"x\", DIMS(0, 4)}}}"),
         "not tested:", false},
    };
    enum { CHEATS = sizeof cheats / sizeof *cheats };
    char name[32];
    CHECK(mkdir("files", 0777) == 0);
    for (int i = 0; i < CHEATS; i++) write_text(path_of(i, name), cheats[i].text);
    CHECK(GRADCHECK("files", "--json", "--solution") == 1, "%s", err);
    for (int i = 0; i < CHEATS; i++) {
        path_of(i, name);
        bool fails = has_line(name, "\"verdict\": \"FAIL\"", "");
        CHECK(fails == cheats[i].fails && has_line(name, cheats[i].says, ""), "%s: %s", name, out);
    }
}

RUN_SHIPPED_TESTS
