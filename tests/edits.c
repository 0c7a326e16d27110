/* The changes that are tried of a wrong backward (src/repair): which changes of a line are listed and which are not, and what they
 * are made of. tests/edits_shown.c and tests/edits_moved.c have the others, tests/repairs.c tries them. */
#include "repair_text.h"

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
        {"dx[i] += a * 2;", "a * 2", "a", "a factor is one too many"},
        {"dx[i] += a / b * 2;", "a / b * 2", "a * 2", "a factor is one too many"},
        {"dx[i] += a / b;", "a / b", "b", NULL},
        {"if (a > 0) dx[i] += a;", "a > 0", "1", "a condition is one too many"},
        {"if (a > 0) dx[i] += a;", "a > 0", "!(a > 0)", "a condition is the wrong way round"},
        {"for (long k = 0; k < N; k++) dx[k] += a;", "k < N", "1", NULL},
        {"if (a > 0 && b < 1) dx[i] += a;", "a > 0 && b < 1", "b < 1", "a condition is one too many"},
        {"if (a > 0 && b < 1) dx[i] += a;", "a > 0 && b < 1", "a > 0", "a condition is one too many"},
        {"if (a > 0 || b < 1) dx[i] += a;", "||", "&&", "a condition is wrong"},
        {"if (i && j && N) dx[i] += a;", "i && j && N", "j", "a condition is one too many"},
        {"if (i && j && N) dx[i] += a;", "i && j && N", "i && N", "a condition is one too many"},
        {"if (i & 1) dx[i] += a;", "i & 1", "i", NULL},
        {"if (a < b) dx[i] += a;", "<", "<=", "a comparison is wrong"},
        {"if (a < b) dx[i] += a;", "<", ">", "a comparison is wrong"},
        {"if (a >= b) dx[i] += a;", ">=", "<=", "a comparison is wrong"},
        {"while (i == j) dx[i] += a;", "==", "!=", "a comparison is wrong"},
        {"if (a < 1) sum = 1; if (own(a, 1)) sum = 2; if (b > sum) dx[i] += a;", "b > sum", "a < 1",
         "another condition belongs here"},
        {"if (own(a, 1)) sum = 2; if (b > sum) dx[i] += a;", "b > sum", "own(a, 1)",
         "another condition belongs here"},
        {"if (own(a, 1)) sum = 2; if (b > sum) dx[i] += a;", "b > sum", "i < N", NULL},
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
        {"dx[i * N + j] += a;", "i * N + j", "j * N + i", "the layout is another"},
        {"dx[i * N - j] += a;", "i * N - j", "j * N + i", NULL},
        {"dx[a * i + j] += b;", "a * i + j", "j * N + a", NULL},
        {"dx[i / N / 2] += a;", "/ N", "% N", NULL},
        {"dx[i * N + j + 1] += a;", "i * N + j + 1", "j * N + i", NULL},
        {"dx[i] += i * N + j;", "i * N + j", "j * N + i", NULL},
        {"dx[i + j] += a;", "+", "-", "a sign is wrong"},
        {"dx[i] += a + b;", "+", "-", NULL},
        {"dx[i % 2] += a;", "%", "/", "a sign is wrong"},
        {"dx[i] += a * b;", "*", "/", "a factor stands on the wrong side of the fraction"},
        {"dx[i] += a / b;", "/", "*", "a factor stands on the wrong side of the fraction"},
        {"dx[i] += sin(a);", "sin", "cos", "another function belongs here"},
        {"dx[i] += log1p(a);", "log1p", "log", "another function belongs here"},
        {"dx[i] += sqrt(a);", "sqrt", "cbrt", NULL},
        {"dx[i] += (a - b) * x[i];", "(a - b)", "fabs(a - b)", "an absolute value is missing"},
        {"dx[(long)(a + b)] += a;", "(a + b)", "fabs(a + b)", "an absolute value is missing"},
        {"h = (h + i);", "(h + i)", "fabs(h + i)", NULL},
        {"dx[(i - j)] += a;", "(i - j)", "labs(i - j)", "an absolute value is missing"},
        {"dx[i] += (a * b) * x[i];", "(a * b)", "fabs(a * b)", NULL},
        /* Names. */
        {"dx[i] += x[j];", "dx[i] += x[j]", "dx[j] += x[i]", "another name belongs here"},
        {"dx[i] += a / b;", "dx[i] += a / b", "dx[i] += b / a", "another name belongs here"},
        {"dx[i] += p.re * q.im;", "p", "q", "another name belongs here"},
        {"dx[i] += p.re * p.im;", "dx[i] += p.re * p.im", "dx[i] += p.im * p.re",
         "another name belongs here"},
        {"dx[i] += p.re * a;", "a", "p", NULL},
        {"Attr r; dx[i] += p.re * r.scale;", "p", "r", NULL},
        {"double c = x[i] * x[j]; dx[i] += c;", "x[i] * x[j]", "dy[i] * dy[j]", "another name belongs here"},
        {"dx[m->width] += x[m->height];", "dx[m->width] += x[m->height]", "dx[m->height] += x[m->width]",
         "another name belongs here"},
        {"sum += x[i] * x[j] * x[i] * x[j] * x[i] * x[j] * x[i];", "+=", "-=", "a sign is wrong"},
        {"double re; sum = a; h[i] = p.re;", "sum = a", "sum = re", NULL},
        {"const double c = a; h[i] += c / b;", "h[i] += c / b", "h[i] += b / c", "another name belongs here"},
        {"h[(long)a] += x[(long)b];", "h[(long)a] += x[(long)b]", "h[(long)b] += x[(long)a]",
         "another name belongs here"},
        {"double g[2][2]; dx[i] += g[i][j];", "dx[i] += g[i][j]", "dx[j] += g[j][i]",
         "another name belongs here"},
        {"double g[2][2]; dx[i] += g[i][j];", "dx[i] += g[i][j]", "dx[i] += g[i][j], dx[i] += @ * (g[i][i])",
         NULL},
        {"double g[2][2]; g[i][j] += x[i];", "g[i][j] += x[i]", "g[i][j] += x[i], g[i] += @ * (x[i])", NULL},
        {"sum += x[i];", "sum += x[i]", "sum += x[i], sum[i] += @ * (x[i])", NULL},
        {"dx[] += x[i];", "dx[] += x[i]", "dx[] += x[i], dx[i] += @ * (x[])", NULL},
        {"dx[i] += x[];", "dx[i] += x[]", "dx[i] += x[], dx[] += @ * (x[i])", NULL},
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
        {"sum += a; sum += b; for (long k = 0; k < N; k++) dx[k] += a;", "0", "(sum = 0, 0)",
         "before this loop something is not set to 0"},
        {"sum += a; b += a; for (long k = 0; k < N; k++) dx[k] += a;", "0", "(b = 0, 0)",
         "before this loop something is not set to 0"},
        {"double c, d, e, f; sum += 1; a += 1; b += 1; c += 1; d += 1; e += 1; f += 1; "
         "for (long k = 0; k < N; k++) dx[k] += a;",
         "0", "(e = 0, 0)", "before this loop something is not set to 0"},
        {"double c, d, e, f; sum += 1; a += 1; b += 1; c += 1; d += 1; e += 1; f += 1; "
         "for (long k = 0; k < N; k++) dx[k] += a;",
         "0", "(f = 0, 0)", NULL},
        {"memset(h, 0, i); for (long k = 0; k < N; k++) dx[k] += a;", "0", "(memset(h, 0, i), 0)",
         "before this loop something is not set to 0"},
        {"h += i; for (long k = 0; k < N; k++) dx[k] += a;", "0", "(h = 0, 0)", NULL},
        {"if (a > b) dx[i] += a; else if (b > a) dx[i] += b;", "b > a", "1", "a condition is one too many"},
        /* Calls. */
        {"dx[i] += pow(a, b);", "a, b", "b, a", "two arguments are exchanged"},
        {"dx[i] += fmax(a, b);", "a, b", "b, a", NULL},
        {"dx[i] += pow(a, a);", "a, a", "a, a", NULL},
        {"dx[i] += own(a, i);", "a, i", "i, a", NULL},
        {"dx[i] += own(a, i);", "own", "part", NULL},
        {"own(a, 1); dx[i] += a;", "dx[i] += a", "dx[i] += a, own(a, 1)", "a call is missing"},
        {"calloc(N, i); dx[i] += a;", "dx[i] += a", "dx[i] += a, calloc(N, i)", NULL},
        {"own(a, 1); long k; for (k = 0; k < N; k++) dx[k] += a;", "k = 0", "own(a, 1), k = 0",
         "a call is missing"},
        /* What walks. */
        {"for (long k = 0; k < N; k++) sum += *h;", "k++", "k++, h++", "this is not moved on"},
        {"for (long k = 0; k < N; k++) sum += *h;", "k++", "k++, h += N", "this is not moved on"},
        {"for (long k = 0; k < N; k++) sum += *h;", "k++", "k++, h--", NULL},
        {"for (long k = N; k > 0; k--) sum += *h;", "k--", "k--, h--", "this is not moved on"},
        {"for (long k = 0; k < N; k++) sum += h[k];", "k++", "k++, h++", NULL},
        {"for (long k = 0; k < N; k++) sum += *(h + k);", "k++", "k++, h++", NULL},
        {"for (long k = 0; k < N; k++) sum += *h++;", "k++", "k++, h++", NULL},
        {"const double *g = dy; for (long k = 0; k < N; k++) sum += *g;", "k++", "k++, g++",
         "this is not moved on"},
        {"double g[2]; for (long k = 0; k < N; k++) sum += *g;", "k++", "k++, g++", NULL},
        {"for (long k = 0; k < N; k++) { double *g = h; sum += *g; }", "k++", "k++, g++", NULL},
        {"long c = 0; for (long k = 0; k < N; k++) sum += x[c];", "k++", "k++, c++", "this is not moved on"},
        {"long c = N; for (long k = 0; k < N; k++) sum += x[c];", "k++", "k++, c++", NULL},
        {"h++;", "h++", "h += N", "this is moved on by the wrong amount"},
        {"h++;", "h++", "h--", "this is moved on by the wrong amount"},
        {"h -= i;", "h -= i", "h += i", "this is moved on by the wrong amount"},
        {"h -= i;", "h -= i", "h--", "this is moved on by the wrong amount"},
        {"i++;", "i++", "i += N", NULL},
        {"for (long k = 0; k < N; k++) sum += m->x;", "k++", "k++, x++", NULL},
        {"double *const g = h; for (long k = 0; k < N; k++) sum += *g;", "k++", "k++, g++", NULL},
        {"const long c = 0; for (long k = 0; k < N; k++) sum += x[c];", "k++", "k++, c++", NULL},
        {"for (long k = N; k > 0; k -= 2) sum += *h;", "k -= 2", "k -= 2, h--", "this is not moved on"},
        {"h--;", "h--", "h++", "this is moved on by the wrong amount"},
        {"{ long c = 2; h += c; } h++;", "h++", "h += c", NULL},
        {"for (long k = 0; k < N; k +=\n#if 1\n1) h++;\n#endif\n", "k += 1", "k += 1, h++", NULL},
        {"for (long k = 0; k < N; k++) sum += *h; h++;", "k++", "k++, h++",
         "this is moved on in the wrong loop"},
        {"for (long k = 0; k < N; k++) sum += *h++;", "h++", "h += N", NULL},
        /* The same at several places. */
        {"double c = x[i], d = dy[i]; dx[i] += c * d;", "i", "(i + 1)", "off by one"},
        {"double c = x[i + 1], d = dy[i + 1]; dx[i] += c * d;", "i + 1", "i", "off by one"},
        {"double c = x[(i - 1) * N], d = dy[(i - 1) * N]; dx[i] += c * d;", "(i - 1) * N", "i * N",
         "off by one"},
        {"double c = x[i], d = dy[j]; dx[i] += c * d;", "i", "(i + 1)", NULL},
        {"double c = x[i - 2], d = dy[i - 2]; dx[i] += c * d;", "i - 2", "(i + 1) - 2", "off by one"},
        {"double c = x[N + i - 1], d = dy[N + i - 1]; dx[i] += c * d;", "N + i - 1", "N + i", "off by one"},
        {"double c = x[i - 1 + N], d = dy[i - 1 + N]; dx[i] += c * d;", "i - 1 + N", "i + N", "off by one"},
        {"double c = x[i - 1 - N], d = dy[i - 1 - N]; dx[i] += c * d;", "i - 1 - N", "(i + 1) - 1 - N",
         "off by one"},
        {"double c = x[N * i - 1], d = dy[N * i - 1]; dx[i] += c * d;", "N * i - 1", "N * (i + 1) - 1",
         "off by one"},
        {"double c = x[(i - 1 + N) * 2], d = dy[(i - 1 + N) * 2]; dx[i] += c * d;", "(i - 1 + N) * 2",
         "((i + 1) - 1 + N) * 2", "off by one"},
        {"for (long width = 0; width < 3; width++) { double c = x[width + m->width], d = dy[width + "
         "m->width]; "
         "dx[i] += c * d; }",
         "width + m->width", "(width + 1) + m->width", "off by one"},
        {"double c = x[i]; return c;", "i", "(i + 1)", NULL},
        {"double c = sin(a); dx[i] += c * sin(b);", "sin", "cos", "another function belongs here"},
        {"\n#define UP 2\n#define DOWN 3\ndouble c = UP * a; dx[i] += c * DOWN;", "UP", "DOWN",
         "two constants are exchanged"},
        {"\n#define UP 2\n#define DOWN 3\ndouble c = UP * a; dx[i] += c;", "UP", "DOWN", NULL},
        {"\n#define UP 2\n#define DOWN 3\nsum = a +\n#if 1\nUP;\n#endif\n", "UP", "DOWN", NULL},
        {"\n#define UP 2\n#define DOWN 3\nb = UP * a * DOWN; sum = a +\n#if 1\nUP;\n#endif\n", "UP", "DOWN",
         "two constants are exchanged"},
        {"\n#define UP 2\n#define DOWN 3\nsum = UP * UP * UP * UP * DOWN;", "UP", "DOWN", NULL},
        {"double c = a; dx[i] += c * b;", "a", "b", NULL},
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

