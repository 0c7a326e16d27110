/* Functions of one number and of two. */
#include "student.h"

/* ---- cube ---- */
ELEMENTWISE(cube, x *x *x, 3 * x * x)
static const CheckCase cube_cases[] = {POINTS(cube, 0)};
const Op op_cube = {"cube", cube_forward, cube_backward, CASES(cube_cases)};

/* ---- softplus ---- */
ELEMENTWISE(softplus, log1p(exp(-fabs(x))) + fmax(x, 0), 1 / (1 + exp(-x)))
static const CheckCase softplus_cases[] = {POINTS(softplus, 0)};
const Op op_softplus = {"softplus", softplus_forward, softplus_backward, CASES(softplus_cases)};

/* ---- silu ---- */
ELEMENTWISE(silu, x / (1 + exp(-x)), (1 + y * exp(-x)) / (1 + exp(-x)))
static const CheckCase silu_cases[] = {POINTS(silu, 0)};
const Op op_silu = {"silu", silu_forward, silu_backward, CASES(silu_cases)};

/* ---- mish ---- */
ELEMENTWISE(mish, x *tanh(log1p(exp(x))),
            tanh(log1p(exp(x))) + x * (1 - pow(tanh(log1p(exp(x))), 2)) / (1 + exp(-x)))
static const CheckCase mish_cases[] = {POINTS(mish, 0)};
const Op op_mish = {"mish", mish_forward, mish_backward, CASES(mish_cases)};

/* ---- elu ---- */
ELEMENTWISE(elu, x > 0 ? x : expm1(x), x > 0 ? 1 : y + 1)
static const CheckCase elu_cases[] = {POINTS(elu, 0)};
const Op op_elu = {"elu", elu_forward, elu_backward, CASES(elu_cases)};

/* ---- leaky ---- */
ELEMENTWISE(leaky, x > 0 ? x : x / 10, x > 0 ? 1 : (real)1 / 10)
static const double leaky_zero[] = {0, -1, 2};
static const CheckCase leaky_cases[] = {
    POINTS(leaky, .margin = 0.05),
    {"kink", leaky_build, {{"x", DIMS(3), .values = leaky_zero}}, .kinks = true}};
const Op op_leaky = {"leaky", leaky_forward, leaky_backward, CASES(leaky_cases)};

/* ---- hardtanh ---- */
ELEMENTWISE(hardtanh, fmax(-1, fmin(x, 1)), x > -1 && x < 1)
static const double hardtanh_ends[] = {-1, 1, 0.5};
static const CheckCase hardtanh_cases[] = {
    POINTS(hardtanh, .low = -0.9, .high = 0.9),
    {"outside", hardtanh_build, {{"x", DIMS(4), .low = -3, .high = 3, .margin = 1.2}}, .flat = true},
    {"ends", hardtanh_build, {{"x", DIMS(3), .values = hardtanh_ends}}, .kinks = true}};
const Op op_hardtanh = {"hardtanh", hardtanh_forward, hardtanh_backward, CASES(hardtanh_cases)};

/* ---- huber ---- */
ELEMENTWISE(huber, fabs(x) < 1 ? x * x / 2 : fabs(x) - (real)0.5, fmax(-1, fmin(x, 1)))
static const CheckCase huber_cases[] = {POINTS(huber, 0)};
const Op op_huber = {"huber", huber_forward, huber_backward, CASES(huber_cases)};

/* ---- softsign ---- */
ELEMENTWISE(softsign, x / (1 + fabs(x)), 1 / ((1 + fabs(x)) * (1 + fabs(x))))
static const CheckCase softsign_cases[] = {POINTS(softsign, 0)};
const Op op_softsign = {"softsign", softsign_forward, softsign_backward, CASES(softsign_cases)};

/* ---- arctan ---- */
ELEMENTWISE(arctan, atan(x), 1 / (1 + x * x))
static const CheckCase arctan_cases[] = {POINTS(arctan, 0)};
const Op op_arctan = {"arctan", arctan_forward, arctan_backward, CASES(arctan_cases)};

/* ---- sine ---- */
ELEMENTWISE(sine, sin(x), cos(x))
static const CheckCase sine_cases[] = {POINTS(sine, 0)};
const Op op_sine = {"sine", sine_forward, sine_backward, CASES(sine_cases)};

/* ---- growth ---- */
ELEMENTWISE(growth, expm1(x), y + 1)
static const CheckCase growth_cases[] = {POINTS(growth, 0)};
const Op op_growth = {"growth", growth_forward, growth_backward, CASES(growth_cases)};

/* ---- logplus ---- */
ELEMENTWISE(logplus, log1p(x), 1 / (1 + x))
static const CheckCase logplus_cases[] = {POINTS(logplus, .low = -0.5, .high = 3)};
const Op op_logplus = {"logplus", logplus_forward, logplus_backward, CASES(logplus_cases)};

/* ---- rsqrt ---- */
ELEMENTWISE(rsqrt, 1 / sqrt(x), -y / (2 * x))
static const CheckCase rsqrt_cases[] = {POINTS(rsqrt, .low = 0.5, .high = 4)};
const Op op_rsqrt = {"rsqrt", rsqrt_forward, rsqrt_backward, CASES(rsqrt_cases)};

