/* Verdicts at kinks, ties, saturation and noise, and on wrong gradients at kinks. The numeric derivative knows its error. */
#include "check/gradcheck/gradcheck.h"
#include "check/gradcheck/numeric_derivative.h"
#include "ops/ops.h"
#include "test.h"

/* Proofs are for double; in float the same verdicts must not be FAIL. */
#define IN_DOUBLE (sizeof(real) == sizeof(double))

/* A function of one variable. */
#define REAL(name, y)                                                                              \
    static real name(real x) {                                                                     \
        return (real)(y);                                                                          \
    }
#define DOUBLE(name, y)                                                                            \
    static double name(double x) {                                                                 \
        return y;                                                                                  \
    }

/* --- Numeric derivatives of known functions. --- */

DOUBLE(slow, exp(x) + sin(3 * x))
DOUBLE(steep, tanh(1000 * x))
DOUBLE(staircase, floor(x * 1e6) * 1e-6)
DOUBLE(jump, x > 0.3 ? 1 : -1)

static Sweep sweep_of(double (*f)(double x), double x, double step, int levels) {
    Sweep s;
    sweep_start(&s, CENTRAL);
    for (int i = 0; i < levels; i++, step /= 2) {
        double size = fmax(fabs(f(x + step)), fabs(f(x - step)));
        sweep_add(&s, step, (f(x + step) - f(x - step)) / (2 * step), size * DBL_EPSILON / step);
    }
    return s;
}

TEST(extrapolation_is_exact_and_knows_it) {
    for (double x = -2; x <= 2; x += 0.1) {
        Sweep s = sweep_of(slow, x, 0.5, 20);
        double want = exp(x) + 3 * cos(3 * x), off = fabs(s.value - want);
        CHECK(off <= SWEEP_TRUST * s.error, "at %g: off by %g, estimated %g", x, off, s.error);
        CHECK(s.error <= 1e-11 * (1 + fabs(want)), "at %g: estimated error %g", x, s.error);
    }
}

/* Far steps see a saturated function whose differences agree with each other: near ones contradict them. */
TEST(small_steps_are_believed_against_large_ones) {
    Sweep s = sweep_of(steep, 1e-4, 1, 30);
    double want = 1000 / pow(cosh(0.1), 2);
    CHECK(fabs(s.value - want) <= 1e-6 * want, "found %g, want %g", s.value, want);
}

TEST(noise_is_not_taken_for_a_derivative) {
    Sweep s = sweep_of(staircase, 0.3, 0.125, 20);
    CHECK(s.error >= fabs(s.value - 1) / SWEEP_TRUST, "off by %g, estimated %g", fabs(s.value - 1),
          s.error);
}

TEST(a_jump_has_no_derivative) {
    Sweep s = sweep_of(jump, 0.3, 0.125, 20);
    CHECK(isnan(s.value) && isinf(s.error), "found %g, estimated error %g", s.value, s.error);
}

/* --- Operations as a student writes them: they report no branches and have no flags. --- */

static real (*own_function)(real x);
static real (*own_slope)(real x);

static void own_forward(Node *n) {
    long count = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], n->out->data);
    for (long i = 0; i < count; i++) n->out->data[i] = own_function(n->out->data[i]);
}

static void own_backward(Node *n) {
    long i = 0;
    for (Walk w = tensor_walk(n->in[0]->shape, 1, (const long *[]){n->in[0]->stride});
         tensor_walk_row(&w);)
        for (long k = 0; k < w.n; k++, i++)
            n->in[0]->grad[i] +=
                n->out->grad[i] * own_slope(n->in[0]->data[w.at[0] + k * w.step[0]]);
}

static const Op own = {"own", own_forward, own_backward};

static Tensor *own_op(Tape *t, Tensor **x) {
    return tape_forward(tape_node(t, &own, x[0]->shape, INPUTS(x[0])));
}

static CaseReport check(Tensor *(*build)(Tape *t, Tensor **x), CheckInput in, bool flat) {
    CaseReport r;
    CheckCase c = {"case", build, {in}, .flat = flat};
    gradcheck_case("test", &c, 1, &r);
    return r;
}

static CaseReport check_own(real (*f)(real x), real (*slope)(real x), CheckInput in) {
    own_function = f;
    own_slope = slope;
    return check(own_op, in, false);
}