/* A file with more changes than are looked at has none. */
static void changes_are_bounded(void) {
    char *at = text + sprintf(text, "void back(Node *n) { double *d = n->in[0]->grad, a, b, c, e;\n");
    for (int i = 0; i < 200; i++) at += sprintf(at, "d[%d] += a * b - c * e;\n", i);
    sprintf(at, "}\nconst Op op_many = {\"many\", back};");
    CHECK(c_source_read(&source, text, "many", &arena) && !edits_read(&edits, &source));
    forget();
    /* What would be moved on, called, or changed at several places is not looked for any more. */
    at = text +
         sprintf(text,
                 "double one(double v) { return v; }\n"
                 "#define UP 2\n#define DOWN 3\n"
                 "void back(Node *n) { double *d = n->in[0]->grad, *h = d, a = sin(1), b = sin(2), c, e;\n"
                 "for (long i = 0; i < 3; i++) a += *h * UP * DOWN;\n"
                 "for (long i = 0; i < 3; i++) one(a), h++;\n");
    for (int i = 0; i < 200; i++) at += sprintf(at, "d[%d] += a * b - c * e;\n", i);
    sprintf(at, "}\nconst Op op_many = {\"many\", back};");
    CHECK(c_source_read(&source, text, "many", &arena) && !edits_read(&edits, &source));
    for (int i = 0; i < edits.edits; i++)
        CHECK(strncmp(edits.edit[i].what, "this is moved on", 16) != 0 &&
              strcmp(edits.edit[i].what, "a call is missing") != 0);
    forget();
    /* Nor more calls than are of use. */
    int calls = 0;
    at = text + sprintf(text, "double one(double v) { return v; }\n"
                              "void back(Node *n) { double *d = n->in[0]->grad, a = 1;\n");
    for (int i = 0; i < 6; i++) at += sprintf(at, "one(%d);\n", i);
    for (int i = 0; i < 30; i++) at += sprintf(at, "d[%d] += a;\n", i);
    sprintf(at, "}\nconst Op op_many = {\"many\", back};");
    CHECK(c_source_read(&source, text, "many", &arena) && edits_read(&edits, &source));
    for (int i = 0; i < edits.edits; i++) calls += strcmp(edits.edit[i].what, "a call is missing") == 0;
    CHECK(calls == 80, "%d", calls);
    forget();
}

