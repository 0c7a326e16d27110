/* What is understood of a student's C file (src/repair): its tokens, functions and statements, and the types of expressions. Files of any
 * bytes are tests/fuzz_seeds.c's. */
#include "repair_text.h"

/* ---- What is understood ---- */

/* The expression that stands there, or of an assignment its right side; NULL: it is not understood. */
static const Expression *expression_in(int line) {
    for (int i = 0; i < source.pieces; i++)
        if (source.token[source.piece[i].begin].line == line && edits.tree[i])
            return edits.tree[i]->kind == EXPRESSION_ASSIGNED ? edits.tree[i]->part->next : edits.tree[i];
    return NULL;
}

static void types_are_known(void) {
    static const struct {
        const char *expression;
        Base base;
        int depth;
    } rows[] = {
        {"a", BASE_NUMBER},
        {"i", BASE_INTEGER},
        {"i * a", BASE_NUMBER},
        {"a * i", BASE_NUMBER},
        {"i + j", BASE_INTEGER},
        {"i + WIDTH", BASE_UNKNOWN},
        {"own(a, i)", BASE_NUMBER},
        {"own((a + b), i)", BASE_NUMBER},
        {"own(1.5, i)", BASE_NUMBER},
        {"own()", BASE_NUMBER},
        {"sin(a)", BASE_NUMBER},
        {"strange(a)", BASE_UNKNOWN},
        {"(long)a", BASE_INTEGER},
        {"(double *)m->saved", BASE_NUMBER, 1},
        {"1", BASE_INTEGER},
        {"1.5", BASE_NUMBER},
        {".5", BASE_NUMBER},
        {"1e-3", BASE_NUMBER},
        {"0x1e", BASE_INTEGER},
        {"0X1E", BASE_INTEGER},
        {"n->in[0]->data", BASE_NUMBER, 1},
        {"n->in[0]->grad[i]", BASE_NUMBER},
        {"n->in[0]->shape.rank", BASE_INTEGER},
        {"n->in[0]->shape.size", BASE_INTEGER, 1},
        {"m->scale", BASE_NUMBER},
        {"m->width", BASE_INTEGER},
        {"p.re", BASE_NUMBER},
        {"p.strange", BASE_UNKNOWN},
        {"q", BASE_RECORD},
        {"i < j", BASE_INTEGER},
        {"i << 2", BASE_INTEGER},
        {"h + i", BASE_NUMBER, 1},
        {"&a", BASE_NUMBER, 1},
        {"*h", BASE_NUMBER},
        {"a > 0 ? b : i", BASE_NUMBER},
        {"sizeof a", BASE_INTEGER},
        {"sizeof(double)", BASE_INTEGER},
        {"--i", BASE_INTEGER},
        {"h[0]++", BASE_NUMBER},
        {"(unsigned long)a", BASE_INTEGER},
        {"(long double)i", BASE_NUMBER},
        {"part(&p)", BASE_NUMBER},
        {"-a", BASE_NUMBER},
        {"(a)", BASE_NUMBER},
        {"h[i]", BASE_NUMBER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char lines[200];
        snprintf(lines, sizeof lines, "sum = %s;", rows[i].expression);
        read_lines(lines);
        const Expression *e = expression_in(LINES);
        CHECK(e && e->type.base == rows[i].base && e->type.depth == rows[i].depth, "%s: %d, %d",
              rows[i].expression, e ? (int)e->type.base : -1, e ? e->type.depth : 0);
        forget();
    }
}

/* Nothing is listed of a statement that is not understood, and that is no reason to leave out the next. */
static void what_is_not_understood_is_left(void) {
    static const char *const rows[] = {
        "(Pair *)h",    "(double){1}", "(m)->scale", "(h)[i]",   "(*m).scale", "(p).re", "(own)(a, i)",
        "(Pair){1, 2}", "a ? b",       "own(a b)",   "\"text\"", "a +",        "()",     "(a, b)",
        "a b",          "[i]",         "++",         "a ? b :",  "sizeof",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char lines[200];
        snprintf(lines, sizeof lines, "sum = %s;\ndx[i] += a;", rows[i]);
        read_lines(lines);
        CHECK(!expression_in(LINES), "%s", rows[i]);
        CHECK(expression_in(LINES + 1), "behind %s", rows[i]);
        forget();
    }
}

/* What is around statements: comments, texts, lines of the preprocessor, and depths that nobody writes. */
static void files_are_taken_apart(void) {
    static const struct {
        const char *text;
        long tokens, functions, pieces;
    } rows[] = {
        {"", 0, 0, 0},
        {"/* a */ // b\n /* \n c", 0, 0, 0},
        {"# define A \\\n b\n  # c\nd # e", 3, 0, 0},
        {"#define A b \\", 0, 0, 0},
        {"#define A(b\n c) d", 3, 0, 0},
        {"\"a \\\" b\" 'c' '\\'' \"d", 4, 0, 0},
        {"\"a\\", 1, 0, 0},
        {"1e-3 0x1p+4 .5 a.b ... ->", 8, 0, 0},
        {"f(a) { b; }", 8, 1, 1},
        {"f(a) { b, c; return; return d; }", 15, 1, 3},
        {"f(a); g(b) c; { d; } struct { int e; } h; union u { f; } i; struct j k;", 35, 0, 0},
        {"int a = 1, b[2], *c, d(e), f; typedef double real;", 24, 0, 0},
        {"f() { if (a) b; else c; do d; while (e); switch (g) { case 1: h; default: i; } j: break; continue; "
         "goto j; }",
         46, 1, 7},
        {"f() { double a = 1, b, c[] = {2, {3}, [0] = 4, .x = 5, 6}, *d = 0; static int e = 7; }", 48, 1, 4},
        {"f() { for (;;) a; for (int i = 0;;) b; for (i = 0, j = 1; k; l, m) n; }", 41, 1, 9},
        {"f(", 2, 0, 0},
        {"f() {", 4, 0, 0},
        {"f() { a", 5, 0, 0},
        {"f() { for (", 6, 0, 0},
        {"struct {", 2, 0, 0},
        {"f() { struct a b = c; union d e = f; enum g h = i; }", 23, 1, 3},
        {"f(t *a, u *b) { t *c, *d; t *e; t *const g = h; t const i = j; k * l + m; n * o(p); t *q, r = s; }",
         57, 1, 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "%s", rows[i].text);
        read_text("op");
        CHECK(source.tokens == rows[i].tokens && source.functions == rows[i].functions &&
                  source.pieces == rows[i].pieces,
              "'%s': %ld tokens, %ld functions, %ld pieces", rows[i].text, source.tokens, source.functions,
              source.pieces);
        forget();
    }
}

/* `count` times one text, between two others. */
static bool reads_many(const char *before, const char *each, int count, const char *behind) {
    size_t length = strlen(each);
    char *many = malloc(strlen(before) + (size_t)count * length + strlen(behind) + 1), *at = many;
    at += sprintf(at, "%s", before);
    for (int i = 0; i < count; i++) at += sprintf(at, "%s", each);
    sprintf(at, "%s", behind);
    bool ok = c_source_read(&source, many, "op", &arena);
    Edits loops = {0};
    if (ok) edits_read(&edits, &source), edits_find_loops(&loops, &edits);
    free(loops.edit);
    forget();
    edits = (Edits){0};
    free(many);
    return ok;
}

static void what_nobody_writes_is_refused(void) {
    CHECK(reads_many("f() {", "a;", MOST_PIECES, "}") && !reads_many("f() {", "a;", MOST_PIECES + 1, "}"));
    CHECK(reads_many("", "f() {}", MOST_FUNCTIONS, "") && !reads_many("", "f() {}", MOST_FUNCTIONS + 1, ""));
    CHECK(reads_many("", "a ", MOST_TOKENS, "") && !reads_many("", "a ", MOST_TOKENS + 1, ""));
    CHECK(reads_many("f() { a = ", "(", 9000, "b;") && reads_many("f() ", "{", 19000, ""));
    CHECK(reads_many("f() { ", "if (a) ", 2 * MOST_NESTED, "b; }"));
    CHECK(reads_many("f() { double a = b; a += ", "- ", MOST_NESTED + 10, "b; }"));
    CHECK(reads_many("f() { double a = ", "-", 9000, "b; a += b; }"));
}

/* Which functions serve an operation, and which of them its backward alone. */
static void functions_are_told_apart(void) {
    static const struct {
        const char *name;
        bool used, backward;
    } want[] = {{"helper", true, true},   {"both", true, false},    {"other", false, true},
                {"forward", true, false}, {"backward", true, true}, {"alone", false, true}};
    snprintf(
        text, sizeof text,
        "double helper(double a) { return a; } double both(double a) { return a; }\n"
        "double other(double a) { return grad; }\n"
        "void forward(Node *n) { both(1); }\nvoid backward(Node *n) { helper(both(n->in[0]->grad[0])); }\n"
        "double alone(void) { return grad; }\n"
        "const Op op_one = {\"one\", forward, backward, CASES(cases)}; const Op op_two = {\"two\", other};");
    read_text("one");
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const Function *f = &source.function[i];
        CHECK(token_is(&source, f->name, want[i].name) && f->used == want[i].used &&
                  f->backward == want[i].backward,
              "%s: %d, %d", want[i].name, f->used, f->backward);
    }
    forget();
}

TEST_MAIN({"types are known", types_are_known},
          {"what is not understood is left", what_is_not_understood_is_left},
          {"files are taken apart", files_are_taken_apart},
          {"what nobody writes is refused", what_nobody_writes_is_refused},
          {"functions are told apart", functions_are_told_apart})
