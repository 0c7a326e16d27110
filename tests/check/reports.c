/* The text of reports: the table, a wrong gradient in many cases, its map and its smallest case;
 * and which explanation is believed. Reports are made by hand, or by operations with a known
 * mistake. */
#include "autograd/op.h"
#include "check/gradcheck/gradcheck.h"
#include "check/grading/gradcheck_show.h"
#include "test.h"
#include <ctype.h>

typedef void Say(FILE *out, const CaseReport *r, long count);

static char *text_of(Say *say, const CaseReport *r, long count) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    say(out, r, count);
    fclose(out);
    return text;
}

static void check_said(Say *say, const CaseReport *r, long count, const char *want,
                       const char *what) {
    char *text = text_of(say, r, count);
    CHECK(strcmp(text, want) == 0, "%s: found\n%swant\n%s", what, text, want);
    free(text);
}

static void rows(FILE *out, const CaseReport *r, long count) {
    for (long i = 0; i < count; i++) gradcheck_rows(out, &r[i]);
}

static CaseReport report(const char *op, const char *name) {
    CaseReport r = {.inputs = 1, .outputs = 6};
    REPORT_SET(r.op, op);
    REPORT_SET(r.name, name);
    REPORT_SET(r.in[0].name, "dx");
    r.in[0].shape = SHAPE(2, 3), r.in[0].coordinates = r.in[0].sloped = 6, r.in[0].output = -1;
    r.in[0].analytic = r.in[0].numeric = 1, r.in[0].error = 1e-13, r.in[0].estimate = 1e-12;
    return r;
}

static CaseReport failing(const char *op, const char *name, long wrong, const char *reason) {
    CaseReport r = report(op, name);
    r.verdict = r.in[0].verdict = FAIL;
    r.in[0].wrong = wrong, r.in[0].element = 4, r.in[0].error = 1, r.in[0].analytic = 2;
    REPORT_SET(r.in[0].reason, reason);
    return r;
}

/* ---- The table ---- */

TEST(rows_are_aligned) {
    CaseReport r = report("op", "über");
    r.in[0].kinks = 2, r.in[0].flat = 3, r.moved = 1;
    check_said(
        rows, &r, 1,
        "op/über                        dx              6  1.0e-13   1.0e-12  PASS  2 on a kink, 3 "
        "flat, another point drawn\n",
        "remarks");
    r = failing("op", "a name that leaves no room beside", 6, "");
    r.inputs = 2, r.in[1] = (InputReport){.name = "db", .coordinates = 0};
    REPORT_SET(r.broken[PROPERTY_LINEAR], "it bends");
    REPORT_SET(r.trouble, "it bends");
    check_said(rows, &r, 1,
               "op/a name that leaves no room beside\n"
               "                               dx              6  1.0e+00   1.0e-12  FAIL\n"
               "                               db              0        -         -  PASS\n"
               "                               property linear                       FAIL\n",
               "a long name, two gradients, a property");
    r.inputs = 0, r.broken[PROPERTY_LINEAR][0] = 0;
    check_said(rows, &r, 1,
               "op/a name that leaves no room beside\n"
               "                                                                     FAIL\n",
               "no gradient");
}

/* ---- One report ---- */

#define WORST                                                                                      \
    "     worst at [1,1], for a random upstream gradient: yours 2  right 1 ± 1.0e-12  ratio 2\n"

static CaseReport unclear(void) {
    CaseReport r = failing("op", "case", 0, "it is noise");
    r.verdict = r.in[0].verdict = INCONCLUSIVE, r.in[0].unclear = 2;
    return r;
}
static CaseReport with_a_kink(void) {
    CaseReport r = report("op", "case");
    r.in[0].kinks = 3, r.in[0].kink = 1, r.in[0].kink_above = 1, r.in[0].flat = 1;
    return r;
}
static CaseReport known_values(void) {
    CaseReport r = failing("op", "case", 6, "");
    r.by_reference = true, r.in[0].analytic = NAN;
    return r;
}
static CaseReport with_a_map(void) {
    CaseReport r = failing("op", "case", 2, "twice");
    REPORT_SET(r.in[0].map, "rows 0 to 3 right, row 4 WRONG");
    REPORT_SET(r.in[0].full, "x [1] = 1\nits numbers\n");
    r.in[0].full_size = 2, r.at_ends = true;
    return r;
}
static CaseReport no_pattern(void) {
    return failing("op", "case", 1, "");
}
static CaseReport crashed(void) {
    CaseReport r = {.verdict = FAIL};
    REPORT_SET(r.op, "op");
    REPORT_SET(r.name, "case");
    REPORT_SET(r.trouble, "it crashed");
    return r;
}
static CaseReport right(void) {
    return report("op", "case");
}