/* = of a struct becomes a call of what makes one of two of its kind, and of nothing else. */
static void records_are_added(void) {
    snprintf(text, sizeof text,
             "typedef struct Pair { double re, im; } Pair;\n"
             "typedef struct Other { double re, im; } Other;\n"
             "Pair both(Pair p, Pair q) { p.re += q.re; return p; }\n"
             "Pair times(Pair p, double a) { p.re *= a; return p; }\n"
             "Pair of(Other p, Other q) { return (Pair){p.re, q.re}; }\n"
             "void backward(Node *n) { double *dx = n->in[0]->grad; Pair p = {1, 2}, q = {3, 4}, *r; p = q; "
             "r = &q;\n"
             "    dx[0] += p.re + r->im + both(p, times(q, 2)).re + of((Other){1, 2}, (Other){3, 4}).re; }\n"
             "const Op op_one = {\"one\", backward};");
    read_text("one");
    int added = 0;
    for (int i = 0; i < edits.edits; i++) {
        const Edit *e = &edits.edit[i];
        if (e->kind != EDIT_TEXT || !strstr(e->what, "overwrites") || strcmp(original(e), "=") == 0) continue;
        CHECK(strcmp(e->part[0].text, "both(p, q)") == 0, "%s", e->part[0].text);
        added++;
    }
    CHECK(added == 1, "%d", added);
    forget();
}

