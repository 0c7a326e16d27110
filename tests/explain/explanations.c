/* What is said of a report, word for word: each mistake once, with where it is worst; those like it in a line. And which of several
 * explanations is believed when the cases of an operation are taken together. */
#include "check/gradcheck/agreement.h"
#include "check/gradcheck/contrast.h"
#include "check/gradcheck/gradcheck_text.h"
#include "check/grading/grade_parts.h"
#include "test.h"
#include <ctype.h>

static char *text_of(void (*say)(FILE *out, const CaseReport *r, long count), const CaseReport *r,
                     long count) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    say(out, r, count);
    fclose(out);
    return text;
}

static CaseReport report(const char *op, const char *name) {
    CaseReport r = {.inputs = 1, .outputs = 6};
    REPORT_SET(r.op, op);
    REPORT_SET(r.name, name);
    REPORT_SET(r.in[0].name, "dx");
    r.in[0].shape = SHAPE(2, 3), r.in[0].coordinates = 6, r.in[0].output = -1;
    r.in[0].analytic = r.in[0].numeric = 1, r.in[0].error = 1e-13, r.in[0].estimate = 1e-12;
    return r;
}

/* With so many elements wrong, the fifth by most. */
static CaseReport failing(const char *op, const char *name, long wrong, const char *reason) {
    CaseReport r = report(op, name);
    r.verdict = r.in[0].verdict = FAIL;
    r.in[0].wrong = wrong, r.in[0].element = 4, r.in[0].error = 1, r.in[0].analytic = 2;
    REPORT_SET(r.in[0].reason, reason);
    return r;
}

static void check_said(void (*say)(FILE *out, const CaseReport *r, long count), const CaseReport *r,
                       long count, const char *want) {
    char *text = text_of(say, r, count);
    CHECK(strcmp(text, want) == 0, "found\n%s", text);
    free(text);
}

/* ---- Why ---- */

static void explain_all(FILE *out, const CaseReport *r, long count) {
    gradcheck_explain_all(out, r, count);
}

