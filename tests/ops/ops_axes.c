/* Operations along an axis, values and gradients: sum, mean, max, softmax and its logarithm against naive
 * loops in double over every element, or numbers worked out by hand. */
#include "expect_bug.h"
#include "ops_helpers.h"

/* ---- Reductions ---- */

typedef struct Reduce {
    const char *name;
    Tensor *(*record)(Tape *t, Tensor *x, int axis);
} Reduce;

enum { SUM, MEAN, MAX };
static const Reduce reduces[] = {{"sum", tape_sum}, {"mean", tape_mean}, {"max", tape_max}};

static void check_reduction(Tape *t, int kind, Shape s, int axis, Layout layout) {
    double want[64] = {0}, dx[64];
    long winner[64];
    tape_reset(t);
    Tensor *x = random_leaf(t, s, layout, 1, -2, 2), *y = reduces[kind].record(t, x, axis);
    Shape out = s;
    if (axis == ALL_AXES)
        out = SCALAR;
    else
        out.size[axis < 0 ? axis + s.rank : axis] = 1;
    CHECK(shape_equal(y->shape, out), "%s", shape_text(y->shape));
    const real *dy = backward_from(t, y, 2);
    long count = shape_count(s), outputs = shape_count(out), n = outputs ? count / outputs : 0;
    for (long o = 0; o < outputs; o++) winner[o] = -1;
    for (long i = 0; i < count; i++) {
        long o = axis == ALL_AXES ? 0 : broadcast_index(out, s, i);
        if (kind != MAX) want[o] += value(x, i) / (kind == MEAN ? (double)n : 1);
        if (kind == MAX && (winner[o] < 0 || value(x, i) > want[o])) want[o] = value(x, i), winner[o] = i;
    }
    for (long i = 0; i < count; i++) {
        long o = axis == ALL_AXES ? 0 : broadcast_index(out, s, i);
        double slope = kind == SUM ? 1 : kind == MEAN ? 1 / (double)n : winner[o] == i;
        dx[i] = GRAD_BEFORE + slope * (double)dy[o];
    }
    for (long o = 0; o < outputs; o++) CHECK_CLOSE(y->data[o], want[o], kind == MAX ? 0 : 8);
    for (long i = 0; i < count; i++) CHECK_CLOSE(x->grad[i], dx[i], 4);
}