TEST(one_report_has_its_text) {
    static const struct {
        CaseReport (*make)(void);
        const char *want;
    } cases[] = {
        {right, ""},
        {no_pattern, "\nFAIL op/case, dx: 1 of 6 elements is wrong\n" WORST},
        {with_a_map,
         "\nFAIL op/case, dx: 2 of 6 elements are wrong\n     twice\n"
         "     dx: rows 0 to 3 right, row 4 WRONG\n"
         "     right at the values drawn, wrong with values at the ends of the case's\n     "
         "ranges\n"
         "     The smallest case that fails, 'case':\n       x [1] = 1\n       its numbers\n"},
        {unclear, "\nINCONCLUSIVE op/case, dx: 2 of 6 elements are neither proved nor refuted\n"
                  "     it is noise\n" WORST},
        {known_values, "\nFAIL op/case, dx: all 6 elements are wrong\n"
                       "     worst at [1,1]: yours nan  right 1 ± 1.0e-12\n"},
        {with_a_kink,
         "\nop/case, dx: kink at x[0,1]: one-sided derivatives 0 and 1; 3 in all\n"
         "op/case, dx: 1 of 6 elements is flat: the derivative is too small to show in the\n"
         "     output\n"},
        {crashed, "\nFAIL op/case: it crashed\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CaseReport r = cases[i].make();
        check_said(gradcheck_explain_all, &r, 1, cases[i].want, "one report");
    }
}

/* ---- Many cases ---- */

/* The smallest case that somebody wrote comes first and in full. The others have a line each, those
 * that the checker added one together. */
TEST(a_mistake_is_reported_once) {
    CaseReport r[6] = {failing("op", "large", 6, "twice"),
                       failing("op", "small", 2, "twice"),
                       failing("op", "other", 3, "a sum"),
                       failing("op", "added", 6, "twice"),
                       report("op", "fine"),
                       failing("another", "case", 6, "twice")};
    for (int i = 0; i < 6; i++) r[i].in[0].form = i == 2 ? 2 : 1;
    r[0].in[0].full_size = 20, r[1].in[0].full_size = 4, r[3].in[0].full_size = 2,
    r[3].added = true;
    REPORT_SET(r[1].in[0].full, "all of it\n");
    check_said(gradcheck_explain_all, r, 6,
               "\nFAIL op/small, dx: 2 of 6 elements are wrong\n     twice\n"
               "     The smallest case that fails, 'small':\n       all of it\n"
               "FAIL op/large, dx: all 6 elements are wrong\n"
               "FAIL op/other, dx: 3 of 6 elements are wrong. a sum\n"
               "     It is wrong in 1 more case that the checker added.\n"
               "\nFAIL another/case, dx: all 6 elements are wrong\n     twice\n" WORST,
               "six cases");
    r[0] = report("op", "a"), r[1] = report("op", "b");
    for (int i = 0; i < 2; i++) {
        r[i].verdict = FAIL;
        REPORT_SET(r[i].broken[PROPERTY_LINEAR], "it bends");
        REPORT_SET(r[i].trouble, "it bends");
    }
    check_said(gradcheck_explain_all, r, 2,
               "\nFAIL op/a: the property 'linear' does not hold\n     it bends\n"
               "FAIL op/b: the property 'linear' does not hold\n",
               "a property");
}

/* A case with explanations, a letter each: small ones say only which elements are wrong. */
static CaseReport explained(const char *name, const char *letters, size_t count, bool added) {
    CaseReport r = failing("op", name, 6, "");
    r.judged = true, r.added = added;
    for (size_t i = 0; i < count; i++) {
        Explanation *x = &r.in[0].explanation[r.in[0].explanations++];
        *x = (Explanation){.pattern = (Pattern)(tolower(letters[i]) - 'a'),
                           .form = (uint64_t)letters[i],
                           .sure = isupper(letters[i])};
        snprintf(x->reason, sizeof x->reason, "%c of %s", letters[i], name);
    }
    return r;
}

/* Explanations of three written and two added cases, and the one that each gets in the end; -:
 * none. */
TEST(cases_agree_on_an_explanation) {
    static const char *const cases[][2] = {
        {"A,A,A,A,A", "AAAAA"},   {",,,,", "-----"},
        {"BC,AC,C,C,C", "CCCCC"}, /* it fits all, A one */
        {"AB,A,B,,B", "AAB-B"},   /* the first of two that fit half; then what is left */
        {"A,,,C,C", "-----"},     /* one of three is no half; added cases alone say nothing */
        {"ab,ba,a,,a", "aaa-a"},  /* the first of two that are seen everywhere */
        {"b,a,a,a,a", "-----"},   /* seen in two given cases, and not in the third: chance */
        {"a,aB,aB,B,B", "aaaBB"}, /* the order of patterns goes first */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        CaseReport r[5];
        char found[6] = "";
        const char *letters = cases[k][0];
        for (int i = 0; i < 5; i++) {
            size_t count = strcspn(letters, ",");
            r[i] = explained((char[]){(char)('1' + i), 0}, letters, count, i > 2);
            letters += count + (i < 4);
        }
        gradcheck_agree(r, 5);
        for (int i = 0; i < 5; i++) found[i] = r[i].in[0].reason[0] ? r[i].in[0].reason[0] : '-';
        CHECK(strcmp(found, cases[k][1]) == 0, "%s: found %s, want %s", cases[k][0], found,
              cases[k][1]);
    }
}

/* What a factor follows from shows at other sizes of x [n, 4]; one size does not make a constant. */
TEST(a_factor_has_the_source_of_all_cases) {
    static const struct {
        long n[2];
        double factor[2];
        const char *says;
    } cases[] = {
        {{3, 11}, {3, 3}, "the constant factor 3"},
        {{3, 11}, {4, 4}, "by 4: is it n, where n = 4 is the size of axis 1 of x?"},
        {{3, 11}, {3, 11}, "by 3: it is n, where n = 3 is the size of axis 0 of x"},
        {{3, 11},
         {1, 0.2},
         "by 1: it is 2 times 1/n, where n = 2 is one less than the size of axis 0 of x"},
        {{3, 11}, {0.6, 0.7}, "by 0.6, a factor that differs between sizes"},
        {{3, 3}, {2.5, 2.5}, "every element is multiplied by 2.5"},
        {{3, 3}, {2. / 3, 2. / 3}, "every element is multiplied by 0.666667"},
        {{3, 3}, {3, 3}, "by 3: is it n, where n = 3 is the size of axis 0 of x?"},
        {{3, 11}, {-1, -1}, "-"}, /* a sign has no source */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        CaseReport r[2];
        for (int i = 0; i < 2; i++) {
            r[i] = failing("op", i ? "a" : "b", 6, "");
            REPORT_SET(r[i].shape[0].name, "x");
            r[i].shape[0].shape = SHAPE(cases[k].n[i], 4);
            r[i].in[0].explanations = 1;
            r[i].in[0].explanation[0] = (Explanation){.pattern = PATTERN_CONSTANT_FACTOR,
                                                      .form = 1,
                                                      .sure = true,
                                                      .reason = "-",
                                                      .factor = cases[k].factor[i]};
        }
        gradcheck_agree(r, 2);
        CHECK(strstr(r[0].in[0].reason, cases[k].says), "%zu: %s", k, r[0].in[0].reason);
    }
}

/* ---- Operations with a known mistake ---- */

/* Contiguous arrays of a run; backward adds to dx. */
typedef struct Arrays {
    const real *x, *m, *y, *dy;
    real *out, *dx;
    long n;
} Arrays;

typedef struct Lie {
    const char *what;
    CheckInput in[3];
    void (*forward)(const Arrays *a), (*backward)(const Arrays *a);
    const char *pattern, *says, *never; /* somewhere in the report; nowhere */
} Lie;

static const Lie *lie;

static Arrays arrays_of(Node *n) {
    Arrays a = {.n = shape_count(n->in[0]->shape),
                .out = n->out->data,
                .y = n->out->data,
                .dy = n->out->grad};
    real *x[2] = {NULL, NULL};
    for (int k = 0; k < n->inputs; k++) {
        x[k] = node_memory(n, (size_t)shape_count(n->in[k]->shape) * sizeof(real));
        tensor_copy_out(n->in[k], x[k]);
    }
    a.x = x[0], a.m = x[1], a.dx = n->in[0]->grad;
    return a;
}
static void forward(Node *n) {
    Arrays a = arrays_of(n);
    lie->forward(&a);
}
static void backward(Node *n) {
    Arrays a = arrays_of(n);
    lie->backward(&a);
}
static Tensor *build(Tape *t, Tensor **x) {
    static const Op op = {"lie", forward, backward};
    return tape_forward(tape_node(t, &op, x[0]->shape, lie->in[1].name ? 2 : 1, x));
}

#define EACH(i) for (long i = 0; i < a->n; i++)
#define PASS_OF(name, statement)                                                                   \
    static void name(const Arrays *a) {                                                            \
        EACH(i) statement;                                                                         \
    }

/* clang-format off */
PASS_OF(squares, a->out[i] = a->x[i] * a->x[i])
PASS_OF(times_root_7, a->dx[i] += a->dy[i] * 2 * a->x[i] * (real)sqrt(7))
PASS_OF(row_2_twice, a->dx[i] += a->dy[i] * 2 * a->x[i] + (i / 4 == 2 ? a->x[i] * a->x[i] * a->x[i] * a->dy[i] : 0))
PASS_OF(every_second_twice, a->dx[i] += a->dy[i] * 2 * a->x[i] + (i % 2 ? a->x[i] * a->x[i] * a->x[i] * a->dy[i] : 0))
PASS_OF(below_half, a->dx[i] += a->dy[i] * (a->x[i] < (real)0.5 ? 2 * a->x[i] : 3 * a->x[i] * a->x[i] * a->x[i]))
PASS_OF(largest_alone, a->dx[i] += a->dy[i] * (2 * a->x[i] + (i % 4 > 1 && i > 5 ? a->x[i] * a->x[i] * a->x[i] : 0)))
PASS_OF(masked, a->out[i] = a->m[i] > 0 ? a->x[i] : 0)
PASS_OF(mask_forgotten, a->dx[i] += a->dy[i])
PASS_OF(shifted, a->dx[i] += 2 * (i ? a->x[i - 1] * a->dy[i - 1] : 0))
PASS_OF(x_log_x, a->out[i] = a->x[i] * (real)log((double)a->x[i]))
PASS_OF(its_slope, a->dx[i] += a->dy[i] * (real)(log((double)a->x[i]) + 1))
/* clang-format on */

static real largest(const Arrays *a) {
    real x = a->x[0];
    EACH(i) x = a->x[i] > x ? a->x[i] : x;
    return x;
}

/* y = x Σ x³, and a backward without the term of the sum. */
static real cubes(const Arrays *a) {
    real sum = 0;
    EACH(i) sum += a->x[i] * a->x[i] * a->x[i];
    return sum;
}
PASS_OF(times_cubes, a->out[i] = a->x[i] * cubes(a))
PASS_OF(term_of_cubes_missing, a->dx[i] += a->dy[i] * cubes(a))

/* Rows of 4 less their means, and a backward that takes the means of columns. */
static real mean(const real *v, long first, long step, long n) {
    real sum = 0;
    for (long i = 0; i < n; i++) sum += v[first + i * step] / (real)n;
    return sum;
}
PASS_OF(centred_rows, a->out[i] = a->x[i] - mean(a->x, i / 4 * 4, 1, 4))
PASS_OF(centred_columns, a->dx[i] += a->dy[i] - mean(a->dy, i % 4, 4, a->n / 4))
PASS_OF(largest_twice, a->dx[i] += a->dy[i] * 2 * a->x[i] * (a->x[i] == largest(a) ? 2 : 1))
PASS_OF(labels_forgotten, a->dx[i] += 2 * a->x[i] * a->dy[i] * (i % 4 == (long)a->m[i / 4] ? 3 : 1))

static void means_of_unmasked(const Arrays *a) { /* of rows of 3 */
    EACH(i) {
        real sum = 0, count = 0;
        for (long k = i / 3 * 3; k < i / 3 * 3 + 3; k++) sum += a->m[k] * a->x[k], count += a->m[k];
        a->out[i] = sum / count;
    }
}
static void their_slope(const Arrays *a) {
    EACH(i) {
        real sum = 0, count = 0;
        for (long k = i / 3 * 3; k < i / 3 * 3 + 3; k++) sum += a->dy[k], count += a->m[k];
        a->dx[i] += a->m[i] * sum / count;
    }
}

PASS_OF(sign_of_three, a->dx[i] += (i < 3 ? -2 : 2) * a->x[i] * a->dy[i])
PASS_OF(last_alone, a->dx[i] += i % 2 ? 2 * a->x[i] * a->dy[i] : 0)

static const double negative[] = {-1, -1.5, -0.5, -2, -1.25, 1}, mask[] = {1, 0, 0, 1, 0, 1},
                    with_a_0[] = {0.5, 0, 1.5, 2}, hidden_row[] = {1, 1, 0, 0, 0, 0};

static const double labels[] = {2, 0, 3};

#define LIE(what, forward, backward, pattern, says, never, ...)                                    \
    { what, {__VA_ARGS__}, forward, backward, pattern, says, never }
static const Lie lies[] = {
    LIE("√7, which no size gives", squares, times_root_7, "constant factor", "2.64575 = √7", NULL,
        {"x", DIMS(5)}),
    LIE("a row", squares, row_2_twice, "only somewhere", "row 2 WRONG, others right", NULL,
        {"x", DIMS(3, 4)}),
    LIE("every second", squares, every_second_twice, "only somewhere",
        "columns 1 and every second after it WRONG", NULL, {"x", DIMS(2, 6)}),
    LIE("a condition", squares, below_half, "only somewhere",
        "wrong only where x is above about 0.", NULL, {"x", DIMS(5, 6)}),
    LIE("values are no cause", squares, largest_alone, "only somewhere",
        "rows 1 and 2 in columns 2 and 3 WRONG", "where x", {"x", DIMS(3, 4)}),
    LIE("a sign is no function of x", squares, sign_of_three, "factor in part",
        "x[0 to 2] WRONG, others right. The wrong ones are of the wrong sign", "instead of",
        {"x", DIMS(6), .values = negative}),
    LIE("one column", squares, last_alone, "no gradient in part",
        "column 0 WRONG, others right. No gradient arrives at the wrong ones", NULL,
        {"x", DIMS(3, 2)}),
    LIE("a mask", masked, mask_forgotten, "only somewhere",
        "the output does not depend on this element", NULL, {"x", DIMS(6)},
        {"m", DIMS(6), .values = mask, .constant = true}),
    LIE("a forward that is not finite", x_log_x, its_slope, "",
        "forward gives nan at y[1], where x[1] = 0", "yours 0.1768      right",
        {"x", DIMS(4), .values = with_a_0}),
    LIE("a row without anything in it", means_of_unmasked, their_slope, "",
        "forward gives nan at y[1,0] (and 2 more), where m[1,0] = 0, m[1,1] = 0, m[1,2] = 0",
        "does not depend on this element", {"x", DIMS(2, 3)},
        {"m", DIMS(2, 3), .values = hidden_row, .constant = true}),
    LIE("a term", times_cubes, term_of_cubes_missing, "term missing",
        "the output² times a number that is the same along axis 0", NULL, {"x", DIMS(5)}),
    LIE("another axis", centred_rows, centred_columns, "wrong axis",
        "the outputs at its own index of axis 0 alone", NULL, {"x", DIMS(3, 4)}),
    LIE("labels", squares, labels_forgotten, "factor in part",
        "the index that m gives along axis 1 WRONG, others right. The wrong ones are multiplied by "
        "3",
        NULL, {"x", DIMS(3, 4)}, {"m", DIMS(3), .values = labels, .constant = true}),
    LIE("the largest is at no index", squares, largest_twice, "unknown", "1 of 5 elements is wrong",
        NULL, {"x", DIMS(5)}),
    LIE("a neighbour", squares, shifted, "moved",
        "along axis 0 each element has the gradient of the one before", NULL, {"x", DIMS(6)}),
};

TEST(mistakes_are_shown) {
    if (sizeof(real) < sizeof(double)) return;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        CaseReport r;
        CheckCase c = {.name = "case", .build = build};
        lie = &lies[i];
        memcpy(c.in, lie->in, sizeof lie->in);
        gradcheck_case("lie", &c, 1, &r);
        char *text = text_of(gradcheck_explain_all, &r, 1);
        for (char *at = text; (at = strstr(at, "\n     ")); at++)
            memmove(at, at + 5, strlen(at + 5) + 1), *at = ' ';
        const char *pattern = report_pattern[r.in[0].pattern];
        CHECK(strcmp(pattern, lie->pattern) == 0, "%s: %s: %s", lie->what, pattern, r.in[0].reason);
        CHECK(strstr(text, lie->says) && (!lie->never || !strstr(text, lie->never)), "%s: %s",
              lie->what, text);
        free(text);
    }
}