static void mistakes_are_explained_once(void) {
    CaseReport r[12];
    int n = 0;
    r[n++] = failing("a", "first", 2, "constant factor: twice too large");
    r[n++] = failing("a", "second", 6, "constant factor: twice too large");
    r[n] = failing("a", "third", 1, "");
    r[n++].in[0].output = 3;
    r[n++] = failing("b", "first", 2, "constant factor: twice too large");
    r[n] = report("b", "kinks");
    r[n].in[0].kinks = 3, r[n].in[0].kink = 5, r[n].in[0].kink_output = -1, r[n].in[0].kink_above = 1;
    r[n++].in[0].flat = 1;
    r[n] = report("b", "property");
    r[n].verdict = FAIL;
    REPORT_SET(r[n].property, "linear");
    REPORT_SET(r[n].trouble, "it is not, by 3");
    REPORT_SET(r[n].diagnosis, "linear");
    r[n + 1] = r[n], n++;
    REPORT_SET(r[n].name, "again");
    r[++n] = failing("b", "both", 6, "wrong");
    REPORT_SET(r[n].property, "zero");
    REPORT_SET(r[n].trouble, "not zero");
    REPORT_SET(r[n].diagnosis, "constant factor");
    r[++n] = (CaseReport){.verdict = FAIL};
    REPORT_SET(r[n].op, "b");
    REPORT_SET(r[n].name, "crash");
    REPORT_SET(r[n].trouble, "crashed: signal 11");
    r[++n] = report("c", "scalar");
    r[n].verdict = r[n].in[0].verdict = INCONCLUSIVE;
    r[n].in[0].shape = SCALAR, r[n].in[0].coordinates = r[n].in[0].unclear = r[n].in[0].kinks = 1;
    r[n].in[0].analytic = NAN;
    REPORT_SET(r[n].in[0].reason, "noise");
    r[++n] = failing("c", "files", 6, "");
    r[n].by_reference = true;
    r[++n] = report("c", "none");
    r[n].verdict = r[n].in[0].verdict = FAIL;
    REPORT_SET(r[n++].in[0].reason, "is not there");
    check_said(explain_all, r, n,
               "\n"
               "FAIL a/first, dx: 2 of 6 elements are wrong\n"
               "     constant factor: twice too large\n"
               "     worst at [1,1], for a random upstream gradient:\n"
               "          analytic  2\n"
               "          numeric   1 ± 1.0e-12, 4.5e+15 ulps away\n"
               "FAIL a/second, dx: all 6 elements are wrong, as in 'first'\n"
               "\n"
               "FAIL a/third, dx: 1 of 6 elements is wrong\n"
               "     no known pattern explains it\n"
               "     worst at [1,1], for output element 3:\n"
               "          analytic  2\n"
               "          numeric   1 ± 1.0e-12, 4.5e+15 ulps away\n"
               "\n"
               "FAIL b/first, dx: 2 of 6 elements are wrong\n"
               "     constant factor: twice too large\n"
               "     worst at [1,1], for a random upstream gradient:\n"
               "          analytic  2\n"
               "          numeric   1 ± 1.0e-12, 4.5e+15 ulps away\n"
               "b/kinks, dx: kink at x[1,2]: one-sided derivatives 0 and 1, for a random\n"
               "     upstream gradient; 3 in all\n"
               "b/kinks, dx: 1 of 6 elements is flat: the derivative is too small to show in the\n"
               "     output\n"
               "\n"
               "FAIL b/property: the property 'linear' does not hold\n"
               "     it is not, by 3\n"
               "FAIL b/again: the property 'linear' does not hold, as in 'property'\n"
               "\n"
               "FAIL b/both, dx: all 6 elements are wrong\n"
               "     wrong\n"
               "     worst at [1,1], for a random upstream gradient:\n"
               "          analytic  2\n"
               "          numeric   1 ± 1.0e-12, 4.5e+15 ulps away\n"
               "FAIL b/both: the property 'zero' does not hold\n"
               "     not zero\n"
               "\n"
               "FAIL b/crash: crashed: signal 11\n"
               "\n"
               "INCONCLUSIVE c/scalar, dx: the only element is neither proved nor refuted\n"
               "     noise\n"
               "     the number, for a random upstream gradient:\n"
               "          analytic  nan\n"
               "          numeric   1 ± 1.0e-12\n"
               "c/scalar, dx: kink at x: one-sided derivatives 0 and 0\n"
               "\n"
               "FAIL c/files, dx: all 6 elements are wrong\n"
               "     worst at [1,1]:\n"
               "          found     2\n"
               "          need      1 ± 1.0e-12\n"
               "\n"
               "FAIL c/none, dx: is not there\n");
    char *nothing = text_of(explain_all, &(CaseReport){.inputs = 1}, 1);
    CHECK(!*nothing, "%s", nothing);
    free(nothing);
}

/* A case in which dx is right, and says something. */
static CaseReport right(const char *op, const char *name) {
    CaseReport r = report(op, name);
    r.in[0].sloped = 6;
    return r;
}

/* Where a gradient is right in some cases and wrong in others, these are compared by name, three of each at most; where an
 * added case is right in which an axis has size 1, that is said, unless there is a reason already. */
static void cases_are_compared(void) {
    char text[REPORT_TEXT];
    CaseReport r[8] = {right("a", "one"),         right("a", "two"),  right("a", "three"),
                       right("a", "four"),        right("a", "five"), failing("a", "bad", 2, ""),
                       failing("b", "bad", 6, "")};
    CHECK(gradcheck_contrast(r, 7, &r[5], r[5].in, text) &&
              !strcmp(text, "right in 'one', 'two', 'three' and 2 more, wrong in 'bad': does backward follow "
                            "what is different there?"),
          "%s", text);
    CHECK(!gradcheck_contrast(r, 7, &r[6], r[6].in, text), "of operation b nothing is right: %s", text);
    CaseReport pairs[5] = {right("a", "one"), failing("a", "bad", 2, ""), right("a", "two"),
                           failing("a", "worse", 6, ""), right("a", "added")};
    pairs[4].added = true;
    check_said(explain_all, &pairs[0], 2,
               "\n"
               "FAIL a/bad, dx: 2 of 6 elements are wrong\n"
               "     right in 'one', wrong in 'bad': does backward follow what is different\n"
               "     there?\n"
               "     worst at [1,1], for a random upstream gradient:\n"
               "          analytic  2\n"
               "          numeric   1 ± 1.0e-12, 4.5e+15 ulps away\n");
    CHECK(gradcheck_contrast(pairs, 5, &pairs[1], pairs[1].in, text) &&
              !strcmp(text, "right in 'one' and 'two', wrong in 'bad' and 'worse': does backward follow what "
                            "these have in common?"),
          "%s", text);
    CaseReport sizes[2] = {failing("a", "bad", 2, ""), right("a", "bad, size 1 for n")};
    sizes[1].added = true;
    CHECK(gradcheck_contrast(sizes, 2, &sizes[0], sizes[0].in, text) &&
              strstr(text, "right where what has size n here has size 1"),
          "%s", text);
    REPORT_SET(sizes[0].in[0].reason, "twice too large");
    CHECK(!gradcheck_contrast(sizes, 2, &sizes[0], sizes[0].in, text));
    sizes[0] = right("a", "good");
    CHECK(!gradcheck_contrast(sizes, 2, &sizes[0], sizes[0].in, text), "nothing is wrong");
}

