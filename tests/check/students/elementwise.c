/* Functions of one number and of two. */
#include "student.h"

/* ---- cube ---- */
ELEMENTWISE(cube, x *x *x, 3 * x * x)
static const CheckCase cube_cases[] = {POINTS(cube, 0)};
const Op op_cube = OP(cube);

/* ---- softplus ---- */
ELEMENTWISE(softplus, log1p(exp(-fabs(x))) + fmax(x, 0), 1 / (1 + exp(-x)))
static const CheckCase softplus_cases[] = {POINTS(softplus, 0)};
const Op op_softplus = OP(softplus);

/* ---- silu ---- */
ELEMENTWISE(silu, x / (1 + exp(-x)), (1 + y * exp(-x)) / (1 + exp(-x)))
static const CheckCase silu_cases[] = {POINTS(silu, 0)};
const Op op_silu = OP(silu);

/* ---- elu ---- */
ELEMENTWISE(elu, x > 0 ? x : expm1(x), x > 0 ? 1 : y + 1)
static const CheckCase elu_cases[] = {POINTS(elu, 0)};
const Op op_elu = OP(elu);

/* ---- leaky ---- */
ELEMENTWISE(leaky, x > 0 ? x : x / 10, x > 0 ? 1 : (real)1 / 10)
static const double leaky_zero[] = {0, -1, 2};
static const CheckCase leaky_cases[] = {
    POINTS(leaky, .margin = 0.05),
    {"kink", leaky_build, {{"x", DIMS(3), .values = leaky_zero}}, .kinks = true}};
const Op op_leaky = OP(leaky);

/* ---- hardtanh ---- */
ELEMENTWISE(hardtanh, fmax(-1, fmin(x, 1)), x > -1 && x < 1)
static const double hardtanh_ends[] = {-1, 1, 0.5};
static const CheckCase hardtanh_cases[] = {
    POINTS(hardtanh, .low = -0.9, .high = 0.9),
    {"outside",
     hardtanh_build,
     {{"x", DIMS(4), .low = -3, .high = 3, .margin = 1.2}},
     .flat = true},
    {"ends", hardtanh_build, {{"x", DIMS(3), .values = hardtanh_ends}}, .kinks = true}};
const Op op_hardtanh = OP(hardtanh);

/* ---- sine ---- */
ELEMENTWISE(sine, sin(x), cos(x))
static const CheckCase sine_cases[] = {POINTS(sine, 0)};
const Op op_sine = OP(sine);

/* ---- bell ---- */
ELEMENTWISE(bell, exp(-x *x), -2 * x * y)
static const CheckCase bell_cases[] = {POINTS(bell, 0)};
const Op op_bell = OP(bell);

/* ---- absolute ---- */
ELEMENTWISE(absolute, fabs(x), (x > 0) - (x < 0))
static const double absolute_zero[] = {0, 1};
static const CheckCase absolute_cases[] = {
    POINTS(absolute, .margin = 0.05),
    {"zero", absolute_build, {{"x", DIMS(2), .values = absolute_zero}}, .kinks = true}};
const Op op_absolute = OP(absolute);

/* ---- gelu_tanh ---- */
static real inner(real x) {
    return (real)0.79788456080286535588 * (x + (real)0.044715 * x * x * x);
}
ELEMENTWISE(gelu_tanh, x / 2 * (1 + tanh(inner(x))),
            (1 + tanh(inner(x))) / 2 + x / 2 * (1 - pow(tanh(inner(x)), 2)) *
                                           (real)0.79788456080286535588 *
                                           (1 + 3 * (real)0.044715 * x * x))
static const CheckCase gelu_tanh_cases[] = {POINTS(gelu_tanh, 0)};
const Op op_gelu_tanh = OP(gelu_tanh);

/* ---- maximum ---- */
PAIRWISE(maximum, fmax(a, b), a > b ? 1 : a < b ? 0 : (real)0.5, a<b ? 1 : a> b ? 0 : (real)0.5)
static const double maximum_ties[] = {1, 2, 3};
static const CheckCase maximum_cases[] = {
    PAIRS(maximum, 0),
    {"ties",
     maximum_build,
     {{"a", DIMS(3), .values = maximum_ties}, {"b", DIMS(3), .values = maximum_ties}},
     .kinks = true}};
const Op op_maximum = OP(maximum);

/* ---- power ---- */
PAIRWISE(power, pow(a, b), b *pow(a, b - 1), y *log(a))
static const CheckCase power_cases[] = {PAIRS(power, .low = 0.5, .high = 2)};
const Op op_power = OP(power);

/* ---- logaddexp ---- */
PAIRWISE(logaddexp, fmax(a, b) + log1p(exp(-fabs(a - b))), exp(a - y), exp(b - y))
static const CheckCase logaddexp_cases[] = {PAIRS(logaddexp, 0)};
const Op op_logaddexp = OP(logaddexp);

/* ---- distance ---- */
PAIRWISE(distance, (a - b) * (a - b), 2 * (a - b), 2 * (b - a))
static const CheckCase distance_cases[] = {
    PAIRS(distance, 0), {"a itself", distance_build, {{"a", DIMS(4)}, {"a", .same_as = 1}}}};
const Op op_distance = OP(distance);

/* ---- gated ---- */
PAIRWISE(gated, a / (1 + exp(-b)), 1 / (1 + exp(-b)), y *(1 - 1 / (1 + exp(-b))))
static const CheckCase gated_cases[] = {PAIRS(gated, 0)};
const Op op_gated = OP(gated);

/* ---- quotient ---- */
PAIRWISE(quotient, a / b, 1 / b, -y / b)
static const CheckCase quotient_cases[] = {
    PAIRS(quotient, .low = 0.5, .high = 2),
    {"divisor alone",
     quotient_build,
     {{"a", DIMS(3), .low = 0.5, .high = 2, .constant = true},
      {"b", DIMS(3), .low = 0.5, .high = 2}}}};
const Op op_quotient = OP(quotient);

/* ---- hyperbola ---- */
ELEMENTWISE(hyperbola, sqrt(1 + x * x), x / y)
static const CheckCase hyperbola_cases[] = {POINTS(hyperbola, 0)};
const Op op_hyperbola = OP(hyperbola);

/* ---- doubling ---- */
ELEMENTWISE(doubling, exp2(x), y *log(2))
static const CheckCase doubling_cases[] = {POINTS(doubling, 0)};
const Op op_doubling = OP(doubling);

/* ---- ripple ---- Steps that show the parabola do not show the ripple on it, which has most of the slope. */
ELEMENTWISE(ripple, x *x + 1e-6 * sin(1e7 * x), 2 * x + 10 * cos(1e7 * x))
static const CheckCase ripple_cases[] = {
    POINTS(ripple, 0), {"large", ripple_build, {{"x", DIMS(7), .low = -10, .high = 10}}}};
const Op op_ripple = OP(ripple);
