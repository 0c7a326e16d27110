/* What gradcheck prints of what it has found, word for word: reports made by hand, and the text for a person to read. */
#include "check/gradcheck/gradcheck_text.h"
#include "test.h"
#include <float.h>

enum { CASES = 6 };
static CaseReport report[CASES];

/* Case `at` of an operation, with one gradient. */
static InputReport *one(int at, const char *op, const char *name, InputReport in) {
    report[at] = (CaseReport){.verdict = in.verdict, .inputs = 1, .outputs = 4};
    REPORT_SET(report[at].op, op);
    REPORT_SET(report[at].name, name);
    report[at].in[0] = in;
    return &report[at].in[0];
}

static void print_rows(FILE *out, long count) {
    for (long i = 0; i < count; i++) gradcheck_rows(out, &report[i]);
}

static void print_all(FILE *out, long count) {
    gradcheck_explain_all(out, report, count);
}

static long at_hand;
static void print_one(FILE *out, long count) {
    gradcheck_explain(out, &report[at_hand], report, count);
}

static void print_curves(FILE *out, long count) {
    for (long i = 0; i < count; i++) gradcheck_curves(out, &report[i]);
}

static void prints(void (*print)(FILE *out, long count), long count, const char *want, const char *what) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    print(out, count);
    fclose(out);
    CHECK(strcmp(text, want) == 0, "%s: found\n%swant\n%s", what, text, want);
    free(text);
}

/* ---- The table ---- */