/* A gradient that is wrong because the loss is, one for a single output, one where the right number is none. */
static void numbers_are_placed(void) {
    CaseReport r[3] = {failing("a", "of a loss", 6, "the loss differs"), failing("b", "single", 6, "wrong"),
                       failing("c", "endless", 6, "wrong")};
    REPORT_SET(r[0].in[0].pattern, "loss differs");
    r[1].outputs = 1, r[1].in[0].output = 0;
    r[2].in[0].numeric = INFINITY;
    check_said(explain_all, r, 3,
               "\n"
               "FAIL a/of a loss, dx: all 6 elements are wrong, as in 'loss'\n"
               "\n"
               "FAIL b/single, dx: all 6 elements are wrong\n"
               "     wrong\n"
               "     worst at [1,1]:\n"
               "          analytic  2\n"
               "          numeric   1 ± 1.0e-12, 4.5e+15 ulps away\n"
               "\n"
               "FAIL c/endless, dx: all 6 elements are wrong\n"
               "     wrong\n"
               "     worst at [1,1], for a random upstream gradient:\n"
               "          analytic  2\n"
               "          numeric   inf ± 1.0e-12\n");
}

/* ---- Which of them ---- */

/* In a letter each, the explanations of a case: a capital accounts for every number, another was only seen. */
static CaseReport explained(const char *name, long wrong, const char *letters, size_t count, bool added) {
    CaseReport r = failing("a", name, wrong, "");
    r.added = added, r.judged = true;
    for (const char *at = letters; at < letters + count; at++) {
        Explanation *x = &r.in[0].explanation[r.in[0].explanations++];
        *x = (Explanation){.order = tolower(*at), .form = (uint64_t)*at, .sure = isupper(*at)};
        snprintf(x->reason, sizeof x->reason, "%c in %s", *at, name);
        x->pattern[0] = *at;
    }
    return r;
}

/* What three cases that somebody wrote and two that were added say in the end, in a letter each; - where nothing is. */
static void agreement(const char *cases, const char *want) {
    CaseReport r[5];
    char found[6] = "";
    for (int i = 0; i < 5; i++) {
        size_t letters = strcspn(cases, ",");
        r[i] = explained((char[]){(char)('1' + i), 0}, i == 2 ? 1 : 6, cases, letters, i > 2);
        cases += letters + (i < 4);
    }
    gradcheck_agree(r, 5);
    for (int i = 0; i < 5; i++) {
        const InputReport *in = &r[i].in[0];
        bool known = strcmp(in->pattern, "unknown") != 0;
        found[i] = known ? in->pattern[0] : '-';
        CHECK(known ? in->reason[0] == found[i] && in->reason[5] == '1' + i : !in->reason[0], "%s",
              in->reason);
        CHECK(strcmp(r[i].diagnosis, in->pattern) == 0, "%s, not %s", r[i].diagnosis, in->pattern);
    }
    CHECK(strcmp(found, want) == 0, "found %s, want %s", found, want);
}

