/* div: the element-wise quotient, with broadcasting.
 *
 *     a, b: shapes that broadcast      y: the broadcast shape
 *
 *     y_i = a_i / b_i
 *
 * Backward. Each y_i depends on one a and one b. An element of a broadcast input gets the sum over all y_i
 * that use it:
 *
 *     ∂y_i/∂a_i = 1 / b_i      ∂y_i/∂b_i = -a_i / b_i² = -y_i / b_i
 *     da_j += Σ_i dy_i / b_i      over the i at which a_j is used
 *     db_j -= Σ_i dy_i y_i / b_i      over the i at which b_j is used
 *
 * Forward keeps only y. Using y avoids b², which may overflow or vanish although y does not.
 *
 * Numerical note: b = 0 gives an infinity, or NaN if a = 0 too, as in IEEE arithmetic. */
#include "ops/broadcast.h"
#include "ops/ops.h"

/* exercise: begin */
static void forward(Node *n) {
    const real *a = n->in[0]->data, *b = n->in[1]->data;
    real *y = n->out->data;
    for (Walk w = broadcast_walk(n); tensor_walk_row(&w); y += w.n)
        for (long i = 0; i < w.n; i++)
            y[i] = a[w.at[WALK_A] + i * w.step[WALK_A]] / b[w.at[WALK_B] + i * w.step[WALK_B]];
}

static void backward(Node *n) {
    const real *b = n->in[1]->data, *y = n->out->data, *dy = n->out->grad;
    real *da = n->in[0]->grad, *db = n->in[1]->grad;
    for (Walk w = broadcast_walk(n); tensor_walk_row(&w); y += w.n, dy += w.n) {
        for (long i = 0; da && i < w.n; i++)
            da[w.at[WALK_DA] + i * w.step[WALK_DA]] += dy[i] / b[w.at[WALK_B] + i * w.step[WALK_B]];
        for (long i = 0; db && i < w.n; i++)
            db[w.at[WALK_DB] + i * w.step[WALK_DB]] -= dy[i] * y[i] / b[w.at[WALK_B] + i * w.step[WALK_B]];
    }
}
/* exercise: end */

BUILD_CASE(build, tape_div(t, x[0], x[1]))

static const CheckCase cases[] = {
    {"same shape", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4), .margin = 0.4}}},
    {"by a row", build, {{"a", DIMS(2, 3, 4)}, {"b", DIMS(4), .margin = 0.4}}},
    {"by a column", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 1), .margin = 0.4}}},
    {"broadcast both", build, {{"a", DIMS(2, 1, 4)}, {"b", DIMS(3, 1), .margin = 0.4}}},
    {"of a scalar", build, {{"a", {0}}, {"b", DIMS(2, 2), .margin = 0.4}}},
    {"by a scalar", build, {{"a", DIMS(2, 2)}, {"b", {0}, .margin = 0.4}}},
    {"small divisors", build, {{"a", DIMS(6)}, {"b", DIMS(6), 1e-3, 2e-3}}},
    {"strided",
     build,
     {{"a", DIMS(3, 4), .layout = TRANSPOSED}, {"b", DIMS(3, 4), .margin = 0.4, .layout = STEPPED}}},
    {"repeated", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4), .margin = 0.4, .layout = REPEATED}}},
    {"by itself", build, {{"a", DIMS(3, 4), .margin = 0.4}, {"a", .same_as = 1}}},
    {"constant dividend", build, {{"a", DIMS(3), .constant = true}, {"b", DIMS(3), .margin = 0.4}}},
    {"constant divisor", build, {{"a", DIMS(3)}, {"b", DIMS(3), .margin = 0.4, .constant = true}}},
    {"one element", build, {{"a", DIMS(1)}, {"b", DIMS(1), .margin = 0.4}}},
    {"empty", build, {{"a", DIMS(0, 4)}, {"b", DIMS(4), .margin = 0.4}}},
};

const Op op_div = {"div", forward, backward, CASES(cases)};

Tensor *tape_div(Tape *t, Tensor *a, Tensor *b) {
    return tape_record(broadcast_node(t, &op_div, a, b));
}