#define SAYS(r, want)                                                                              \
    CHECK((r).verdict == (want), "%s: %s %s", gradcheck_verdict_text((r).verdict), (r).trouble,    \
          (r).in[0].reason)

REAL(relu, x > 0 ? x : 0)
REAL(one_right_of_0, x > 0)
REAL(half_at_0, x > 0 ? 1 : 0.5 * (x == 0))
REAL(two_at_0, x > 0 ? 1 : 2 * (x == 0))
REAL(offset, (real)1e8 + (real)1e-9 * x)
REAL(offset_slope, x * 0 + (real)1e-9)
REAL(zero, x * 0)
REAL(one, x * 0 + 1)
REAL(constant, x - x + 5)
REAL(constant_up_to_rounding, (real)1.7 * x / x)
REAL(rough, 0.01 * floor((double)x * 314159.265)) /* a staircase with steps of 0.01 */
REAL(rough_slope, x * 0 + (real)3141.59265)
REAL(after_a_plain, 1 + relu(x))
REAL(after_a_wide_plain, 1 + relu(x - 100))
REAL(wave, sin((double)x))
REAL(nearly_its_slope, cos((double)x) + 1e-4)
REAL(far_from_0, (real)1e8 + x)
REAL(not_a_number, x - x + NAN)
REAL(with_a_hole, x == 0 ? NAN : x * x)
REAL(twice, 2 * x)
REAL(sigmoid, 1 / (1 + exp(-(double)x)))
REAL(sigmoids_slope, (double)sigmoid(x) * (1 - (double)sigmoid(x)))
REAL(infinite, x < 100 ? INFINITY : x)
REAL(exp_in_float, expf((float)x))
REAL(slope_of_exp, exp((double)x))
REAL(slope_too_large, 1.01 * exp((double)x))
REAL(relu_in_float, fmaxf((float)x, 0))
REAL(product_of_a_float, x *(real)(float)(1 / sqrt((double)(x * x + 1))))
REAL(its_slope, pow((double)(x *x + 1), -1.5))
REAL(steep_wave, tanh(1000 * (double)x))
REAL(its_steep_slope, 1000 * pow(cosh(1000 * (double)x), -2))

static const double around_0[] = {-1, 0, 1, 0, 1e-9, -1e-9};
#define AROUND_0                                                                                   \
    { "x", DIMS(6), .values = around_0 }

/* At 0 every value from 0 to 1 is a gradient of relu; points a billionth beside 0 have one. Below the noise floor nothing can be
 * proved, whatever backward says: not even 0. In float: the same verdict, any but FAIL, or any. */