static void cases_agree_on_an_explanation(void) {
    agreement("A,A,A,A,A", "AAAAA");
    agreement(",,,,", "-----");
    agreement("BC,AC,C,C,C", "CCCCC"); /* what fits half comes before what fits one */
    agreement("AB,A,B,,B", "AAB-B");   /* and the first of those; then what is left */
    agreement("A,,,C,C", "-----");     /* one of three is no half; added ones alone say nothing */
    agreement("ab,ba,a,,a", "aaa-a");  /* of two that are seen everywhere the first */
    agreement("b,a,a,a,a", "-----");   /* what is seen in one given case, and in another not, was chance */
    agreement("a,a,b,b,b", "aabbb");   /* a case with a single wrong element refutes nothing */
    agreement("aB,aB,B,B,B", "aaBBB"); /* the order of patterns goes first */
    agreement("a,a,B,B,B",
              "aa---"); /* what fits one of three is no half, when the others are known as well */
}

/* Of readings of one number, which have one place in the order, the one that fits most cases; and cases that were added speak
 * where no other fails. */
static void the_reading_that_fits_most_is_believed(void) {
    CaseReport r[4];
    for (int i = 0; i < 4; i++) {
        r[i] = explained((char[]){(char)('1' + i), 0}, 6, i == 1 ? "P" : "SP", i == 1 ? 1 : 2, i > 1);
        for (int k = 0; k < 2; k++) r[i].in[0].explanation[k].order = 7;
    }
    gradcheck_agree(r, 4);
    for (int i = 0; i < 4; i++) CHECK(r[i].in[0].pattern[0] == 'P', "%s", r[i].in[0].pattern);
    r[1].in[0].verdict = r[1].verdict = PASS, r[1].in[0].wrong = 0;
    gradcheck_agree(r, 4);
    for (int i = 0; i < 4; i += i ? 1 : 2) CHECK(r[i].in[0].pattern[0] == 'S', "%s", r[i].in[0].pattern);
    for (int i = 0; i < 4; i++)
        r[i].in[0].explanation[0].of_sizes = true; /* and it is no size where those are right */
    r[1].in[0].sloped = 6;
    gradcheck_agree(r, 4);
    CHECK(r[0].in[0].pattern[0] == 'P', "%s", r[0].in[0].pattern);
    for (int i = 0; i < 4; i++) r[i].in[0].explanation[0].of_sizes = false;
    r[0] = r[1];
    gradcheck_agree(r, 4);
    CHECK(r[2].in[0].pattern[0] == 'S' && r[3].in[0].pattern[0] == 'S', "added ones");
}

/* However small the others are, what is seen in one of three was chance. */
static void what_is_seen_is_seen_in_half(void) {
    for (int fits = 1; fits <= 2; fits++) {
        CaseReport r[3];
        for (int i = 0; i < 3; i++) r[i] = explained((char[]){(char)('1' + i), 0}, 1, "a", i < fits, false);
        gradcheck_agree(r, 3);
        CHECK((r[0].in[0].pattern[0] == 'a') == (fits == 2), "%d: %s", fits, r[0].in[0].pattern);
    }
}

/* What a case says too weakly for itself bears out another that says the same, and says nothing where there is none. */
static void weak_ones_bear_out_others(void) {
    CaseReport r[2] = {explained("1", 6, "a", 1, false), explained("2", 6, "a", 1, false)};
    r[1].in[0].explanation[0].weak = true;
    gradcheck_agree(r, 2);
    CHECK(r[0].in[0].pattern[0] == 'a' && r[1].in[0].pattern[0] == 'a');
    r[0].in[0].explanation[0].weak = true;
    gradcheck_agree(r, 2);
    CHECK(strcmp(r[0].diagnosis, "unknown") == 0 && !r[1].in[0].reason[0], "%s", r[1].in[0].reason);
}

/* What a property or a reason of another kind explains stays. */
static void other_reasons_stay(void) {
    CaseReport r[2] = {failing("a", "first", 2, "taken by differences?"),
                       explained("second", 6, "A", 1, false)};
    gradcheck_agree(r, 2);
    CHECK(strcmp(r[0].in[0].reason, "taken by differences?") == 0, "%s", r[0].in[0].reason);
    CHECK(r[1].in[0].pattern[0] == 'A', "%s", r[1].in[0].pattern);
}

