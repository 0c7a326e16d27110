/* What is said of a mistake is the mistake: operations with a backward that is wrong in a known way, and the words for
 * it. Each shows what tests/check/students and tests/check/mutants.def do not: numbers without an axis, kinks beside what is wrong,
 * factors that no size gives, conditions on two inputs.
 *
 * Gradients are proved in double. */
#include "check/gradcheck/patterns.h"
#include "autograd/op.h"
#include "check/gradcheck/gradcheck.h"
#include "test.h"

/* The arrays of a run, contiguous; backward adds to dx. */
typedef struct Arrays {
    const real *x[3], *y, *dy, *raw; /* raw: the first input as it lies in memory */
    real *out, *dx[3];
    long n, outputs; /* elements of the first input, and of the output */
} Arrays;

typedef struct Lie {
    const char *what;
    CheckInput in[4];
    Shape out;
    void (*forward)(const Arrays *a);
    void (*backward)(const Arrays *a);
    const char *pattern, *reason; /* of the first input; the reason has this in it */
} Lie;

static const Lie *lie;

/* An input that takes no gradient has room for one that nobody sees. */
static Arrays arrays_of(Node *n) {
    Arrays a = {.n = shape_count(n->in[0]->shape), .outputs = shape_count(n->out->shape)};
    for (int k = 0; k < n->inputs; k++) {
        size_t bytes = (size_t)shape_count(n->in[k]->shape) * sizeof(real);
        real *x = node_record(n, bytes);
        tensor_copy_out(n->in[k], x);
        a.x[k] = x;
        a.dx[k] = n->in[k]->grad ? n->in[k]->grad : node_record(n, bytes);
    }
    a.raw = n->in[0]->data, a.y = a.out = n->out->data, a.dy = n->out->grad;
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
    Tensor *in[3];
    int inputs = 0;
    for (; lie->in[inputs].name; inputs++) in[inputs] = x[inputs];
    return tape_record(tape_node(t, &op, lie->out, inputs, in));
}

static CaseReport tell(const Lie *l) {
    CaseReport r;
    CheckCase c = {.name = "case", .build = build};
    memcpy(c.in, l->in, sizeof l->in);
    lie = l;
    gradcheck_case("lie", &c, 1, &r);
    return r;
}

#define EACH(i, n) for (long i = 0; i < (n); i++)

/* ---- The ways of backward ---- */

/* y_t = x_t y_(t+1) + x_t, from the end; backward goes from the end too. */
static void from_the_end(const Arrays *a) {
    real y = 1;
    for (long i = a->n - 1; i >= 0; i--) a->out[i] = y = a->x[0][i] * y + a->x[0][i];
}
static void from_the_end_too(const Arrays *a) {
    real carried = 0;
    for (long i = a->n - 1; i >= 0; i--) {
        carried += a->dy[i];
        a->dx[0][i] += carried * (1 + (i + 1 < a->n ? a->y[i + 1] : 1));
        carried *= a->x[0][i];
    }
}

/* ---- Factors ---- */

static void squares(const Arrays *a) {
    EACH(i, a->n) a->out[i] = a->x[0][i] * a->x[0][i];
}
static real factor;
static void squares_times(const Arrays *a) {
    EACH(i, a->n) a->dx[0][i] += factor * 2 * a->x[0][i] * a->dy[i];
}
static void squares_otherwise(const Arrays *a) {
    EACH(i, a->n) a->dx[0][i] += (a->x[0][i] * a->x[0][i] + (real)0.3) * a->dy[i];
}
static void a_third(const Arrays *a) {
    factor = -1 / (real)3, squares_times(a);
}
static void thousands(const Arrays *a) {
    factor = 2000, squares_times(a);
}
static void a_root(const Arrays *a) {
    factor = (real)sqrt(7.0), squares_times(a);
}

/* ---- Numbers without an axis ---- */

