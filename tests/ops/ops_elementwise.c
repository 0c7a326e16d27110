/* Element-wise operations, values and gradients, against their definitions: naive loops in double over every
 * element, or numbers worked out by hand. ops_golden.c has PyTorch's word, gradcheck.c the differences. */
#include "expect_bug.h"
#include "ops_helpers.h"

static const Shape shapes[] = {DIMS(3, 4), DIMS(2, 3, 4), DIMS(5),   {0},
                               DIMS(1, 1), DIMS(2, 0, 3), DIMS(4, 1)};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- One tensor, element by element ---- */

#define OPERATION(name, recorded)                                                                            \
    static Tensor *name(Tape *t, Tensor *x) {                                                                \
        return recorded;                                                                                     \
    }
#define FUNCTION(name, value)                                                                                \
    static double name(double x) {                                                                           \
        return (void)x, value;                                                                               \
    }
#define FUNCTION2(name, value)                                                                               \
    static double name(double a, double b) {                                                                 \
        return (void)a, (void)b, value;                                                                      \
    }

typedef struct Unary {
    const char *name;
    Tensor *(*record)(Tape *t, Tensor *x);
    double (*value)(double x), (*slope)(double x);
    double low, high;
} Unary;

OPERATION(scaled, tape_scale(t, x, (real)-1.5))
FUNCTION(scaled_value, -1.5 * x)
FUNCTION(scaled_slope, -1.5)
FUNCTION(neg_value, -x)
FUNCTION(neg_slope, -1)
FUNCTION(log_slope, 1 / x)
FUNCTION(sqrt_slope, 0.5 / sqrt(x))
FUNCTION(square_value, (x * x))
FUNCTION(square_slope, 2 * x)
OPERATION(cubed, tape_pow(t, x, 3))
FUNCTION(cubed_value, (x * x * x))
FUNCTION(cubed_slope, 3 * x * x)
OPERATION(reciprocal_root, tape_pow(t, x, (real)-0.5))
FUNCTION(reciprocal_root_value, 1 / sqrt(x))
FUNCTION(reciprocal_root_slope, -0.5 / (x * sqrt(x)))
FUNCTION(tanh_slope, 1 / (cosh(x) * cosh(x)))
FUNCTION(sigmoid_value, 0.5 + 0.5 * tanh(x / 2))
FUNCTION(sigmoid_slope, 0.25 / (cosh(x / 2) * cosh(x / 2)))
FUNCTION(relu_value, fmax(x, 0))
FUNCTION(relu_slope, x > 0)
FUNCTION(gelu_value, (x * (1 + erf(x * sqrt(0.5))) / 2))
FUNCTION(gelu_slope, (1 + erf(x * sqrt(0.5))) / 2 + x * exp(-x * x / 2) / sqrt(8 * atan(1)))
OPERATION(clamped, tape_clamp(t, x, (real)-0.5, (real)0.75))
FUNCTION(clamped_value, fmin(fmax(x, -0.5), 0.75))
FUNCTION(clamped_slope, x >= -0.5 && x <= 0.75)

static const Unary unaries[] = {
    {"scale", scaled, scaled_value, scaled_slope, -3, 3},
    {"neg", tape_neg, neg_value, neg_slope, -3, 3},
    {"exp", tape_exp, exp, exp, -20, 5},
    {"log", tape_log, log, log_slope, 0.05, 20},
    {"sqrt", tape_sqrt, sqrt, sqrt_slope, 0.05, 20},
    {"square", tape_square, square_value, square_slope, -3, 3},
    {"pow 3", cubed, cubed_value, cubed_slope, -3, 3},
    {"pow -1/2", reciprocal_root, reciprocal_root_value, reciprocal_root_slope, 0.05, 20},
    {"tanh", tape_tanh, tanh, tanh_slope, -6, 6},
    {"sigmoid", tape_sigmoid, sigmoid_value, sigmoid_slope, -12, 12},
    {"relu", tape_relu, relu_value, relu_slope, -3, 3},
    {"gelu", tape_gelu, gelu_value, gelu_slope, -6, 6},
    {"clamp", clamped, clamped_value, clamped_slope, -2, 2},
};