/* ---- What is known of a file ---- */

/* Of forward what it saves is changed, and nothing else. */
static void forward_counts_where_it_saves(void) {
    int changed = 0;
    read_lines("dx[i] += a;");
    for (int i = 0; i < edits.edits; i++) {
        const Edit *e = &edits.edit[i];
        const Piece *piece = &source.piece[e->part[0].piece];
        const char *changes = e->statement ? edits_tokens(&edits, e->from, e->from_end)
                                           : edits_tokens(&edits, piece->begin, piece->end);
        CHECK(!e->forward || strcmp(changes, "m->scale = 2") == 0 || strcmp(changes, "m->width = 1") == 0,
              "'%s'", changes);
        changed += e->forward;
    }
    CHECK(changed > 0);
    forget();
}

static bool pool_has(const Value *const *value, int values, const char *name) {
    int i = 0;
    while (i < values && strcmp(value[i]->text, name) != 0) i++;
    return i < values;
}

/* What another function knows by the same name, gradients of inputs, and elements that are written, are not to be computed with. */
static void values_are_in_scope(void) {
    static const char *const there[] = {
        "a",   "b", "m->scale", "(i == j)", "x[m->width * i + j]", "x[m->width * j + i]", "n->out->grad[i]",
        "h[i]"};
    static const char *const missing[] = {"m->re", "c", "k", "dx[i]", "n->in[0]->grad[i]", "Pair"};
    read_lines(
        "h[i] += a * h[i]; dx[i] += x[m->width * i + j] * n->out->grad[i]; n->in[0]->grad[i] += m->scale;");
    const Pool *pool = &edits.pool[edits.edit[find_edit(EDIT_TERM, "a * h[i]", NULL)].part[0].piece];
    for (size_t i = 0; i < sizeof there / sizeof *there; i++)
        CHECK(pool_has(pool->value, pool->values, there[i]), "'%s' is missing", there[i]);
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        CHECK(!pool_has(pool->value, pool->values, missing[i]), "'%s'", missing[i]);
    CHECK(pool_has(pool->target, pool->targets, "h[i]") && pool_has(pool->target, pool->targets, "dx[i]"));
    forget();
    /* What is declared has no value before it has its first. */
    read_lines("double own_name = a * b; dx[i] += own_name; sum = own_name;");
    pool = &edits.pool[edits.edit[find_edit(EDIT_TERM, "a * b", NULL)].part[0].piece];
    CHECK(!pool_has(pool->value, pool->values, "own_name") && pool_has(pool->value, pool->values, "sum"));
    pool = &edits.pool[edits.edit[find_edit(EDIT_TERM, "own_name", NULL)].part[0].piece];
    CHECK(pool_has(pool->value, pool->values, "own_name"));
    forget();
    /* Of assignments in a chain only the last one's right side is a value. */
    read_lines("dx[i] = dx[j] = 0;");
    CHECK(find_edit(EDIT_TERM, "dx[j] = 0", NULL) < 0 && find_edit(EDIT_TERM, "0", NULL) >= 0);
    forget();
}

