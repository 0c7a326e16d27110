/* The changes that are tried of a wrong backward (src/repair): what is understood of a C file, which changes of a line are
 * listed and which are not, how the file reads that has them all in it, and how one is shown. tests/repairs.c tries them. */
#include "grading/repair_candidates.h"
#include "test.h"

/* A file, taken apart. */
static Arena arena;
static CSource source;
static Edits edits;
static char text[1 << 14];

static void read_text(const char *op) {
    CHECK(c_source_read(&source, text, op, &arena), "too large");
    edits_read(&edits, &source);
}

static void forget(void) {
    edits_free(&edits);
    c_source_free(&source);
    arena_free(&arena);
    arena = (Arena){0};
}

/* One in which these lines stand, the first of them in line 19, in two loops of backward, and a forward that saves something. */
enum { LINES = 19 };
static void read_lines(const char *lines) {
    snprintf(text, sizeof text,
             "#include \"ops/ops.h\"\n"
             "typedef struct Pair { double re, im; } Pair;\n"
             "typedef struct Attr { double scale, *saved; long width; } Attr;\n"
             "static double own(double c, long k) { return c * k; }\n"
             "static void forward(Node *n) {\n"
             "    Attr *m = n->attr;\n"
             "    double *y = n->out->data;\n"
             "    m->scale = 2;\n"
             "    y[0] = m->scale;\n"
             "}\n"
             "static void backward(Node *n) {\n"
             "    Attr *m = n->attr;\n"
             "    long N = n->in[0]->shape.size[0];\n"
             "    const double *x = n->in[0]->data, *dy = n->out->grad;\n"
             "    double *dx = n->in[0]->grad, *h = m->saved, a = 2, b = 3, sum = 0;\n"
             "    Pair p = {1, 2}, q = {3, 4};\n"
             "    for (long i = 0; i < N; i++)\n"
             "        for (long j = N - 1; j >= 0; j--) {\n"
             "            %s\n"
             "        }\n"
             "}\n",
             lines);
    read_text("lines");
}

static const char *original(const Edit *e) {
    return edits_tokens(&edits, e->part[0].begin, e->part[0].end);
}

/* The number of the edit of these lines that makes `becomes` of `is`, or of any such edit where that is NULL; -1: there is none. */
static int find_edit(EditKind kind, const char *is, const char *becomes) {
    for (int i = 0; i < edits.edits; i++) {
        const Edit *e = &edits.edit[i];
        bool here =
            source.token[e->part[0].begin].line >= LINES && e->kind == kind && strcmp(original(e), is) == 0;
        if (here && (!becomes || strcmp(e->part[0].text, becomes) == 0)) return i;
    }
    return -1;
}

/* ---- What is listed of a line ---- */

