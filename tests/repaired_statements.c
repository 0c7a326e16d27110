/* The change that makes a wrong backward right (src/repair, grading/repair.h), where that is a statement, a loop, a call or a
 * pointer that walks; and operations, cases and compilers that are odd. With ALL=1 each mistake is planted.
 *
 * Gradients are proved in double. */
#include "spoilt.h"

#define SOURCE  "tests/students/mended.c"
#define HELPED  "tests/students/helped.c"
#define CARRIED "tests/students/carried.c"
#define WALKED  "tests/students/walked.c"

/* What takes a loop of its own; of helped.c. */
static const Mistake loops[] = {
    {"            for (long j = 0; j < d; j++) dx[j] += g[j];\n", "", "a loop is missing"},
    {"        for (long k = 0; k < m; k++) a[k] = u[k] / (1 + exp(-u[k]));\n", "",
     "forward does this, and backward does not"},
};
enum { LOOPS = sizeof loops / sizeof *loops };

/* What stands in the wrong place; of carried.c. */
typedef struct Misplaced {
    const char *right, *wrong, *what, *is, *becomes;
} Misplaced;

static const Misplaced misplaced[] = {
    /* Past others, with the condition that it stands behind. */
    {"            carry += dz * u[t] * (1 - th * th);\n            if (dx) dx[b * T + t] += carry;\n",
     "            if (dx) dx[b * T + t] += carry;\n            carry += dz * u[t] * (1 - th * th);\n",
     "this is too early: it belongs behind line 42", "if (dx) dx[b * T + t] += carry",
     "carry += dz * u[t] * (1 - th * th); if (dx) dx[b * T + t] += carry"},
    {"            if (dx) dx[b * T + t] += carry;\n            if (t > 0) slope += carry * h[t - 1];\n"
     "            carry *= a[0];\n            if (du) du[t] += dz * th;\n",
     "            if (t > 0) slope += carry * h[t - 1];\n            carry *= a[0];\n"
     "            if (du) du[t] += dz * th;\n            if (dx) dx[b * T + t] += carry;\n",
     "this is too late: it belongs before line 43", "if (dx) dx[b * T + t] += carry",
     "if (dx) dx[b * T + t] += carry; carry *= a[0]"},
    {"            carry *= a[0];\n            if (du) du[t] += dz * th;\n        }\n",
     "            if (du) du[t] += dz * th;\n        }\n        carry *= a[0];\n",
     "this belongs into the loop of line 39", "carry *= a[0]",
     "for (long t = T - 1; t >= 0; t--) { … carry *= a[0]; }"},
    /* Out of a loop, and behind it. */
    {"            carry *= a[0];\n            if (du) du[t] += dz * th;\n        }\n        if (da) da[0] += "
     "slope;\n",
     "            carry *= a[0];\n            if (du) du[t] += dz * th;\n            if (da) da[0] += "
     "slope;\n        }\n",
     "this belongs behind the loop of line 39", "if (da) da[0] += slope",
     "for (long t = T - 1; t >= 0; t--) …; if (da) da[0] += slope"},
    /* Where a sum begins. */
    {"    for (long b = 0; b < B; b++) {\n        const real *h = m->h + b * T;\n"
     "        double dz = 2 * m->z[b] * dy[b];\n        double carry = 0;\n",
     "    double carry = 0;\n    for (long b = 0; b < B; b++) {\n        const real *h = m->h + b * T;\n"
     "        double dz = 2 * m->z[b] * dy[b];\n",
     "this belongs into the loop of line 35", "double carry = 0",
     "for (long b = 0; b < B; b++) { double carry = 0; …"},
    {"        double carry = 0;\n        double slope = 0;\n        for (long t = T - 1; t >= 0; t--) {\n",
     "        double slope = 0;\n        for (long t = T - 1; t >= 0; t--) {\n            double carry = "
     "0;\n",
     "this belongs before the loop of line 38", "double carry = 0",
     "double carry = 0; for (long t = T - 1; t >= 0; t--) …"},
};
enum { MISPLACED = sizeof misplaced / sizeof *misplaced };

