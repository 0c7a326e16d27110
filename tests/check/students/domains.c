/* Right operations with a domain, kinks or ties. The cases that the checker adds must not accuse them. */
#include "student.h"

#define DOMAIN(name, f, derivative, ...)                                                           \
    ELEMENTWISE(name, f, derivative)                                                               \
    static const CheckCase name##_cases[] = {POINTS(name, __VA_ARGS__)};
#define DOMAIN2(name, f, by_a, by_b, ...)                                                          \
    PAIRWISE(name, f, by_a, by_b)                                                                  \
    static const CheckCase name##_cases[] = {PAIRS(name, __VA_ARGS__)};

DOMAIN(logarithm, log(x), 1 / x, .low = 0.1, .high = 4)
const Op op_logarithm = OP(logarithm);
DOMAIN(root, sqrt(x), 1 / (2 * y), .low = 0, .high = 9)
const Op op_root = OP(root);
DOMAIN(cube_root, cbrt(x), 1 / (3 * y * y), .margin = 0.1)
const Op op_cube_root = OP(cube_root);
DOMAIN(arccos, acos(x), -1 / sqrt(1 - x * x), .low = -1, .high = 1)
const Op op_arccos = OP(arccos);
DOMAIN(exponential, exp(x), y, .low = -100, .high = 100)
const Op op_exponential = OP(exponential);
DOMAIN(soft_plus_naive, log(1 + exp(x)), 1 / (1 + exp(-x)), .low = -20, .high = 200)
const Op op_soft_plus_naive = OP(soft_plus_naive);
DOMAIN(logit, log(x / (1 - x)), 1 / (x * (1 - x)), .low = 0.01, .high = 0.99)
const Op op_logit = OP(logit);
static double digamma(double x) {
    double sum = 0;
    for (; x < 12; x++) sum -= 1 / x;
    double z = 1 / (x * x);
    return sum + log(x) - 1 / (2 * x) -
           z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132)))));
}
DOMAIN(log_gamma, lgamma(x), digamma(x), .low = 0.2, .high = 6)
const Op op_log_gamma = OP(log_gamma);
DOMAIN(gamma_function, tgamma(x), y *digamma(x), .low = 0.3, .high = 30)
const Op op_gamma_function = OP(gamma_function);
DOMAIN(x_log_x, x > 0 ? x * log(x) : 0, x > 0 ? log(x) + 1 : 0, .low = 0.05, .high = 3)
const Op op_x_log_x = OP(x_log_x);
DOMAIN(sinc, x == 0 ? 1 : sin(x) / x, x == 0 ? 0 : (cos(x) - sin(x) / x) / x, .margin = 0.1)
const Op op_sinc = OP(sinc);
DOMAIN(soft_threshold, x > 1 ? x - 1 : x < -1 ? x + 1 : 0, fabs(x) > 1, .low = -3, .high = 3)
const Op op_soft_threshold = OP(soft_threshold);
DOMAIN(clip01, fmin(fmax(x, 0), 1), x > 0 && x < 1, .low = 0, .high = 1)
const Op op_clip01 = OP(clip01);
DOMAIN2(power_of, pow(a, b), b *pow(a, b - 1), y *log(a), .low = 0.3, .high = 3)
const Op op_power_of = OP(power_of);
DOMAIN2(larger_of, a > b ? a : b, a > b, !(a > b), .low = -3, .high = 3)
const Op op_larger_of = OP(larger_of);
DOMAIN2(binary_entropy, -b *log(a) - (1 - b) * log(1 - a), (a - b) / (a * (1 - a)),
        log((1 - a) / a), .low = 0.05, .high = 0.95)
const Op op_binary_entropy = OP(binary_entropy);