TEST(functions_of_one_variable) {
    enum InFloat { SAME, NOT_FAIL, ANY };
    static const struct {
        real (*f)(real x), (*slope)(real x);
        CheckInput in;
        Verdict verdict;
        enum InFloat in_float;
        long kinks, wrong;
        Doubt doubt;
        Pattern pattern;
    } cases[] = {
        {relu, one_right_of_0, AROUND_0, PASS, NOT_FAIL, .kinks = 2},
        {relu, half_at_0, AROUND_0, PASS, NOT_FAIL},
        {relu, two_at_0, AROUND_0, FAIL, SAME, 0, 2},
        {offset, offset_slope, {"x", DIMS(3)}, INCONCLUSIVE, ANY, 0, 0, DOUBT_FLAT},
        {offset, zero, {"x", DIMS(3)}, INCONCLUSIVE, ANY},
        {constant, zero, {"x", DIMS(3)}, PASS, SAME},
        {constant_up_to_rounding, zero, {"x", DIMS(24), 1, 2}, PASS, SAME},
        {constant, offset_slope, {"x", DIMS(3)}, FAIL, ANY, 0, 3},
        {rough, rough_slope, {"x", DIMS(3), 0.5, 0.9}, INCONCLUSIVE, NOT_FAIL, 0, 0, DOUBT_NOISE},
        {wave, nearly_its_slope, {"x", DIMS(5)}, FAIL, ANY, 0, 5, 0, PATTERN_NEARLY_RIGHT},
        {far_from_0, one, {"x", DIMS(12)}, PASS, ANY},
        {relu, not_a_number, {"x", DIMS(3)}, FAIL, SAME, 0, 3, 0, PATTERN_NOT_A_NUMBER},
        {not_a_number, zero, {"x", DIMS(3)}, INCONCLUSIVE, SAME},
        {relu, infinite, {"x", DIMS(1), 1, 2}, FAIL, SAME, 0, 1, 0, PATTERN_NOT_A_NUMBER},
        {relu, infinite, {"x", DIMS(2), 1, 2}, FAIL, SAME, 0, 2, 0, PATTERN_NOT_A_NUMBER},
        {relu, infinite, {"x", DIMS(3), 1, 2}, FAIL, SAME, 0, 3, 0, PATTERN_NOT_A_NUMBER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CaseReport r = check_own(cases[i].f, cases[i].slope, cases[i].in);
        const InputReport *in = &r.in[0];
        bool same = IN_DOUBLE || cases[i].in_float == SAME;
        bool fits =
            same ? r.verdict == cases[i].verdict : r.verdict != FAIL || cases[i].in_float == ANY;
        CHECK(fits, "%zu: %s: %s %s", i, gradcheck_verdict_text(r.verdict), r.trouble, in->reason);
        CHECK(!same || in->wrong == cases[i].wrong, "%zu: %ld wrong", i, in->wrong);
        CHECK(!same || cases[i].pattern == PATTERN_NONE || in->pattern == cases[i].pattern,
              "%zu: %s", i, report_pattern[in->pattern]);
        CHECK(!IN_DOUBLE || cases[i].verdict != PASS || (in->kinks == cases[i].kinks && !in->flat),
              "%zu: %ld kinks, %ld flat", i, in->kinks, in->flat);
        CHECK(!IN_DOUBLE || !cases[i].doubt || (in->doubt == cases[i].doubt && !in->digits),
              "%zu: doubt %d", i, (int)in->doubt);
    }
}

BUILD_CASE(own_relu, tape_relu(t, x[0]))
BUILD_CASE(own_negative_part, tape_neg(t, tape_relu(t, tape_neg(t, x[0]))))
BUILD_CASE(own_max, tape_max(t, x[0], -1))
BUILD_CASE(layer_norm, tape_layer_norm(t, x[0], x[1], x[2]))
BUILD_CASE(softmax, tape_softmax(t, x[0], -1))
BUILD_CASE(wrong_where_flat, tape_add(t, tape_softmax(t, x[0], -1), tape_scale(t, x[0], 0)))

static char *explained(const CaseReport *r) {
    char *text;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    gradcheck_explain(memory, r);
    fclose(memory);
    return text;
}

/* A point without a derivative passes, and the report says which it is and what lies on both sides. */
TEST(kinks_are_reported_with_both_derivatives) {
    static const double zeros[] = {-1, 2, 1, 0, 0, -2}, ties[] = {3, 4, 1, 5, 7, 7};
    static const struct {
        Tensor *(*build)(Tape *t, Tensor **x);
        CheckInput in;
        const char *at; /* the first kink; "": none */
        long kink, below, above;
    } cases[] = {{own_relu, {"x", DIMS(6), .values = zeros}, "x[3]", 3, 0, 1},
                 {own_negative_part, {"x", DIMS(6), .values = zeros}, "x[3]", 3, 1, 0},
                 {own_max, {"x", DIMS(2, 3), .values = ties}, "x[1,1]", 4, 0, 1},
                 {own_relu, {"x", DIMS(2), .values = ties}, "", 0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CaseReport r = check(cases[i].build, cases[i].in, false);
        char *text = explained(&r), says[100];
        snprintf(says, sizeof says, "%s: one-sided derivatives %ld and %ld; 2 in all", cases[i].at,
                 cases[i].below, cases[i].above);
        CHECK(r.in[0].kink == cases[i].kink, "kink at %ld", r.in[0].kink);
        CHECK_NEAR(r.in[0].kink_below, cases[i].below, 100 * (double)REAL_EPSILON);
        CHECK_NEAR(r.in[0].kink_above, cases[i].above, 100 * (double)REAL_EPSILON);
        CHECK(*cases[i].at ? strstr(text, "dx: kink at ") && strstr(text, says) : !*text, "%s",
              text);
        free(text);
    }
}

/* A constant row equals its mean. The function is smooth there, because epsilon is inside the root. */
TEST(layer_norm_of_a_constant_row_is_smooth) {
    const double far = IN_DOUBLE ? -1e3 : -3; /* in float epsilon's root is a few digits at 1000 */
    const double rows[] = {3, 3, 3, 3, 0, 0, 0, 0, far, far, far, far};
    CaseReport r;
    CheckCase c = {"case",
                   layer_norm,
                   {{"x", DIMS(3, 4), .values = rows}, {"gamma", DIMS(4)}, {"beta", DIMS(4)}}};
    gradcheck_case("test", &c, 1, &r);
    if (!IN_DOUBLE) CHECK(r.verdict != FAIL, "%s", r.in[0].reason);
    for (int i = 0; IN_DOUBLE && i < r.inputs; i++)
        CHECK(r.in[i].verdict == PASS && !r.in[i].kinks && !r.in[i].flat,
              "%s: %s, %ld kinks, %ld flat", r.in[i].name, gradcheck_verdict_text(r.in[i].verdict),
              r.in[i].kinks, r.in[i].flat);
}

/* A drawn point that lies on a kink is drawn again. */
static real kink_at_first_draw;
static Tensor *shifted_relu(Tape *t, Tensor **x) {
    Tensor *shift = tape_constant(t, SHAPE(1));
    if (kink_at_first_draw == 0) kink_at_first_draw = x[0]->data[0];
    shift->data[0] = -kink_at_first_draw;
    return tape_relu(t, tape_add(t, x[0], shift));
}
TEST(points_move_off_kinks) {
    CaseReport r = check(shifted_relu, (CheckInput){"x", DIMS(1)}, false);
    SAYS(r, PASS);
    CHECK(r.moved >= 1 && r.in[0].kinks == 0, "moved %d times, %ld kinks", r.moved, r.in[0].kinks);
}

TEST(saturated_softmax_is_no_failure) {
    static const double logits[] = {-1e4, 1e4, 0, 1e4, 1e4, -1e4};
    CaseReport r = check(softmax, (CheckInput){"x", DIMS(2, 3), .values = logits}, false);
    if (!IN_DOUBLE) return; /* float has no step at 10000 that shows a slope at all */
    CHECK(r.verdict != FAIL, "%s", r.in[0].reason);
    r = check(softmax, (CheckInput){"x", DIMS(2, 3), .values = logits}, true);
    char *text = explained(&r);
    SAYS(r, PASS);
    CHECK(r.in[0].flat == 0 || strstr(text, "flat: the derivative is too small"), "%s", text);
    free(text);
    r = check(wrong_where_flat, (CheckInput){"x", DIMS(3), -1e4, 1e4}, false);
    CHECK(r.verdict != FAIL, "%s", r.in[0].reason);
}

/* y_0 = (2 - x) 0.7 - (1 - x) 0.7, which is 0.7, and y_1 = x². */
static void rest_forward(Node *n) {
    real x;
    tensor_copy_out(n->in[0], &x);
    n->out->data[0] = (2 - x) * (real)0.7 - (1 - x) * (real)0.7;
    n->out->data[1] = x * x;
}
static void rest_backward(Node *n) {
    real x;
    tensor_copy_out(n->in[0], &x);
    n->in[0]->grad[0] += 2 * x * n->out->grad[1];
}
static Tensor *at_rest(Tape *t, Tensor **x) {
    static const Op op = {"rest", rest_forward, rest_backward};
    return tape_forward(tape_node(t, &op, SHAPE(2), INPUTS(x[0])));
}
TEST(rounding_errors_are_not_remarked) {
    CaseReport r = check(at_rest, (CheckInput){"x", DIMS(1), 0.1, 0.4}, false);
    if (!IN_DOUBLE) return;
    SAYS(r, PASS);
    CHECK(r.in[0].flat == 0, "%ld flat", r.in[0].flat);
}

/* A drawn point at which the input does not count is drawn again; where it counts at none, nothing is proved. */
TEST(points_leave_plateaus) {
    if (!IN_DOUBLE) return;
    CheckCase c = {"case", own_op, {{"x", DIMS(1)}}};
    CaseReport r;
    int moved = 0;
    own_function = after_a_plain, own_slope = one_right_of_0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        gradcheck_case("test", &c, seed, &r);
        SAYS(r, PASS);
        moved += r.moved;
    }
    CHECK(moved > 0, "no point was left of 0");
    own_function = after_a_wide_plain, own_slope = zero;
    gradcheck_case("test", &c, 1, &r);
    SAYS(r, INCONCLUSIVE);
}

/* y = (Σ x², √Σx² √Σx² / Σx²), and a backward that is half as large again for the first and leaves of the second, whose gradient is
 * 0, what rounding does. */
static void beside_one_forward(Node *n) {
    const real *x = n->in[0]->data;
    real sum = x[0] * x[0] + x[1] * x[1] + x[2] * x[2], root = (real)sqrt((double)sum);
    n->out->data[0] = sum, n->out->data[1] = root * root / sum;
}
static void beside_one_backward(Node *n) {
    const real *x = n->in[0]->data;
    for (long i = 0; i < 3; i++)
        n->in[0]->grad[i] += 3 * x[i] * n->out->grad[0] + x[i] * REAL_EPSILON / 8 * n->out->grad[1];
}
static Tensor *beside_one(Tape *t, Tensor **x) {
    static const Op op = {"beside_one", beside_one_forward, beside_one_backward};
    return tape_forward(tape_node(t, &op, SHAPE(2), INPUTS(tape_contiguous(t, x[0]))));
}

TEST(rounding_of_a_right_0_refutes_no_explanation) {
    if (!IN_DOUBLE) return;
    CaseReport r = check(beside_one, (CheckInput){"x", DIMS(3), 1, 2}, false);
    SAYS(r, FAIL);
    CHECK(r.in[0].pattern == PATTERN_CONSTANT_FACTOR && strstr(r.in[0].reason, "1.5"), "%s: %s",
          report_pattern[r.in[0].pattern], r.in[0].reason);
}

/* A float on the way makes a staircase of forward. It is named, the gradient proved by what it leaves, a wrong one refuted.
 * A function that is steep or in double is no staircase. */
TEST(a_forward_in_float_is_named) {
    static const struct {
        real (*f)(real x), (*slope)(real x);
        double most; /* of |x| */
        Verdict verdict;
        bool coarse;
    } cases[] = {{exp_in_float, slope_of_exp, 2, PASS, true},
                 {exp_in_float, slope_too_large, 2, FAIL, true},
                 {relu_in_float, one_right_of_0, 2, PASS, true},
                 {product_of_a_float, its_slope, 2, PASS, true},
                 {product_of_a_float, one_right_of_0, 2, FAIL, true},
                 {slope_of_exp, slope_of_exp, 2, PASS, false},
                 {slope_of_exp, slope_too_large, 2, FAIL, false},
                 {steep_wave, its_steep_slope, 3e-3, PASS, false},
                 {steep_wave, slope_of_exp, 3e-3, FAIL, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases && IN_DOUBLE; i++)
        for (long n = 2; n <= 162; n *= 9) { /* the whole Jacobian, and random cotangents */
            CaseReport r = check_own(cases[i].f, cases[i].slope,
                                     (CheckInput){"x", DIMS(n), -cases[i].most, cases[i].most});
            char *text = explained(&r);
            bool said = strstr(text, "forward rounds to about ") != NULL;
            CHECK(r.verdict == cases[i].verdict, "%zu at %ld: %s: %s: %g, %g ± %g", i, n,
                  gradcheck_verdict_text(r.verdict), r.in[0].reason, r.in[0].analytic,
                  r.in[0].numeric, r.in[0].estimate);
            CHECK(said == cases[i].coarse && (!r.in[0].digits || abs(r.in[0].digits - 7) <= 1),
                  "%zu: %s", i, text);
            free(text);
        }
}

/* A point without a value takes few runs, unless there are values beside it. */
TEST(undefined_points_take_few_runs) {
    static const double at_0[] = {0};
    CaseReport r = check_own(not_a_number, zero, (CheckInput){"x", DIMS(24)});
    CHECK(r.evaluations < 24 * 20, "%ld runs", r.evaluations);
    r = check_own(with_a_hole, twice, (CheckInput){"x", DIMS(1), .values = at_0});
    CHECK(r.in[0].numeric == 0 && r.in[0].verdict == PASS, "%g ± %g: %s", r.in[0].numeric,
          r.in[0].estimate, gradcheck_verdict_text(r.in[0].verdict));
}

/* A case takes 4,000 runs until it has a verdict, whatever its function does. */
TEST(a_case_has_its_runs) {
    static const struct {
        real (*f)(real x), (*slope)(real x);
        double most; /* of |x| */
    } cases[] = {{sigmoid, sigmoids_slope, 60},
                 {exp_in_float, slope_of_exp, 2},
                 {rough, rough_slope, 2},
                 {constant, zero, 2},
                 {relu, zero, 1e-9},
                 {slope_of_exp, slope_of_exp, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases && IN_DOUBLE; i++)
        for (long n = 9; n <= 900; n *= 10) {
            CaseReport r = check_own(cases[i].f, cases[i].slope,
                                     (CheckInput){"x", DIMS(n), -cases[i].most, cases[i].most});
            CHECK(r.verdict == FAIL || r.evaluations <= 4200, "%zu at %ld: %ld runs, %s", i, n,
                  r.evaluations, gradcheck_verdict_text(r.verdict));
        }
}

/* A saturated function is flat, and has no kink, at a point that the checker has added, too. */
TEST(saturation_is_no_kink) {
    static const double far[] = {-30, -20, -10, 10, 20, 30, 33, 36};
    for (int added = 0; added <= 1 && IN_DOUBLE; added++) {
        CheckCase c = {"far", own_op, {{"x", DIMS(8), .values = far}}};
        CaseReport r;
        own_function = sigmoid;
        own_slope = sigmoids_slope;
        gradcheck_case_with("test", &c, &(CheckOptions){.seed = 1, .added = added}, &r);
        CHECK(r.verdict != FAIL && r.in[0].doubt != DOUBT_KINK && !r.in[0].kinks, "%s, %s",
              gradcheck_verdict_text(r.verdict), report_doubt[r.in[0].doubt]);
    }
}

/* --- The interface of ten lines. --- */

BUILD_CASE(least_squares,
           tape_sum(t, tape_square(t, tape_sub(t, tape_matmul(t, x[0], x[1]), x[2])), ALL_AXES))

static Tensor *wrongly_used(Tape *t, Tensor **x) {
    own_function = relu;
    own_slope = two_at_0;
    return tape_sum(t, own_op(t, x), ALL_AXES);
}

TEST(functions_and_operations_are_checked_in_a_line) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const CheckInput in[] = {{"A", DIMS(4, 3)}, {"x", DIMS(3, 1)}, {"b", DIMS(4, 1)}, {0}};
    Verdict right = gradcheck_function("least squares", least_squares, in, out);
    Verdict wrong = gradcheck_function(
        "wrong", wrongly_used, (CheckInput[]){{"x", DIMS(1), .values = (double[]){0}}, {0}}, out);
    Verdict op = gradcheck_op(&op_softmax, out);
    fclose(out);
    CHECK(right == PASS && wrong == FAIL && op == PASS, "%d %d %d", (int)right, (int)wrong,
          (int)op);
    CHECK(strstr(text, "least squares") && strstr(text, "dA") && strstr(text, "softmax/strided"),
          "%s", text);
    CHECK(strstr(text, "the only element is wrong"), "%s", text);
    free(text);
}

/* --- Ties, an input returned, many elements. --- */

enum { MANY = 4096 };
static real tie_share; /* of each of the tied elements */

static void tied_forward(Node *n) {
    real *y = n->out->data, x[MANY];
    tensor_copy_out(n->in[0], x);
    y[0] = x[0];
    for (long i = 1; i < shape_count(n->in[0]->shape); i++) y[0] = x[i] > y[0] ? x[i] : y[0];
}

static void tied_backward(Node *n) {
    real x[MANY];
    tensor_copy_out(n->in[0], x);
    for (long i = 0; i < shape_count(n->in[0]->shape); i++)
        if (x[i] == n->out->data[0]) n->in[0]->grad[i] += tie_share * n->out->grad[0];
}

static const Op tied = {"tied", tied_forward, tied_backward};

static Tensor *tied_build(Tape *t, Tensor **x) {
    return tape_forward(tape_node(t, &tied, SCALAR, INPUTS(x[0])));
}

TEST(shares_of_a_tie_add_up) {
    static const double ties[] = {2, 2, 1};
    static const struct {
        double share;
        Verdict verdict;
    } shares[] = {{1, FAIL}, {0, FAIL}, {0.25, FAIL}, {0.5, PASS}};
    CheckCase c = {"ties", tied_build, {{"x", DIMS(3), .values = ties}}, .kinks = true};
    for (size_t i = 0; i < sizeof shares / sizeof *shares && IN_DOUBLE; i++) {
        CaseReport r;
        tie_share = (real)shares[i].share;
        gradcheck_case("tied", &c, 1, &r);
        CHECK(r.verdict == shares[i].verdict, "shares of %g: %s", shares[i].share,
              gradcheck_verdict_text(r.verdict));
    }
}

/* The elements that are moved one by one are not the first ones. */
TEST(shares_of_a_tie_in_a_sample_are_its_own) {
    static double values[MANY] = {2, 2};
    CheckCase c = {
        "many", tied_build, {{"x", DIMS(MANY), .values = values}}, .kinks = true, .flat = true};
    CaseReport r = {.in = {{.coordinates = 1}}};
    tie_share = (real)0.5;
    if (IN_DOUBLE) gradcheck_case("tied", &c, 1, &r);
    CHECK(r.verdict == PASS && r.in[0].alone < r.in[0].coordinates, "%s: %s, %ld moved",
          gradcheck_verdict_text(r.verdict), r.in[0].reason, r.in[0].alone);
}

static Tensor *nothing_to_do(Tape *t, Tensor **x) {
    (void)t;
    return x[0];
}

TEST(an_input_returned_is_right) {
    CheckCase c = {"as it is", nothing_to_do, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}};
    CaseReport r;
    gradcheck_case("same", &c, 1, &r);
    CHECK(r.verdict == PASS && r.inputs == 1, "%s %s", gradcheck_verdict_text(r.verdict),
          r.trouble);
}

/* One element of many is wrong: not among those that are moved alone, it shows along the direction. */
static long own_spoiled; /* -1: none */

static void spoil_backward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->in[0]->grad[i] += i == own_spoiled ? 0 : 2 * n->out->grad[i];
}