/* ---- reciprocal ---- */
ELEMENTWISE(reciprocal, 1 / x, -y *y)
static const CheckCase reciprocal_cases[] = {POINTS(reciprocal, .low = 0.5, .high = 3)};
const Op op_reciprocal = {"reciprocal", reciprocal_forward, reciprocal_backward, CASES(reciprocal_cases)};

/* ---- logit ---- */
ELEMENTWISE(logit, log(x / (1 - x)), 1 / (x * (1 - x)))
static const CheckCase logit_cases[] = {POINTS(logit, .low = 0.1, .high = 0.9)};
const Op op_logit = {"logit", logit_forward, logit_backward, CASES(logit_cases)};

/* ---- bell ---- */
ELEMENTWISE(bell, exp(-x *x), -2 * x * y)
static const CheckCase bell_cases[] = {POINTS(bell, 0)};
const Op op_bell = {"bell", bell_forward, bell_backward, CASES(bell_cases)};

/* ---- shrink ---- */
ELEMENTWISE(shrink, x - tanh(x), tanh(x) * tanh(x))
static const CheckCase shrink_cases[] = {POINTS(shrink, 0)};
const Op op_shrink = {"shrink", shrink_forward, shrink_backward, CASES(shrink_cases)};

/* ---- absolute ---- */
ELEMENTWISE(absolute, fabs(x), (x > 0) - (x < 0))
static const double absolute_zero[] = {0, 1};
static const CheckCase absolute_cases[] = {
    POINTS(absolute, .margin = 0.05),
    {"zero", absolute_build, {{"x", DIMS(2), .values = absolute_zero}}, .kinks = true}};
const Op op_absolute = {"absolute", absolute_forward, absolute_backward, CASES(absolute_cases)};

/* ---- squared_relu ---- */
ELEMENTWISE(squared_relu, x > 0 ? x * x : 0, x > 0 ? 2 * x : 0)
static const CheckCase squared_relu_cases[] = {POINTS(squared_relu, 0)};
const Op op_squared_relu = {"squared_relu", squared_relu_forward, squared_relu_backward,
                            CASES(squared_relu_cases)};

/* ---- gelu_tanh ---- */
static real inner(real x) {
    return (real)0.79788456080286535588 * (x + (real)0.044715 * x * x * x);
}
ELEMENTWISE(gelu_tanh, x / 2 * (1 + tanh(inner(x))),
            (1 + tanh(inner(x))) / 2 + x / 2 * (1 - pow(tanh(inner(x)), 2)) * (real)0.79788456080286535588 *
                                           (1 + 3 * (real)0.044715 * x * x))
static const CheckCase gelu_tanh_cases[] = {POINTS(gelu_tanh, 0)};
const Op op_gelu_tanh = {"gelu_tanh", gelu_tanh_forward, gelu_tanh_backward, CASES(gelu_tanh_cases)};

/* ---- maximum ---- */
PAIRWISE(maximum, fmax(a, b), a > b ? 1 : a < b ? 0 : (real)0.5, a<b ? 1 : a> b ? 0 : (real)0.5)
static const double maximum_ties[] = {1, 2, 3};
static const CheckCase maximum_cases[] = {
    PAIRS(maximum, 0),
    {"ties",
     maximum_build,
     {{"a", DIMS(3), .values = maximum_ties}, {"b", DIMS(3), .values = maximum_ties}},
     .kinks = true}};
const Op op_maximum = {"maximum", maximum_forward, maximum_backward, CASES(maximum_cases)};

/* ---- length ---- */
PAIRWISE(length, sqrt(a *a + b * b), a / y, b / y)
static const CheckCase length_cases[] = {PAIRS(length, .low = 0.5, .high = 2)};
const Op op_length = {"length", length_forward, length_backward, CASES(length_cases)};

/* ---- angle ---- */
PAIRWISE(angle, atan2(a, b), b / (a * a + b * b), -a / (a * a + b * b))
static const CheckCase angle_cases[] = {PAIRS(angle, .low = 0.5, .high = 2)};
const Op op_angle = {"angle", angle_forward, angle_backward, CASES(angle_cases)};

/* ---- power ---- */
PAIRWISE(power, pow(a, b), b *pow(a, b - 1), y *log(a))
static const CheckCase power_cases[] = {PAIRS(power, .low = 0.5, .high = 2)};
const Op op_power = {"power", power_forward, power_backward, CASES(power_cases)};

/* ---- logaddexp ---- */
PAIRWISE(logaddexp, fmax(a, b) + log1p(exp(-fabs(a - b))), exp(a - y), exp(b - y))
static const CheckCase logaddexp_cases[] = {PAIRS(logaddexp, 0)};
const Op op_logaddexp = {"logaddexp", logaddexp_forward, logaddexp_backward, CASES(logaddexp_cases)};

