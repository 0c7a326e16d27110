/* The change that makes a wrong backward right (src/repair, grading/repair.h): a right operation is spoilt in one place, and the
 * change that is said has to make the file pass, whatever change it is. And what is no single change, or asked not to be looked
 * for, is not said. `make test` plants every third mistake; with ALL=1 each is planted.
 *
 * Gradients are proved in double. */
#include "base/file.h"
#include "child.h"
#include "formats/json.h"

#define SOURCE  "tests/students/mended.c"
#define HELPED  "tests/students/helped.c"
#define CARRIED "tests/students/carried.c"
#define WALKED  "tests/students/walked.c"
/* However much else the machine does. */
#define PATIENT        "--time-limit", "60"
#define GRADCHECK(...) run_program("gradcheck", ARGUMENTS(__VA_ARGS__), (Streams){0})

typedef struct Mistake {
    const char *right, *wrong, *what;
} Mistake;

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

static char *right_text;

/* The text with one place replaced, from malloc; NULL: it is not there. */
static char *replaced(const char *text, const char *at, const char *by, size_t length) {
    if (!at) return NULL;
    size_t before = (size_t)(at - text);
    char *new = malloc(strlen(text) + strlen(by) + 1);
    sprintf(new, "%.*s%s%s", (int)before, text, by, at + length);
    return new;
}

/* The beginning of a line of a text, from 1. */
static const char *line_of(const char *text, long line) {
    while (--line > 0 && text) text = (text = strchr(text, '\n')) ? text + 1 : NULL;
    return text;
}

typedef struct Said {
    uint64_t line;
    char what[256], is[256], becomes[256];
} Said;

static void take(char to[256], Json *j) {
    JsonString text = {0};
    if (json_string(j, &text)) snprintf(to, 256, "%s", text.text);
}

/* The first repair in JSON lines; false: there is none. */
static bool read_repair(char *lines, Said *said) {
    static const char key[] = "\"repair\": ";
    char *at = strstr(lines, key);
    Error e = {0};
    JsonString member;
    *said = (Said){0};
    if (!at) return false;
    at += strlen(key);
    Json j = json_over("repair", at, strlen(at), &e);
    CHECK(json_enter(&j, '{'));
    while (json_member(&j, &member))
        if (strcmp(member.text, "line") == 0)
            json_natural(&j, &said->line);
        else if (strcmp(member.text, "what") == 0)
            take(said->what, &j);
        else
            take(strcmp(member.text, "is") == 0 ? said->is : said->becomes, &j);
    CHECK(!e.text[0], "%s", e.text);
    return true;
}

static void read_right(const char *path) {
    Error e = {0};
    size_t size;
    CHECK(file_read(path, 0, &right_text, &size, &e), "%s", e.text);
}

static void read_source(void) {
    read_right(SOURCE);
}

/* The first place of a text's that says the same, however it is spaced, and what is behind it; NULL: none does. */
static const char *place_of(const char *text, const char *is, const char **behind) {
    static const char blanks[] = " \n";
    for (; *text; text++) {
        const char *at = text, *want = is;
        while (*want && *at == *want) {
            at++, want++;
            at += strspn(at, blanks), want += strspn(want, blanks);
        }
        if (!*want) {
            *behind = at;
            return text;
        }
    }
    return NULL;
}

/* The text with a change made, from malloc, whose places, if there are several far from each other, are joined by an ellipsis;
 * NULL: it has no such place from the line on. */
static char *changed(const char *text, const Said *said) {
    static const char joint[] = "; … ";
    const char *from = line_of(text, (long)said->line), *is = said->is, *becomes = said->becomes, *behind;
    if (!from) return NULL;
    size_t offset = (size_t)(from - text);
    char *new = strdup(text);
    while (new &&*is) {
        const char *is_end = strstr(is, joint), *becomes_end = strstr(becomes, joint);
        char *one = strndup(is, is_end ? (size_t)(is_end - is) : strlen(is)),
             *other = strndup(becomes, becomes_end ? (size_t)(becomes_end - becomes) : strlen(becomes));
        const char *at = place_of(new + offset, one, &behind);
        char *next = at ? replaced(new, at, other, (size_t)(behind - at)) : NULL;
        if (at) offset = (size_t)(at - new) + strlen(other);
        free(new), free(one), free(other);
        new = next;
        is = is_end ? is_end + strlen(joint) : "";
        becomes = becomes_end ? becomes_end + strlen(joint) : "";
    }
    return new;
}