static void texts_are_listed(void) {
    static const struct {
        const char *lines, *is, *becomes, *what; /* what: NULL: it is not listed */
    } rows[] = {
        {"dx[i] = a;", "=", "+=", "it overwrites what it has to add to"},
        {"dx[i] = a;", "=", "-=", NULL},
        {"dx[i] += a;", "+=", "=", "it adds to what it has to set"},
        {"dx[i] += a;", "+=", "-=", "a sign is wrong"},
        {"dx[i] += a;", "dx[i] += a", "(void)0", "this is one too many"},
        {"dx[i] -= a;", "-=", "+=", "a sign is wrong"},
        {"dx[i] -= a;", "-=", "=", NULL},
        {"dx[i] *= a;", "*=", "+=", NULL},
        {"h = dx;", "=", "+=", NULL},
        {"double c = (sum = a); dx[i] += c;", "sum = a", "(void)0", NULL},
        /* Conditions. */
        {"if (a > 0 && b < 1) dx[i] += a;", "&&", "||", "a condition is wrong"},
        {"if (a > 0 && b < 1) dx[i] += a;", "a > 0 && b < 1", "b < 1", "a condition is one too many"},
        {"if (a > 0 && b < 1) dx[i] += a;", "a > 0 && b < 1", "a > 0", "a condition is one too many"},
        {"if (a > 0 || b < 1) dx[i] += a;", "||", "&&", "a condition is wrong"},
        {"if (i && j && N) dx[i] += a;", "i && j && N", "j", "a condition is one too many"},
        {"if (i && j && N) dx[i] += a;", "i && j && N", "i && N", "a condition is one too many"},
        {"if (i & 1) dx[i] += a;", "i & 1", "1", NULL},
        {"if (a < b) dx[i] += a;", "<", "<=", "a comparison is wrong"},
        {"if (a < b) dx[i] += a;", "<", ">", "a comparison is wrong"},
        {"if (a >= b) dx[i] += a;", ">=", "<=", "a comparison is wrong"},
        {"while (i == j) dx[i] += a;", "==", "!=", "a comparison is wrong"},
        {"if (!a) dx[i] += a;", "!", "", "a sign is wrong"},
        {"dx[i] += -a;", "-", "", "a sign is wrong"},
        {"dx[i] += +a;", "+", "", NULL},
        {"dx[i] += (float)a;", "(float)a", "", NULL},
        {"dx[i] += a > 0 ? b : sum;", "a > 0 ? b : sum", "(a > 0 ? sum : b)",
         "a choice is the wrong way round"},
        {"dx[i] += a > 0 ? b : sum;", "a > 0 ? b : sum", "(b)", "a choice is one too many"},
        {"dx[i] += a > 0 ? b : sum;", "a > 0 ? b : sum", "(sum)", "a choice is one too many"},
        /* Indices and values. */
        {"dx[i + 1] += a;", "i + 1", "i", "off by one"},
        {"dx[1 + i] += a;", "1 + i", "i", "off by one"},
        {"dx[i + 1 - j] += a;", "i + 1 - j", "i - j", "off by one"},
        {"dx[i + j] += a;", "+", "-", "a sign is wrong"},
        {"dx[i] += a + b;", "+", "-", NULL},
        {"dx[i % 2] += a;", "%", "/", "a sign is wrong"},
        {"dx[i] += a * b;", "*", "/", "a factor stands on the wrong side of the fraction"},
        {"dx[i] += a / b;", "/", "*", "a factor stands on the wrong side of the fraction"},
        {"dx[i] += sin(a);", "sin", "cos", "another function belongs here"},
        {"dx[i] += log1p(a);", "log1p", "log", "another function belongs here"},
        {"dx[i] += sqrt(a);", "sqrt", "cbrt", NULL},
        {"dx[i] += (a - b) * x[i];", "(a - b)", "fabs(a - b)", "an absolute value is missing"},
        {"dx[(i - j)] += a;", "(i - j)", "labs(i - j)", "an absolute value is missing"},
        {"dx[i] += (a * b) * x[i];", "(a * b)", "fabs(a * b)", NULL},
        /* Names. */
        {"dx[i] += x[j];", "dx[i] += x[j]", "dx[j] += x[i]", "another name belongs here"},
        {"dx[i] += a / b;", "dx[i] += a / b", "dx[i] += b / a", "another name belongs here"},
        {"dx[i] += p.re * q.im;", "p", "q", "another name belongs here"},
        {"dx[i] += p.re * p.im;", "dx[i] += p.re * p.im", "dx[i] += p.im * p.re",
         "another name belongs here"},
        {"dx[i] += p.re * a;", "a", "p", NULL},
        {"dx[i] += x[j];", "dx[i] += x[j]", "dx[i] += x[j], dx[j] += @ * (x[i])",
         "it has to count for another one as well"},
        {"dx[i] = x[j];", "dx[i] = x[j]", "dx[i] = x[j], dx[j] += @ * (x[i])", NULL},
        {"dx[i] += x[i] * a;", "dx[i] += x[i] * a", "dx[i] += x[i] * a, dx[i] += @ * (x[i] * a)", NULL},
        {"dx[i] += x[own(a, j)] * b;", "dx[i] += x[own(a, j)] * b",
         "dx[i] += x[own(a, j)] * b, dx[own(a, j)] += @ * (x[i] * b)",
         "it has to count for another one as well"},
        /* Statements. */
        {"sum = a; dx[i] += sum;", "sum = a", "dx[i] += sum", "two statements are in the wrong order"},
        {"if (a) sum = a; dx[i] += sum;", "sum = a", "dx[i] += sum", NULL},
        {"for (long k = 0; k < N; k++) dx[k] += a;", "0", "(N) - 1", "the loop runs in the wrong direction"},
        {"for (long k = 0; k <= N; ++k) dx[k] += a;", "0", "(N)", "the loop runs in the wrong direction"},
        {"for (long k = N; k > 0; k--) dx[k] += a;", "N", "(0) + 1", "the loop runs in the wrong direction"},
        {"for (long k = 0; k < N; k += 2) dx[k] += a;", "0", "(N) - 1", NULL},
        {"long k; for (k = 0; k < N; k++) dx[k] += a;", "0", "(N) - 1", NULL},
        {"for (long k = 0; k; k++) dx[k] += a;", "0", "(k) - 1", NULL},
        /* Lines of the preprocessor. */
        {"dx[i] += a +\n#if 1\nb;\n#endif\n", "+=", "=", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_lines(rows[i].lines);
        int at = find_edit(EDIT_TEXT, rows[i].is, rows[i].becomes);
        if (!rows[i].what)
            CHECK(at < 0, "%s: '%s' becomes '%s'", rows[i].lines, rows[i].is, rows[i].becomes);
        else
            CHECK(at >= 0 && strcmp(edits.edit[at].what, rows[i].what) == 0, "%s: '%s' becomes '%s': %s",
                  rows[i].lines, rows[i].is, rows[i].becomes, at < 0 ? "nothing" : edits.edit[at].what);
        forget();
    }
}
TEST_MAIN({"changes of a line are listed", texts_are_listed})