/* ---- distance ---- */
PAIRWISE(distance, (a - b) * (a - b), 2 * (a - b), 2 * (b - a))
static const CheckCase distance_cases[] = {
    PAIRS(distance, 0), {"a itself", distance_build, {{"a", DIMS(4)}, {"a", .same_as = 1}}}};
const Op op_distance = {"distance", distance_forward, distance_backward, CASES(distance_cases)};

/* ---- gated ---- */
PAIRWISE(gated, a / (1 + exp(-b)), 1 / (1 + exp(-b)), y *(1 - 1 / (1 + exp(-b))))
static const CheckCase gated_cases[] = {PAIRS(gated, 0)};
const Op op_gated = {"gated", gated_forward, gated_backward, CASES(gated_cases)};

/* ---- quotient ---- */
PAIRWISE(quotient, a / b, 1 / b, -y / b)
static const CheckCase quotient_cases[] = {
    PAIRS(quotient, .low = 0.5, .high = 2),
    {"divisor alone",
     quotient_build,
     {{"a", DIMS(3), .low = 0.5, .high = 2, .constant = true}, {"b", DIMS(3), .low = 0.5, .high = 2}}}};
const Op op_quotient = {"quotient", quotient_forward, quotient_backward, CASES(quotient_cases)};

/* ---- hyperbola ---- */
ELEMENTWISE(hyperbola, sqrt(1 + x * x), x / y)
static const CheckCase hyperbola_cases[] = {POINTS(hyperbola, 0)};
const Op op_hyperbola = {"hyperbola", hyperbola_forward, hyperbola_backward, CASES(hyperbola_cases)};

/* ---- logsigmoid ---- */
ELEMENTWISE(logsigmoid, -log1p(exp(-x)), 1 / (1 + exp(x)))
static const CheckCase logsigmoid_cases[] = {POINTS(logsigmoid, 0)};
const Op op_logsigmoid = {"logsigmoid", logsigmoid_forward, logsigmoid_backward, CASES(logsigmoid_cases)};

/* ---- chain ---- */
ELEMENTWISE(chain, cosh(x), sinh(x))
static const CheckCase chain_cases[] = {POINTS(chain, 0)};
const Op op_chain = {"chain", chain_forward, chain_backward, CASES(chain_cases)};

/* ---- cuberoot ---- */
ELEMENTWISE(cuberoot, cbrt(x), 1 / (3 * y * y))
static const CheckCase cuberoot_cases[] = {POINTS(cuberoot, .low = 0.5, .high = 4)};
const Op op_cuberoot = {"cuberoot", cuberoot_forward, cuberoot_backward, CASES(cuberoot_cases)};

/* ---- octaves ---- */
ELEMENTWISE(octaves, log2(x), 1 / (x * log(2)))
static const CheckCase octaves_cases[] = {POINTS(octaves, .low = 0.5, .high = 4)};
const Op op_octaves = {"octaves", octaves_forward, octaves_backward, CASES(octaves_cases)};

/* ---- doubling ---- */
ELEMENTWISE(doubling, exp2(x), y *log(2))
static const CheckCase doubling_cases[] = {POINTS(doubling, 0)};
const Op op_doubling = {"doubling", doubling_forward, doubling_backward, CASES(doubling_cases)};

/* ---- tails ---- */
ELEMENTWISE(tails, erfc(x), -(real)1.1283791670955125739 * exp(-x * x))
static const CheckCase tails_cases[] = {POINTS(tails, 0)};
const Op op_tails = {"tails", tails_forward, tails_backward, CASES(tails_cases)};

/* ---- poisson ---- */
PAIRWISE(poisson, exp(a) - b * a, exp(a) - b, -a)
static const CheckCase poisson_cases[] = {PAIRS(poisson, 0)};
const Op op_poisson = {"poisson", poisson_forward, poisson_backward, CASES(poisson_cases)};

/* ---- coin ---- */
PAIRWISE(coin, log1p(exp(a)) - a * b, 1 / (1 + exp(-a)) - b, -a)
static const CheckCase coin_cases[] = {PAIRS(coin, .low = 0.1, .high = 0.9)};
const Op op_coin = {"coin", coin_forward, coin_backward, CASES(coin_cases)};

/* ---- normal ---- */
PAIRWISE(normal, (a * a * exp(-b) + b) / 2, a *exp(-b), (1 - a * a * exp(-b)) / 2)
static const CheckCase normal_cases[] = {PAIRS(normal, 0)};
const Op op_normal = {"normal", normal_forward, normal_backward, CASES(normal_cases)};

/* ---- wave ---- */
PAIRWISE(wave, sin(a *b), b *cos(a *b), a *cos(a *b))
static const CheckCase wave_cases[] = {PAIRS(wave, 0)};
const Op op_wave = {"wave", wave_forward, wave_backward, CASES(wave_cases)};

/* ---- surprise ---- */
PAIRWISE(surprise, a *(log(a) - log(b)), log(a) - log(b) + 1, -a / b)
static const CheckCase surprise_cases[] = {PAIRS(surprise, .low = 0.2, .high = 2)};
const Op op_surprise = {"surprise", surprise_forward, surprise_backward, CASES(surprise_cases)};