/* ---- Rows and curves ---- */

static void rows(FILE *out, const CaseReport *r, long count) {
    gradcheck_heading(out);
    for (long i = 0; i < count; i++) gradcheck_rows(out, &r[i]);
}

static void rows_of_numbers_and_none(void) {
    CaseReport r[3] = {
        report("c", "row"), report("c", "no element"), {.op = "b", .name = "crash", .verdict = FAIL}};
    r[0].in[0].error = INFINITY, r[0].in[0].estimate = NAN, r[0].in[0].kinks = 1, r[0].in[0].flat = 2,
    r[0].moved = 1;
    r[1].in[0].coordinates = 0;
    REPORT_SET(r[2].trouble, "crashed: signal 11");
    check_said(rows, r, 3,
               "case                           gradient elements    error  estimate  verdict\n"
               "c/row                          dx              6        -         -  PASS  1 on a kink, 2 "
               "flat, another point drawn\n"
               "c/no element                   dx              0        -         -  PASS\n"
               "b/crash                                                              FAIL\n");
}

static void curves(FILE *out, const CaseReport *r, long count) {
    for (long i = 0; i < count; i++) gradcheck_curves(out, &r[i]);
}

/* Errors that are 0 stand at the foot, those that are infinite nowhere; relative to a derivative of 0 errors are as they
 * are. */
static void curves_have_a_row_for_each_power(void) {
    CaseReport r[3] = {report("c", "curve"), report("c", "none")};
    for (int i = 0; i < 6; i++)
        r[0].in[0].curve[i] = (CurvePoint){ldexp(1, -i), i == 5   ? (double)INFINITY
                                                         : i == 4 ? 0
                                                                  : pow(10, -i - 0.5)};
    r[0].in[0].curve_points = 6;
    r[2] = r[0];
    r[2].in[0].numeric = 0, r[2].in[0].analytic = 0.3;
    check_said(curves, r, 3,
               "\n"
               "c/curve, dx[0,0]: error of plain central differences, relative to 1\n"
               "1e-01 |*     \n"
               "1e-02 | *    \n"
               "1e-03 |  *   \n"
               "1e-04 |   *  \n"
               "1e-05 |      \n"
               "1e-06 |      \n"
               "1e-07 |      \n"
               "1e-08 |      \n"
               "1e-09 |      \n"
               "1e-10 |      \n"
               "1e-11 |      \n"
               "1e-12 |       <- numeric derivative\n"
               "1e-13 |      \n"
               "1e-14 |      \n"
               "1e-15 |      \n"
               "1e-16 |    *  <- analytic gradient\n"
               "      +------\n"
               "       step from 1 to 0.0312, each half the one before\n"
               "\n"
               "c/curve, dx[0,0]: error of plain central differences, relative to 0\n"
               "1e-01 |*      <- analytic gradient\n"
               "1e-02 | *    \n"
               "1e-03 |  *   \n"
               "1e-04 |   *  \n"
               "1e-05 |      \n"
               "1e-06 |      \n"
               "1e-07 |      \n"
               "1e-08 |      \n"
               "1e-09 |      \n"
               "1e-10 |      \n"
               "1e-11 |      \n"
               "1e-12 |       <- numeric derivative\n"
               "1e-13 |      \n"
               "1e-14 |      \n"
               "1e-15 |      \n"
               "1e-16 |    * \n"
               "      +------\n"
               "       step from 1 to 0.0312, each half the one before\n");
}

/* ---- For a student ---- */

/* The part of that name. */
static const Part *part_of(const Part *part, long parts, const char *name) {
    for (long i = 0; i < parts; i++)
        if (strcmp(part[i].name, name) == 0) return &part[i];
    return NULL;
}