/* What is said of a mistake makes the file right. */
static void check_change(const Mistake *m) {
    const char *behind = strstr(right_text, "static void backward"),
               *in_forward = strstr(right_text, m->right);
    const char *at = strstr(behind, m->right) ? strstr(behind, m->right) : in_forward;
    char *wrong = replaced(right_text, at, m->wrong, strlen(m->right));
    Said said;
    CHECK(wrong, "no '%s'", m->right);
    if (!wrong) return;
    write_text("op.c", wrong);
    CHECK(GRADCHECK("op.c", "--json", PATIENT) == 1, "%s", m->wrong);
    bool found = read_repair(out, &said);
    CHECK(found, "'%s' for '%s': nothing is said", m->wrong, m->right);
    if (!found) return;
    if (m->what) CHECK(strcmp(said.what, m->what) == 0, "'%s' for '%s': %s", m->wrong, m->right, said.what);
    char *mended = changed(wrong, &said);
    CHECK(mended, "line %d has no '%s'", (int)said.line, said.is);
    if (mended) write_text("op.c", mended);
    CHECK(GRADCHECK("op.c", "--json", PATIENT) == 0, "'%s' for '%s': '%s'", m->wrong, m->right, said.becomes);
    free(wrong);
    free(mended);
}

static void changes_make_files_right(void) {
    read_source();
    enter_folder();
    for (int i = 0; i < MISTAKES; i += getenv("ALL") ? 1 : 3) check_change(&mistakes[i]);
}

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
    for (int i = 0; i < WALKS; i += getenv("ALL") ? 1 : 3) check_change(&walks[i]);
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
    read_source();
    enter_folder();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
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
        CHECK(GRADCHECK("op.c", "--json", PATIENT) == 0, "row %zu: %s", i, out);
        free(lines), free(wrong);
    }
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
    read_source();
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
    read_source();
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
    read_source();
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
    read_source();
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

/* Two mistakes, of which one change mends a gradient each; a mistake that no change of one place mends; and none looked for. */
static void what_is_not_known_is_not_said(void) {
    Said said;
    read_source();
    enter_folder();
    const char *behind = strstr(right_text, "static void backward");
    const char *x = strstr(behind, "dh * w[j]"), *w = strstr(behind, "dh * x[t * N + j]");
    char *first = replaced(right_text, w, "dh", strlen("dh * x[t * N + j]"));
    char *both = replaced(first, first + (x - right_text), "dh / w[j]", strlen("dh * w[j]"));
    write_text("op.c", both);
    CHECK(GRADCHECK("op.c") == 1 && strstr(out, "dw is right in all cases once this is changed") == NULL,
          "%s", out);
    CHECK(GRADCHECK("op.c", "--json", PATIENT) == 1, "%s", out);
    if (read_repair(out, &said)) CHECK(strcmp(said.is, said.becomes) != 0, "%s", said.is);
    CHECK(GRADCHECK("op.c", "--json", "--no-repair") == 1 && !strstr(out, "\"repair\""), "%s", out);
    free(both);
    free(first);
}

PROGRAM_TEST_MAIN({"changes make files right", changes_make_files_right, 170},
                  {"loops are added", loops_are_added}, {"statements are moved", statements_are_moved},
                  {"calls and walks are changed", calls_and_walks_are_changed, 170},
                  {"each gradient has its change", each_gradient_has_its_change},
                  {"trials may do harm", trials_may_do_harm},
                  {"cases are of many kinds", cases_are_of_many_kinds},
                  {"kinks are left out", kinks_are_left_out},
                  {"compilers are of many kinds", compilers_are_of_many_kinds},
                  {"what is too much is not tried", what_is_too_much_is_not_tried},
                  {"what is not known is not said", what_is_not_known_is_not_said})