static void spoil_forward(Node *n) {
    tensor_copy_out(n->in[0], n->out->data);
    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] *= 2;
}

static const Op spoil = {"spoil", spoil_forward, spoil_backward};

static Tensor *spoil_build(Tape *t, Tensor **x) {
    return tape_forward(tape_node(t, &spoil, x[0]->shape, INPUTS(x[0])));
}

TEST(many_elements_are_sampled_and_all_are_seen) {
    CheckCase c = {"many", spoil_build, {{"x", DIMS(64, 64)}}};
    for (own_spoiled = -1; own_spoiled < 4000 && IN_DOUBLE; own_spoiled += 1234) {
        CaseReport r;
        gradcheck_case("spoil", &c, 1, &r);
        CHECK(r.in[0].alone < r.in[0].coordinates, "%ld of %ld moved alone", r.in[0].alone,
              r.in[0].coordinates);
        CHECK(r.verdict == (own_spoiled < 0 ? PASS : FAIL), "element %ld spoiled: %s", own_spoiled,
              gradcheck_verdict_text(r.verdict));
    }
}

BUILD_CASE(own_square, tape_square(t, x[0]))
BUILD_CASE(own_negative, tape_neg(t, x[0]))
BUILD_CASE(own_row, tape_reshape(t, tape_square(t, x[0]), SHAPE(6)))
BUILD_CASE(own_tiny, tape_scale(t, tape_square(t, x[0]), (real)1e-12))
BUILD_CASE(own_nothing, tape_scale(t, x[0], 0))