/* y_i = x a_i */
static void multiples(const Arrays *a) {
    EACH(i, a->outputs) a->out[i] = a->x[0][0] * a->x[1][i];
}
static void multiples_of_halves(const Arrays *a) {
    EACH(i, a->outputs) {
        a->dx[0][0] += a->dy[i] * a->x[1][i / 2];
        a->dx[1][i] += a->dy[i] * a->x[0][0];
    }
}
/* y_i = x² c_i */
static const real c[] = {(real)1.3, (real)-0.7, (real)2.1, (real)0.4, (real)-1.9, (real)0.9};
static void square_times(const Arrays *a) {
    EACH(i, a->outputs) a->out[i] = a->x[0][0] * a->x[0][0] * c[i];
}
static void a_one_more(const Arrays *a) {
    EACH(i, a->outputs) a->dx[0][0] += a->dy[i] * (2 * a->x[0][0] * c[i] + (i % 2 ? 1 : -1));
}
static void some_quartered(const Arrays *a) {
    EACH(i, a->outputs) a->dx[0][0] += a->dy[i] * 2 * a->x[0][0] * c[i] * (i == 1 || i == 5 ? (real)0.25 : 1);
}

/* y_i = x_i², and what backward lets another output have. */
static void squares_and_next(const Arrays *a) {
    EACH(i, a->n)
    a->dx[0][i] += 2 * a->x[0][i] * a->dy[i] + (real)0.37 * a->x[0][i] * a->dy[(i + 1) % a->n];
}

/* y_0 = Σ x_j c_j, y_1 = Σ x_j², of which the one is not passed on. */
static void two_sums(const Arrays *a) {
    a->out[0] = a->out[1] = 0;
    EACH(j, a->n) a->out[0] += a->x[0][j] * c[j], a->out[1] += a->x[0][j] * a->x[0][j];
}
static void one_of_two_sums(const Arrays *a) {
    EACH(j, a->n) a->dx[0][j] += 2 * a->x[0][j] * a->dy[1];
}

/* ---- Steps ---- */

/* y_t = what is left of y_(t-1) and what comes of the neighbours, y_(-1) = x; three times. */
static void spread(const Arrays *a) {
    for (long t = 0; t < a->outputs / a->n; t++) {
        const real *from = t == 0 ? a->x[0] : a->y + (t - 1) * a->n;
        EACH(i, a->n) {
            real before = i > 0 ? from[i - 1] : 0, after = i + 1 < a->n ? from[i + 1] : 0;
            a->out[t * a->n + i] = (real)0.5 * from[i] + (real)0.3 * before + (real)0.2 * after;
        }
    }
}
/* The ends take nothing of their neighbours. */
static void spread_inside(const Arrays *a) {
    real next[8] = {0}, now[8];
    for (long t = a->outputs / a->n - 1; t >= 0; t--) {
        EACH(i, a->n) next[i] += a->dy[t * a->n + i], now[i] = (real)0.5 * next[i];
        for (long i = 1; i + 1 < a->n; i++) now[i] += (real)0.2 * next[i - 1] + (real)0.3 * next[i + 1];
        EACH(i, a->n) next[i] = now[i];
    }
    EACH(i, a->n) a->dx[0][i] += next[i];
}
static void last_row_badly(const Arrays *a) {
    EACH(i, a->n) {
        real x = a->x[0][i];
        a->dx[0][i] += a->dy[i] * (i < 8 ? 2 * x : (real)0.3 + x * x * x);
    }
}

/* ---- Conditions ---- */

