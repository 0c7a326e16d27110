/* Operations compute their formulas: naive loops in double over every element, in every layout of
 * memory. Gradients are judged here only at kinks, poles and infinities: everywhere else
 * ./gradcheck compares them with differences, ops_golden.c with PyTorch's and fused.c with other
 * operations'. */
#include "base/pool.h"
#include "expect_bug.h"
#include "ops_helpers.h"

/* y[i] is want(context, x, i), within `epsilons` roundings. */
typedef double Want(const void *context, Tensor *const *x, long i);

static void check_values(const char *what, Tensor *const *x, Tensor *y, Shape shape, Want *want,
                         const void *context, double epsilons) {
    int failures = test_failures;
    CHECK(shape_equal(y->shape, shape), "%s, want %s", shape_text(y->shape), shape_text(shape));
    for (long i = 0; i < shape_count(shape); i++)
        CHECK_CLOSE(value(y, i), want(context, x, i), epsilons);
    CHECK(test_failures == failures, "%s", what);
}

#define OPERATION(name, recorded)                                                                  \
    static Tensor *name(Tape *t, Tensor *x) {                                                      \
        return recorded;                                                                           \
    }
#define FUNCTION(name, value)                                                                      \
    static double name(double x) {                                                                 \
        return value;                                                                              \
    }
#define FUNCTION2(name, value)                                                                     \
    static double name(double a, double b) {                                                       \
        return value;                                                                              \
    }

/* ---- One tensor, element by element ---- */

typedef struct Unary {
    const char *name;
    Tensor *(*record)(Tape *t, Tensor *x);
    double (*value)(double x);
    double low, high;
} Unary;

OPERATION(scaled, tape_scale(t, x, (real)-1.5))
OPERATION(clamped, tape_clamp(t, x, (real)-0.5, (real)0.75))
FUNCTION(scaled_value, -1.5 * x)
FUNCTION(neg_value, -x)
FUNCTION(square_value, (x * x))
FUNCTION(sigmoid_value, 0.5 + 0.5 * tanh(x / 2))
FUNCTION(relu_value, fmax(x, 0))
FUNCTION(gelu_value, (x * (1 + erf(x * sqrt(0.5))) / 2))
FUNCTION(silu_value, x / (1 + exp(-x)))
FUNCTION(clamped_value, fmin(fmax(x, -0.5), 0.75))

static const Unary unaries[] = {
    {"scale", scaled, scaled_value, -3, 3}, {"neg", tape_neg, neg_value, -3, 3},
    {"exp", tape_exp, exp, -20, 5},         {"log", tape_log, log, 0.05, 20},
    {"sqrt", tape_sqrt, sqrt, 0.05, 20},    {"square", tape_square, square_value, -3, 3},
    {"tanh", tape_tanh, tanh, -6, 6},       {"sigmoid", tape_sigmoid, sigmoid_value, -12, 12},
    {"relu", tape_relu, relu_value, -3, 3}, {"gelu", tape_gelu, gelu_value, -6, 6},
    {"silu", tape_silu, silu_value, -6, 6}, {"clamp", clamped, clamped_value, -2, 2},
};

static double unary_want(const void *context, Tensor *const *x, long i) {
    return ((const Unary *)context)->value(value(x[0], i));
}

TEST(one_tensor_element_by_element) {
    static const Shape of[] = {DIMS(3, 4), DIMS(2, 3, 4), DIMS(5), {0}, DIMS(2, 0, 3)};
    Tape *t = new_tape();
    for (const Unary *f = unaries; f < unaries + sizeof unaries / sizeof *unaries; f++)
        for (size_t s = 0; s < sizeof of / sizeof *of; s++)
            for (Layout layout = PLAIN; layout < LAYOUTS; layout++) {
                tape_reset(t);
                Tensor *x = random_leaf(t, of[s], layout, s, f->low, f->high), *y = f->record(t, x);
                CHECK(tensor_contiguous(y));
                check_values(f->name, &x, y, of[s], unary_want, f, 8);
            }
    tape_free(t);
}