/* The forward has to be the reference's, and the gradient that of the reference's forward. */
TEST(forward_has_to_be_the_references) {
    static const struct {
        Tensor *(*build)(Tape *t, Tensor **x), *(*reference)(Tape *t, Tensor **x);
        const char *says; /* NULL: it is the same */
        int right;        /* gradients */
    } cases[] = {{own_square, own_square, NULL, 1},
                 {own_tiny, own_tiny, NULL, 1},
                 {own_square, own_negative, "the forward is another function: y[", 0},
                 {own_nothing, own_tiny, "the forward is another function: y[", 0},
                 {own_square, own_row, "the output has shape [2,3], need [6]", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CheckCase c = {"case", cases[i].build, {{"x", DIMS(2, 3)}}}, reference = c;
        CaseReport r;
        int right = 0;
        reference.build = cases[i].reference;
        gradcheck_case_with("test", &c, &(CheckOptions){.seed = 1, .reference = &reference}, &r);
        for (int k = 0; k < r.inputs; k++) right += r.in[k].verdict == PASS;
        CHECK(r.verdict == (cases[i].says ? FAIL : PASS), "%s", r.trouble);
        CHECK(!IN_DOUBLE || right == cases[i].right, "%d right, need %d", right, cases[i].right);
        CHECK(!cases[i].says
                  ? report_broken(&r) == PROPERTIES
                  : report_broken(&r) == PROPERTY_FORWARD && strstr(r.trouble, cases[i].says),
              "%s", r.trouble);
    }
}

RUN_TESTS