/* Huber's loss of x - t. */
static void huber(const Arrays *a) {
    EACH(i, a->n) {
        real d = a->x[0][i] - a->x[1][i], size = (real)fabs((double)d);
        a->out[i] = size <= 1 ? d * d / 2 : size - (real)0.5;
    }
}
static void unclipped(const Arrays *a) {
    EACH(i, a->n) {
        real d = a->x[0][i] - a->x[1][i], slope = d > 1 ? 1 : d < -1 ? -1 : d;
        a->dx[0][i] += a->dy[i] * d;
        a->dx[1][i] -= a->dy[i] * slope;
    }
}
/* y = (x - t)² where x is above t, |x - t|³ elsewhere. */
static void sided(const Arrays *a) {
    EACH(i, a->n) {
        real d = a->x[0][i] - a->x[1][i];
        a->out[i] = d > 0 ? d * d : -d * d * d;
    }
}
static void one_side(const Arrays *a) {
    EACH(i, a->n) {
        real d = a->x[0][i] - a->x[1][i], slope = d > 0 ? 2 * d : -3 * d * d;
        a->dx[0][i] += a->dy[i] * (d > 0 ? d * d : slope);
        a->dx[1][i] -= a->dy[i] * slope;
    }
}
static void squared_inside(const Arrays *a) {
    EACH(i, a->n) {
        real d = a->x[0][i] - a->x[1][i], slope = d > 1 ? 1 : d < -1 ? -1 : d;
        a->dx[0][i] += a->dy[i] * (slope == d ? d * d : slope);
        a->dx[1][i] -= a->dy[i] * slope;
    }
}
/* y = x² below 0.7, e^x from there on. */
static void two_parts(const Arrays *a) {
    EACH(i, a->n) {
        real x = a->x[0][i];
        a->out[i] = x < (real)0.7 ? x * x : (real)exp((double)x);
    }
}
static void first_part_alone(const Arrays *a) {
    EACH(i, a->n)
    a->dx[0][i] += a->dy[i] * (a->x[0][i] < (real)0.7 ? 2 * a->x[0][i]
                                                      : (real)0.3 + a->x[0][i] * a->x[0][i] * a->x[0][i]);
}
static void two_rows_alone(const Arrays *a) {
    EACH(i, a->n) a->dx[0][i] += i / 2 == 1 || i / 2 == 2 ? 2 * a->x[0][i] * a->dy[i] : 0;
}
/* y = x where the mask is infinite, x² elsewhere. */
static void masked(const Arrays *a) {
    EACH(i, a->n) a->out[i] = isinf(a->x[1][i]) ? a->x[0][i] : a->x[0][i] * a->x[0][i];
}
static void mask_forgotten(const Arrays *a) {
    EACH(i, a->n) a->dx[0][i] += a->dy[i] * 2 * a->x[0][i];
}

/* ---- Kinks beside it ---- */

/* y_i = |x_i| c_i, at points of which two are 0. */
static const double two_zeros[] = {0, 1.1, -0.8, 0.6, -1.7, 0, 0.9, -1.3, 1.9, -0.4, 0.7, -1.1};
static void sizes(const Arrays *a) {
    EACH(i, a->n) a->out[i] = (real)fabs((double)a->x[0][i]) * c[i % 6];
}
static void sizes_badly(const Arrays *a) {
    EACH(i, a->n) {
        real x = a->x[0][i];
        a->dx[0][i] += a->dy[i] * (x > 0 ? 1 : -1) * c[i % 6] * (i % 5 == 3 ? (real)0.31 * (real)(i + 1) : 1);
    }
}

static void sizes_and_a_one(const Arrays *a) {
    EACH(i, a->n)
    a->dx[0][i] += a->dy[i] * ((a->x[0][i] > 0 ? 1 : -1) * c[i % 6] + (i == 4 || i == 7 ? 1 : 0));
}
/* y_i = |x_i| a_i */
static void sized(const Arrays *a) {
    EACH(i, a->n) a->out[i] = (real)fabs((double)a->x[0][i]) * a->x[1][i];
}
static void sized_by_halves(const Arrays *a) {
    EACH(i, a->n) {
        real x = a->x[0][i], sign = x > 0 ? 1 : -1;
        a->dx[0][i] += a->dy[i] * sign * a->x[1][x == 0 ? i : i / 2];
        a->dx[1][i] += a->dy[i] * sign * x;
    }
}
/* The same of elements as they lie in memory. */
static void signs_in_memory(const Arrays *a) {
    EACH(i, a->n) a->dx[0][i] += a->dy[i] * (a->raw[i] > 0 ? 1 : -1) * c[i % 6];
}

/* ---- Of few ---- */

/* y = a Σ x⁴ */
static void quartic(const Arrays *a) {
    a->out[0] = 0;
    EACH(i, a->n) a->out[0] += a->x[1][0] * a->x[0][i] * a->x[0][i] * a->x[0][i] * a->x[0][i];
}
static void quartic_badly(const Arrays *a) {
    EACH(i, a->n) {
        real x = a->x[0][i], four = a->x[1][0] * x * x * x * x;
        a->dx[0][i] += a->dy[0] * a->x[1][0] * (4 * x * x * x + (real)0.3 * x * x);
        a->dx[1][0] += a->dy[0] * four / a->x[1][0];
    }
}
/* y_i = x_i a_i */
static void products(const Arrays *a) {
    EACH(i, a->n) a->out[i] = a->x[0][i] * a->x[1][i];
}
static void products_of_next(const Arrays *a) {
    EACH(i, a->n) {
        a->dx[0][i] += a->dy[i] * a->x[1][(i + 1) % a->n];
        a->dx[1][i] += a->dy[i] * a->x[0][i];
    }
}
static void squares_of_exp(const Arrays *a) {
    EACH(i, a->n) a->dx[0][i] += a->dy[i] * 2 * a->x[0][i] * (real)exp((double)a->x[0][i]);
}
static const double three[] = {-0.7, 0.4, 1.5};
static const double infinite[] = {0, 1, INFINITY, 2, -INFINITY, 3, INFINITY, 4, 5, 6, -INFINITY, 7};