/* Each part of a planned case has its share of the points, and the words of what it is about alone. */
static void parts_have_their_words(void) {
    CaseReport r[2] = {failing("a", "case", 6, "wrong"), report("a", "good")};
    long parts;
    for (int i = 0; i < 2; i++) {
        r[i].planned = r[i].judged = true, r[i].points = 6, r[i].wanted = 2;
        r[i].properties = PROPERTY_ACCUMULATES + 1;
        REPORT_SET(r[i].want[0], "dx");
        REPORT_SET(r[i].want[1], "dy"); /* which nobody judged */
    }
    REPORT_SET(r[0].broken[PROPERTY_ZERO], "it is not 0");
    REPORT_SET(r[0].trouble, "it is not 0");
    REPORT_SET(r[0].property, "zero");
    Part *part = grade_parts(r, 2, &parts);
    CHECK(parts == 4 + PROPERTIES - 1, "%ld parts", parts);
    const Part *p = part_of(part, parts, "case: dx");
    CHECK(p && p->verdict == FAIL && p->points == 2 && p->score == 0 &&
              strstr(p->text, "FAIL a/case, dx: all 6") && !strstr(p->text, "property"),
          "%s", p ? p->text : "none");
    p = part_of(part, parts, "case: dy");
    CHECK(p && p->verdict == FAIL && p->points == 2 && strstr(p->text, "the property 'zero' does not hold"),
          "%s", p ? p->text : "none");
    p = part_of(part, parts, "good: dx");
    CHECK(p && p->verdict == PASS && p->score == 2 &&
              !strcmp(p->text, "PASS, worst relative error 1.0e-13\n"),
          "%s", p ? p->text : "none");
    p = part_of(part, parts, "good: dy");
    CHECK(p && p->verdict == PASS && !strcmp(p->text, "PASS\n"), "%s", p ? p->text : "none");
    p = part_of(part, parts, "property zero");
    CHECK(p && p->verdict == FAIL && strstr(p->text, "FAIL case: it is not 0\n") && !strstr(p->text, "good:"),
          "%s", p ? p->text : "none");
    p = part_of(part, parts, "property linear"); /* of the failing case not looked at */
    CHECK(p && p->verdict == FAIL && strstr(p->text, "FAIL case: not looked at: it is not 0\n"), "%s",
          p ? p->text : "none");
    double of, sum = 0;
    for (long i = 0; i < parts; i++) sum += part[i].points;
    CHECK_NEAR(sum, 12, 1e-9);
    CHECK(grade_points(r, 2, &of) < of && fabs(of - 12) < 1e-9, "of %g", of);
    grade_parts_free(part, parts);
}

/* Of files each array is a part, and what cannot be judged is one; where there is no plan properties have no points. */
static void files_have_parts(void) {
    CaseReport r[3] = {report("a", "files"), {.verdict = FAIL}, report("a", "nothing wanted")};
    long parts;
    REPORT_SET(r[1].op, "a");
    REPORT_SET(r[1].name, "damaged");
    REPORT_SET(r[1].trouble, "case.json: byte 0: found the end");
    r[2].planned = r[2].judged = r[2].like = true, r[2].points = 3, r[2].properties = PROPERTY_FORWARD + 1;
    Part *part = grade_parts(r, 3, &parts);
    const Part *p = part_of(part, parts, "files: dx");
    CHECK(p && p->verdict == PASS && p->points == 1 && p->score == 1, "%s", p ? p->text : "none");
    p = part_of(part, parts, "damaged");
    CHECK(p && p->verdict == FAIL && p->points == 1 && p->score == 0 && strstr(p->text, "found the end"),
          "%s", p ? p->text : "none");
    p = part_of(part, parts, "nothing wanted: y");
    CHECK(p && p->verdict == PASS && p->score == p->points && p->points > 0, "%s", p ? p->text : "none");
    grade_parts_free(part, parts);
}

TEST_MAIN({"mistakes are explained once", mistakes_are_explained_once},
          {"cases are compared", cases_are_compared}, {"numbers are placed", numbers_are_placed},
          {"cases agree on an explanation", cases_agree_on_an_explanation},
          {"the reading that fits most is believed", the_reading_that_fits_most_is_believed},
          {"what is seen is seen in half", what_is_seen_is_seen_in_half},
          {"weak ones bear out others", weak_ones_bear_out_others},
          {"other reasons stay", other_reasons_stay}, {"rows of numbers and none", rows_of_numbers_and_none},
          {"curves have a row for each power", curves_have_a_row_for_each_power},
          {"parts have their words", parts_have_their_words}, {"files have parts", files_have_parts})
