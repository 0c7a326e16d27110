/* Operations that work element by element. The operation's file computes one element, in the symbols of its
 * derivation; these macros are the loops. Of one tensor:
 *
 *     FORWARD_EACH(y = vm_tanh(x))
 *     BACKWARD_EACH(dx += dy * (1 - y * y))
 *
 * For two tensors that broadcast:
 *
 *     FORWARD_PAIRS(y = a * b)
 *     BACKWARD_PAIRS(da += dy * b, db += dy * a)
 *
 * Each macro defines the function of its name. A statement may also use the node, n. RECORD_EACH and RECORD_PAIRS
 * define the function that records the operation. */
#ifndef OPS_ELEMENTWISE_H
#define OPS_ELEMENTWISE_H

#include "kernels/arrays.h"
#include "ops/ops.h"

#define FORWARD_EACH(statement)                                                                              \
    static void forward(Node *n) {                                                                           \
        real *out = n->out->data;                                                                            \
        tensor_copy_out(n->in[0], out);                                                                      \
        for (long i = 0, count = shape_count(n->out->shape); i < count; i++) {                               \
            const real x = out[i];                                                                           \
            real y;                                                                                          \
            statement;                                                                                       \
            out[i] = y;                                                                                      \
        }                                                                                                    \
    }

#define BACKWARD_EACH(statement)                                                                             \
    static void backward(Node *n) {                                                                          \
        const real *in = n->in[0]->data, *out = n->out->data, *up = n->out->grad;                            \
        real *grad = n->in[0]->grad;                                                                         \
        Walk w = tensor_walk_over(n->in[0]);                                                                 \
        for (; tensor_walk_row(&w); out += w.n, up += w.n, grad += w.n)                                      \
            for (long i = 0; i < w.n; i++) {                                                                 \
                const real x = in[w.at[0] + i * w.step[0]], y = out[i], dy = up[i];                          \
                real dx = grad[i];                                                                           \
                (void)x, (void)y;                                                                            \
                statement;                                                                                   \
                grad[i] = dx;                                                                                \
            }                                                                                                \
    }

/* For Op.branches: the side of a kink that x is on, as a number. */
#define BRANCHES_EACH(side)                                                                                  \
    static uint64_t branches(const Node *n) {                                                                \
        uint64_t hash = 0;                                                                                   \
        for (Walk w = tensor_walk_over(n->in[0]); tensor_walk_row(&w);)                                      \
            for (long i = 0; i < w.n; i++) {                                                                 \
                const real x = n->in[0]->data[w.at[0] + i * w.step[0]];                                      \
                hash = branch_hash(hash, side);                                                              \
            }                                                                                                \
        return hash;                                                                                         \
    }