/* Values and slopes that the header comments promise. */
static const struct {
    const char *name;
    Tensor *(*record)(Tape *t, Tensor *x);
    double x, y, slope; /* a slope of NAN is not looked at */
} special[] = {
    {"exp", tape_exp, -INFINITY, 0, 0},
    {"exp", tape_exp, INFINITY, INFINITY, INFINITY},
    {"exp", tape_exp, 1e4, INFINITY, INFINITY},
    {"log", tape_log, 0, -INFINITY, INFINITY},
    {"log", tape_log, INFINITY, INFINITY, 0},
    {"log", tape_log, -1, NAN, NAN},
    {"sqrt", tape_sqrt, 0, 0, INFINITY},
    {"sqrt", tape_sqrt, -1, NAN, NAN},
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
        Tensor *x = leaf_of(t, SCALAR, &special[i].x), *y = special[i].record(t, x);
        *x->grad = 0;
        tape_backward(t, y);
        double found = (double)*y->data, slope = (double)*x->grad;
        CHECK(isnan(special[i].y) ? isnan(found) : found == special[i].y, "%s of %g is %g, want %g",
              special[i].name, special[i].x, found, special[i].y);
        CHECK(isnan(special[i].slope) || slope == special[i].slope,
              "%s at %g has slope %g, want %g", special[i].name, special[i].x, slope,
              special[i].slope);
    }
    tape_free(t);
}

/* Far below 0 sigmoid is e^x, with all its digits. */
TEST(small_sigmoids_keep_their_digits) {
    Tape *t = new_tape();
    for (double x = -1; x > -80; x -= 3.7) {
        double at = (double)(float)x, want = exp(at) / (1 + exp(at));
        Tensor *y = tape_sigmoid(t, leaf_of(t, SCALAR, &at));
        CHECK_NEAR(*y->data, want, 8 * (double)REAL_EPSILON * want);
    }
    tape_free(t);
}

/* ---- Two tensors that broadcast, and masks ---- */

typedef struct Binary {
    const char *name;
    Tensor *(*record)(Tape *t, Tensor *a, Tensor *b);
    double (*value)(double a, double b);
} Binary;

FUNCTION2(sum_of, a + b)
FUNCTION2(difference_of, a - b)
FUNCTION2(product_of, a *b)
FUNCTION2(quotient_of, a / b)

static const Binary binaries[] = {{"add", tape_add, sum_of},
                                  {"sub", tape_sub, difference_of},
                                  {"mul", tape_mul, product_of},
                                  {"div", tape_div, quotient_of}};

static const Shape pairs[][3] = {
    {DIMS(3, 4), DIMS(3, 4), DIMS(3, 4)},
    {DIMS(2, 3, 4), DIMS(4), DIMS(2, 3, 4)},
    {DIMS(4), DIMS(2, 3, 4), DIMS(2, 3, 4)},
    {DIMS(2, 1, 4), DIMS(3, 1), DIMS(2, 3, 4)},
    {{0}, DIMS(2, 2), DIMS(2, 2)},
    {{0}, {0}, {0}},
    {DIMS(1, 1, 1), DIMS(2, 3), DIMS(1, 2, 3)},
    {DIMS(3, 1), DIMS(1, 0), DIMS(3, 0)},
};

typedef struct Pair {
    const Binary *f;
    Shape out;
} Pair;

static double binary_want(const void *context, Tensor *const *x, long i) {
    const Pair *p = context;
    return p->f->value(value(x[0], broadcast_index(x[0]->shape, p->out, i)),
                       value(x[1], broadcast_index(x[1]->shape, p->out, i)));
}

TEST(two_tensors_that_broadcast) {
    Tape *t = new_tape();
    for (size_t o = 0; o < sizeof binaries / sizeof *binaries; o++)
        for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
            for (int layouts = 0; layouts < LAYOUTS * LAYOUTS; layouts++) {
                Pair pair = {&binaries[o], pairs[p][2]};
                tape_reset(t);
                Tensor *x[] = {random_leaf(t, pairs[p][0], (Layout)(layouts / LAYOUTS), 1, -2, 2),
                               random_leaf(t, pairs[p][1], (Layout)(layouts % LAYOUTS), 2, 0.5, 2)};
                check_values(pair.f->name, x, pair.f->record(t, x[0], x[1]), pair.out, binary_want,
                             &pair, 4);
            }
    tape_free(t);
}