/* What takes another call, a pointer that walks, or the same change at several places; of walked.c. */
static const Mistake walks[] = {
    {"along(g, b)", "along(b, g)", "two arguments are exchanged"},
    {"gb = plus(gb, g)", "gb = across(gb, g)", "another function belongs here"},
    {"gb = plus(gb, g)", "gb = g", "it overwrites what it has to add to"},
    {"    waves(c, w);\n", "", "a call is missing"},
    {"k++, p++", "k++", "this is not moved on"},
    {"x += d, dx += d", "dx += d", "this is not moved on"},
    {"dx += d, dy += 2 + T", "dx += d", "this is not moved on"},
    {"dx += d, dy += 2 + T", "dx += d, dy += d", NULL},
    {"k++, p++", "k++, p += 2", "this is moved on by the wrong amount"},
    {"j++)\n            for (long k = j + 1; k < d; k++, p++)",
     "j++, p++)\n            for (long k = j + 1; k < d; k++)", "this is moved on in the wrong loop"},
    {"early = s[t], sick = v[t]", "early = s[t + 1], sick = v[t + 1]", "off by one"},
    {"STATE(m->s, r, t) * STATE(m->v, r, t)", "STATE(m->s, r, t + 1) * STATE(m->v, r, t)", "off by one"},
    {"STATE(m->s, r, t) * STATE(m->v, r, t)", "STATE(m->s, r, t + 1) * STATE(m->v, r, t + 1)", "off by one"},
    {"(1 - *p * *p)", "(1 - x[j] * x[j])", NULL},
    {"lv += flow * c * early", "lv -= flow * c * early", "a sign is wrong"},
    {"ls += flow * c * sick;\n            lv += flow * c * early;",
     "ls -= flow * c * sick;\n            lv -= flow * c * early;", "two signs are wrong"},
};
enum { WALKS = sizeof walks / sizeof *walks };

static void loops_are_added(void) {
    read_right(HELPED);
    enter_folder();
    for (int i = 0; i < LOOPS; i++) check_change(&loops[i]);
}

/* Where a statement belongs is said by its line and what it goes beside. */
static void statements_are_moved(void) {
    read_right(CARRIED);
    enter_folder();
    for (int i = 0; i < MISPLACED; i++) {
        const Misplaced *m = &misplaced[i];
        Said said;
        char *wrong = replaced(right_text, strstr(right_text, m->right), m->wrong, strlen(m->right));
        CHECK(wrong, "no '%s'", m->right);
        if (!wrong) continue;
        write_text("op.c", wrong);
        CHECK(GRADCHECK("op.c", "--json", PATIENT) == 1 && read_repair(out, &said), "'%s': nothing is said",
              m->wrong);
        CHECK(strcmp(said.what, m->what) == 0 && strcmp(said.is, m->is) == 0 &&
                  strcmp(said.becomes, m->becomes) == 0,
              "'%s': %s, '%s' becomes '%s'", m->wrong, said.what, said.is, said.becomes);
        free(wrong);
    }
}

static void calls_and_walks_are_changed(void) {
    read_right(WALKED);
    enter_folder();
    for (int i = 0; i < WALKS; i += each_row(3)) check_change(&walks[i]);
}

/* The operation with a factor wrong, and one more text in place of another. */
static char *wrong_and(const char *at, const char *by) {
    char *wrong =
        replaced(right_text, strstr(right_text, "(1 - th * th)"), "(1 - th)", strlen("(1 - th * th)"));
    char *more = replaced(wrong, strstr(wrong, at), by, strlen(at));
    free(wrong);
    return more;
}

/* op.c */
static void check_mended(const char *what) {
    Said said;
    CHECK(GRADCHECK("op.c", "--json", PATIENT) == 1, "%s: %s%s", what, out, err);
    CHECK(read_repair(out, &said) && strcmp(said.is, "ds[j] = g[j] * (1 - th)") == 0, "%s: '%s'", what,
          said.is);
}

/* Trials that crash, end the process, stop it, or never end: wherever a comparison or an index is changed. */
static void trials_may_do_harm(void) {
    read_right(SOURCE);
    enter_folder();
    char *wrong = wrong_and("radial = 0, along[E];",
                            "radial = 0, along[E];\n"
                            "        if (t > T) abort();\n        if (t > T) raise(SIGSTOP);\n"
                            "        if (t > T) exit(3);\n        while (t > T) radial += 0;\n");
    char *whole = replaced(wrong, strstr(wrong, "#include <math.h>"), "#include <signal.h>\n", 0);
    write_text("op.c", whole);
    check_mended("harm");
    free(whole);
    free(wrong);
}

