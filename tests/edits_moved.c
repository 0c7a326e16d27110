/* The changes that put a statement in another place (src/repair), or add one: where, and how they are shown. */
#include "repair/edited_source.h"
#include "repair_text.h"

/* What is added before a loop, or behind it, where its variable is at its end; or beside a statement, where there is something to
 * add to. */
static void additions_are_shown(void) {
    static const struct {
        const char *lines, *original, *target, *value, *is, *becomes, *what;
    } rows[] = {
        {"for (long k = 0; k < N; k++) dx[k] += a;", "0", "sum", "b", "for (long k = 0; k < N; k++)",
         "sum -= b; for (long k = 0; k < N; k++)", "before this loop something is not added"},
        {"for (long k = 0; k < N; k++) dx[k] += a;", "k < N", "dx[k]", "b", "for (long k = 0; k < N; k++)",
         "for (long k = 0; k < N; k++) …; if (dx) dx[N] -= b", "behind this loop something is not added"},
        {"for (long k = N; k > 0; k--) dx[k] += a;", "k > 0", "dx[k]", "b", "for (long k = N; k > 0; k--)",
         "for (long k = N; k > 0; k--) …; if (dx) dx[k] -= b", "behind this loop something is not added"},
        {"for (long k = 0; k < N; k++) dx[k] += a;", "0", "sum", NULL, "for (long k = 0; k < N; k++)",
         "sum = 0; for (long k = 0; k < N; k++)", "something is not set to 0"},
        {"if (a < b) dx[i] += a;", "a < b", "sum", "b", "if (a < b)", "sum -= b; if (a < b)",
         "before this something is not added"},
        {"double a_k = a; for (long k = 0; k < N; k++) dx[k] += a_k;", "k < N", "dx[k]", "a_k",
         "for (long k = 0; k < N; k++)", "for (long k = 0; k < N; k++) …; if (dx) dx[N] -= a_k",
         "behind this loop something is not added"},
        {"if (h) h[i] += a;", "h[i] += a", "h[i]", "b", "h[i] += a", "{ h[i] += a; if (h) h[i] -= b; }",
         "something is not added"},
        {"if (h && a > 0) h[i] += a;", "h[i] += a", "h[i]", "b", "h[i] += a",
         "{ h[i] += a; if (h) h[i] -= b; }", "something is not added"},
        {"double hard = a; if (hard > 0) h[i] += a;", "h[i] += a", "h[i]", "b", "h[i] += a",
         "h[i] += a, h[i] -= b", "something is not added"},
        {"if (dx) dx[i] += a;", "dx[i] += a", "dx[i]", "b", "dx[i] += a",
         "{ dx[i] += a; if (dx) dx[i] -= b; }", "something is not added"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_lines(rows[i].lines);
        char is[REPAIR_SHOWN], becomes[REPAIR_SHOWN];
        const Edit *e = &edits.edit[find_edit(EDIT_ADDED, rows[i].original, NULL)];
        const Pool *pool = &edits.pool[e->part[0].piece];
        RepairTrial t = {.edit = 1 + (int)(e - edits.edit), .amount = -1};
        t.value[0] = number_of(pool->value, pool->values, rows[i].value);
        t.instead = !rows[i].value;
        t.target = number_of(pool->target, pool->targets, rows[i].target);
        CHECK(edited_source_show(&edits, &t, is, becomes) == LINES);
        CHECK(strcmp(is, rows[i].is) == 0 && strcmp(becomes, rows[i].becomes) == 0, "'%s' becomes '%s'", is,
              becomes);
        CHECK(strcmp(edit_what(e, &t), rows[i].what) == 0, "%s: '%s'", becomes, edit_what(e, &t));
        forget();
    }
}

/* A statement that moves; a sum that begins anew. */
static void statements_are_shown(void) {
    static const struct {
        const char *what, *is, *becomes;
        int line;
    } rows[] = {
        {"this is too early: it belongs behind line 10", "m->scale = 2", "y[0] = m->scale; m->scale = 2", 9},
        {"this is too late: it belongs before line 11", "m->width = 1",
         "m->width = 1; n->out->data[1] = m->width", 12},
        {"before this loop something is not set to 0", "for (long k = 0; k < N; k++)",
         "sum = 0; for (long k = 0; k < N; k++)", LINES},
        {"behind this loop something is not set to 0", "for (long k = 0; k < N; k++)",
         "for (long k = 0; k < N; k++) …; sum = 0", LINES},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_lines("for (long k = 0; k < N; k++) sum += x[k];");
        bool found = false;
        for (int k = 0; k < edits.edits; k++) {
            char is[REPAIR_SHOWN], becomes[REPAIR_SHOWN];
            RepairTrial t = {.edit = 1 + k, .amount = 1};
            if (strcmp(edits.edit[k].what, rows[i].what) != 0) continue;
            int line = edited_source_show(&edits, &t, is, becomes);
            found |=
                line == rows[i].line && strcmp(is, rows[i].is) == 0 && strcmp(becomes, rows[i].becomes) == 0;
        }
        CHECK(found, "%s: '%s'", rows[i].what, rows[i].becomes);
        forget();
    }
}

/* Where a statement is moved to, and where it is not. */
static void moves_are_listed(void) {
    static const struct {
        const char *lines, *is, *becomes, *what; /* what: NULL: it is not listed */
    } rows[] = {
        /* Past others that it has to do with, together with its condition. */
        {"if (a > b) sum += a; a = 2;", "if (a > b) sum += a", "a = 2; if (a > b) sum += a",
         "this is too early: it belongs behind line 23"},
        {"a = 2; if (a > b) sum += a;", "if (a > b) sum += a", "if (a > b) sum += a; a = 2",
         "this is too late: it belongs before line 23"},
        {"if (a > b) sum += a; dx[i] += x[i];", "if (a > b) sum += a", "dx[i] += x[i]; if (a > b) sum += a",
         NULL},
        {"if (a > b) sum += a; sum += x[i];", "if (a > b) sum += a", "sum += x[i]; if (a > b) sum += a",
         NULL},
        {"if (a > b) sum += a; sum *= x[i];", "if (a > b) sum += a", "sum *= x[i]; if (a > b) sum += a",
         "this is too early: it belongs behind line 23"},
        {"double c = a; if (a > b) sum += c;", "if (a > b) sum += c", "if (a > b) sum += c; double c = a",
         NULL},
        {"sum = a; dx[i] += x[i]; h[i] = sum;", "sum = a", "h[i] = sum; sum = a",
         "this is too early: it belongs behind line 23"},
        {"sum = a; h[i] = sum;", "sum = a", "h[i] = sum; sum = a", NULL}, /* exchanged */
        {"own(&a, i); if (b > 0) sum = a;", "if (b > 0) sum = a", "if (b > 0) sum = a; own(&a, i)",
         "this is too late: it belongs before line 23"},
        {"AT(h, i) = a; if (b > 0) sum = h[i];", "if (b > 0) sum = h[i]",
         "if (b > 0) sum = h[i]; AT(h, i) = a", "this is too late: it belongs before line 23"},
        {"*h = a; if (b > 0) sum = h[i];", "if (b > 0) sum = h[i]", "if (b > 0) sum = h[i]; *h = a",
         "this is too late: it belongs before line 23"},
        {"h++; if (b > 0) sum = h[i];", "if (b > 0) sum = h[i]", "if (b > 0) sum = h[i]; h++",
         "this is too late: it belongs before line 23"},
        {"a = *x; if (b > 0) sum = x[i];", "if (b > 0) sum = x[i]", "if (b > 0) sum = x[i]; a = *x", NULL},
        {"sum = a; if (a > b && a > sum && b > sum && a + b > sum && a - b > sum && sum) { dx[i] += a; }",
         "sum = a", "if (a > b && a > sum && b > sum && a + b > sum && a - b > sum && sum) …; sum = a",
         "this is too early: it belongs behind line 23"},
        {"if (a > b) sum += a; else sum = b; if (b > 1) a = sum;", "if (b > 1) a = sum",
         "if (b > 1) a = sum; if (a > b) sum += a; else sum = b",
         "this is too late: it belongs before line 23"},
        {"for (;;) { if (a > b) break; sum += a; }", "sum += a", "sum += a; if (a > b) break",
         "this is too late: it belongs before line 23"},
        {"double g[2][2]; g[i][j] = a; if (b > 0) sum = g[i][j];", "if (b > 0) sum = g[i][j]",
         "if (b > 0) sum = g[i][j]; g[i][j] = a", "this is too late: it belongs before line 23"},
        {"if (a > b) sum += a; a = 2; double c;", "if (a > b) sum += a", "a = 2; if (a > b) sum += a",
         "this is too early: it belongs behind line 23"},
        {"switch (i) { case 0: a = 1; break; default: sum = a; }", "sum = a", "sum = a; a = 1", NULL},
        {"do sum += a; while (a > b); if (a > b) dx[i] += sum;", "if (a > b) dx[i] += sum",
         "if (a > b) dx[i] += sum; do sum += a; while (a > b)", NULL},
        {"if (a > b) sum += a;\n#if 1\na = 2;\n#endif\n", "if (a > b) sum += a", "a = 2; if (a > b) sum += a",
         "this is too early: it belongs behind line 25"},
        {"if (a > b)\n#if 1\nsum += a;\n#endif\na = 2;", "if (a > b) sum += a", "a = 2; if (a > b) sum += a",
         NULL},
        {"if (a > b) { return; } a = 2;", "if (a > b) { return; }", "a = 2; if (a > b) { return; }", NULL},
        /* Loops. */
        {"sum = a; for (long k = 0; k < N; k++) h[k] += sum;", "sum = a",
         "for (long k = 0; k < N; k++) …; sum = a", "this is too early: it belongs behind line 23"},
        {"sum = a; for (long k = 0; k < N; k++) h[k] += sum;", "sum = a",
         "for (long k = 0; k < N; k++) { sum = a; …", "this belongs into the loop of line 23"},
        {"for (long k = 0; k < N; k++) sum += x[k]; dx[i] += sum;", "dx[i] += sum",
         "for (long k = 0; k < N; k++) { … dx[i] += sum; }", "this belongs into the loop of line 23"},
        {"for (long k = 0; k < N; k++) { sum += x[k]; dx[i] += sum; }", "dx[i] += sum",
         "for (long k = 0; k < N; k++) …; dx[i] += sum", "this belongs behind the loop of line 23"},
        {"for (long k = 0; k < N; k++) { sum = a; dx[k] += sum; }", "sum = a",
         "sum = a; for (long k = 0; k < N; k++) …", "this belongs before the loop of line 23"},
        {"for (long k = 0; k < N; k++) { sum += x[k]; dx[i] += sum; }", "sum += x[k]",
         "for (long k = 0; k < N; k++) …; sum += x[k]", NULL},
        {"for (long k = 0; k < N; k++) if (a > b) sum += a;", "if (a > b) sum += a",
         "for (long k = 0; k < N; k++) …; if (a > b) sum += a", "this belongs behind the loop of line 23"},
        {"for (long k = 0; k < N; k++) { if (a > b) break; sum += b; }", "sum += b",
         "for (long k = 0; k < N; k++) …; sum += b", NULL},
        /* Where a sum begins. */
        {"double c = 0; for (long k = 0; k < N; k++) c = x[k];", "double c = 0",
         "for (long k = 0; k < N; k++) { double c = 0; …", "this belongs into the loop of line 23"},
        {"double c = 0, d = 0.0; for (long k = 0; k < N; k++) c = x[k] + d;", "c = 0",
         "for (long k = 0; k < N; k++) { c = 0; …", "this belongs into the loop of line 23"},
        {"double c = 0, d = 0.0; for (long k = 0; k < N; k++) c = x[k] + d;", "d = 0.0",
         "for (long k = 0; k < N; k++) { d = 0.0; …", NULL},
        {"double c = 1; for (long k = 0; k < N; k++) c += x[k];", "double c = 1",
         "for (long k = 0; k < N; k++) { double c = 1; …", NULL},
        {"double t[2] = {0, 0}; for (long k = 0; k < N; k++) t[1] += x[k];", "double t[2] = {0, 0}",
         "for (long k = 0; k < N; k++) { double t[2] = {0, 0}; …", "this belongs into the loop of line 23"},
        {"double t[2] = {0, a}; for (long k = 0; k < N; k++) t[1] += x[k];", "double t[2] = {0, a}",
         "for (long k = 0; k < N; k++) { double t[2] = {0, a}; …", NULL},
        {"double c = 0; for (long k = 0; k < N; k++) while (a > b) c += x[k];", "double c = 0",
         "for (long k = 0; k < N; k++) { double c = 0; …", NULL},
        {"memset(h, 0, i); for (long i = 0; i < 3; i++) h[i] += a;", "memset(h, 0, i)",
         "for (long i = 0; i < 3; i++) { memset(h, 0, i); …", NULL},
        {"for (long k = 0; k < N; k++) {} dx[i] += a;", "for (long k = 0; k < N; k++) {}",
         "dx[i] += a; for (long k = 0; k < N; k++) {}", NULL},
        {"for (long k = 0; k < N; k++) sum = 0, b = 0; for (long l = 0; l < 9; l++) sum += a;",
         "for (long k = 0; k < N; k++) sum = 0, b = 0",
         "for (long l = 0; l < 9; l++) { for (long k = 0; k < N; k++) sum = 0, b = 0; …",
         "this belongs into the loop of line 23"},
        {"if (a > b) { double c = 0; c += x[i]; dx[i] += c; }", "double c = 0", "double c = 0; if (a > b) …",
         NULL},
        {"for (long k = 0; k < N; k++) { double c = 0; c += x[k]; while (a > c) a = c; }", "double c = 0",
         "double c = 0; for (long k = 0; k < N; k++) …", NULL},
        {"for (long k = 0 +\n#if 1\n0; k < N; k++) { double c = 0; c += x[k]; dx[k] += c; }\n#endif\n",
         "double c = 0", "double c = 0; for (long k = 0 + 0; k < N; k++) …", NULL},
        {"long k; for (k = 0; k < N; k++) { double c = 0; c += x[k]; dx[k] += c; }", "double c = 0",
         "double c = 0; for (k = 0; k < N; k++) …", "this belongs before the loop of line 23"},
        {"double t[2] = {0, 1}; for (long k = 0; k < N; k++) t[1] += x[k];", "double t[2] = {0, 1}",
         "for (long k = 0; k < N; k++) { double t[2] = {0, 1}; …", NULL},
        {"memset(h, 0, i); for (long k = 0; k < N; k++) h[k] += a;", "memset(h, 0, i)",
         "for (long k = 0; k < N; k++) { memset(h, 0, i); …", "this belongs into the loop of line 23"},
        {"for (long k = 0; k < N; k++) h[k] = 0; for (long l = 0; l < 9; l++) h[l] += a;",
         "for (long k = 0; k < N; k++) h[k] = 0",
         "for (long l = 0; l < 9; l++) { for (long k = 0; k < N; k++) h[k] = 0; …",
         "this belongs into the loop of line 23"},
        {"for (long k = 0; k < N; k++) { double c = 0; c += x[k]; dx[k] += c; }", "double c = 0",
         "double c = 0; for (long k = 0; k < N; k++) …", "this belongs before the loop of line 23"},
        {"for (long k = 0; k < N; k++) { long c = 0; c += k; dx[k] += c; }", "long c = 0",
         "long c = 0; for (long k = 0; k < N; k++) …", NULL},
        {"for (long k = 0; k < N; k++) { double c = 0; if (a > b) break; c += x[k]; }", "double c = 0",
         "double c = 0; for (long k = 0; k < N; k++) …", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *what = NULL;
        read_lines(rows[i].lines);
        for (int k = 0; k < edits.edits; k++) {
            char is[REPAIR_SHOWN], becomes[REPAIR_SHOWN];
            RepairTrial t = {.edit = 1 + k, .amount = 1};
            const Edit *e = &edits.edit[k];
            if (!e->statement || strncmp(e->what, "this ", 5) != 0) continue;
            edited_source_show(&edits, &t, is, becomes);
            if (strcmp(is, rows[i].is) == 0 && strcmp(becomes, rows[i].becomes) == 0) what = e->what;
        }
        bool same = what && rows[i].what ? strcmp(what, rows[i].what) == 0 : what == rows[i].what;
        CHECK(same, "%s: '%s' becomes '%s': %s", rows[i].lines, rows[i].is, rows[i].becomes,
              what ? what : "nothing");
        forget();
    }
}

TEST_MAIN({"additions are shown", additions_are_shown},
          {"statements in another place are shown", statements_are_shown},
          {"moves are listed", moves_are_listed})