/* The gradient of a quotient is finite also where b² overflows and a/b does not. */
TEST(quotients_do_not_square) {
    Tape *t = new_tape();
    double small = sizeof(real) == 4 ? 0x1p-100 : 0x1p-700, large = 1 / small;
    for (int i = 0; i < 2; i++) {
        double v = i ? small : large;
        tape_reset(t);
        Tensor *a = leaf_of(t, SCALAR, &v), *b = leaf_of(t, SCALAR, &v);
        *b->grad = 0;
        tape_backward(t, tape_div(t, a, b));
        CHECK(*b->grad == (real)(-1 / v), "found %g, want %g", (double)*b->grad, -1 / v);
    }
    tape_free(t);
}

typedef struct Mask {
    Shape shape;
    uint8_t bytes[24];
} Mask;

static double masked_want(const void *context, Tensor *const *x, long i) {
    const Mask *m = context;
    return m->bytes[broadcast_index(m->shape, x[0]->shape, i)] ? -7 : value(x[0], i);
}

TEST(masks) {
    static const Shape of[] = {DIMS(2, 3, 4), DIMS(3, 4), DIMS(4), DIMS(3, 1), DIMS(2, 1, 1), {0}};
    Mask m;
    for (int i = 0; i < 24; i++)
        m.bytes[i] = (uint8_t)(random_bits(random_key(1, 1), (uint64_t)i) & 128);
    Tape *t = new_tape();
    for (size_t s = 0; s < sizeof of / sizeof *of; s++)
        for (Layout layout = PLAIN; layout < LAYOUTS; layout++) {
            tape_reset(t);
            m.shape = of[s];
            Tensor *x = random_leaf(t, SHAPE(2, 3, 4), layout, 1, -1, 1);
            check_values(shape_text(of[s]), &x, tape_masked_fill(t, x, m.bytes, of[s], -7),
                         x->shape, masked_want, &m, 0);
        }
    tape_free(t);
}

/* ---- Along an axis ---- */

typedef enum AxisKind { SUM, MEAN, MAX, SOFTMAX, LOG_SOFTMAX, AXIS_KINDS } AxisKind;

static const struct {
    const char *name;
    Tensor *(*record)(Tape *t, Tensor *x, int axis);
} axis_operations[] = {[SUM] = {"sum", tape_sum},
                       [MEAN] = {"mean", tape_mean},
                       [MAX] = {"max", tape_max},
                       [SOFTMAX] = {"softmax", tape_softmax},
                       [LOG_SOFTMAX] = {"log_softmax", tape_log_softmax}};

typedef struct Line {
    AxisKind kind;
    int axis;  /* of x, or ALL_AXES */
    Shape out; /* of y */
} Line;

/* From the line of x that y's element i depends on. */
static double line_want(const void *context, Tensor *const *x, long i) {
    const Line *l = context;
    Shape s = x[0]->shape, ends = s; /* the shape with size 1 along the axis */
    bool softmax = l->kind >= SOFTMAX;
    if (l->axis == ALL_AXES)
        ends = SCALAR;
    else
        ends.size[l->axis] = 1;
    double sum = 0, max = -INFINITY, count = 0, own = softmax ? value(x[0], i) : 0;
    long line = softmax ? broadcast_index(ends, s, i) : i;
    for (long j = 0; j < shape_count(s); j++) {
        if (broadcast_index(ends, s, j) != line) continue;
        double v = value(x[0], j);
        sum += softmax ? exp(v) : v;
        max = fmax(max, v);
        count++;
    }
    double results[] = {sum, sum / count, max, exp(own) / sum, own - log(sum)};
    return results[l->kind];
}

TEST(operations_along_an_axis) {
    static const Shape of[] = {DIMS(3, 4), DIMS(2, 3, 4), DIMS(5), DIMS(3, 1)};
    Tape *t = new_tape();
    for (AxisKind kind = SUM; kind < AXIS_KINDS; kind++)
        for (size_t s = 0; s < sizeof of / sizeof *of; s++)
            for (int axis = 0; axis <= (kind < SOFTMAX ? of[s].rank : of[s].rank - 1); axis++)
                for (Layout layout = PLAIN; layout < LAYOUTS; layout++) {
                    Line l = {kind, axis, of[s]};
                    if (axis == of[s].rank) {
                        l.axis = ALL_AXES;
                        l.out = SCALAR;
                    } else if (kind < SOFTMAX)
                        l.out.size[axis] = 1;
                    tape_reset(t);
                    Tensor *x = random_leaf(t, of[s], layout, 1, -4, 4);
                    int recorded =
                        l.axis == ALL_AXES || layout != TURNED ? l.axis : axis - of[s].rank;
                    check_values(axis_operations[kind].name, &x,
                                 axis_operations[kind].record(t, x, recorded), l.out, line_want, &l,
                                 16);
                }
    tape_free(t);
}