/* The function that records an operation of x alone, and `build`, for its cases. */
#define RECORD_EACH(name)                                                                                    \
    Tensor *tape_##name(Tape *t, Tensor *x) {                                                                \
        return tape_record(tape_node(t, &op_##name, x->shape, INPUTS(x)));                                   \
    }                                                                                                        \
    BUILD_CASE(build, tape_##name(t, x[0]))

/* The first rows of a table of cases: x in [low, high], of common shapes and layouts. */
/* clang-format off */
#define CASES_EACH(low, high)                                                                                \
    {"matrix", build, {{"x", DIMS(3, 4), low, high}}},                                                       \
    {"strided", build, {{"x", DIMS(3, 4), low, high, .layout = TRANSPOSED}}},                                \
    {"scalar", build, {{"x", {0}, low, high}}},                                                              \
    {"empty", build, {{"x", DIMS(2, 0), low, high}}}
/* clang-format on */

enum { WALK_A, WALK_B, WALK_DA, WALK_DB };

/* Walks the elements of y in order, and with them a and b (WALK_A, WALK_B) and their gradients (WALK_DA, WALK_DB).
 * An element that y repeats is visited each time, so that `da +=` sums over the broadcast axes. */
static inline Walk broadcast_walk(const Node *n) {
    long stride[4][MAX_RANK], contiguous[MAX_RANK];
    for (int i = 0; i < 2; i++) {
        const Tensor *x = n->in[i];
        tensor_broadcast_strides(x->shape, x->stride, n->out->shape, stride[WALK_A + i]);
        tensor_contiguous_strides(x->shape, contiguous);
        tensor_broadcast_strides(x->shape, contiguous, n->out->shape, stride[WALK_DA + i]);
    }
    return tensor_walk(n->out->shape, 4, (const long *[]){stride[0], stride[1], stride[2], stride[3]});
}

#define WALKED(array, operand) (array)[w.at[operand] + i * w.step[operand]]

#define FORWARD_PAIRS(statement)                                                                             \
    static void forward(Node *n) {                                                                           \
        real *out = n->out->data;                                                                            \
        for (Walk w = broadcast_walk(n); tensor_walk_row(&w); out += w.n)                                    \
            for (long i = 0; i < w.n; i++) {                                                                 \
                const real a = WALKED(n->in[0]->data, WALK_A), b = WALKED(n->in[1]->data, WALK_B);           \
                real y;                                                                                      \
                statement;                                                                                   \
                out[i] = y;                                                                                  \
            }                                                                                                \
    }

#define BACKWARD_PAIRS(statement_a, statement_b)                                                             \
    static void backward(Node *n) {                                                                          \
        const real *out = n->out->data, *up = n->out->grad;                                                  \
        for (Walk w = broadcast_walk(n); tensor_walk_row(&w); out += w.n, up += w.n) {                       \
            BACKWARD_ROW(da, n->in[0]->grad, WALK_DA, statement_a)                                           \
            BACKWARD_ROW(db, n->in[1]->grad, WALK_DB, statement_b)                                           \
        }                                                                                                    \
    }

#define BACKWARD_ROW(dx, grad, operand, statement)                                                           \
    for (long i = 0; (grad) && i < w.n; i++) {                                                               \
        const real a = WALKED(n->in[0]->data, WALK_A), b = WALKED(n->in[1]->data, WALK_B);                   \
        const real y = out[i], dy = up[i];                                                                   \
        real dx = WALKED(grad, operand);                                                                     \
        (void)a, (void)b, (void)y;                                                                           \
        statement;                                                                                           \
        WALKED(grad, operand) = dx;                                                                          \
    }

/* The function that records an operation of a and b, and `build`, for its cases. */
#define RECORD_PAIRS(name)                                                                                   \
    Tensor *tape_##name(Tape *t, Tensor *a, Tensor *b) {                                                     \
        Shape y = shape_broadcast(#name, a->shape, b->shape);                                                \
        return tape_record(tape_node(t, &op_##name, y, INPUTS(a, b)));                                       \
    }                                                                                                        \
    BUILD_CASE(build, tape_##name(t, x[0], x[1]))

/* The first rows of a table of cases: common shapes and layouts; b is at least `margin_b` away from 0. */
/* clang-format off */
#define CASES_PAIRS(margin_b)                                                                                \
    {"same shape", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4), .margin = margin_b}}},                       \
    {"broadcast row", build, {{"a", DIMS(2, 3, 4)}, {"b", DIMS(4), .margin = margin_b}}},                    \
    {"broadcast both", build, {{"a", DIMS(2, 1, 4)}, {"b", DIMS(3, 1), .margin = margin_b}}},                \
    {"scalar", build, {{"a", {0}}, {"b", DIMS(2, 2), .margin = margin_b}}},                                  \
    {"strided", build, {{"a", DIMS(3, 4), .layout = TRANSPOSED},                                             \
                        {"b", DIMS(3, 4), .margin = margin_b, .layout = STEPPED}}},                          \
    {"one element", build, {{"a", DIMS(1)}, {"b", DIMS(1), .margin = margin_b}}},                            \
    {"empty", build, {{"a", DIMS(0, 4)}, {"b", DIMS(4), .margin = margin_b}}}
/* clang-format on */

#endif
