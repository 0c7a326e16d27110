/* What a backward may lack that takes a loop of its own (src/repair/edits_loops.c): which loops are copied to which places, what
 * is at hand there, and how it is shown. tests/repairs.c tries them. */
#include "repair/edited_source.h"
#include "repair_text.h"

static Edits loops;

static void read_loops(const char *lines) {
    read_lines(lines);
    edits_find_loops(&loops, &edits);
}

static void forget_loops(void) {
    free(loops.edit);
    loops = (Edits){0};
    forget();
}

/* The edit that is shown as this where a target has a value added; -1: there is none. */
static int find_shown(const char *target, const char *value, const char *is, const char *becomes) {
    for (int i = 0; i < loops.edits; i++) {
        const Edit *e = &loops.edit[i];
        const Pool *pool = &loops.pool[e->pool];
        RepairTrial t = {.edit = 1 + i, .amount = 1};
        for (int k = 0; k < pool->targets && e->head; k++)
            if (strcmp(pool->target[k]->text, target) == 0) t.target = 1 + k;
        for (int k = 0; k < pool->values && e->head; k++)
            if (strcmp(pool->value[k]->text, value) == 0) t.value[0] = 1 + k;
        char found[REPAIR_SHOWN], changed[REPAIR_SHOWN];
        if (e->head && (!t.target || !t.value[0])) continue;
        if (edited_source_show(&loops, &t, found, changed) && strcmp(found, is) == 0 &&
            strcmp(changed, becomes) == 0)
            return i;
    }
    return -1;
}