/* An array called data has a gradient beside it where it is a tensor's, or where a struct of the file has both. */
static void data_has_a_gradient(void) {
    static const struct {
        const char *members;
        bool has;
    } rows[] = {{"double *data;", false}, {"double *data, *grad;", true}, {"double *values;", true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text,
                 "typedef struct Own { %s } Own;\n"
                 "void backward(Node *n) { double *dx = n->in[0]->grad; dx[0] += n->out->data[1] * 2; }\n"
                 "const Op op_one = {\"one\", 0, backward};",
                 rows[i].members);
        read_text("one");
        bool has = false;
        for (long v = 0; v < edits.values; v++) has |= strcmp(edits.value[v].text, "n->out->grad") == 0;
        CHECK(has == rows[i].has, "%s", rows[i].members);
        forget();
    }
}

/* A pointer that moves on outside of all loops moves on in none of them. */
static void walks_are_in_loops(void) {
    snprintf(text, sizeof text,
             "void backward(Node *n) { double *dx = n->in[0]->grad; dx++; *dx = 1;\n"
             "    for (long i = 0; i < 2; i++) dx[i] += 1; }\n"
             "const Op op_one = {\"one\", 0, backward};");
    read_text("one");
    int moved = 0;
    for (int i = 0; i < edits.edits; i++) {
        CHECK(strcmp(edits.edit[i].what, "this is moved on in the wrong loop") != 0, "%s",
              edits.edit[i].part[0].text);
        moved += strcmp(edits.edit[i].what, "this is moved on by the wrong amount") == 0;
    }
    CHECK(moved > 0, "it is not known to move");
    forget();
}

