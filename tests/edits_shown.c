/* How a change of a line is shown (repair/edited_source.h). */
#include "repair/edited_source.h"
#include "repair_text.h"

/* `is`: a statement, with its semicolon. */
static void check_shown(const RepairTrial *t, const char *is, const char *becomes) {
    char shown[REPAIR_SHOWN], changed[REPAIR_SHOWN];
    int line = edited_source_show(&edits, t, shown, changed);
    CHECK(line == LINES && strlen(shown) == strlen(is) - 1 && strncmp(shown, is, strlen(shown)) == 0,
          "line %d: '%s'", line, shown);
    CHECK(strcmp(changed, becomes) == 0, "found '%s', want '%s'", changed, becomes);
}

static void changes_are_shown(void) {
    static const struct {
        const char *line, *original;
        EditKind kind;
        double amount;
        const char *becomes, *what, *value[3];
        int form[3];
        const char *target;
        int instead;
    } rows[] = {
        {"dx[i] += a;", "+=", EDIT_TEXT, 1, "dx[i] = a", "it adds to what it has to set"},
        /* An index. */
        {"dx[i] += x[j];", "j", EDIT_INDEX, 0, "dx[i] += x[i]", "another value belongs here", {"i"}},
        {"dx[i] += x[j];", "j", EDIT_INDEX, 1, "dx[i] += x[(j * N)]", "a factor is missing", {"N"}},
        {"dx[i] += x[j];", "j", EDIT_INDEX, 2, "dx[i] += x[(j + i)]", "a term is missing", {"i"}},
        {"dx[i] += x[j];", "j", EDIT_INDEX, 3, "dx[i] += x[(j - i)]", "a term is missing", {"i"}},
        {"dx[i] += x[j];", "j", EDIT_INDEX, -1, "dx[i] += x[(j - 1)]", "off by one"},
        {"dx[i] += x[j];", "j", EDIT_INDEX, 1, "dx[i] += x[(j + 1)]", "off by one"},
        /* An array, a value. */
        {"dx[i] += x[j] * dy[i];",
         "x",
         EDIT_ARRAY,
         0,
         "dx[i] += dy[j] * dy[i]",
         "another name belongs here",
         {"dy"}},
        {"dx[i] += a * b;", "a", EDIT_VALUE, 0, "dx[i] += b * b", "another value belongs here", {"b"}},
        {"dx[i] += 2 * b;",
         "2",
         EDIT_VALUE,
         0,
         "dx[i] += (double)N * b",
         "a constant stands where a value belongs",
         {"N"}},
        {"dx[i] += a * b;",
         "a",
         EDIT_VALUE,
         -0.5,
         "dx[i] += (a - 1. / 2 * b) * b",
         "a term is missing",
         {"b"}},
        {"dx[i] += a * b;", "a", EDIT_VALUE, 0, "dx[i] += 0 * b", "another value belongs here", .instead = 1},
        {"dx[i] += a * b;", "a", EDIT_VALUE, 1, "dx[i] += (1 + a) * b", "another value belongs here"},
        {"dx[i] += a * b;", "a", EDIT_VALUE, -1, "dx[i] += (1 - a) * b", "another value belongs here"},
        /* A factor. */
        {"dx[i] += a;", "a", EDIT_FACTOR, 0, "dx[i] += a * b", "a factor is missing", {"b"}},
        {"dx[i] += a;", "a", EDIT_FACTOR, 0, "dx[i] += a / b", "a factor is missing", {"b"}, {1}},
        {"dx[i] += a;", "a", EDIT_FACTOR, -1, "dx[i] += 0", "this is one too many"},
        {"dx[i] += b - a;", "a", EDIT_FACTOR, -1, "dx[i] += b", "this is one too many"},
        {"dx[i] += (b - a) * x[j - i];", "a", EDIT_FACTOR, -1, "dx[i] += (b) * x[j - i]",
         "this is one too many"},
        {"dx[i] += b - a + sum;", "a", EDIT_FACTOR, -1, "dx[i] += b + sum", "this is one too many"},
        {"dx[i] += a;", "a", EDIT_FACTOR, -2, "dx[i] += -a", "a sign is wrong"},
        {"dx[i] += b + a;", "a", EDIT_FACTOR, -2, "dx[i] += b - a", "a sign is wrong"},
        {"dx[i] += -a;", "-a", EDIT_FACTOR, -2, "dx[i] += a", "a sign is wrong"},
        {"dx[i] += own(a, i) + b;", "b", EDIT_FACTOR, -2, "dx[i] += own(a, i) - b", "a sign is wrong"},
        {"dx[i] += x[j] - a;", "a", EDIT_FACTOR, -2, "dx[i] += x[j] + a", "a sign is wrong"},
        {"dx[i] += own(a, b);", "b", EDIT_FACTOR, -2, "dx[i] += own(a, -b)", "a sign is wrong"},
        {"dx[i] += (-a);", "-a", EDIT_FACTOR, -2, "dx[i] += (a)", "a sign is wrong"},
        {"dx[i] += b + -a;", "-a", EDIT_FACTOR, -2, "dx[i] += b - (-a)", "a sign is wrong"},
        {"dx[i] += a;",
         "a",
         EDIT_FACTOR,
         -1,
         "dx[i] += -b",
         "another product belongs here",
         {"b"},
         .instead = 1},
        {"dx[i] += a;", "a", EDIT_FACTOR, 1, "dx[i] += 2 * a", "a constant factor is wrong"},
        {"dx[i] += a;", "a", EDIT_FACTOR, -2 / 3., "dx[i] += 1. / 3 * a", "a constant factor is wrong"},
        {"dx[i] += a;", "a", EDIT_FACTOR, 0.1234567, "dx[i] += 1.1234567 * a", "a constant factor is wrong"},
        {"dx[i] += a > b ? a : b;",
         "a > b ? a : b",
         EDIT_FACTOR,
         0,
         "dx[i] += (a > b ? a : b) * b",
         "a factor is missing",
         {"b"}},
        {"dx[i] += a + WIDTH;",
         "a + WIDTH",
         EDIT_FACTOR,
         0,
         "dx[i] += (a + WIDTH) * b",
         "a factor is missing",
         {"b"}},
        {"dx[i] += a;",
         "a",
         EDIT_FACTOR,
         -3,
         "dx[i] += -2 * a * b / sum",
         "a factor is missing",
         {"b", "sum"},
         {0, 1}},
        {"dx[i] += b - a;", "a", EDIT_FACTOR, -2, "dx[i] += b + a * b", "a factor is missing", {"b"}},
        {"dx[i] += a;",
         "a",
         EDIT_FACTOR,
         1,
         "dx[i] += b * sum",
         "another product belongs here",
         {"b", "sum"},
         .instead = 1},
        {"dx[i] += b - a;",
         "a",
         EDIT_FACTOR,
         -2,
         "dx[i] += b + 2 * sum",
         "another product belongs here",
         {"sum"},
         .instead = 1},
        {"dx[i] += a;",
         "a",
         EDIT_FACTOR,
         0,
         "dx[i] += a * (1 - b)",
         "a factor is missing",
         {"b"},
         {FORM_REST}},
        {"dx[i] += a;",
         "a",
         EDIT_FACTOR,
         0,
         "dx[i] += a * (1 + b)",
         "a factor is missing",
         {"b"},
         {FORM_MORE}},
        {"dx[i] += a;",
         "a",
         EDIT_FACTOR,
         0,
         "dx[i] += a * (1 - b * b)",
         "a factor is missing",
         {"b"},
         {FORM_REST_OF_SQUARE}},
        {"dx[i] += a;",
         "a",
         EDIT_FACTOR,
         0,
         "dx[i] += a * (b > 0)",
         "a factor is missing",
         {"b"},
         {FORM_POSITIVE}},
        {"dx[i] += a;",
         "a",
         EDIT_FACTOR,
         0,
         "dx[i] += a * !(j >= 0)",
         "a factor is missing",
         {"(j >= 0)"},
         {FORM_REST}},
        {"dx[i] += a + b + sum;",
         "b + sum",
         EDIT_FACTOR,
         0,
         "dx[i] += a + (b + sum) * a",
         "a factor is missing",
         {"a"}},
        /* A condition. */
        {"dx[i] += a;",
         "dx[i] += a",
         EDIT_GUARD,
         1,
         "if (i < j) dx[i] += a",
         "a condition is missing",
         {"i", "j"}},
        {"dx[i] += a;",
         "dx[i] += a",
         EDIT_GUARD,
         2,
         "if (i <= j) dx[i] += a",
         "a condition is missing",
         {"i", "j"}},
        {"dx[i] += a;",
         "dx[i] += a",
         EDIT_GUARD,
         3,
         "if (i == j) dx[i] += a",
         "a condition is missing",
         {"i", "j"}},
        {"dx[i] += a;",
         "dx[i] += a",
         EDIT_GUARD,
         3,
         "if (i != j) dx[i] += a",
         "a condition is missing",
         {"i", "j"},
         .instead = 1},
        {"dx[i] += a;",
         "dx[i] += a",
         EDIT_GUARD,
         0,
         "if (j >= 0) dx[i] += a",
         "a condition is missing",
         {"(j >= 0)"}},
        {"dx[i] += a;",
         "dx[i] += a",
         EDIT_GUARD,
         0,
         "if (!(j >= 0)) dx[i] += a",
         "a condition is missing",
         {"(j >= 0)"},
         .instead = 1},
        /* A term. */
        {"dx[i] += a;", "a", EDIT_TERM, 1, "dx[i] += a + b", "a term is missing", {"b"}},
        {"dx[i] += a;",
         "a",
         EDIT_TERM,
         1,
         "dx[i] += a + 1. * N / j",
         "a term is missing",
         {"N", "j"},
         {0, 1}},
        {"dx[i] += a;", "a", EDIT_TERM, 1000, "dx[i] += a + 1000 * b", "a term is missing", {"b"}},
        {"dx[i] += a;",
         "a",
         EDIT_TERM,
         -2,
         "dx[i] += a - 2 * b / sum / N",
         "a term is missing",
         {"b", "sum", "N"},
         {0, 1, 1}},
        {"dx[i] += a;", "a", EDIT_TERM, 1, "dx[i] += a + 1. / b", "a term is missing", {"b"}, {1}},
        {"dx[i] += a;", "a", EDIT_TERM, 3, "dx[i] += a + 3. / b", "a term is missing", {"b"}, {1}},
        {"dx[i] += a;", "a", EDIT_TERM, 1, "dx[i] += a + 1", "a term is missing"},
        {"dx[i] = 0;", "0", EDIT_TERM, -1, "dx[i] = -b", "a term is missing", {"b"}},
        {"dx[i] = 0;", "0", EDIT_TERM, 1, "dx[i] = b", "a term is missing", {"b"}},
        {"dx[i] += a;",
         "dx[i] += a",
         EDIT_ADDED,
         -2,
         "dx[i] += a, sum *= -b",
         "a factor is missing",
         {"b"},
         .target = "sum",
         .instead = 2},
        {"dx[i] += a;",
         "dx[i] += a",
         EDIT_ADDED,
         0,
         "dx[i] += a, sum *= b",
         "a factor is missing",
         {"b"},
         .target = "sum",
         .instead = 2},
        {"dx[i] += a;",
         "dx[i] += a",
         EDIT_ADDED,
         -1,
         "{ dx[i] += a; if (dx) dx[i] -= a * b; }",
         "something is not added",
         {"a", "b"},
         .target = "dx[i]"},
        {"dx[i] += a;",
         "dx[i] += a",
         EDIT_ADDED,
         1,
         "{ dx[i] += a; if (dx) dx[i] += a; }",
         "something is not added",
         {"a"},
         .target = "dx[i]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_lines(rows[i].line);
        int at = find_edit(rows[i].kind, rows[i].original, NULL);
        const Edit *e = &edits.edit[at];
        const Pool *pool = &edits.pool[e->part[0].piece];
        RepairTrial t = {.edit = 1 + at, .amount = rows[i].amount};
        for (int k = 0; k < 3; k++) {
            t.value[k] = number_of(pool->value, pool->values, rows[i].value[k]);
            t.form[k] = rows[i].form[k];
        }
        t.target = number_of(pool->target, pool->targets, rows[i].target);
        t.instead = rows[i].instead;
        check_shown(&t, rows[i].line, rows[i].becomes);
        CHECK(strcmp(edit_what(e, &t), rows[i].what) == 0, "%s: '%s'", rows[i].becomes, edit_what(e, &t));
        forget();
    }
}

/* Of a declaration with its name, of a condition without what follows; three parts in one; amounts of what stands behind. */
static void texts_are_shown(void) {
    static const struct {
        const char *lines, *original, *text, *is, *becomes;
        double amount;
    } rows[] = {
        {"double c = a < b; dx[i] += c;", "<", "<=", "c = a < b;", "c = a <= b", 1},
        {"if (a < b) dx[i] += a;", "<", "<=", "a < b;", "a <= b", 1},
        {"if (a < b) dx[i] += a;", "a", "fabs(a)", "a < b;", "fabs(a) < b", 1},
        {"dx[i] += a;", "+=", "=", "dx[i] += a;", "dx[i] = a", 1},
        {"for (long k = 0; k < N; k++) dx[k] += a;", "0", "(N) - 1", "k = 0; k < N; k++;",
         "k = (N) - 1; k >= (0); k--", 1},
        {"dx[j] += x[i];", "dx[j] += x[i]", "dx[j] += x[i], dx[i] += @ * (x[j])", "dx[j] += x[i];",
         "dx[j] += x[i], dx[i] -= (x[j])", -1},
        {"dx[j] += x[i];", "dx[j] += x[i]", "dx[j] += x[i], dx[i] += @ * (x[j])", "dx[j] += x[i];",
         "dx[j] += x[i], dx[i] += 2 * (x[j])", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        read_lines(rows[i].lines);
        RepairTrial t = {.edit = 1 + find_edit(EDIT_TEXT, rows[i].original, rows[i].text),
                         .amount = rows[i].amount};
        check_shown(&t, rows[i].is, rows[i].becomes);
        forget();
    }
}

/* No more than a line holds. */
static void long_changes_are_cut(void) {
    char lines[2 * REPAIR_SHOWN] = "dx[i] += ", is[REPAIR_SHOWN], becomes[REPAIR_SHOWN];
    while (strlen(lines) < REPAIR_SHOWN) strcat(lines, "a + ");
    read_lines(strcat(lines, "b;"));
    RepairTrial t = {.edit = 1 + find_edit(EDIT_TEXT, "+=", "="), .amount = 1};
    CHECK(edited_source_show(&edits, &t, is, becomes) == LINES);
    CHECK(strncmp(becomes, "dx[i] = a + ", 12) == 0 && strlen(becomes) < REPAIR_SHOWN, "%s", becomes);
    CHECK(strcmp(becomes + strlen(becomes) - strlen(" …"), " …") == 0, "%s", becomes);
    forget();
}

TEST_MAIN({"changes are shown", changes_are_shown}, {"changes of a text are shown", texts_are_shown},
          {"long changes are cut", long_changes_are_cut})
