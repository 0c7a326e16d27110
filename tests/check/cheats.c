/* Files that try to pass without a gradient of their own: each has to be refused or reported, whatever it
 * does to its own process. All compute y = x³, and none has a right derivative that it worked out itself. */
#include "child.h"

typedef struct Cheat {
    const char *name;
    const char *top, *backward, *build; /* code that stands outside of functions, in backward, in build */
    const char *cases;                  /* NULL: plain ones */
    const char *verdict;                /* the worst */
    const char *says;                   /* somewhere in the report */
} Cheat;

static const char plain[] =
    "static const CheckCase cube_cases[] = {{\"plain\", cube_build, {{\"x\", DIMS(3, 4)}}},\n"
    "    {\"long\", cube_build, {{\"x\", DIMS(40)}}}};\n";

static const Cheat cheats[] = {
    {"a forged report", "",
     "char report[1 << 16] = {0};\n"
     "for (int fd = 3; fd < 1024; fd++) if (write(fd, report, sizeof report) > 0) write(fd, \"E\", 1);\n"
     "puts(\"{\\\"verdict\\\": \\\"PASS\\\"}\");",
     "", NULL, "FAIL", "no gradient"},
    {"exit", "", "_exit(0);", "", NULL, "FAIL", "called exit(0)"},
    {"a patched checker",
     "static void patch(void) {\n"
     "    const char *const names[] = {\"gradcheck_case\", \"gradcheck_case_with\", \"check_entries\", "
     "\"plan_run\", "
     "\"show_report\"};\n"
     "    for (int i = 0; i < 5; i++) {\n"
     "        char *at = dlsym(RTLD_DEFAULT, names[i]);\n"
     "        if (at && mprotect((void *)((size_t)at & ~4095UL), 8192, PROT_READ | PROT_WRITE | PROT_EXEC) "
     "== 0) *at = "
     "(char)0xC3;\n"
     "    }\n"
     "}\n",
     "patch();", "", NULL, "FAIL", "no gradient"},
    {"asked whether it is checked", "",
     "if (!dlsym(RTLD_DEFAULT, \"gradcheck_case\")) return;\n"
     "for (long i = 0; i < N; i++) dx[i] += 3 * x[i] * x[i] * dy[i];",
     "", NULL, "FAIL", "no gradient"},
    {"backward that returns differences", "static real third(real x) { return x * x * x; }\n",
     "for (long i = 0; i < N; i++) dx[i] += dy[i] * (third(x[i] + 1e-5) - third(x[i] - 1e-5)) / 2e-5;", "",
     NULL, "FAIL", "by differences"},
    {"build that calls the project", "", "", "return tape_exp(t, x[0]);", NULL, "FAIL", "tape_exp"},
    {"an included solution", "#include \"ops/exp.c\"\n", "", "return tape_exp(t, x[0]);", NULL, "FAIL",
     "ops/exp.c"},
    {"only an empty case", "", "", "",
     "static const CheckCase cube_cases[] = {{\"empty\", cube_build, {{\"x\", DIMS(0, 4)}}}};\n",
     "INCONCLUSIVE", "not tested:"},
};

static void write_cheat(const Cheat *c) {
    FILE *f = fopen("cheat.c", "w");
    CHECK(f);
    if (!f) return;
    fprintf(f,
            "#include \"ops/ops.h\"\n#include <dlfcn.h>\n#include <math.h>\n#include <stdio.h>\n#include "
            "<sys/mman.h>\n"
            "#include <unistd.h>\n%s"
            "extern const Op op_cube;\n"
            "static void cube_forward(Node *n) {\n"
            "    real *y = n->out->data;\n"
            "    tensor_copy_out(n->in[0], y);\n"
            "    for (long i = 0; i < shape_count(n->out->shape); i++) y[i] *= y[i] * y[i];\n"
            "}\n"
            "static void cube_backward(Node *n) {\n"
            "    long N = shape_count(n->out->shape);\n"
            "    real *dx = n->in[0]->grad, *dy = n->out->grad, *x = node_record(n, (size_t)(N + 1) * sizeof "
            "*x);\n"
            "    tensor_copy_out(n->in[0], x);\n"
            "    (void)dx, (void)dy;\n"
            "    %s\n"
            "}\n"
            "static Tensor *cube_build(Tape *t, Tensor **x) {\n"
            "    %s\n"
            "    return tape_record(tape_node(t, &op_cube, x[0]->shape, INPUTS(x[0])));\n"
            "}\n"
            "%sconst Op op_cube = {\"cube\", cube_forward, cube_backward, CASES(cube_cases)};\n",
            c->top, c->backward, c->build, c->cases ? c->cases : plain);
    fclose(f);
}

TEST(no_cheat_passes) {
    for (size_t i = 0; i < sizeof cheats / sizeof *cheats; i++) {
        const Cheat *c = &cheats[i];
        write_cheat(c);
        int status =
            run_program("gradcheck", ARGUMENTS("cheat.c", "--json", "--strict", "--solution"), (Streams){0});
        int want = strcmp(c->verdict, "FAIL") == 0 ? 1 : 4;
        CHECK(status == want, "%s: status %d, want %d: %s%s", c->name, status, want, err, out);
        CHECK(strstr(out, c->says), "%s: does not say '%s': %s", c->name, c->says, out);
    }
}

RUN_SHIPPED_TESTS