/* Another operation, y = 2 |x|, a case of which lies on the kink; its backward is to follow. */
static const char other_op[] = "static void bent(Node *n) {\n"
                               "    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] = "
                               "2 * fabs(n->in[0]->data[i]);\n"
                               "}\n"
                               "extern const Op op_bent;\n"
                               "Tensor *tape_bent(Tape *t, Tensor *x) {\n"
                               "    x = tape_contiguous(t, x);\n"
                               "    return tape_record(tape_node(t, &op_bent, x->shape, INPUTS(x)));\n"
                               "}\n"
                               "BUILD_CASE(both, tape_bent(t, x[0]))\n"
                               "static const double tip[] = {1, 0};\n"
                               "static const CheckCase bent_cases[] = {\n"
                               "    {\"bent\", both, {{\"x\", DIMS(2), .values = tip}}, .kinks = true},\n"
                               "    {\"beside\", both, {{\"x\", DIMS(5), .margin = 0.1}}},\n"
                               "};\n"
                               "static void bent_back(Node *n);\n"
                               "const Op op_bent = {\"bent\", bent, bent_back, CASES(bent_cases)};\n";
#define BENT_BACK(lines) "static void bent_back(Node *n) {\n" lines "}\n"

/* Cases with an input that takes no gradient, with one tensor twice, with a stretched one, and more of them than are tried; beside
 * an operation that is right. */
static void cases_are_of_many_kinds(void) {
    static const char more[] =
        "    {\"constant\", fast, {{\"x\", DIMS(2, 3), .constant = true}, {\"w\", DIMS(3)}, {\"v\", "
        "DIMS(4)}}},\n"
        "    {\"twice\", slow, {{\"x\", DIMS(2, 4)}, {\"w\", DIMS(4)}, {\"v\", DIMS(4), .same_as = "
        "2}}},\n"
        "    {\"stretched\", slow, {{\"x\", DIMS(2, 4), .layout = REPEATED}, {\"w\", DIMS(4)}, "
        "{\"v\", DIMS(4)}}},\n"
        "    {\"a\", slow, {{\"x\", DIMS(1, 3)}, {\"w\", DIMS(3)}, {\"v\", DIMS(4)}}},\n"
        "    {\"b\", slow, {{\"x\", DIMS(2, 3)}, {\"w\", DIMS(3)}, {\"v\", DIMS(4)}}},\n"
        "    {\"c\", fast, {{\"x\", DIMS(1, 3)}, {\"w\", DIMS(3)}, {\"v\", DIMS(4)}}},\n"
        "    {\"d\", fast, {{\"x\", DIMS(1, 4)}, {\"w\", DIMS(4)}, {\"v\", DIMS(4)}}},\n"
        "};\n";
    read_right(SOURCE);
    enter_folder();
    char *wrong = wrong_and("};\n\nconst Op op_mended", more);
    char *whole = replaced(wrong, strstr(wrong, " = {\"mended\""), "const Op op_mended", 0);
    FILE *f = fopen("op.c", "w");
    fprintf(f, "%s%s%s", whole, other_op,
            BENT_BACK("    for (long i = 0; i < shape_count(n->out->shape); i++)\n"
                      "        n->in[0]->grad[i] += (n->in[0]->data[i] > 0 ? 2 : -2) * n->out->grad[i];\n"));
    fclose(f);
    check_mended("cases");
    free(whole);
    free(wrong);
}

/* Where differences know nothing, on a kink, nothing is asked; and of a backward without a line in it nothing can be changed. */
static void kinks_are_left_out(void) {
    static const struct {
        const char *back, *becomes;
    } rows[] = {
        {BENT_BACK("    for (long i = 0; i < shape_count(n->out->shape); i++)\n"
                   "        n->in[0]->grad[i] += (n->in[0]->data[i] > 0 ? 1 : -1) * n->out->grad[i];\n"),
         "2 *"},
        {BENT_BACK("    (void)n;\n"), NULL},
    };
    enter_folder();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Said said;
        FILE *f = fopen("op.c", "w");
        fprintf(f, "#include \"ops/ops.h\"\n#include <math.h>\n%s%s", other_op, rows[i].back);
        fclose(f);
        CHECK(GRADCHECK("op.c", "--json", PATIENT) == 1, "%s%s", out, err);
        CHECK(read_repair(out, &said) == (rows[i].becomes != NULL), "%s", said.becomes);
        if (rows[i].becomes) CHECK(strstr(said.becomes, rows[i].becomes), "'%s'", said.becomes);
    }
}