/* An array at another's index is one, though nothing reads it; what changes something is none, or to look at it would. */
static void values_are_possible(void) {
    read_lines("for (long k = 0; k < N; k++) dx[k] = 0; while (N-- > 0) dx[i] += x[i] * h[j];");
    const Pool *pool = &edits.pool[edits.edit[find_edit(EDIT_TERM, "x[i] * h[j]", NULL)].part[0].piece];
    CHECK(pool_has(pool->value, pool->values, "x[i]") && pool_has(pool->value, pool->values, "x[j]"));
    CHECK(pool_has(pool->value, pool->values, "h[i]") && !pool_has(pool->value, pool->values, "dx[j]"));
    CHECK(!pool_has(pool->value, pool->values, "(N-- > 0)"));
    CHECK(pool_has(pool->value, pool->values, "(N - 1)"), "a loop's last");
    for (int v = 1; v < pool->values; v++)
        CHECK(pool->value[v]->possible >= pool->value[v - 1]->possible, "%s", pool->value[v]->text);
    forget();
}

static bool has_at_element(const char *lines, const char *element, const char *name) {
    read_lines(lines);
    const Pool *pool = &edits.pool[edits.edit[find_edit(EDIT_VALUE, element, NULL)].part[0].piece];
    bool has = pool_has(pool->value, pool->values, name);
    forget();
    return has;
}

/* A loop's variable is compared with an index of the same function, whose names are known, where its condition begins with it. */
static void indices_are_compared(void) {
    CHECK(has_at_element("for (long k = 0; k < 3; k++) for (long l = 0; l < 3; l++) dx[k] += a * x[l];",
                         "x[l]", "(k == l)"));
    CHECK(!has_at_element("for (long k = 0; 0 < 3 - k; k++) for (long l = 0; l < 3; l++) dx[k] += a * x[l];",
                          "x[l]", "(k == l)"));
    CHECK(!has_at_element("\n#define AT(r, c) ((r) * 3 + (c))\ndx[i] += a * x[AT(i, 1)];", "x[AT(i, 1)]",
                          "(j == AT(i, 1))"));
    CHECK(has_at_element("\n#define SAVED (m->saved)\nh[j] += SAVED[j] * x[i];", "x[i]", "x[j]"));
}

/* No more values than a pool holds, those that come first. */
static void pools_are_bounded(void) {
    char lines[100 * 20] = "", *at = lines;
    for (int k = 0; k < POOL + 10; k++) at += sprintf(at, "h[%d] += x[%d];", k, k);
    read_lines(lines);
    const Pool *pool = &edits.pool[edits.edit[find_edit(EDIT_ADDED, "h[0] += x[0]", NULL)].part[0].piece];
    CHECK(pool->values == POOL && pool->targets == TARGETS, "%d, %d", pool->values, pool->targets);
    forget();
}

