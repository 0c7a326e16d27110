/* The change that makes a wrong backward right (src/repair, grading/repair.h): an expression of a right operation is spoilt, and
 * the change that is said has to make the file pass, whatever change it is. And what is no single change, or asked not to be
 * looked for, is not said. `make test` plants every fifth mistake; with ALL=1 each is planted.
 *
 * Gradients are proved in double. */
#include "spoilt.h"

#define SOURCE "tests/students/mended.c"

static const Mistake mistakes[] = {
    /* A name, an index, a value in another's place. */
    {"ds[from[e]] += v[e] * g[to[e]]", "ds[from[e]] += v[e] * g[from[e]]", "another name belongs here"},
    {"ds[from[e]] += v[e] * g[to[e]]", "ds[to[e]] += v[e] * g[from[e]]", "another name belongs here"},
    {"dw[j] += dh * x[t * N + j]", "dw[j] += dh * m->h[t * N + j]", "another name belongs here"},
    {"dw[j] += dh * x[t * N + j]", "dw[j] += dh * x[t * N + j - 1]", "off by one"},
    {"m->a * carry[j]", "0.7 * carry[j]", "a constant stands where a value belongs"},
    {"radial += ds[j] * s[j]", "radial += g[j] * s[j]", "another name belongs here"},
    /* Factors, signs, terms. */
    {"(1 - th * th)", "(1 - th)", "a factor is missing"},
    {"/ m->r[t] + m->a", "/ m->r[t] - m->a", "a sign is wrong"},
    {"dx[t * N + j] += dh * w[j]", "dx[t * N + j] += dh", "a factor is missing"},
    {"(ds[j] - radial * s[j] / N)", "ds[j]", "a term is missing"},
    {"(ds[j] - radial * s[j] / N)", "(ds[j] - 2 * radial * s[j] / N)", "a factor is one too many"},
    {" + m->a * carry[j]", "", "a term is missing"},
    {"(ds[j] - radial * s[j] / N) / m->r[t]", "ds[j] / m->r[t]", "a term is missing"},
    {" * (1 - th * th)", "", "a factor is missing"},
    {"carry[j] = dh", "carry[j] = 0", "a term is missing"},
    {"+ m->a * carry[j]", "+ 0 * j", "a term is missing"},
    {"tanh(s[j])", "tanh(s[j] - m->a)", "this is one too many"},
    {"(N - j + (j == t)) * g[j]", "(1 + (j == t)) * g[j]", NULL},
    {"(N - j + (j == t)) * g[j]", "(j == t) * g[j]", "a term is missing"},
    {"(N - j + (j == t)) * g[j]", "(N - j - 1 + (j == t)) * g[j]", "off by one"},
    {"(N - j + (j == t)) * g[j]", "(N - j) * g[j]", NULL},
    {"dw[j] += dh * x[t * N + j]", "\n#define AT(m, i, k) m[(i) * N + (k)]\n dw[j] += dh * AT(m->h, t, j)",
     "another value belongs here"},
    {"dx[t * N + j] += dh * w[j]", "\n#define ROW(m, i) ((m) + (i) * N)\n ROW(dx, t)[j] += dh * ROW(w, t)[j]",
     "another value belongs here"},
    {"if (dx) dx[t * N + j] += dh * w[j]", "real *grad[1] = {dx};\n if (dx) grad[0][t * N + j] += dh",
     "a factor is missing"},
    /* Statements and loops. */
    {"dv[e] += along[e]", "dv[e] = along[e]", "it overwrites what it has to add to"},
    {"if (dv) dv[e] += along[e];", ";", "something is not added"},
    {"for (long t = T - 1; t >= 0; t--) {\n        const", "for (long t = 0; t < T; t++) {\n        const",
     "the loop runs in the wrong direction"},
    {"for (long j = 0; j < N; j++) radial", "for (long j = 0; j < N - 1; j++) radial", "off by one"},
    {"if (t > 0) ds", "ds", "a condition is missing"},
    {"if (dv) dv[e]", "if (dv && e > 0) dv[e]", "off by one"},
    {"if (dv) dv[e]", "if (dv && v[e] > 0) dv[e]", "a condition is one too many"},
    {"for (long j = 0; j < N; j++) radial += ds[j] * s[j];\n        for (long j = 0; j < N; j++) {\n         "
     "   "
     "double dh = (ds[j] - radial * s[j] / N)",
     "for (long j = 0; j < N; j++) {\n            double dh = ds[j]", "a sum over the loop is missing"},
    /* What forward saves. */
    {"m->r[t] = sqrt(1 + sum / N);\n        for (long j = 0; j < N; j++) m->s[t * N + j] = m->h[t * N + j] / "
     "m->r[t];",
     "double r = sqrt(1 + sum / N);\n        for (long j = 0; j < N; j++) m->s[t * N + j] = m->h[t * N + j] "
     "/ r;\n"
     "        m->r[t] = r * r;",
     NULL},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

static void changes_make_files_right(void) {
    read_right(SOURCE);
    enter_folder();
    for (int i = 0; i < MISTAKES; i += each_row(5)) check_change(&mistakes[i]);
}

/* Two mistakes, each in another gradient, and two that are one: the change of each is said. */
static void each_gradient_has_its_change(void) {
    static const struct {
        const char *right[2], *wrong[2];
    } rows[] = {
        {{"dx[t * N + j] += dh * w[j]", "dh * x[t * N + j]"},
         {"dx[t * N + j] += dh", "dh * m->h[t * N + j]"}},
        {{"dx[t * N + j] += dh", "dw[j] += dh"}, {"dx[t * N + j] += ds[j]", "dw[j] += ds[j]"}},
    };
    read_right(SOURCE);
    enter_folder();
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i += each_row(2)) {
        char *wrong = strdup(right_text);
        for (int k = 0; k < 2; k++) {
            char *with = replaced(wrong, strstr(strstr(wrong, "static void backward"), rows[i].right[k]),
                                  rows[i].wrong[k], strlen(rows[i].right[k]));
            free(wrong);
            wrong = with;
        }
        write_text("op.c", wrong);
        CHECK(GRADCHECK("op.c", "--json", PATIENT) == 1, "%s", out);
        char *lines = strdup(out), *at = strstr(lines, "\"repair\"");
        for (int k = 0; k < 2; k++) {
            Said said;
            char *next =
                at ? strstr(at + 1, "\"repair\"") : NULL; /* a line that is read is no text any more */
            CHECK(at && read_repair(at, &said), "change %d", k);
            char *mended = at ? replaced(wrong, strstr(wrong, said.is), said.becomes, strlen(said.is)) : NULL;
            CHECK(mended, "change %d", k);
            if (mended) free(wrong), wrong = mended;
            at = next;
        }
        write_text("op.c", wrong);
        CHECK(GRADCHECK("op.c", "--json", PATIENT) == 0, "row %d: %s", i, out);
        free(lines), free(wrong);
    }
}