/* A compiler that says strange things of the file with all changes in it, and one that finds an error in every change; both compile
 * the student's file. And clang, which says it in another way. */
static void compilers_are_of_many_kinds(void) {
    static const struct {
        const char *what, *says;
        bool found;
    } rows[] = {
        {"no line of a change", "echo edited.c:1:1: error: a; echo edited.c:0:1: error: b; echo "
                                "edited.c:9999999:1: error: c; echo edited.c: d;"
                                "echo edited.c:2:1: warning: e; false"},
        {"each change",
         "grep -n 'trial.edit ==' \"$file\" | sed 's/\\([0-9]*\\).*/edited.c:\\1:1: error: f/;q'; false"},
        {"clang", "exec clang \"$@\"", true},
    };
    read_right(SOURCE);
    enter_folder();
    char *wrong = wrong_and("(1 - th)", "(1 - th)"), path[PATH_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        FILE *f = fopen("compiler", "w");
        fprintf(f,
                "#!/bin/sh\nfor file; do case $file in */edited.c) %s; exit ;; esac; done >&2\nexec cc "
                "\"$@\"\n",
                rows[i].says);
        fclose(f);
        CHECK(chmod("compiler", 0777) == 0 && realpath("compiler", path) && setenv("CC", path, 1) == 0);
        if (rows[i].found && system("clang --version >/dev/null 2>&1") != 0) continue;
        write_text("op.c", wrong);
        if (rows[i].found)
            check_mended(rows[i].what);
        else
            CHECK(GRADCHECK("op.c", "--json", PATIENT) == 1 && !strstr(out, "\"repair\""), "%s: %s%s",
                  rows[i].what, out, err);
    }
    free(wrong);
}

/* Files that are too long, of too many tokens, or of too many changes; a case that is too large; and where there is nothing to change. */
static void what_is_too_much_is_not_tried(void) {
    static const struct {
        const char *what, *at, *each;
        int count;
    } rows[] = {
        {"a long comment", "#include", "/* as long as a comment may be, in a file that is longer */\n", 5000},
        {"many tokens", "enum { E", "extern int e;", 5001},
        {"many statements", "carry[j] = dh;", "carry[j] = dh;", 130},
    };
    Said said;
    read_right(SOURCE);
    enter_folder();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *many = calloc((size_t)rows[i].count + 1, strlen(rows[i].each)), *end = many;
        for (int k = 0; k < rows[i].count; k++) end = stpcpy(end, rows[i].each);
        char *wrong = wrong_and("(1 - th)", "(1 - th)"),
             *whole = replaced(wrong, strstr(wrong, rows[i].at), many, 0);
        write_text("op.c", whole);
        CHECK(GRADCHECK("op.c", "--json", PATIENT) == 1 && !read_repair(out, &said), "%s: %s", rows[i].what,
              said.becomes);
        free(whole), free(wrong), free(many);
    }
    if (!getenv("ALL")) return;
    char *wrong = wrong_and("DIMS(3, 4)", "DIMS(33, 64)");
    char *fewer = replaced(wrong, strstr(wrong, "    {\"two steps"), "//", 0);
    char *large =
        replaced(fewer, strstr(fewer, "{\"w\", DIMS(4)"), "{\"w\", DIMS(64)", strlen("{\"w\", DIMS(4)"));
    write_text("op.c", large);
    CHECK(GRADCHECK("op.c", "--json", PATIENT) == 1 && !read_repair(out, &said), "large: %s", said.becomes);
    free(large), free(fewer), free(wrong);
}

PROGRAM_TEST_MAIN({"loops are added", loops_are_added}, {"statements are moved", statements_are_moved},
                  {"calls and walks are changed", calls_and_walks_are_changed, 170},
                  {"trials may do harm", trials_may_do_harm},
                  {"cases are of many kinds", cases_are_of_many_kinds},
                  {"kinks are left out", kinks_are_left_out},
                  {"compilers are of many kinds", compilers_are_of_many_kinds},
                  {"what is too much is not tried", what_is_too_much_is_not_tried})