/* The numbers of the case, yours beside the right ones. */
TEST(the_smallest_case_is_shown_in_full) {
    static const double values[] = {1, 3};
    static const Lie half = {
        "", {{"x", DIMS(2), .values = values}}, squares, mask_forgotten, "", "", NULL};
    CaseReport r;
    CheckCase c = {"case", build, {{"x", DIMS(2), .values = values}}};
    if (sizeof(real) < sizeof(double)) return;
    lie = &half;
    gradcheck_case("lie", &c, 1, &r);
    char *text = text_of(gradcheck_explain_all, &r, 1);
    CHECK(strstr(text, "x [2] = 1 3\n"), "%s", text);
    CHECK(strstr(text,
                 "x[0]       for y[0]   yours 1           right 2           ratio 0.5  WRONG\n"),
          "%s", text);
    CHECK(strstr(text,
                 "x[1]       for y[1]   yours 1           right 6           ratio 0.1667  WRONG\n"),
          "%s", text);
    free(text);
}

/* Numbers that are not equal are printed with as many digits as tell them apart. */
TEST(other_numbers_look_other) {
    static const struct {
        double a, b;
        int digits;
    } cases[] = {{1, 1, 4},
                 {1, 2, 4},
                 {2.14859322, 2.14859322 * (1 + 4 * DBL_EPSILON), 16},
                 {1, 1.00001, 6},
                 {1, 1 + DBL_EPSILON, 17},
                 {NAN, 1, 4},
                 {INFINITY, INFINITY, 4},
                 {0, 1e-300, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int digits = report_digits(cases[i].a, cases[i].b, 4);
        CHECK(digits == cases[i].digits, "%.17g and %.17g: %d digits", cases[i].a, cases[i].b,
              digits);
    }
}

/* A case whose gradients are all 0 is left to one that proves another gradient of its inputs; alone
 * it proves nothing. */
TEST(gradients_of_0_prove_nothing) {
    enum { ZERO, SLOPED, FLAT, WRONG };
    static const struct {
        int kinds[2];
        Verdict verdict; /* of the first */
        bool untested;
    } cases[] = {{{ZERO, ZERO}, INCONCLUSIVE, false},
                 {{ZERO, SLOPED}, PASS, true},
                 {{ZERO, FLAT}, INCONCLUSIVE, false},
                 {{ZERO, WRONG}, INCONCLUSIVE, false},
                 {{FLAT, ZERO}, PASS, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CaseReport r[2];
        for (int k = 0; k < 2; k++) {
            int kind = cases[i].kinds[k];
            r[k] = kind == WRONG ? failing("op", "b", 6, "") : report("op", k ? "b" : "a");
            r[k].flat = kind == FLAT;
            if (kind == ZERO || kind == FLAT) r[k].in[0].sloped = 0;
        }
        gradcheck_agree(r, 2);
        CHECK(r[0].verdict == cases[i].verdict && r[0].in[0].verdict == cases[i].verdict &&
                  r[0].untested == cases[i].untested,
              "%zu: %s", i, gradcheck_verdict_text(r[0].verdict));
        CHECK(r[0].verdict == PASS || strstr(r[0].in[0].reason, ".flat = true"), "%zu: %s", i,
              r[0].in[0].reason);
    }
}

/* ---- For a student ---- */

/* The part of that name. */
static const Part *part_of(const Part *part, long parts, const char *name) {
    for (long i = 0; i < parts; i++)
        if (strcmp(part[i].name, name) == 0) return &part[i];
    return NULL;
}

/* Each part of a planned case has its share of the points, and the words of what it is about alone.
 */
TEST(parts_have_their_words) {
    CaseReport r[2] = {failing("a", "case", 6, "wrong"), report("a", "good")};
    long parts;
    for (int i = 0; i < 2; i++) {
        r[i].planned = r[i].judged = true, r[i].points = 6, r[i].wanted = 2;
        r[i].properties = PROPERTY_ACCUMULATES + 1;
        REPORT_SET(r[i].want[0], "dx");
        REPORT_SET(r[i].want[1], "dy"); /* not judged */
    }
    REPORT_SET(r[0].broken[PROPERTY_ZERO], "it is not 0");
    REPORT_SET(r[0].trouble, "it is not 0");
    Part *part = grade_parts(r, 2, &parts);
    CHECK(parts == 2 * 3, "%ld parts", parts);
    const Part *p = part_of(part, parts, "case: dx");
    CHECK(p && p->verdict == FAIL && p->points == 2 && p->score == 0 &&
              strstr(p->text, "FAIL a/case, dx: all 6") && !strstr(p->text, "property"),
          "%s", p ? p->text : "none");
    p = part_of(part, parts, "case: dy");
    CHECK(p && p->verdict == FAIL && p->points == 2 &&
              strstr(p->text, "the property 'zero' does not hold"),
          "%s", p ? p->text : "none");
    p = part_of(part, parts, "good: dx");
    CHECK(p && p->verdict == PASS && p->score == 2 &&
              !strcmp(p->text, "PASS, worst relative error 1.0e-13\n"),
          "%s", p ? p->text : "none");
    p = part_of(part, parts, "good: dy");
    CHECK(p && p->verdict == PASS && !strcmp(p->text, "PASS\n"), "%s", p ? p->text : "none");
    p = part_of(part, parts, "case: properties");
    CHECK(p && p->verdict == FAIL && p->score == 0 &&
              strstr(p->text, "FAIL: the property 'zero' (an upstream gradient of 0 gives a "
                              "gradient of 0) does not hold: it is not 0\n") &&
              strstr(p->text, "FAIL: the properties from 'stores fresh' on are not checked: "),
          "%s", p ? p->text : "none");
    p = part_of(part, parts, "good: properties");
    CHECK(p && p->verdict == PASS && p->score == 1 &&
              strstr(p->text, "They count as far as the gradients are right: 0.5\n"),
          "%s", p ? p->text : "none");
    double of, sum = 0;
    for (long i = 0; i < parts; i++) sum += part[i].points;
    CHECK_NEAR(sum, 12, 1e-9);
    CHECK(grade_points(r, 2, &of) < of && fabs(of - 12) < 1e-9, "of %g", of);
    grade_parts_free(part, parts);
}

/* In a report about files each array is a part, and so is an unjudged file. Without a plan,
 * properties have no points. */
TEST(files_have_parts) {
    CaseReport r[3] = {report("a", "files"), {.verdict = FAIL}, report("a", "nothing wanted")};
    long parts;
    REPORT_SET(r[1].op, "a");
    REPORT_SET(r[1].name, "damaged");
    REPORT_SET(r[1].trouble, "case.json: byte 0: found the end");
    r[2].planned = r[2].judged = r[2].like = true, r[2].points = 3,
    r[2].properties = PROPERTY_FORWARD + 1;
    Part *part = grade_parts(r, 3, &parts);
    const Part *p = part_of(part, parts, "files: dx");
    CHECK(p && p->verdict == PASS && p->points == 1 && p->score == 1, "%s", p ? p->text : "none");
    p = part_of(part, parts, "damaged");
    CHECK(p && p->verdict == FAIL && p->points == 1 && p->score == 0 &&
              strstr(p->text, "found the end"),
          "%s", p ? p->text : "none");
    p = part_of(part, parts, "nothing wanted: y");
    CHECK(p && p->verdict == PASS && p->score == p->points && p->points > 0, "%s",
          p ? p->text : "none");
    grade_parts_free(part, parts);
}

RUN_TESTS