TEST(one_tensor_element_by_element) {
    Tape *t = new_tape();
    for (size_t u = 0; u < sizeof unaries / sizeof *unaries; u++)
        for (int s = 0; s < SHAPES; s++)
            for (Layout layout = PLAIN; layout < LAYOUTS; layout++) {
                const Unary *f = &unaries[u];
                int failures = test_failures;
                tape_reset(t);
                Tensor *x = random_leaf(t, shapes[s], layout, u, f->low, f->high), *y = f->record(t, x);
                CHECK(shape_equal(y->shape, x->shape) && tensor_contiguous(y));
                const real *dy = backward_from(t, y, 100);
                for (long i = 0; i < shape_count(y->shape); i++) {
                    double at = value(x, i);
                    CHECK_CLOSE(y->data[i], f->value(at), 8);
                    CHECK_CLOSE(x->grad[i], GRAD_BEFORE + (double)dy[i] * f->slope(at), 16);
                }
                CHECK(test_failures == failures, "%s, %s, %s", f->name, shape_text(shapes[s]),
                      layout_name[layout]);
            }
    tape_free(t);
}

/* What the header comments promise at kinks, poles and the ends of the number line. A slope of NAN is not
 * looked at. */
OPERATION(to_the_zero, tape_pow(t, x, 0))
OPERATION(to_the_one, tape_pow(t, x, 1))
OPERATION(rooted, tape_pow(t, x, (real)0.5))

static const struct {
    const char *name;
    Tensor *(*record)(Tape *t, Tensor *x);
    double x, y, slope;
} special[] = {
    {"exp", tape_exp, -INFINITY, 0, 0},
    {"exp", tape_exp, INFINITY, INFINITY, INFINITY},
    {"exp", tape_exp, 1e4, INFINITY, INFINITY},
    {"log", tape_log, 0, -INFINITY, INFINITY},
    {"log", tape_log, INFINITY, INFINITY, 0},
    {"log", tape_log, -1, NAN, NAN},
    {"sqrt", tape_sqrt, 0, 0, INFINITY},
    {"sqrt", tape_sqrt, -1, NAN, NAN},
    {"pow 0", to_the_zero, 0, 1, 0},
    {"pow 0", to_the_zero, -7, 1, 0},
    {"pow 1", to_the_one, 0, 0, 1},
    {"pow 1/2", rooted, 0, 0, INFINITY},
    {"pow 1/2", rooted, -1, NAN, NAN},
    {"pow 3", cubed, 0, 0, 0},
    {"tanh", tape_tanh, -1e4, -1, 0},
    {"tanh", tape_tanh, INFINITY, 1, 0},
    {"tanh", tape_tanh, 0, 0, 1},
    {"sigmoid", tape_sigmoid, -INFINITY, 0, 0},
    {"sigmoid", tape_sigmoid, -1e4, 0, 0},
    {"sigmoid", tape_sigmoid, 1e4, 1, 0},
    {"sigmoid", tape_sigmoid, 0, 0.5, 0.25},
    {"sigmoid", tape_sigmoid, NAN, NAN, NAN},
    {"relu", tape_relu, 0, 0, 0},
    {"relu", tape_relu, -INFINITY, 0, 0},
    {"relu", tape_relu, INFINITY, INFINITY, 1},
    {"relu", tape_relu, NAN, NAN, NAN},
    {"gelu", tape_gelu, 0, 0, 0.5},
    {"gelu", tape_gelu, 1e4, 1e4, 1},
    {"gelu", tape_gelu, -1e4, 0, 0},
    {"clamp", clamped, -0.5, -0.5, 1},
    {"clamp", clamped, 0.75, 0.75, 1},
    {"clamp", clamped, INFINITY, 0.75, 0},
    {"clamp", clamped, -INFINITY, -0.5, 0},
    {"clamp", clamped, NAN, NAN, NAN},
};

TEST(kinks_poles_and_infinities) {
    Tape *t = new_tape();
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        tape_reset(t);
        Tensor *x = leaf_of(t, SCALAR, PLAIN, &special[i].x), *y = special[i].record(t, x);
        *x->grad = 0;
        tape_backward(t, y);
        double found = (double)*y->data, slope = (double)*x->grad;
        CHECK(isnan(special[i].y) ? isnan(found) : found == special[i].y, "%s of %g is %g, want %g",
              special[i].name, special[i].x, found, special[i].y);
        CHECK(isnan(special[i].slope) || slope == special[i].slope, "%s at %g has slope %g, want %g",
              special[i].name, special[i].x, slope, special[i].slope);
    }
    tape_free(t);
}

/* Far below 0 sigmoid is e^x: all its digits are there, and nothing overflows on the way. */
TEST(small_sigmoids_keep_their_digits) {
    Tape *t = new_tape();
    for (double x = -1; x > -80; x -= 3.7) {
        double at = (double)(float)x, want = exp(at) / (1 + exp(at));
        Tensor *y = tape_sigmoid(t, leaf_of(t, SCALAR, PLAIN, &at));
        CHECK_NEAR(*y->data, want, 8 * (double)REAL_EPSILON * want);
    }
    tape_free(t);
}