static void rows_are_aligned(void) {
    static const struct {
        const char *name, *want;
        InputReport in;
        int moved;
    } cases[] = {
        {"plain",
         "op/plain                       dx              6  2.5e-09   1.0e-12  PASS\n",
         {"dx", .coordinates = 6, .error = 2.5e-9, .estimate = 1e-12}},
        {"empty", "op/empty                       dx              0        -         -  PASS\n", {"dx"}},
        {"endless",
         "op/endless                     dx              6        -         -  FAIL\n",
         {"dx", .verdict = FAIL, .coordinates = 6, .error = INFINITY, .estimate = INFINITY}},
        {"a name that leaves no room beside",
         "op/a name that leaves no room beside\n"
         "                               dx              1  0.0e+00   0.0e+00  PASS  1 on a kink\n",
         {"dx", .coordinates = 1, .kinks = 1}},
        {"über",
         "op/über                        dx              9  0.0e+00   0.0e+00  PASS  2 on a kink, 3 flat, "
         "another point drawn\n",
         {"dx", .coordinates = 9, .kinks = 2, .flat = 3},
         1},
        {"other",
         "op/other                       dx              9  0.0e+00   0.0e+00  PASS  another point drawn\n",
         {"dx", .coordinates = 9},
         2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one(0, "op", cases[i].name, cases[i].in);
        report[0].moved = cases[i].moved;
        prints(print_rows, 1, cases[i].want, cases[i].name);
    }
}

/* A second gradient stands below the first, and a property below both; points are moved of a case, not of a gradient. */
static void rows_of_a_case_stand_together(void) {
    one(0, "op", "two", (InputReport){"da", .coordinates = 2});
    report[0].inputs = 2, report[0].moved = 1;
    report[0].in[1] = (InputReport){"db", .coordinates = 3};
    REPORT_SET(report[0].property, "linear");
    REPORT_SET(report[0].trouble, "it is not");
    report[0].verdict = FAIL;
    prints(print_rows, 1,
           "op/two                         da              2  0.0e+00   0.0e+00  PASS  another point drawn\n"
           "                               db              3  0.0e+00   0.0e+00  PASS\n"
           "                               property linear                       FAIL\n",
           "two gradients");
    report[0].inputs = 0, report[0].property[0] = 0;
    prints(print_rows, 1, "op/two                                                               FAIL\n",
           "none");
}

/* ---- What is wrong ---- */

#define NO_PATTERN "     no known pattern explains it\n"

/* Where the worst element lies, and for which upstream gradient; how far apart the numbers are, in units of the
 * last digit. */
static void the_worst_is_shown(void) {
    static const struct {
        const char *what, *want;
        InputReport in;
        long outputs;
        bool by_reference;
    } cases[] = {
        {"an element, for an element",
         "\nFAIL op/case, dx: 1 of 6 elements is wrong\n" NO_PATTERN
         "     worst at [1,1], for output element 3:\n"
         "          analytic  1\n"
         "          numeric   1 ± 1.0e-17, 4 ulps away\n",
         {"dx", DIMS(2, 3), FAIL, 6, .wrong = 1, .element = 4, .output = 3, .analytic = 1 + 4 * DBL_EPSILON,
          .numeric = 1, .estimate = 1e-17},
         4},
        {"of an output with one element",
         "\nFAIL op/case, dx: all 6 elements are wrong\n" NO_PATTERN "     worst at [0,0]:\n"
         "          analytic -2\n"
         "          numeric   0 ± 1.0e-17\n",
         {"dx", DIMS(2, 3), FAIL, 6, .wrong = 6, .output = 0, .analytic = -2, .estimate = 1e-17},
         1},
        {"of all outputs together",
         "\nFAIL op/case, dx: 2 of 6 elements are wrong\n" NO_PATTERN
         "     worst at [1,2], for a random upstream gradient:\n"
         "          analytic  nan\n"
         "          numeric   1 ± 0.0e+00\n",
         {"dx", DIMS(2, 3), FAIL, 6, .wrong = 2, .element = 5, .output = -1, .analytic = -NAN, .numeric = 1},
         4},
        {"a number, where there is no derivative",
         "\nINCONCLUSIVE op/case, dx: the only element is neither proved nor refuted\n"
         "     it is noise\n"
         "     the number, for a random upstream gradient:\n"
         "          analytic  3\n"
         "          numeric   inf ± inf\n",
         {"dx", .verdict = INCONCLUSIVE, .coordinates = 1, .unclear = 1, .output = -1, .analytic = 3,
          .numeric = INFINITY, .estimate = INFINITY, .reason = "it is noise"},
         4},
        {"without a reason",
         "\nINCONCLUSIVE op/case, dx: 2 of 6 elements are neither proved nor refuted\n"
         "     worst at [0,2]:\n"
         "          analytic  3\n"
         "          numeric   2 ± 0.0e+00, 2.3e+15 ulps away\n",
         {"dx", DIMS(2, 3), INCONCLUSIVE, 6, .unclear = 2, .element = 2, .analytic = 3, .numeric = 2},
         1},
        {"by known values",
         "\nFAIL op/case, dx: 1 of 2 elements is wrong\n"
         "     worst at [1]:\n"
         "          found     3\n"
         "          need      2 ± 0.0e+00\n",
         {"dx", DIMS(2), FAIL, 2, .wrong = 1, .element = 1, .output = -1, .analytic = 3, .numeric = 2},
         4,
         true},
        {"neither wrong nor unclear",
         "\nFAIL op/case, dx: its shape is another\n",
         {"dx", DIMS(2), FAIL, 2, .reason = "its shape is another"},
         4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one(0, "op", "case", cases[i].in);
        report[0].outputs = cases[i].outputs;
        report[0].by_reference = cases[i].by_reference;
        prints(print_all, 1, cases[i].want, cases[i].what);
    }
}

/* Kinks, and gradients too small to be seen, are told of what passes too. */
static void remarks_are_made(void) {
    static const struct {
        const char *want;
        InputReport in;
    } cases[] = {
        {"\nop/case, dx: kink at x[1]: one-sided derivatives 0 and 1\n",
         {"dx", DIMS(2), .coordinates = 2, .kinks = 1, .kink = 1, .kink_output = 1, .kink_above = 1}},
        {"\nop/case, dx: kink at x: one-sided derivatives -0.5 and 2, for a random upstream\n"
         "     gradient; 3 in all\n",
         {"dx", .coordinates = 1, .kinks = 3, .kink_output = -1, .kink_below = -0.5, .kink_above = 2}},
        {"\nop/case, dx: 1 of 2 elements is flat: the derivative is too small to show in the\n"
         "     output\n",
         {"dx", DIMS(2), .coordinates = 2, .flat = 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one(0, "op", "case", cases[i].in);
        prints(print_all, 1, cases[i].want, cases[i].in.kinks ? "kinks" : "flat");
    }
    one(0, "op", "case", (InputReport){"dx", DIMS(2), .coordinates = 2});
    prints(print_all, 1, "", "nothing to say");
}

/* ---- What is said once ---- */

static const InputReport bad = {"dx",
                                DIMS(2),
                                FAIL,
                                2,
                                .wrong = 2,
                                .output = 0,
                                .analytic = 2,
                                .numeric = 1,
                                .reason = "twice 1",
                                .pattern = "some values",
                                .form = 7};
#define NUMBERS(analytic)                                                                                    \
    "     worst at [0], for output element 0:\n          analytic  " analytic                                \
    "\n          numeric   1 ± 0.0e+00, 4.5e+15 ulps away\n"
#define FIRST "FAIL op/a, dx: all 2 elements are wrong\n     twice 1\n" NUMBERS("2")
#define ALONE "FAIL op/a, dx: all 2 elements are wrong\n" NUMBERS("2")

/* A gradient that is wrong as in an earlier case takes a line; of a constant factor the number counts, in a case that
 * somebody wrote. */
static void what_is_like_takes_a_line(void) {
    static const struct {
        const char *what, *second;
        const char *op, *gradient, *reason, *pattern;
        uint64_t form;
        Verdict verdict;
        bool added;
    } cases[] = {
        {"the same words", "FAIL op/b, dx: all 2 elements are wrong, as in 'a'\n", "op", "dx", "twice 1",
         "some values", 0, FAIL},
        {"the same but for numbers", "FAIL op/b, dx: all 2 elements are wrong, as in 'a'\n", "op", "dx",
         "twice 2", "some values", 7, FAIL},
        {"another factor", "\nFAIL op/b, dx: all 2 elements are wrong\n     twice 2\n" NUMBERS("2"), "op",
         "dx", "twice 2", "constant factor", 7, FAIL},
        {"another factor in a case of the checker's", "FAIL op/b, dx: all 2 elements are wrong, as in 'a'\n",
         "op", "dx", "twice 2", "constant factor", 7, FAIL, true},
        {"other words", "\nFAIL op/b, dx: all 2 elements are wrong\n     half\n" NUMBERS("2"), "op", "dx",
         "half", "some values", 8, FAIL},
        {"words without a form", "\nFAIL op/b, dx: all 2 elements are wrong\n     half\n" NUMBERS("2"), "op",
         "dx", "half", "some values", 0, FAIL},
        {"another gradient", "\nFAIL op/b, dw: all 2 elements are wrong\n     twice 1\n" NUMBERS("2"), "op",
         "dw", "twice 1", "some values", 7, FAIL},
        {"another verdict", "\nINCONCLUSIVE op/b, dx: all 2 elements are wrong\n     twice 1\n" NUMBERS("2"),
         "op", "dx", "twice 1", "some values", 7, INCONCLUSIVE},
        {"another operation", "\nFAIL other/b, dx: all 2 elements are wrong\n     twice 1\n" NUMBERS("2"),
         "other", "dx", "twice 1", "some values", 7, FAIL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[1024];
        one(0, "op", "a", bad);
        InputReport *in = one(1, cases[i].op, "b", bad);
        REPORT_SET(in->name, cases[i].gradient);
        REPORT_SET(in->reason, cases[i].reason);
        REPORT_SET(in->pattern, cases[i].pattern);
        in->form = cases[i].form, in->verdict = cases[i].verdict;
        report[1].added = cases[i].added;
        snprintf(want, sizeof want, "\n" FIRST "%s", cases[i].second);
        prints(print_all, 2, want, cases[i].what);
    }
}

/* Cases that the checker added say what is new, and of what nothing explains only that it is wrong there too. */
static void added_cases_say_little(void) {
    one(0, "op", "a", bad);
    InputReport *in = one(1, "op", "b, size 1 for 2", bad);
    report[1].added = true;
    in->reason[0] = 0, in->form = 0;
    prints(print_all, 2, "\n" FIRST "\nFAIL op/b, size 1 for 2, dx: all 2 elements are wrong\n",
           "wrong before");
    REPORT_SET(in->reason, "half");
    prints(print_all, 2,
           "\n" FIRST "\nFAIL op/b, size 1 for 2, dx: all 2 elements are wrong\n     half\n" NUMBERS("2"),
           "for another reason");
    *in =
        (InputReport){"dx", DIMS(2), INCONCLUSIVE, 2, .unclear = 2, .output = 0, .analytic = 2, .numeric = 1};
    report[1].verdict = INCONCLUSIVE;
    prints(print_all, 2,
           "\n" FIRST "\nINCONCLUSIVE op/b, size 1 for 2, dx: all 2 elements are neither proved nor\n"
           "     refuted\n" NUMBERS("2"),
           "not clear");
    in = one(1, "op", "b, size 1 for 2", bad);
    report[1].added = true;
    in->reason[0] = 0, in->form = 0;
    one(0, "op", "a", (InputReport){"dx", DIMS(2), .coordinates = 2});
    prints(print_all, 2, "\nFAIL op/b, size 1 for 2, dx: all 2 elements are wrong\n" NO_PATTERN NUMBERS("2"),
           "here first");
}

/* Arrays of a folder are each a work of its own; of a model's gradients all follow from a loss that differs. */
static void answers_are_each_their_own(void) {
    static const char answer[] =
        "\nFAIL op/%s, dx: all 2 elements are wrong\n     twice 1\n     worst at [0]:\n"
        "          found     2\n          need      1 ± 0.0e+00\n";
    char want[1024];
    one(0, "op", "a", bad), one(1, "op", "b", bad);
    report[0].by_reference = report[1].by_reference = true;
    report[0].in[0].output = report[1].in[0].output = -1;
    snprintf(want, sizeof want, answer, "a");
    snprintf(want + strlen(want), sizeof want - strlen(want), answer, "b");
    prints(print_all, 2, want, "answers");
    REPORT_SET(report[1].in[0].pattern, "loss differs");
    snprintf(want, sizeof want, answer, "a");
    strcat(want, "FAIL op/b, dx: all 2 elements are wrong, as in 'loss'\n");
    prints(print_all, 2, want, "a loss");
}

/* ---- Properties, and other trouble ---- */

#define BROKEN(name, like) "FAIL op/" name ": the property 'linear' does not hold" like "\n"
static void trouble(int at, const char *op, const char *property, const char *diagnosis, const char *text) {
    one(at, op, at ? "b" : "a", bad);
    report[at].verdict = FAIL;
    REPORT_SET(report[at].property, property);
    REPORT_SET(report[at].diagnosis, diagnosis);
    REPORT_SET(report[at].trouble, text);
}

/* What the diagnosis speaks of comes first: the property, or the gradient. */
static void properties_stand_in_their_place(void) {
    trouble(0, "op", "linear", "linear", "it bends");
    prints(print_all, 1, "\n" BROKEN("a", "") "     it bends\n" FIRST, "the property first");
    trouble(0, "op", "linear", "constant factor", "it bends");
    prints(print_all, 1, "\n" FIRST BROKEN("a", "") "     it bends\n", "the gradient first");
    trouble(0, "op", "", "", "it crashed");
    prints(print_all, 1, "\nFAIL op/a: it crashed\n" FIRST, "no property");
    report[0].inputs = 0;
    prints(print_all, 1, "\nFAIL op/a: it crashed\n", "no gradient");
    trouble(0, "op", "linear", "constant factor", "it bends");
    report[0].inputs = 0;
    prints(print_all, 1, "\n" BROKEN("a", "") "     it bends\n", "a property alone");
}

/* A property that an earlier case breaks takes a line; another, or of another operation, is told whole, as a crash is. */
static void broken_properties_are_told_once(void) {
    static const struct {
        const char *op, *property, *want;
    } cases[] = {
        {"op", "linear", BROKEN("b", ", as in 'a'")},
        {"op", "zero", "\nFAIL op/b: the property 'zero' does not hold\n     it bends\n"},
        {"other", "linear", "\nFAIL other/b: the property 'linear' does not hold\n     it bends\n"},
        {"op", "", "\nFAIL op/b: it bends\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[1024];
        trouble(0, "op", "linear", "linear", "it bends");
        trouble(1, cases[i].op, cases[i].property, cases[i].property, "it bends");
        report[0].inputs = report[1].inputs = 0;
        snprintf(want, sizeof want, "\n" BROKEN("a", "") "     it bends\n%s", cases[i].want);
        prints(print_all, 2, want, cases[i].op);
    }
}

#define AS_IN_A(op) "FAIL " op "/b, dx: all 2 elements are wrong, as in 'a'\n"

/* Gradients that are right in all cases, beside what nothing explains and where it is only known which elements are wrong. */
static void what_is_right_is_told(void) {
    InputReport *in = one(0, "op", "a", bad), right = {"dy", DIMS(2), .coordinates = 2, .sloped = 2};
    one(1, "op", "b", bad);
    in->reason[0] = report[1].in[0].reason[0] = 0, in->form = report[1].in[0].form = 0;
    report[0].inputs = report[1].inputs = 2, in[1] = right, report[1].in[1] = right;
    prints(print_all, 2,
           "\nFAIL op/a, dx: all 2 elements are wrong\n"
           "     no known pattern explains it; dy is right, and so is what backward computes\n"
           "     for it\n" NUMBERS("2") AS_IN_A("op"),
           "one that is right");
    in[2] = right, report[0].inputs = 3;
    REPORT_SET(in[2].name, "dz");
    prints(print_all, 1,
           "\nFAIL op/a, dx: all 2 elements are wrong\n"
           "     no known pattern explains it; dy and dz are right, and so is what backward\n"
           "     computes for them\n" NUMBERS("2"),
           "two that are right");
    REPORT_SET(in->reason, "wrong at index 2"), REPORT_SET(in->pattern, "only somewhere");
    prints(print_all, 1,
           "\nFAIL op/a, dx: all 2 elements are wrong\n"
           "     wrong at index 2; dy and dz are right, and so is what backward computes for\n"
           "     them\n" NUMBERS("2"),
           "two beside a place");
    in->reason[0] = in->pattern[0] = 0;
    report[1].in[1].verdict = FAIL, report[1].in[1].wrong = 1, in[2].sloped = 0;
    prints(print_one, 2, "FAIL op/a, dx: all 2 elements are wrong\n" NO_PATTERN NUMBERS("2"),
           "right by accident");
}

/* ---- Curves ---- */

/* A column a step, a row a power of ten; what lies outside of 100 and 1e-16 stands at the edge, no number nowhere. */
static void curves_are_drawn(void) {
    InputReport *in =
        one(0, "op", "a",
            (InputReport){"dx", DIMS(2), .element = 1, .analytic = 2, .numeric = 2, .estimate = 2e-3});
    prints(print_curves, 1, "", "no points");
    in->curve_points = 4;
    memcpy(in->curve, (CurvePoint[]){{1, 0.5}, {0.5, 0.05}, {0.25, NAN}, {0.125, 3e5}},
           4 * sizeof *in->curve);
    in->analytic = 2.02;
    prints(print_curves, 1,
           "\nop/a, dx[1]: error of plain central differences, relative to 2\n"
           "1e+02 |   *\n"
           "1e+01 |    \n"
           "1e+00 |    \n"
           "1e-01 |*   \n"
           "1e-02 | *   <- analytic gradient\n"
           "1e-03 |     <- numeric derivative\n"
           "      +----\n"
           "       step from 1 to 0.125, each half the one before\n",
           "an error");
    *in = (InputReport){"dx", .curve_points = 1, .curve = {{1, 0}}};
    prints(print_curves, 1,
           "\nop/a, dx: error of plain central differences, relative to 0\n"
           "1e-16 |* <- analytic, numeric\n"
           "      +-\n"
           "       step from 1 to 1, each half the one before\n",
           "a derivative of 0");
}

/* ---- What other cases say ---- */

/* A right case of the gradient, or a wrong one that nothing explains. */
static void judged(int at, const char *op, const char *name, bool wrong) {
    InputReport *in = one(at, op, name, wrong ? bad : (InputReport){"dx", .coordinates = 2, .sloped = 2});
    in->reason[0] = 0, in->form = 0;
}

/* What is right in some cases and wrong in others is said where it is wrong first, with at most three names of each; cases
 * of the checker's, of another operation, and where the gradient is 0, do not count. */
static void cases_are_contrasted(void) {
    static const char worst[] = "     worst at [0], for output element 0:\n          analytic  2\n"
                                "          numeric   1 ± 0.0e+00, 4.5e+15 ulps away\n";
    static const struct {
        const char *
            cases; /* a letter each: r right, w wrong, a right and added, o right of another operation, 0 all 0, n neither */
        const char *want;
    } rows[] = {
        {"rw", "     right in '0', wrong in '1': does backward follow what is different there?\n"},
        {"ww0n", NO_PATTERN},
        {"wao", NO_PATTERN},
        {"wr0wr", "     right in '1' and '4', wrong in '0' and '3': does backward follow what these\n"
                  "     have in common?\n"},
        {"rrrwrr", "     right in '0', '1', '2' and 2 more, wrong in '3': does backward follow what\n"
                   "     is different there?\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char want[1024];
        const char *wrong = strchr(rows[i].cases, 'w');
        long count = (long)strlen(rows[i].cases);
        for (int at = 0; at < count; at++) {
            char kind = rows[i].cases[at];
            judged(at, kind == 'o' ? "other" : "op", (char[]){(char)('0' + at), 0}, kind == 'w');
            report[at].added = kind == 'a';
            if (kind == '0') report[at].in[0].sloped = 0;
            if (kind == 'n') report[at].verdict = report[at].in[0].verdict = FAIL;
        }
        at_hand = wrong - rows[i].cases;
        snprintf(want, sizeof want, "FAIL op/%ld, dx: all 2 elements are wrong\n%s%s", at_hand, rows[i].want,
                 worst);
        prints(print_one, count, want, rows[i].cases);
    }
}

/* Of the checker's own cases one counts: an axis of size 1, where no pattern explains what is wrong. */
static void an_axis_of_size_1_is_a_hint(void) {
    judged(0, "op", "a", true), judged(1, "op", "a, size 1 for 2", false);
    report[1].added = true, at_hand = 0;
    prints(
        print_one, 2,
        "FAIL op/a, dx: all 2 elements are wrong\n     right where what has size 2 here has size 1\n" NUMBERS(
            "2"),
        "a hint");
    REPORT_SET(report[0].in[0].reason, "twice 1");
    prints(print_one, 2, FIRST, "a pattern");
}

TEST_MAIN({"rows are aligned", rows_are_aligned},
          {"rows of a case stand together", rows_of_a_case_stand_together},
          {"the worst is shown", the_worst_is_shown}, {"remarks are made", remarks_are_made},
          {"what is like takes a line", what_is_like_takes_a_line},
          {"added cases say little", added_cases_say_little},
          {"answers are each their own", answers_are_each_their_own},
          {"properties stand in their place", properties_stand_in_their_place},
          {"broken properties are told once", broken_properties_are_told_once},
          {"cases are contrasted", cases_are_contrasted},
          {"an axis of size 1 is a hint", an_axis_of_size_1_is_a_hint},
          {"what is right is told", what_is_right_is_told}, {"curves are drawn", curves_are_drawn})