static const Lie lies[] = {
    {"the way from the end, backwards too",
     {{"x", DIMS(6)}},
     DIMS(6),
     from_the_end,
     from_the_end_too,
     "wrong direction",
     "depends on what comes after it along axis 0 of x; here gradients arrive as if it were on what comes "
     "before it"},
    {"times -1/3",
     {{"x", DIMS(6)}},
     DIMS(6),
     squares,
     a_third,
     "constant factor",
     "too small by the constant factor -0.333333 = -1/3"},
    {"times 2000",
     {{"x", DIMS(6)}},
     DIMS(6),
     squares,
     thousands,
     "constant factor",
     "too large by the constant factor 2000"},
    {"times √7, which no size gives",
     {{"x", DIMS(6)}},
     DIMS(6),
     squares,
     a_root,
     "constant factor",
     "2.64575 = √7"},
    {"five axes", {{"x", DIMS(2, 1, 3, 1, 2)}}, DIMS(12), squares, a_root, "constant factor", "= √7"},
    {"one row for all",
     {{"x", DIMS(3, 4), .layout = REPEATED}},
     DIMS(12),
     squares,
     a_root,
     "constant factor",
     "= √7"},
    {"another function of one row for all",
     {{"x", DIMS(3, 4), .layout = REPEATED}},
     DIMS(12),
     squares,
     squares_otherwise,
     "factor of values",
     "times a factor that depends on the index along axis 1 of x"},
    {"another function in a range",
     {{"x", DIMS(6), .low = 0.5, .high = 1.5}},
     DIMS(6),
     squares,
     squares_otherwise,
     "wrong slope",
     "the derivative itself is wrong"},
    {"a[i / 2] for a[i], of a number",
     {{"x"}, {"a", DIMS(6)}},
     DIMS(6),
     multiples,
     multiples_of_halves,
     "misplaced",
     "a is read at a wrong index: for x stands a[0] where a[1] belongs"},
    {"a one too many or too few, of a number",
     {{"x"}},
     DIMS(6),
     square_times,
     a_one_more,
     "misplaced",
     "whole multiples of 1, as x is off by +1, x is off by -1"},
    {"a quarter at two outputs, of a number",
     {{"x"}},
     DIMS(2, 3),
     square_times,
     some_quartered,
     "some effects",
     "4 are right; the 2 others, as that of x on output[0,1], are each 0.25 times"},
    {"what another output has",
     {{"x", DIMS(6)}},
     DIMS(6),
     squares,
     squares_and_next,
     "some effects",
     "on outputs at other indices is not 0, as it must be, on others it is right"},
    {"one of two uses, which may be for another reason",
     {{"x", DIMS(5)}},
     DIMS(2),
     two_sums,
     one_of_two_sums,
     "only somewhere",
     "wrong only for outputs at index 0 of axis 0"},
    {"the last of few rows",
     {{"x", DIMS(3, 4)}},
     DIMS(12),
     squares,
     last_row_badly,
     "only somewhere",
     "right up to index 1 of axis 0, wrong at index 2, the last"},
    {"the ends of each step",
     {{"x", DIMS(5)}},
     DIMS(3, 5),
     spread,
     spread_inside,
     "some effects",
     "those of x at indices 0, 4 of axis 0 are not all right, those at 1 to 3 are"},
    {"not clipped",
     {{"x", DIMS(40)}, {"t", DIMS(40)}},
     DIMS(40),
     huber,
     unclipped,
     "only somewhere",
     "wrong only where |t - x| is above about 0.9"},
    {"squared inside",
     {{"x", DIMS(40)}, {"t", DIMS(40)}},
     DIMS(40),
     huber,
     squared_inside,
     "only somewhere",
     "wrong only where |t - x| is below about 0.9"},
    {"one side of two",
     {{"x", DIMS(40)}, {"t", DIMS(40)}},
     DIMS(40),
     sided,
     one_side,
     "only somewhere",
     "wrong only where t is below x"},
    {"a mask forgotten",
     {{"x", DIMS(12)}, {"mask", DIMS(12), .values = infinite, .constant = true}},
     DIMS(12),
     masked,
     mask_forgotten,
     "only somewhere",
     "wrong only where mask is infinite"},
    {"another function of x, beside kinks",
     {{"x", DIMS(12), .values = two_zeros}},
     DIMS(12),
     sizes,
     sizes_badly,
     "wrong slope",
     "for x[8] = 1.9 it is 5.859, and should be 2.1"},
    {"a one too many, beside kinks",
     {{"x", DIMS(12), .values = two_zeros}},
     DIMS(12),
     sizes,
     sizes_and_a_one,
     "misplaced",
     "whole multiples of 1, as x[4] is off by +1"},
    {"a[i / 2] for a[i], beside kinks",
     {{"x", DIMS(12), .values = two_zeros}, {"a", DIMS(12)}},
     DIMS(12),
     sized,
     sized_by_halves,
     "misplaced",
     "a is read at a wrong index: for x[1] stands a[0] where a[1] belongs"},
    {"above a number",
     {{"x", DIMS(40)}},
     DIMS(40),
     two_parts,
     first_part_alone,
     "only somewhere",
     "wrong only where x is above about 0."},
    {"two rows of five",
     {{"x", DIMS(5, 2)}},
     DIMS(10),
     squares,
     two_rows_alone,
     "only somewhere",
     "no gradient arrives at indices 0, 3 to 4 of axis 0, right at 1 to 2"},
    {"strides, beside kinks",
     {{"x", DIMS(3, 4), .values = two_zeros, .layout = TRANSPOSED}},
     DIMS(12),
     sizes,
     signs_in_memory,
     "strides ignored",
     "right where the inputs are contiguous in memory"},
    {"one operand's derivative",
     {{"x", DIMS(6)}, {"a", .low = 1, .high = 2}},
     DIMS(1),
     quartic,
     quartic_badly,
     "wrong slope",
     "a factor of x's element alone, whatever the other inputs are"},
    {"too few numbers for an index",
     {{"x", DIMS(3)}, {"a", DIMS(3), .values = three}},
     DIMS(3),
     products,
     products_of_next,
     "wrong slope",
     "and should be 1.5"},
    {"a function of all but a first element of 0",
     {{"x", DIMS(12), .values = two_zeros}},
     DIMS(12),
     squares,
     squares_of_exp,
     "factor of values",
     "at each element that is wrong there is a factor exp(x) too many"},
};

