/* Functions of one variable that are hard on differences: steep, wavy, spiky, kinked, tiny, huge, far from zero.
 * With their own derivative none may FAIL; with one that is a hundred thousandth too large, half, negated or 0,
 * none may PASS. */
#include "base/random.h"
#include "check/gradcheck/entries.h"
#include "check/gradcheck/gradcheck.h"
#include "ops/ops.h"
#include "test.h"

static double (*value_of)(double x), (*slope_of)(double x);
static double factor; /* of the slope: 1 where it is right */

static void forward(Node *n) {
    real *y = n->out->data;
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < shape_count(n->out->shape); i++) y[i] = (real)value_of((double)y[i]);
}

static void backward(Node *n) {
    long i = 0;
    for (Walk w = tensor_walk_over(n->in[0]); tensor_walk_row(&w);)
        for (long k = 0; k < w.n; k++, i++)
            n->in[0]->grad[i] +=
                n->out->grad[i] *
                (real)(factor * slope_of((double)n->in[0]->data[w.at[0] + k * w.step[0]]));
}

static const Op op_function = {"function", forward, backward};

static Tensor *build(Tape *t, Tensor **x) {
    return tape_forward(tape_node(t, &op_function, x[0]->shape, INPUTS(x[0])));
}

/* Name, value, slope. `single` moves in steps of a float's last digit. */
/* clang-format off */
#define EACH_FUNCTION(F) \
    F(cube, x * x * x, 3 * x * x) \
    F(tenth_power, pow(x, 10), 10 * pow(x, 9)) \
    F(inverse, 1 / x, -1 / (x * x)) \
    F(root, sqrt(fabs(x)), (x > 0 ? 0.5 : -0.5) / sqrt(fabs(x))) \
    F(cube_root, cbrt(x), 1 / (3 * cbrt(x) * cbrt(x))) \
    F(logarithm, log(fabs(x)), 1 / x) \
    F(steep, exp(20 * x), 20 * exp(20 * x)) \
    F(very_steep, exp(300 * x), 300 * exp(300 * x)) \
    F(tangent, tan(x), 1 / (cos(x) * cos(x))) \
    F(wave, sin(1e3 * x), 1e3 * cos(1e3 * x)) \
    F(fine_wave, sin(1e5 * x), 1e5 * cos(1e5 * x)) \
    F(spike, exp(-1e3 * x * x), -2e3 * x * exp(-1e3 * x * x)) \
    F(jump, atan(1e4 * x), 1e4 / (1 + 1e8 * x * x)) \
    F(size, fabs(x), x > 0 ? 1 : -1) \
    F(parabolas, x * fabs(x), 2 * fabs(x)) \
    F(half_parabola, x > 0 ? x * x : 0, x > 0 ? 2 * x : 0) \
    F(exponential_unit, x > 0 ? x : exp(x) - 1, x > 0 ? 1 : exp(x)) \
    F(huber, fabs(x) < 1 ? 0.5 * x * x : fabs(x) - 0.5, x > 1 ? 1 : x < -1 ? -1 : x) \
    F(saw, x - floor(x), x * 0 + 1) \
    F(softplus, log(1 + exp(x)), 1 / (1 + exp(-x))) \
    F(offset, 1e8 + x, x * 0 + 1) \
    F(in_steps, (1e8 + x) * (1e8 + x) - 1e16, 2 * (1e8 + x)) \
    F(tiny, 1e-200 * x * x, 2e-200 * x) \
    F(huge, 1e200 * x * x, 2e200 * x) \
    F(single, (double)(float)x, x * 0 + 1)
/* clang-format on */

#define DEFINE(name, y, dy)                                                                        \
    static double name(double x) {                                                                 \
        return y;                                                                                  \
    }                                                                                              \
    static double name##_slope(double x) {                                                         \
        return dy;                                                                                 \
    }
EACH_FUNCTION(DEFINE)

#define ROW(name, y, dy) {#name, name, name##_slope},
static const struct {
    const char *name;
    double (*value)(double x), (*slope)(double x);
} functions[] = {EACH_FUNCTION(ROW)};
enum { FUNCTIONS = sizeof functions / sizeof *functions, SEEDS = 8, POINTS = 5 };

static const struct {
    double low, high;
} ranges[] = {{-2, 2}, {0.001, 0.01}, {-1e-5, 1e-5}, {1, 1.001}};

/* Judges every function at many points with its slope times `with`; calls `sees` for each verdict. */
static void judge_all(double with,
                      void (*sees)(const char *name, double low, const CaseReport *r, bool moves)) {
    if (sizeof(real) < sizeof(double)) return; /* proofs are for double */
    factor = with;
    for (int f = 0; f < FUNCTIONS; f++)
        for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
            for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                value_of = functions[f].value;
                slope_of = functions[f].slope;
                double x[POINTS];
                bool moves = false; /* a slope that is 0 is right whatever it is multiplied by */
                for (int i = 0; i < POINTS; i++) {
                    double u = (double)random_uniform(random_key(seed, k), (uint64_t)i);
                    x[i] = ranges[k].low + u * (ranges[k].high - ranges[k].low);
                    moves |= slope_of(x[i]) != 0;
                }
                CheckCase c = {functions[f].name, build, {{"x", DIMS(POINTS), .values = x}}};
                CaseReport r;
                gradcheck_case("function", &c, seed, &r);
                sees(functions[f].name, ranges[k].low, &r, moves);
            }
}

static long proved;

static void never_fails(const char *name, double low, const CaseReport *r, bool moves) {
    (void)moves;
    proved += r->verdict == PASS;
    CHECK(r->verdict != FAIL, "%s from %g: %s: analytic %.9g, numeric %.9g ± %.2g", name, low,
          r->trouble[0] ? r->trouble : r->in[0].reason, r->in[0].analytic, r->in[0].numeric,
          r->in[0].estimate);
}

/* But for a part that the digits of a coarse forward do not show. */
static void never_passes(const char *name, double low, const CaseReport *r, bool moves) {
    bool hidden = r->in[0].digits && 2 * fabs(factor - 1) < CHECK_COARSE;
    CHECK(!moves || hidden || r->verdict != PASS,
          "%s from %g passes: analytic %.9g, numeric %.9g ± %.2g", name, low, r->in[0].analytic,
          r->in[0].numeric, r->in[0].estimate);
}

/* And most of them are proved, though no case is made for them. */
TEST(right_slopes_are_never_accused) {
    judge_all(1, never_fails);
    long all = (long)FUNCTIONS * SEEDS * (long)(sizeof ranges / sizeof *ranges);
    CHECK(sizeof(real) < sizeof(double) || proved * 10 >= all * 9, "%ld of %ld are proved", proved,
          all);
}

TEST(wrong_slopes_are_never_proved) {
    judge_all(1.001, never_passes);
    judge_all(1.00001, never_passes);
    judge_all(0.5, never_passes);
    judge_all(-1, never_passes);
    judge_all(0, never_passes);
}

RUN_TESTS