/* ---- Two tensors that broadcast ---- */

typedef struct Binary {
    const char *name;
    Tensor *(*record)(Tape *t, Tensor *a, Tensor *b);
    double (*value)(double a, double b), (*slope_a)(double a, double b), (*slope_b)(double a, double b);
} Binary;

FUNCTION2(sum_of, a + b)
FUNCTION2(difference_of, a - b)
FUNCTION2(product_of, a *b)
FUNCTION2(quotient_of, a / b)
FUNCTION2(one, 1)
FUNCTION2(minus_one, -1)
FUNCTION2(first, a)
FUNCTION2(second, b)
FUNCTION2(quotient_by_a, 1 / b)
FUNCTION2(quotient_by_b, -a / (b * b))

static const Binary binaries[] = {{"add", tape_add, sum_of, one, one},
                                  {"sub", tape_sub, difference_of, one, minus_one},
                                  {"mul", tape_mul, product_of, second, first},
                                  {"div", tape_div, quotient_of, quotient_by_a, quotient_by_b}};

static const Shape pairs[][3] = {
    {DIMS(3, 4), DIMS(3, 4), DIMS(3, 4)},
    {DIMS(2, 3, 4), DIMS(4), DIMS(2, 3, 4)},
    {DIMS(4), DIMS(2, 3, 4), DIMS(2, 3, 4)},
    {DIMS(2, 1, 4), DIMS(3, 1), DIMS(2, 3, 4)},
    {{0}, DIMS(2, 2), DIMS(2, 2)},
    {DIMS(2, 3), {0}, DIMS(2, 3)},
    {{0}, {0}, {0}},
    {DIMS(1, 1, 1), DIMS(2, 3), DIMS(1, 2, 3)},
    {DIMS(0, 4), DIMS(4), DIMS(0, 4)},
    {DIMS(3, 1), DIMS(1, 0), DIMS(3, 0)},
    {DIMS(2, 3, 1), DIMS(2, 1, 4), DIMS(2, 3, 4)},
};

static void check_binary(Tape *t, const Binary *f, const Shape *pair, Layout layout_a, Layout layout_b) {
    double da[64], db[64];
    tape_reset(t);
    Tensor *a = random_leaf(t, pair[0], layout_a, 1, -2, 2);
    Tensor *b = random_leaf(t, pair[1], layout_b, 2, 0.5, 2);
    Tensor *y = f->record(t, a, b);
    CHECK(shape_equal(y->shape, pair[2]), "%s", shape_text(y->shape));
    const real *dy = backward_from(t, y, 3);
    for (int i = 0; i < 64; i++) da[i] = db[i] = GRAD_BEFORE;
    for (long i = 0; i < shape_count(y->shape); i++) {
        long ia = broadcast_index(pair[0], pair[2], i), ib = broadcast_index(pair[1], pair[2], i);
        double va = value(a, ia), vb = value(b, ib);
        CHECK_CLOSE(y->data[i], f->value(va, vb), 4);
        da[ia] += (double)dy[i] * f->slope_a(va, vb);
        db[ib] += (double)dy[i] * f->slope_b(va, vb);
    }
    for (long i = 0; i < shape_count(pair[0]); i++) CHECK_CLOSE(a->grad[i], da[i], 64);
    for (long i = 0; i < shape_count(pair[1]); i++) CHECK_CLOSE(b->grad[i], db[i], 64);
}

TEST(two_tensors_that_broadcast) {
    Tape *t = new_tape();
    for (size_t o = 0; o < sizeof binaries / sizeof *binaries; o++)
        for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
            for (int layouts = 0; layouts < LAYOUTS * LAYOUTS; layouts++) {
                int failures = test_failures;
                check_binary(t, &binaries[o], pairs[p], (Layout)(layouts / LAYOUTS),
                             (Layout)(layouts % LAYOUTS));
                CHECK(test_failures == failures, "%s of %s and %s, a %s, b %s", binaries[o].name,
                      shape_text(pairs[p][0]), shape_text(pairs[p][1]), layout_name[layouts / LAYOUTS],
                      layout_name[layouts % LAYOUTS]);
            }
    tape_free(t);
}