/* Which input's gradient a statement writes. */
static void gradients_are_of_inputs(void) {
    static const struct {
        const char *line;
        int input;
    } rows[] = {{"dx[i] += a;", 0},
                {"n->in[1]->grad[i] += a;", 1},
                {"n->in[i]->grad[j] += a;", -1},
                {"n->in[i + 1]->grad[j] += a;", -1},
                {"in->own->grad[i] += a;", -1},
                {"h[i] += a;", -1},
                {"own(a, i);", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_lines(rows[i].line);
        int piece = 0;
        while (source.token[source.piece[piece].begin].line < LINES) piece++;
        CHECK(edits_gradient_of(&edits, piece) == rows[i].input, "%s: %d", rows[i].line,
              edits_gradient_of(&edits, piece));
        forget();
    }
    /* A name is what it is in its own function. */
    snprintf(text, sizeof text,
             "long at(long k) { return k; }\n"
             "void add(double *dx, long k) { dx[at(k)] += 1.5; }\n"
             "void backward(Node *n) { double *dx = n->in[0]->grad; dx[1] += 2.5; add(dx, 1); }\n"
             "const Op op_one = {\"one\", backward};");
    read_text("one");
    CHECK(source.piece[1].function == 1 && edits_gradient_of(&edits, 1) == -1, "%d",
          edits_gradient_of(&edits, 1));
    forget();
}

/* What a forward copies is saved by it, in the last statement of a file as well; what no operation uses is not looked at. */
static void copies_are_saved(void) {
    snprintf(text, sizeof text,
             "void unused(Node *n) { double *y = n->in[0]->grad; memcpy(n->other, y, 8); }\n"
             "void backward(Node *n) { double *dx = n->in[0]->grad; dx[0] += 1.5; }\n"
             "void forward(Node *n) { double *y = n->out->data; y[0] = 2; if (y[0]) { y[1] = y[0] ?: 1; }\n"
             "    memcpy(n->attr, y, 8); }\n"
             "const Op op_one = {\"one\", forward, backward};");
    read_text("one");
    int moved = 0;
    for (int i = 0; i < edits.edits; i++) {
        const Edit *e = &edits.edit[i];
        if (strncmp(e->what, "this is too", 11) != 0) continue;
        CHECK(strstr(e->statement, "memcpy(n->attr, y, 8)"), "%s", e->statement);
        moved++;
    }
    CHECK(moved > 0);
    forget();
}

/* A macro that has brackets in it is an element of an array, to be read and to be added to; another is what its argument is, and a
 * name may be a number. */
static void macros_are_known(void) {
    static const struct {
        EditKind kind;
        const char *original;
    } rows[] = {{EDIT_VALUE, "AT(x, j, i)"}, {EDIT_INDEX, "j"},
                {EDIT_ARRAY, "x"},           {EDIT_VALUE, "SQUARE(a)"},
                {EDIT_VALUE, "TURN"},        {EDIT_FACTOR, "AT(x, j, i) * SQUARE(a) * own(TURN, 1)"}};
    read_lines("sum += TURN;\n"
               "#define AT(m, r, c) m[(r) * N + (c)]\n"
               "#  define SQUARE(v) ((v) * \\\n (v))\n"
               "#define TURN 6.28\n"
               "#define NOTHING\n"
               "#define NONE() 2\n"
               "            AT(dx, i, j) += AT(x, j, i) * SQUARE(a) * own(TURN, 1); sum += NONE();");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(find_edit(rows[i].kind, rows[i].original, NULL) >= 0, "no edit of '%s'", rows[i].original);
    CHECK(find_edit(EDIT_VALUE, "NONE()", NULL) < 0, "what it is made of is not known");
    const Pool *pool = &edits.pool[edits.edit[find_edit(EDIT_VALUE, "AT(x, j, i)", NULL)].part[0].piece];
    CHECK(number_of(pool->value, pool->values, "AT(x, i, j)") > 0, "the other way");
    CHECK(number_of(pool->target, pool->targets, "AT(dx, i, j)") > 0, "what is added to");
    forget();
}

TEST_MAIN({"changes of a line are listed", texts_are_listed},
          {"forward counts where it saves", forward_counts_where_it_saves},
          {"values are in scope", values_are_in_scope}, {"values are possible", values_are_possible},
          {"data has a gradient", data_has_a_gradient}, {"walks are in loops", walks_are_in_loops},
          {"pools are bounded", pools_are_bounded}, {"changes are bounded", changes_are_bounded},
          {"indices are compared", indices_are_compared}, {"structs are added", records_are_added},
          {"macros are known", macros_are_known}, {"gradients are of inputs", gradients_are_of_inputs},
          {"copies are saved", copies_are_saved})
