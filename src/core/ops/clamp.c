/* clamp: every element moved to the nearest point of an interval.
 *
 *     x: any shape; low ≤ high: numbers      y: the same shape
 *
 *   | y_i = min(max(x_i, low), high)
 *
 * Backward. The slope is 1 inside and 0 outside. At the kinks, x = low and x = high, it is taken as
 * 1, as in PyTorch:
 *
 *   | dx_i += dy_i      where low ≤ x_i ≤ high
 *
 * Forward keeps the interval. Backward reads x, because y does not tell x = high from x > high.
 *
 * Numerical note: NaN stays NaN. */
#include "ops/arguments.h"
#include "ops/elementwise.h"

typedef struct Attr {
    real low, high;
} Attr;

/* exercise: begin */
static const Attr *interval(const Node *n) {
    return n->attr;
}

static real clamped(const Attr *a, real x) {
    if (x < a->low) return a->low;
    return x > a->high ? a->high : x;
}

FORWARD_EACH(y = clamped(n->attr, x))
BACKWARD_EACH(dx += interval(n)->low <= x && x <= interval(n)->high ? dy : 0)
BRANCHES_EACH((x >= interval(n)->low) + (x > interval(n)->high))

static void arguments(const Node *n, FILE *out) {
    print_number(out, "low", (double)interval(n)->low);
    fprintf(out, ", ");
    print_number(out, "high", (double)interval(n)->high);
}
/* exercise: end */

BUILD_CASE(to_unit, tape_clamp(t, x[0], -1, 1))
BUILD_CASE(to_a_point, tape_clamp(t, x[0], 1, 1))

static const double off_kinks[] = {-1.5, -0.5, 0.5, 1.5, 0, -0.75, 1.25, 0.75};
static const double at_kinks[] = {-1, 0, 1, 2};

static const CheckCase cases[] = {
    {"matrix", to_unit, {{"x", DIMS(2, 4), .values = off_kinks}}},
    {"strided", to_unit, {{"x", DIMS(2, 4), .values = off_kinks, .layout = TRANSPOSED}}},
    {"one point", to_a_point, {{"x", DIMS(3, 4), .away_from = 1, .margin = 0.1}}},
    {"scalar", to_unit, {{"x", {0}, -0.9, 0.9}}},
    {"empty", to_unit, {{"x", DIMS(2, 0)}}},
    {"at the kinks", to_unit, {{"x", DIMS(4), .values = at_kinks}}, .kinks = true},
};

const Op op_clamp = {"clamp",     forward, backward, .branches = branches, .arguments = arguments,
                     CASES(cases)};

Tensor *tape_clamp(Tape *t, Tensor *x, real low, real high) {
    if (!(low <= high))
        error_bug("clamp: the interval is [%g,%g], want low <= high", (double)low, (double)high);
    Node *n = each_node(t, &op_clamp, x);
    *(Attr *)node_attr(n, sizeof(Attr)) = (Attr){low, high};
    return tape_forward(n);
}