/* Operations on rows. Some are constant on a row of a single element. */
#define OF_ROWS(name, y_shape, ...)                                                                \
    extern const Op op_##name;                                                                     \
    static Tensor *name##_build(Tape *t, Tensor **x) {                                             \
        return tape_forward(tape_node(t, &op_##name, y_shape, INPUTS(x[0])));                      \
    }                                                                                              \
    static const CheckCase name##_cases[] = {                                                      \
        {"rows", name##_build, {{"x", DIMS(3, 5), __VA_ARGS__}}},                                  \
        {"one", name##_build, {{"x", DIMS(1, 4), __VA_ARGS__}}},                                   \
        {"single", name##_build, {{"x", DIMS(4, 1), __VA_ARGS__}}}};

static void order_of(const real *x, long n, long *place) {
    for (long i = 0; i < n; i++) {
        long k = i;
        for (; k > 0 && x[place[k - 1]] > x[i]; k--) place[k] = place[k - 1];
        place[k] = i;
    }
}
static void sort_rows_forward(Node *n) {
    const real *x = values(n, 0);
    long m = columns(n, 0), *place = calloc((size_t)m + 1, sizeof *place);
    for (long i = 0; i < rows(n, 0); i++) {
        order_of(x + i * m, m, place);
        for (long j = 0; j < m; j++) n->out->data[i * m + j] = x[i * m + place[j]];
    }
    free(place);
}
static void sort_rows_backward(Node *n) {
    const real *x = values(n, 0);
    long m = columns(n, 0), *place = calloc((size_t)m + 1, sizeof *place);
    for (long i = 0; i < rows(n, 0); i++) {
        order_of(x + i * m, m, place);
        for (long j = 0; j < m; j++) n->in[0]->grad[i * m + place[j]] += n->out->grad[i * m + j];
    }
    free(place);
}
OF_ROWS(sort_rows, x[0]->shape, 0)
const Op op_sort_rows = OP(sort_rows);

static void last_maximum_forward(Node *n) {
    const real *x = values(n, 0);
    long m = columns(n, 0);
    for (long i = 0; i < rows(n, 0); i++) {
        n->out->data[i] = m ? x[i * m] : 0;
        for (long j = 1; j < m; j++) n->out->data[i] = fmax(n->out->data[i], x[i * m + j]);
    }
}
static void last_maximum_backward(Node *n) {
    const real *x = values(n, 0);
    long m = columns(n, 0);
    for (long i = 0; i < rows(n, 0); i++) {
        long best = 0;
        for (long j = 0; j < m; j++)
            if (x[i * m + j] >= x[i * m + best]) best = j;
        if (m) n->in[0]->grad[i * m + best] += n->out->grad[i];
    }
}
OF_ROWS(last_maximum, SHAPE(x[0]->shape.size[0]), 0)
const Op op_last_maximum = OP(last_maximum);

static void softmax_naive_forward(Node *n) {
    const real *x = values(n, 0);
    long m = columns(n, 0);
    for (long i = 0; i < rows(n, 0); i++) {
        double sum = 0;
        for (long j = 0; j < m; j++) sum += exp(x[i * m + j]);
        for (long j = 0; j < m; j++) n->out->data[i * m + j] = exp(x[i * m + j]) / sum;
    }
}
static void softmax_naive_backward(Node *n) {
    const real *y = n->out->data, *dy = n->out->grad;
    long m = columns(n, 0);
    for (long i = 0; i < rows(n, 0); i++) {
        double sum = 0;
        for (long j = 0; j < m; j++) sum += dy[i * m + j] * y[i * m + j];
        for (long j = 0; j < m; j++)
            n->in[0]->grad[i * m + j] += y[i * m + j] * (dy[i * m + j] - sum);
    }
}
OF_ROWS(softmax_naive, x[0]->shape, .low = -200, .high = 200)
const Op op_softmax_naive = OP(softmax_naive);

/* normal_rows x / |x| */
static void normal_rows_forward(Node *n) {
    const real *x = values(n, 0);
    long m = columns(n, 0);
    for (long i = 0; i < rows(n, 0); i++) {
        double sum = 0;
        for (long j = 0; j < m; j++) sum += x[i * m + j] * x[i * m + j];
        for (long j = 0; j < m; j++) n->out->data[i * m + j] = x[i * m + j] / sqrt(sum);
    }
}
static void normal_rows_backward(Node *n) {
    const real *x = values(n, 0), *y = n->out->data, *dy = n->out->grad;
    long m = columns(n, 0);
    for (long i = 0; i < rows(n, 0); i++) {
        double sum = 0, along = 0;
        for (long j = 0; j < m; j++)
            sum += x[i * m + j] * x[i * m + j], along += y[i * m + j] * dy[i * m + j];
        for (long j = 0; j < m; j++)
            n->in[0]->grad[i * m + j] += (dy[i * m + j] - y[i * m + j] * along) / sqrt(sum);
    }
}
OF_ROWS(normal_rows, x[0]->shape, 0)
const Op op_normal_rows = OP(normal_rows);

/* interpolation table t at places p: kinks at whole p */
static void interpolation_forward(Node *n) {
    const real *table = values(n, 0), *p = values(n, 1);
    for (long i = 0; i < count(n, 1); i++) {
        long last = count(n, 0) - 1, k = (long)fmin(fmax(floor(p[i]), 0), last > 0 ? last - 1 : 0);
        n->out->data[i] = last > 0 ? table[k] + (p[i] - k) * (table[k + 1] - table[k]) : 0;
    }
}
static void interpolation_backward(Node *n) {
    const real *table = values(n, 0), *p = values(n, 1), *dy = n->out->grad;
    for (long i = 0; i < count(n, 1); i++) {
        long last = count(n, 0) - 1, k = (long)fmin(fmax(floor(p[i]), 0), last > 0 ? last - 1 : 0);
        if (last <= 0) continue;
        if (n->in[0]->grad)
            n->in[0]->grad[k] += dy[i] * (1 - (p[i] - k)),
                n->in[0]->grad[k + 1] += dy[i] * (p[i] - k);
        if (n->in[1]->grad) n->in[1]->grad[i] += dy[i] * (table[k + 1] - table[k]);
    }
}
BUILD(interpolation, x[1]->shape, x[0], x[1])
static const CheckCase interpolation_cases[] = {
    {"places", interpolation_build, {{"table", DIMS(6)}, {"p", DIMS(4), .low = 0, .high = 5}}}};
const Op op_interpolation = OP(interpolation);

static void pinball_forward(Node *n) {
    const real *a = values(n, 0), *b = values(n, 1);
    n->out->data[0] = 0;
    for (long i = 0; i < count(n, 0); i++)
        n->out->data[0] += fmax((real)0.9 * (b[i] - a[i]), (real)0.1 * (a[i] - b[i]));
}
static void pinball_backward(Node *n) {
    const real *a = values(n, 0), *b = values(n, 1);
    for (long i = 0; i < count(n, 0); i++) {
        real d = (b[i] > a[i] ? (real)0.9 : -(real)0.1) * n->out->grad[0];
        if (n->in[0]->grad) n->in[0]->grad[i] -= d;
        if (n->in[1]->grad) n->in[1]->grad[i] += d;
    }
}
BUILD(pinball, SCALAR, x[0], x[1])
static const CheckCase pinball_cases[] = {PAIRS(pinball, .low = 0, .high = 1)};
const Op op_pinball = OP(pinball);

/* w x / Σ|x| and w softmax(x), which do not depend on the x of a row of one element; w is a number for each. */
#define WEIGHTED(name, sum_of, part_of, slope)                                                     \
    static void name##_forward(Node *n) {                                                          \
        const real *x = values(n, 0), *w = values(n, 1);                                           \
        long m = columns(n, 0);                                                                    \
        for (long i = 0; i < rows(n, 0); i++) {                                                    \
            double sum = 0;                                                                        \
            for (long j = i * m; j < (i + 1) * m; j++) sum += sum_of(x[j]);                        \
            for (long j = i * m; j < (i + 1) * m; j++)                                             \
                n->out->data[j] = w[j] * part_of(x[j]) / sum;                                      \
        }                                                                                          \
    }                                                                                              \
    static void name##_backward(Node *n) {                                                         \
        const real *x = values(n, 0), *w = values(n, 1), *dy = n->out->grad;                       \
        long m = columns(n, 0);                                                                    \
        for (long i = 0; i < rows(n, 0); i++) {                                                    \
            double sum = 0, dot = 0;                                                               \
            for (long j = i * m; j < (i + 1) * m; j++) sum += sum_of(x[j]);                        \
            for (long j = i * m; j < (i + 1) * m; j++) dot += dy[j] * w[j] * part_of(x[j]) / sum;  \
            for (long j = i * m; j < (i + 1) * m; j++) {                                           \
                if (n->in[0]->grad) n->in[0]->grad[j] += (slope);                                  \
                if (n->in[1]->grad) n->in[1]->grad[j] += dy[j] * part_of(x[j]) / sum;              \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    BUILD(name, x[0]->shape, x[0], x[1])                                                           \
    static const CheckCase name##_cases[] = {                                                      \
        {"rows", name##_build, {{"x", DIMS(3, 5), .margin = 0.2}, {"w", DIMS(3, 5)}}},             \
        {"single", name##_build, {{"x", DIMS(4, 1), .margin = 0.2}, {"w", DIMS(4, 1)}}}};
static double itself(double x) {
    return x;
}
WEIGHTED(weighted_share, fabs, itself, (dy[j] * w[j] - dot * (x[j] > 0 ? 1 : -1)) / sum)
const Op op_weighted_share = OP(weighted_share);
WEIGHTED(weighted_softmax, exp, exp, exp(x[j]) / sum * (dy[j] * w[j] - dot))
const Op op_weighted_softmax = OP(weighted_softmax);