TEST(reductions_of_nothing) {
    Tape *t = new_tape();
    Tensor *x = blank_leaf(t, SHAPE(2, 0), PLAIN), *y = tape_sum(t, x, 1);
    CHECK(shape_equal(y->shape, SHAPE(2, 1)) && y->data[0] == 0 && y->data[1] == 0);
    CHECK(*tape_sum(t, x, ALL_AXES)->data == 0);
    CHECK(isnan(tape_mean(t, x, 1)->data[1]) && isnan(*tape_mean(t, x, ALL_AXES)->data));
    CHECK(shape_equal(tape_sum(t, x, 0)->shape, SHAPE(1, 0)));
    CHECK(shape_equal(tape_max(t, x, 0)->shape, SHAPE(1, 0)));
    EXPECT_BUG("max: x is [2,0], want at least one element to choose from", tape_max(t, x, 1));
    EXPECT_BUG("max: x is [2,0], want at least one element to choose from",
               tape_max(t, x, ALL_AXES));
    tape_free(t);
}

/* Among equals the first gets the gradient; a NaN wins and sends none; infinities are numbers like
 * others. */
TEST(winners) {
    static const double values[] = {1, 2, 2, -1, -1, -1, 3, NAN, 5, -INFINITY, -INFINITY, INFINITY};
    static const double want[] = {2, -1, NAN, INFINITY},
                        dx[] = {0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
    Tape *t = new_tape();
    Tensor *x = leaf_of(t, SHAPE(4, 3), values), *y = tape_max(t, x, 1);
    x->grad++; /* so that there is a place before the first */
    tape_backward_from(t, y, (real[]){1, 1, 1, 1});
    CHECK(x->grad[-1] == GRAD_BEFORE, "NaN's gradient went to %g", (double)x->grad[-1]);
    for (int i = 0; i < 4; i++)
        CHECK(isnan(want[i]) ? isnan(y->data[i]) : y->data[i] == (real)want[i], "found %g",
              (double)y->data[i]);
    for (int i = 0; i < 12; i++)
        CHECK(x->grad[i] == (real)(GRAD_BEFORE + dx[i]), "element %d: %g", i, (double)x->grad[i]);
    tape_free(t);
}

/* A million times 0.1, one element repeated. Added up in float it would be 100958. */
TEST(long_sums_are_exact) {
    enum { MILLION = 1000000 };
    Tape *t = new_tape();
    double tenth = (double)(float)0.1;
    Tensor *x = leaf_of(t, SHAPE(1), &tenth);
    x->shape = SHAPE(MILLION);
    x->stride[0] = 0;
    x->grad_state = GRAD_UNWANTED;
    CHECK_NEAR(*tape_sum(t, x, 0)->data, MILLION * tenth,
               MILLION * tenth * fmax((double)REAL_EPSILON, 1e-11));
    CHECK_NEAR(*tape_mean(t, x, 0)->data, tenth, tenth * fmax((double)REAL_EPSILON, 1e-11));
    tape_free(t);
}

/* Logits of any size, masked ones, and a line whose elements are all masked. */
TEST(softmax_at_the_ends) {
    static const double x[] = {1e4, 0,         -1e4, -1e30,     -1e30,     -1e30,
                               5,   -INFINITY, 5,    -INFINITY, -INFINITY, -INFINITY};
    static const double p[] = {1, 0, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3, 0.5, 0, 0.5, 0, 0, 0};
    const double log_p[] = {0,         -1e4,      -2e4,      -log(3.0), -log(3.0), -log(3.0),
                            -log(2.0), -INFINITY, -log(2.0), -INFINITY, -INFINITY, -INFINITY};
    static const real dy[12] = {1, 0, 0, 3, 0, 0, 1, 0, 0, 1, 2, 3};
    static const double dx[] = {0, 0, 0, 2.0 / 3, -1.0 / 3, -1.0 / 3, 0.25, 0, -0.25, 0, 0, 0};
    static const double log_dx[] = {0, 0, 0, 2, -1, -1, 0.5, 0, -0.5, 0, 0, 0};
    Tape *t = new_tape();
    for (int logarithm = 0; logarithm < 2; logarithm++) {
        tape_reset(t);
        Tensor *in = leaf_of(t, SHAPE(4, 3), x);
        Tensor *y = logarithm ? tape_log_softmax(t, in, 1) : tape_softmax(t, in, 1);
        tape_backward_from(t, y, dy);
        for (int i = 0; i < 12; i++) {
            double want = logarithm ? log_p[i] : p[i], slope = logarithm ? log_dx[i] : dx[i];
            CHECK(isinf(want) ? (double)y->data[i] == want : true, "element %d is %g", i,
                  (double)y->data[i]);
            if (isfinite(want)) CHECK_CLOSE(y->data[i], want, 4);
            CHECK_CLOSE(in->grad[i], GRAD_BEFORE + slope, 8);
        }
    }
    tape_free(t);
}

/* ---- Shapes ---- */

static double same_element(const void *context, Tensor *const *x, long i) {
    (void)context;
    return value(x[0], i);
}

TEST(reshapes) {
    static const Shape to[] = {DIMS(24), DIMS(4, 6), DIMS(4, 3, 2), DIMS(1, 24, 1),
                               DIMS(2, 2, 2, 3)};
    Tape *t = new_tape();
    for (size_t s = 0; s < sizeof to / sizeof *to; s++)
        for (Layout layout = PLAIN; layout < LAYOUTS; layout++) {
            tape_reset(t);
            Tensor *x = random_leaf(t, SHAPE(2, 3, 4), layout, 1, -1, 1),
                   *y = tape_reshape(t, x, to[s]);
            CHECK((y->data == x->data) == (layout == PLAIN),
                  "a view of a contiguous tensor, else a copy");
            check_values(layout_name[layout], &x, y, to[s], same_element, NULL, 0);
        }
    tape_free(t);
}

static double swapped_element(const void *context, Tensor *const *x, long i) {
    const int *axes = context;
    long index[MAX_RANK], kept;
    Shape s = x[0]->shape;
    kept = s.size[axes[0]];
    s.size[axes[0]] = s.size[axes[1]];
    s.size[axes[1]] = kept;
    unravel(s, i, index);
    kept = index[axes[0]];
    index[axes[0]] = index[axes[1]];
    index[axes[1]] = kept;
    return value(x[0], ravel(x[0]->shape, index));
}

TEST(transposes) {
    Tape *t = new_tape();
    for (int pair = 0; pair < 9; pair++)
        for (Layout layout = PLAIN; layout < LAYOUTS; layout++) {
            int axes[] = {pair / 3, pair % 3};
            tape_reset(t);
            Tensor *x = random_leaf(t, SHAPE(2, 3, 4), layout, 1, -1, 1);
            Shape s = x->shape;
            s.size[axes[0]] = x->shape.size[axes[1]];
            s.size[axes[1]] = x->shape.size[axes[0]];
            check_values(layout_name[layout], &x, tape_transpose(t, x, axes[0], axes[1] - 3), s,
                         swapped_element, axes, 0);
        }
    tape_free(t);
}

typedef struct Part {
    Shape shape;
    int axis;
    long start;
} Part;

static double part_element(const void *context, Tensor *const *x, long i) {
    const Part *p = context;
    long index[MAX_RANK];
    unravel(p->shape, i, index);
    index[p->axis] += p->start;
    return value(x[0], ravel(x[0]->shape, index));
}

/* Every part along an axis, and the parts [0,start), [start,stop), [stop,size) joined again. */
TEST(slices_and_concatenations) {
    Tape *t = new_tape();
    for (int axis = 0; axis < 3; axis++)
        for (Layout layout = PLAIN; layout < LAYOUTS; layout++)
            for (long start = 0; start <= axis + 2; start++)
                for (long stop = start; stop <= axis + 2; stop++) {
                    Part p = {SHAPE(2, 3, 4), axis, start};
                    p.shape.size[axis] = stop - start;
                    tape_reset(t);
                    Tensor *x = random_leaf(t, SHAPE(2, 3, 4), layout, 1, -1, 1);
                    Tensor *y = tape_slice(t, x, layout == TURNED ? axis - 3 : axis, start, stop);
                    check_values(layout_name[layout], &x, y, p.shape, part_element, &p, 0);
                    Tensor *all = tape_concat(t, axis - 3,
                                              INPUTS(tape_slice(t, x, axis, 0, start), y,
                                                     tape_slice(t, x, axis, stop, axis + 2)));
                    check_values("joined", &x, all, x->shape, same_element, NULL, 0);
                }
    tape_free(t);
}

/* ---- Products ---- */

static double product_want(const void *context, Tensor *const *x, long i) {
    Shape a = x[0]->shape, b = x[1]->shape, places = *(const Shape *)context;
    long m = a.size[a.rank - 2], k = a.size[a.rank - 1], n = b.size[b.rank - 1];
    long place = i / (m * n), row = i / n % m, column = i % n;
    a.rank -= 2;
    b.rank -= 2;
    places.rank -= 2;
    long pa = broadcast_index(a, places, place) * m * k,
         pb = broadcast_index(b, places, place) * k * n;
    double sum = 0;
    for (long p = 0; p < k; p++)
        sum += value(x[0], pa + row * k + p) * value(x[1], pb + p * n + column);
    return sum;
}

TEST(matrix_products) {
    static const Shape of[][3] = {
        {DIMS(3, 4), DIMS(4, 2), DIMS(3, 2)},
        {DIMS(2, 3, 4), DIMS(2, 4, 5), DIMS(2, 3, 5)},
        {DIMS(2, 1, 3, 4), DIMS(3, 4, 2), DIMS(2, 3, 3, 2)},
        {DIMS(3, 2, 4), DIMS(4, 3), DIMS(3, 2, 3)},
        {DIMS(2, 4), DIMS(2, 3, 4, 2), DIMS(2, 3, 2, 2)},
        {DIMS(1, 4), DIMS(4, 1), DIMS(1, 1)},
        {DIMS(4, 1), DIMS(1, 3), DIMS(4, 3)},
        {DIMS(3, 4), DIMS(4, 0), DIMS(3, 0)},
        {DIMS(3, 0), DIMS(0, 2), DIMS(3, 2)},
        {DIMS(0, 3, 4), DIMS(4, 2), DIMS(0, 3, 2)},
    };
    Tape *t = new_tape();
    for (size_t s = 0; s < sizeof of / sizeof *of; s++)
        for (int layouts = 0; layouts < LAYOUTS * LAYOUTS; layouts++) {
            tape_reset(t);
            Layout of_a = (Layout)(layouts / LAYOUTS), of_b = (Layout)(layouts % LAYOUTS);
            Tensor *x[] = {random_leaf(t, of[s][0], of_a, 1, -1, 1),
                           random_leaf(t, of[s][1], of_b, 2, -1, 1)};
            check_values(shape_text(of[s][2]), x, tape_matmul(t, x[0], x[1]), of[s][2],
                         product_want, &of[s][2], 16);
            int copies = (of_a == SPREAD) + (of_b == SPREAD || (of_a == TURNED && of_b == TURNED));
            if (s == 1)
                CHECK(t->nodes == 1 + copies, "transposed operands are read in place: %ld nodes",
                      t->nodes);
        }
    tape_free(t);
}

/* A matrix that is used in many products gets the sum over them in their order, with any number of
 * threads: the bits are those of one product after another. */
TEST(shared_matrices_sum_their_gradients) {
    enum { PLACES = 16, SIZE = 96 };
    const Shape one = SHAPE(SIZE, SIZE), all = SHAPE(PLACES, SIZE, SIZE);
    Tape *t = new_tape();
    pool_set_threads(4);
    Tensor *a = random_leaf(t, all, PLAIN, 1, -1, 1), *b = random_leaf(t, one, PLAIN, 2, -1, 1);
    const real *dy = backward_from(t, tape_matmul(t, a, b), 3);
    Tape *each = new_tape();
    Tensor *b_alone = random_leaf(each, one, PLAIN, 2, -1, 1);
    for (int place = 0; place < PLACES; place++) {
        Tensor *y =
            tape_matmul(each, tape_leaf(each, one, a->data + place * SIZE * SIZE, NULL), b_alone);
        tape_backward_from(each, y, dy + place * SIZE * SIZE);
    }
    CHECK(memcmp(b->grad, b_alone->grad, SIZE * SIZE * sizeof(real)) == 0, "other bits");
    tape_free(each);
    tape_free(t);
}

RUN_TESTS