/* The gradient is accused of its mistake, and that of other inputs of none. */
static void mistakes_are_named(void) {
    if (sizeof(real) < sizeof(double)) return; /* proofs are for double */
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        const CaseReport r = tell(&lies[i]);
        const InputReport *in = &r.in[0];
        CHECK(r.verdict == FAIL && in->verdict == FAIL && strcmp(in->pattern, lies[i].pattern) == 0 &&
                  strstr(in->reason, lies[i].reason),
              "%s: %s: %s %s", lies[i].what, in->pattern, in->reason, r.trouble);
        CHECK(r.inputs < 2 || r.in[1].verdict == PASS, "%s: %s: %s", lies[i].what, r.in[1].name,
              r.in[1].reason);
        CHECK(in->kinks == (strstr(lies[i].what, "kinks") ? 2 : 0), "%s: %ld kinks", lies[i].what, in->kinks);
    }
}

/* What is said of two cases has one form where it is the same but for indices and numbers; an axis is none. */
static void forms_leave_numbers_out(void) {
    static const struct {
        const char *one, *other;
        bool same;
    } cases[] = {
        {"times 2", "times 3", true},
        {"times 2.5e-3 of it", "times -17 of it", true},
        {"for x[0,1] = 1.5", "for x[2,3] = -7", true},
        {"at index 3 of axis 1", "at index 5 of axis 1", true},
        {"at index 3 of axis 1", "at index 3 of axis 2", false},
        {"x is wrong", "y is wrong", false},
        {"a list [of x]", "a list [of y]", false},
        {"a list [of x]", "a list [of x]", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK((pattern_form(cases[i].one) == pattern_form(cases[i].other)) == cases[i].same, "%s, %s",
              cases[i].one, cases[i].other);
}

TEST_MAIN({"mistakes are named", mistakes_are_named}, {"forms leave numbers out", forms_leave_numbers_out})