static void loops_are_copied(void) {
    static const struct {
        const char *lines, *target, *value, *is, *becomes, *what; /* what: NULL: it is not there */
    } rows[] = {
        /* A loop before another, behind it, and behind a call. */
        {"for (long k = 0; k < 3; k++) sum += k; for (long l = 0; l < N; l++) h[l] += a;", "h[k]", "x[k]",
         "for (long l = 0; l < N; l++)",
         "for (long k = 0; k < 3; k++) h[k] += x[k]; for (long l = 0; l < N; l++)", "a loop is missing"},
        {"for (long k = 0; k < 3; k++) sum += k; for (long l = 0; l < N; l++) h[l] += a;", "h[k]", "x[k]",
         "for (long l = 0; l < N; l++)",
         "for (long l = 0; l < N; l++) …; for (long k = 0; k < 3; k++) h[k] += x[k]", "a loop is missing"},
        {"own(a, i); for (long k = 0; k < 3; k++) dx[k] += a;", "dx[k]", "a", "own(a, i)",
         "{ own(a, i); if (dx) for (long k = 0; k < 3; k++) dx[k] += a; }", "a loop is missing"},
        /* Not one of the same bounds, nor where its names are not known or mean something else. */
        {"for (long k = 0; k < 3; k++) sum += k; for (long l = 0; l < 3; l++) h[l] += a;", "h[k]", "x[k]",
         "for (long l = 0; l < 3; l++)",
         "for (long k = 0; k < 3; k++) h[k] += x[k]; for (long l = 0; l < 3; l++)", NULL},
        {"{ long n = 2; for (long k = n; k < 3; k++) sum += k; } for (long l = 0; l < 3; l++) h[l] += a;",
         "h[k]", "x[k]", "for (long l = 0; l < 3; l++)",
         "for (long k = n; k < 3; k++) h[k] += x[k]; for (long l = 0; l < 3; l++)", NULL},
        {"{ long n = 2; for (long k = 0; k < n; k++) sum += k; } for (long l = 0; l < 3; l++) h[l] += a;",
         "h[k]", "x[k]", "for (long l = 0; l < 3; l++)",
         "for (long k = 0; k < n; k++) h[k] += x[k]; for (long l = 0; l < 3; l++)", NULL},
        /* A sum over the loop around a statement, or a declared value, in a name that the file has not. */
        {"dx[j] += a * x[j];", "dx[j]", "x[l]", "dx[j] += a * x[j]",
         "{ dx[j] += a * x[j]; if (dx) for (long l = N - 1; l >= 0; l--) dx[j] += x[l]; }",
         "a sum over the loop is missing"},
        {"double c = x[j]; dx[j] += c;", "c", "(x[l])", "c = x[j]",
         "c = x[j]; for (long l = N - 1; l >= 0; l--) c += (x[l])", "a sum over the loop is missing"},
        {"const double c = x[j]; dx[j] += c;", "c", "(x[l])", "c = x[j]",
         "c = x[j]; for (long l = N - 1; l >= 0; l--) c += (x[l])", NULL},
        {"{ double c = x[j]; } dx[i] += a;", "c", "(x[l])", "c = x[j]",
         "c = x[j]; for (long l = N - 1; l >= 0; l--) c += (x[l])", NULL},
        {"double c = x[j]; dx[i] += a +\n#if 1\nb;\n#endif\n", "c", "(x[l])", "c = x[j]",
         "c = x[j]; for (long l = N - 1; l >= 0; l--) c += (x[l])", NULL},
        {"dx[j] += a * x[j]; double c = a, d = c * x[j]; dx[i] += d;", "dx[j]", "(c * x[l])",
         "dx[j] += a * x[j]",
         "{ dx[j] += a * x[j]; if (dx) for (long l = N - 1; l >= 0; l--) dx[j] += (c * x[l]); }", NULL},
        {"double k, l, i2, j2, k2; dx[j] += a * x[j];", "dx[j]", "x[l]", "dx[j] += a * x[j]",
         "{ dx[j] += a * x[j]; if (dx) for (long l = N - 1; l >= 0; l--) dx[j] += x[l]; }", NULL},
        /* Not where a line of the preprocessor is, nor where nothing says which element it is. */
        {"for (long k = 0; k < 3; k++) sum += k; for (long l = 0; l <\n#if 1\nN; l++) h[l] += a;\n#endif\n",
         "h[k]", "x[k]", "for (long l = 0; l < N; l++)",
         "for (long l = 0; l < N; l++) …; for (long k = 0; k < 3; k++) h[k] += x[k]", NULL},
        {"for (long k = 0; k < 3; k++) sum += x[]; for (long l = 0; l < N; l++) h[l] += a;", "h[]", "x[k]",
         "for (long l = 0; l < N; l++)",
         "for (long k = 0; k < 3; k++) h[] += x[k]; for (long l = 0; l < N; l++)", NULL},
        {"\n#define AT(m, r) m[r]\nfor (long k = 0; k < 3; k++) sum += k; for (long l = 0; l < N; l++) AT(h, "
         "l) += a;",
         "AT(h, k)", "x[k]", "for (long l = 0; l < N; l++)",
         "for (long k = 0; k < 3; k++) AT(h, k) += x[k]; for (long l = 0; l < N; l++)", NULL},
        {"sum += a;", "sum", "x[l]", "sum += a",
         "{ sum += a; for (long l = N - 1; l >= 0; l--) sum += x[l]; }", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char lines[512];
        /* x is at hand. */
        snprintf(lines, sizeof lines, "x[j] * x[i]; %s", rows[i].lines);
        read_loops(lines);
        int at = find_shown(rows[i].target, rows[i].value, rows[i].is, rows[i].becomes);
        CHECK((at >= 0) == (rows[i].what != NULL), "row %zu, '%s'", i, rows[i].becomes);
        if (at >= 0 && rows[i].what)
            CHECK(strcmp(loops.edit[at].what, rows[i].what) == 0, "row %zu: %s", i, loops.edit[at].what);
        forget_loops();
    }
}

/* No more than may be compiled at once. */
static void copies_are_bounded(void) {
    char lines[8192] = "", *at = lines;
    for (int k = 0; k < 20; k++)
        at += sprintf(at, "for (long k%d = 0; k%d < %d; k%d++) h[k%d] += a;", k, k, k, k, k);
    read_loops(lines);
    CHECK(loops.copies == MOST_COPIES, "%ld", loops.copies);
    forget_loops();
}

/* A copy goes before what a loop starts with, be it declared there or not. */
static void copies_are_written(void) {
    char *written = NULL;
    size_t size;
    int *edit_of_line;
    read_loops("long c; for (long k = 0; k < 3; k++) sum += k; for (c = 0; c < N; c++) h[c] += a;");
    bool *left_out = calloc((size_t)edited_source_numbers(&loops), sizeof *left_out);
    FILE *out = open_memstream(&written, &size);
    edited_source_write(&loops, left_out, out, &edit_of_line);
    fclose(out);
    CHECK(strstr(written, "? (void)(({ for (long k = 0; k < 3; k++) {"));
    CHECK(strstr(written, "(void)0; } }),  c = 0 ) :"));
    free(written), free(left_out), free(edit_of_line);
    forget_loops();
}

/* Nor more than there is room for in what is tried. */
static void values_are_bounded(void) {
    char lines[8192] = "for (long k = 0; k < 3; k++) ", *at = lines + strlen(lines);
    for (int k = 0; k < 120; k++)
        at += sprintf(at, "%s x[%s%d]", k ? "; sum +=" : "sum +=", k < 10 ? "k + " : "", k);
    strcpy(at, "; for (long l = 0; l < N; l++) h[l] += a;");
    read_loops(lines);
    long most = 0;
    for (int i = 0; i < loops.edits; i++)
        if (loops.edit[i].head && loops.pool[loops.edit[i].pool].values > most)
            most = loops.pool[loops.edit[i].pool].values;
    CHECK(most == POOL, "%ld", most);
    forget_loops();
}

/* What forward does to an array in a loop of one statement, and backward might, in front of a loop of its own. */
static void forward_loops_are_done_again(void) {
    static const struct {
        const char *forward, *backward, *becomes; /* NULL: it is not listed */
    } rows[] = {
        {"for (long k = 0; k < 3; k++) kept[k] = k;", "for (long i = 0; i < 3; i++) dx[i] += kept[i];",
         "(({ for (long k = 0; k < 3; k++) kept[k] = k; }), 0)"},
        {"for (long k = 0; k < 3; k++) kept[k] = k;", "long i; for (i = 0; i < 3; i++) dx[i] += kept[i];",
         "({ for (long k = 0; k < 3; k++) kept[k] = k; }), i = 0"},
        {"for (long k = 0; k < 3; k++) kept[at(k, 1)] = k;", "for (long i = 0; i < 3; i++) dx[i] += kept[i];",
         "(({ for (long k = 0; k < 3; k++) kept[at(k, 1)] = k; }), 0)"},
        {"long n = 3; for (long k = 0; k < n; k++) kept[k] = k;",
         "for (long i = 0; i < 3; i++) dx[i] += kept[i];", NULL},
        {"\n#define KEPT kept\nfor (long k = 0; k < 3; k++) KEPT[k] = k;",
         "for (long i = 0; i < 3; i++) dx[i] += kept[i];", NULL},
        {"for (long k = 0; k < 3; k++) kept[k] = k, kept[0] = 1;",
         "for (long i = 0; i < 3; i++) dx[i] += kept[i];", NULL},
        {"for (long k = 0; k < 3; k++) kept[k] = k +\n#if 1\n1;\n#endif\n",
         "for (long i = 0; i < 3; i++) dx[i] += kept[i];", NULL},
        {"for (long k = 0; k < 3; k++) call(kept, k);", "for (long i = 0; i < 3; i++) dx[i] += kept[i];",
         NULL},
        {"long c; for (long k = 0; k < 3; k++) c = k;", "for (long i = 0; i < 3; i++) dx[i] += kept[i];",
         NULL},
        {"for (long k = 0; k < 3; k++) kept;", "for (long i = 0; i < 3; i++) dx[i] += kept[i];", NULL},
        {"for (long k = 0; k < 3; k++) whole = k;", "for (long i = 0; i < 3; i++) dx[i] += whole;", NULL},
        {"for (long k = 0; k < 3; k++) n->out->data[k] = k;",
         "for (long i = 0; i < 3; i++) dx[i] += kept[i];", NULL},
        {"for (long k = 0; k < 3; k++) kept[k] = k;",
         "for (long i = 0 +\n#if 1\n0; i < 3; i++) dx[i] += kept[i];\n#endif\n", NULL},
        {"for (long k = 0; k < 3; k++) kept[k] = k;",
         "const double *kept = dx; for (long i = 0; i < 3; i++) dx[i] += kept[i];", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *becomes = NULL;
        snprintf(text, sizeof text,
                 "static double kept[3], whole;\n"
                 "void call(double *v, long k) { v[k] = 1; }\n"
                 "long at(long k, long n) { return k + n; }\n"
                 "void unused(double *v) { for (long k = 0; k < 9; k++) v[k] = 1; }\n"
                 "double last(Node *n, double none) { double *dx = n->in[0]->grad; return dx[0]; }\n"
                 "void set(Node *n) { double *dx = n->in[0]->grad; double c = dx[1]; }\n"
                 "void forward(Node *n, double none) {\n%s\n}\n"
                 "void backward(Node *n) { double *dx = n->in[0]->grad; dx[0] = last(n, 1); set(n);\n%s\n}\n"
                 "const Op op_one = {\"one\", forward, backward};",
                 rows[i].forward, rows[i].backward);
        read_text("one");
        edits_find_loops(&loops, &edits);
        for (int k = 0; k < loops.edits; k++)
            if (strncmp(loops.edit[k].what, "forward does this", 17) == 0)
                becomes = loops.edit[k].part[0].text;
        bool same =
            becomes && rows[i].becomes ? strcmp(becomes, rows[i].becomes) == 0 : becomes == rows[i].becomes;
        CHECK(same, "row %zu: %s", i, becomes ? becomes : "nothing");
        forget_loops();
    }
}

TEST_MAIN({"loops are copied", loops_are_copied}, {"copies are bounded", copies_are_bounded},
          {"copies are written", copies_are_written}, {"values are bounded", values_are_bounded},
          {"forward's loops are done again", forward_loops_are_done_again})