/* d(x + x) = 2, d(x - x) = 0, d(x·x) = 2x, d(x/x) = 0: both uses count. */
TEST(one_tensor_on_both_sides) {
    Tape *t = new_tape();
    for (size_t o = 0; o < sizeof binaries / sizeof *binaries; o++) {
        tape_reset(t);
        Tensor *x = random_leaf(t, SHAPE(3, 4), TURNED, 1, 0.5, 2), *y = binaries[o].record(t, x, x);
        const real *dy = backward_from(t, y, 3);
        for (long i = 0; i < 12; i++) {
            double v = value(x, i), slope = binaries[o].slope_a(v, v) + binaries[o].slope_b(v, v);
            CHECK_CLOSE(x->grad[i], GRAD_BEFORE + (double)dy[i] * slope, 16);
        }
    }
    tape_free(t);
}

/* Where b² is out of range and a/b is not, the gradient of a quotient is still there. */
TEST(quotients_do_not_square) {
    Tape *t = new_tape();
    double small = sizeof(real) == 4 ? 0x1p-100 : 0x1p-700, large = 1 / small;
    for (int i = 0; i < 2; i++) {
        double v = i ? small : large;
        tape_reset(t);
        Tensor *a = leaf_of(t, SCALAR, PLAIN, &v), *b = leaf_of(t, SCALAR, PLAIN, &v);
        *b->grad = 0;
        tape_backward(t, tape_div(t, a, b));
        CHECK(*b->grad == (real)(-1 / v), "found %g, want %g", (double)*b->grad, -1 / v);
    }
    tape_free(t);
}

/* ---- Masks ---- */

TEST(masks) {
    static const Shape mask_shapes[] = {DIMS(2, 3, 4), DIMS(3, 4), DIMS(4), DIMS(3, 1), DIMS(2, 1, 1), {0}};
    uint8_t mask[24];
    for (int i = 0; i < 24; i++) mask[i] = (uint8_t)(random_bits(random_key(1, 1), (uint64_t)i) & 128);
    Tape *t = new_tape();
    Shape s = SHAPE(2, 3, 4);
    for (size_t m = 0; m < sizeof mask_shapes / sizeof *mask_shapes; m++)
        for (Layout layout = PLAIN; layout < LAYOUTS; layout++) {
            tape_reset(t);
            Tensor *x = random_leaf(t, s, layout, 1, -1, 1);
            Tensor *y = tape_masked_fill(t, x, mask, mask_shapes[m], (real)-INFINITY);
            const real *dy = backward_from(t, y, 2);
            for (long i = 0; i < 24; i++) {
                bool hidden = mask[broadcast_index(mask_shapes[m], s, i)];
                CHECK((double)y->data[i] == (hidden ? -INFINITY : value(x, i)), "mask %s, %s, element %ld",
                      shape_text(mask_shapes[m]), layout_name[layout], i);
                CHECK(x->grad[i] == GRAD_BEFORE + (hidden ? 0 : dy[i]));
            }
        }
    tape_free(t);
}

/* ---- Mistakes ---- */

TEST(mistakes_stop_with_a_message) {
    Tape *t = new_tape();
    Tensor *x = blank_leaf(t, SHAPE(2, 3), PLAIN), *y = blank_leaf(t, SHAPE(4, 3), PLAIN);
    Tensor *v = blank_leaf(t, SHAPE(3), PLAIN);
    EXPECT_BUG("add: argument 2 is [4,3], want a shape that broadcasts with [2,3]", tape_add(t, x, y));
    EXPECT_BUG("sub: argument 2 is [4,3], want a shape that broadcasts with [2,3]", tape_sub(t, x, y));
    EXPECT_BUG("mul: argument 2 is [4,3], want a shape that broadcasts with [2,3]", tape_mul(t, x, y));
    EXPECT_BUG("div: argument 2 is [4,3], want a shape that broadcasts with [2,3]", tape_div(t, x, y));
    EXPECT_BUG("clamp: the interval is [1,-1], want low <= high", tape_clamp(t, x, 1, -1));
    EXPECT_BUG("clamp: the interval is [nan,1], want low <= high", tape_clamp(t, x, (real)NAN, 1));
    EXPECT_BUG("masked_fill: the mask is [3,3], want a shape that broadcasts to [3]",
               tape_masked_fill(t, v, (uint8_t[9]){0}, SHAPE(3, 3), 0));
    EXPECT_BUG("masked_fill: argument 2 is [2], want a shape that broadcasts with [2,3]",
               tape_masked_fill(t, x, (uint8_t[2]){0}, SHAPE(2), 0));
    tape_free(t);
}

RUN_TESTS
