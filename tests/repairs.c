/* The change that makes a wrong backward right (src/repair, grading/repair.h): a right operation is spoilt in one place, and the
 * change that is said has to make the file pass, whatever change it is. And what is no single change, or asked not to be looked
 * for, is not said. `make test` plants every third mistake; with ALL=1 each is planted.
 *
 * Gradients are proved in double. */
#include "base/file.h"
#include "child.h"
#include "formats/json.h"

#define SOURCE         "tests/students/mended.c"
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
    {"(ds[j] - radial * s[j] / N)", "(ds[j] - 2 * radial * s[j] / N)", "a constant factor is wrong"},
    {" + m->a * carry[j]", "", "a term is missing"},
    /* Statements and loops. */
    {"dv[e] += along[e]", "dv[e] = along[e]", "it overwrites what it has to add to"},
    {"ds[from[e]] += v[e] * g[to[e]];", ";", "something is not added"},
    {"for (long t = T - 1; t >= 0; t--) {\n        const", "for (long t = 0; t < T; t++) {\n        const",
     "the loop runs in the wrong direction"},
    {"for (long j = 0; j < N; j++) radial", "for (long j = 0; j < N - 1; j++) radial", "off by one"},
    {"if (dv) dv[e]", "if (dv && e > 0) dv[e]", "a condition is one too many"},
    /* What forward saves. */
    {"m->r[t] = sqrt(1 + sum / N);\n        for (long j = 0; j < N; j++) m->s[t * N + j] = m->h[t * N + j] / "
     "m->r[t];",
     "double r = sqrt(1 + sum / N);\n        for (long j = 0; j < N; j++) m->s[t * N + j] = m->h[t * N + j] "
     "/ r;\n"
     "        m->r[t] = r * r;",
     NULL},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

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
static bool read_repair(const char *lines, Said *said) {
    static const char key[] = "\"repair\": ";
    const char *at = strstr(lines, key);
    Error e = {0};
    JsonString member;
    *said = (Said){0};
    if (!at) return false;
    at += strlen(key);
    char *object = strndup(at, strcspn(at, "}") + 1);
    Json j = json_over("repair", object, strlen(object), &e);
    CHECK(json_enter(&j, '{'));
    while (json_member(&j, &member))
        if (strcmp(member.text, "line") == 0)
            json_natural(&j, &said->line);
        else if (strcmp(member.text, "what") == 0)
            take(said->what, &j);
        else
            take(strcmp(member.text, "is") == 0 ? said->is : said->becomes, &j);
    CHECK(json_end(&j), "%s", e.text);
    free(object);
    return true;
}

static void read_source(void) {
    Error e = {0};
    size_t size;
    CHECK(file_read(SOURCE, 0, &right_text, &size, &e), "%s", e.text);
}

static void changes_make_files_right(void) {
    read_source();
    enter_folder();
    for (int i = 0; i < MISTAKES; i += getenv("ALL") ? 1 : 3) {
        const Mistake *m = &mistakes[i];
        const char *behind = strstr(right_text, "static void backward"),
                   *in_forward = strstr(right_text, m->right);
        const char *at = strstr(behind, m->right) ? strstr(behind, m->right) : in_forward;
        char *wrong = replaced(right_text, at, m->wrong, strlen(m->right));
        Said said;
        CHECK(wrong, "no '%s'", m->right);
        if (!wrong) continue;
        write_text("op.c", wrong);
        CHECK(GRADCHECK("op.c", "--json") == 1, "%s", m->wrong);
        bool found = read_repair(out, &said);
        CHECK(found, "'%s' for '%s': nothing is said", m->wrong, m->right);
        if (!found) continue;
        if (m->what)
            CHECK(strcmp(said.what, m->what) == 0, "'%s' for '%s': %s", m->wrong, m->right, said.what);
        const char *line = found ? line_of(wrong, (long)said.line) : NULL,
                   *is = line ? strstr(line, said.is) : NULL;
        char *mended = replaced(wrong, is, said.becomes, strlen(said.is));
        CHECK(mended && is < line + strcspn(line, "\n"), "line %d has no '%s'", (int)said.line, said.is);
        if (mended) write_text("op.c", mended);
        CHECK(GRADCHECK("op.c", "--json") == 0, "'%s' for '%s': '%s'", m->wrong, m->right, said.becomes);
        free(wrong);
        free(mended);
    }
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
    CHECK(GRADCHECK("op.c", "--json") == 1, "%s", out);
    if (read_repair(out, &said)) CHECK(strcmp(said.is, said.becomes) != 0, "%s", said.is);
    CHECK(GRADCHECK("op.c", "--json", "--no-repair") == 1 && !strstr(out, "\"repair\""), "%s", out);
    free(both);
    free(first);
}

PROGRAM_TEST_MAIN({"changes make files right", changes_make_files_right, 170},
                  {"what is not known is not said", what_is_not_known_is_not_said})
