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

TEST_MAIN({"loops are copied", loops_are_copied}, {"copies are bounded", copies_are_bounded})