TEST(reductions) {
    static const Shape of[] = {DIMS(3, 4), DIMS(2, 3, 4), DIMS(5), DIMS(1, 4), DIMS(3, 1), DIMS(0, 4), {0}};
    Tape *t = new_tape();
    for (int kind = 0; kind < 3; kind++)
        for (size_t s = 0; s < sizeof of / sizeof *of; s++)
            for (int axis = -of[s].rank; axis <= of[s].rank; axis++)
                for (Layout layout = PLAIN; layout < LAYOUTS; layout++) {
                    int failures = test_failures, over = axis == of[s].rank ? ALL_AXES : axis;
                    bool empty = over == ALL_AXES ? shape_count(of[s]) == 0
                                                  : of[s].size[axis < 0 ? axis + of[s].rank : axis] == 0;
                    if (empty) continue; /* see reductions_of_nothing */
                    check_reduction(t, kind, of[s], over, layout);
                    CHECK(test_failures == failures, "%s of %s, %s, over %d", reduces[kind].name,
                          shape_text(of[s]), layout_name[layout], over);
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
    EXPECT_BUG("max: x is [2,0], want at least one element to choose from", tape_max(t, x, ALL_AXES));
    tape_free(t);
}

/* Among equals the first gets the gradient; a NaN wins and sends none; infinities are numbers like others. */
TEST(winners) {
    static const double values[] = {1, 2, 2, -1, -1, -1, 3, NAN, 5, -INFINITY, -INFINITY, INFINITY};
    static const double want[] = {2, -1, NAN, INFINITY}, dx[] = {0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
    Tape *t = new_tape();
    Tensor *x = leaf_of(t, SHAPE(4, 3), PLAIN, values), *y = tape_max(t, x, 1);
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

/* A million times 0.1, one element repeated: in float, added up in float, it would come to 100958. */
TEST(long_sums_are_exact) {
    enum { MILLION = 1000000 };
    Tape *t = new_tape();
    double tenth = (double)(float)0.1;
    Tensor *x = leaf_of(t, SHAPE(1), PLAIN, &tenth);
    x->shape = SHAPE(MILLION), x->stride[0] = 0, x->grad_state = GRAD_UNWANTED;
    CHECK_NEAR(*tape_sum(t, x, 0)->data, MILLION * tenth,
               MILLION * tenth * fmax((double)REAL_EPSILON, 1e-11));
    CHECK_NEAR(*tape_mean(t, x, 0)->data, tenth, tenth * fmax((double)REAL_EPSILON, 1e-11));
    tape_free(t);
}

/* ---- Softmax ---- */

static void check_softmax(Tape *t, bool logarithm, Shape s, int axis, Layout layout) {
    tape_reset(t);
    Tensor *x = random_leaf(t, s, layout, 1, -4, 4);
    Tensor *y = logarithm ? tape_log_softmax(t, x, axis) : tape_softmax(t, x, axis);
    CHECK(shape_equal(y->shape, s));
    const real *dy = backward_from(t, y, 2);
    long n = s.size[axis], step = 1;
    for (int after = axis + 1; after < s.rank; after++) step *= s.size[after];
    for (long i = 0; i < shape_count(s); i++) {
        long start = i - i / step % n * step; /* of the line through element i */
        double sum = 0, slope = 0;
        for (long j = 0; j < n; j++) sum += exp(value(x, start + j * step));
        double p = exp(value(x, i)) / sum;
        for (long j = 0; j < n; j++) {
            double p_j = exp(value(x, start + j * step)) / sum, same = start + j * step == i;
            slope += (double)dy[start + j * step] * (logarithm ? same - p : p_j * (same - p));
        }
        CHECK_CLOSE(y->data[i], logarithm ? log(p) : p, 16);
        CHECK_CLOSE(x->grad[i], GRAD_BEFORE + slope, 16);
    }
}

TEST(softmax_and_its_logarithm) {
    static const Shape of[] = {DIMS(3, 4), DIMS(2, 3, 4), DIMS(5), DIMS(4, 1), DIMS(0, 3)};
    Tape *t = new_tape();
    for (int logarithm = 0; logarithm < 2; logarithm++)
        for (size_t s = 0; s < sizeof of / sizeof *of; s++)
            for (int axis = 0; axis < of[s].rank; axis++)
                for (Layout layout = PLAIN; layout < LAYOUTS; layout++) {
                    int failures = test_failures;
                    check_softmax(t, logarithm, of[s], axis, layout);
                    CHECK(test_failures == failures, "%s, axis %d, %s, logarithm %d", shape_text(of[s]), axis,
                          layout_name[layout], logarithm);
                }
    tape_free(t);
}

/* Logits of any size, hidden ones, and a line with nothing to choose from. */
TEST(softmax_at_the_ends) {
    static const double x[] = {1e4, 0,         -1e4, -1e30,     -1e30,     -1e30,
                               5,   -INFINITY, 5,    -INFINITY, -INFINITY, -INFINITY};
    static const double p[] = {1, 0, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3, 0.5, 0, 0.5, 0, 0, 0};
    const double log_p[] = {0,         -1e4,      -2e4,      -log(3.0), -log(3.0), -log(3.0),
                            -log(2.0), -INFINITY, -log(2.0), -INFINITY, -INFINITY, -INFINITY};
    static const real dy[12] = {1, 0, 0, 3, 0, 0, 1, 0, 0, 1, 2, 3}; /* nobody asks for what is hidden */
    static const double dx[] = {0, 0, 0, 2.0 / 3, -1.0 / 3, -1.0 / 3, 0.25, 0, -0.25, 0, 0, 0};
    static const double log_dx[] = {0, 0, 0, 2, -1, -1, 0.5, 0, -0.5, 0, 0, 0};
    Tape *t = new_tape();
    for (int logarithm = 0; logarithm < 2; logarithm++) {
        tape_reset(t);
        Tensor *in = leaf_of(t, SHAPE(4, 3), PLAIN, x);
        Tensor *y = logarithm ? tape_log_softmax(t, in, 1) : tape_softmax(t, in, 1);
        tape_backward_from(t, y, dy);
        for (int i = 0; i < 12; i++) {
            double want = logarithm ? log_p[i] : p[i];
            double slope = logarithm ? log_dx[i] : i == 3 ? 3 * p[3] * (1 - p[3]) : dx[i];
            CHECK(isinf(want) ? (double)y->data[i] == want : true, "element %d is %g", i, (double)y->data[i]);
            if (isfinite(want)) CHECK_CLOSE(y->data[i], want, 4);
            CHECK_CLOSE(in->grad[i], GRAD_BEFORE + slope, 8);
        }
    }
    tape_free(t);
}

/* ---- Mistakes ---- */

TEST(mistakes_stop_with_a_message) {
    Tape *t = new_tape();
    Tensor *x = blank_leaf(t, SHAPE(2, 3), PLAIN), *s = blank_leaf(t, SCALAR, PLAIN);
    EXPECT_BUG("sum: axis 2 of [2,3], want one in [-2,2)", tape_sum(t, x, 2));
    EXPECT_BUG("mean: axis -3 of [2,3], want one in [-2,2)", tape_mean(t, x, -3));
    EXPECT_BUG("max: axis 0 of [], want one in [0,0)", tape_max(t, s, 0));
    EXPECT_BUG("softmax: axis 5 of [2,3], want one in [-2,2)", tape_softmax(t, x, 5));
    EXPECT_BUG("log_softmax: axis 2 of [2,3], want one in [-2,2)", tape_log_softmax(t, x, 2));
    tape_free(t);
}

RUN_TESTS