/* Two mistakes that the same gradients have, so that no one change mends any; and a mistake that one does, where none is asked
 * for. */
static void what_is_not_known_is_not_said(void) {
    static const char factor[] = "(1 - th * th)", carried[] = "m->a * carry[j]";
    const char *limit = getenv("ALL") ? "60" : "5";
    Said said;
    read_right(SOURCE);
    enter_folder();
    char *once = replaced(right_text, strstr(right_text, factor), "(1 - th)", strlen(factor));
    char *twice = replaced(once, strstr(once, carried), "carry[j]", strlen(carried));
    write_text("op.c", twice);
    CHECK(GRADCHECK("op.c", "--json", "--time-limit", limit) == 1 && !read_repair(out, &said),
          "'%s' becomes '%s'", said.is, said.becomes);
    write_text("op.c", once);
    CHECK(GRADCHECK("op.c", "--json", PATIENT) == 1 && read_repair(out, &said), "%s", out);
    CHECK(GRADCHECK("op.c", "--json", "--no-repair") == 1 && !strstr(out, "\"repair\""), "%s", out);
    /* Nor is what mends one gradient alone, where another's is not found. */
    static const char sum[] = "dh * w[j]", along[] = "s[from[e]] * g[to[e]]", adds[] = "dv[e] += along[e]";
    const char *behind = strstr(right_text, "static void backward");
    char *one = replaced(right_text, strstr(behind, sum), "dh", strlen(sum));
    char *two =
        replaced(one, strstr(strstr(one, "static void backward"), along), "s[from[e]]", strlen(along));
    char *three = replaced(two, strstr(two, adds), "dv[e] += along[e] * v[e]", strlen(adds));
    write_text("op.c", three);
    CHECK(GRADCHECK("op.c", "--json", "--time-limit", limit) == 1 && !read_repair(out, &said),
          "'%s' becomes '%s'", said.is, said.becomes);
    free(one), free(two), free(three);
    free(twice), free(once);
}

PROGRAM_TEST_MAIN({"changes make files right", changes_make_files_right, 170},
                  {"each gradient has its change", each_gradient_has_its_change},
                  {"what is not known is not said", what_is_not_known_is_not_said})
