/* Operations that work element by element. The operation's file computes one element, in the
 * symbols of its derivation; these macros are the loops. For one tensor:
 *
 *     FORWARD_EACH(y = vm_tanh(x))
 *     BACKWARD_EACH(dx += dy * (1 - y * y))
 *
 * For two tensors that broadcast:
 *
 *     FORWARD_PAIRS(y = a * b)
 *     BACKWARD_PAIRS(da += dy * b, db += dy * a)
 *
 * Each macro defines the function of its name. A statement may also use the node, n, and for one
 * tensor the index of the element, i. RECORD_EACH and RECORD_PAIRS define the function that records
 * the operation; it makes inputs contiguous. */
#pragma once

#include "kernels/arrays.h"
#include "ops/ops.h"

#define FORWARD_EACH(statement)                                                                    \
    static void forward(Node *n) {                                                                 \
        const real *in = n->in[0]->data;                                                           \
        real *out = n->out->data;                                                                  \
        for (long i = 0, count = shape_count(n->out->shape); i < count; i++) {                     \
            const real x = in[i];                                                                  \
            real y;                                                                                \
            statement;                                                                             \
            out[i] = y;                                                                            \
        }                                                                                          \
    }

#define BACKWARD_EACH(statement)                                                                   \
    static void backward(Node *n) {                                                                \
        const real *in = n->in[0]->data, *out = n->out->data, *up = n->out->grad;                  \
        real *grad = n->in[0]->grad;                                                               \
        for (long i = 0, count = shape_count(n->out->shape); i < count; i++) {                     \
            const real x = in[i], y = out[i], dy = up[i];                                          \
            real dx = grad[i];                                                                     \
            (void)x, (void)y;                                                                      \
            statement;                                                                             \
            grad[i] = dx;                                                                          \
        }                                                                                          \
    }

/* For Op.branches: the side of a kink that x is on, as a number. */
#define BRANCHES_EACH(side)                                                                        \
    static uint64_t branches(const Node *n) {                                                      \
        uint64_t hash = 0;                                                                         \
        for (long i = 0, count = shape_count(n->out->shape); i < count; i++) {                     \
            const real x = n->in[0]->data[i];                                                      \
            hash = branch_hash(hash, side);                                                        \
        }                                                                                          \
        return hash;                                                                               \
    }

/* A node for y = f(x), to be given attributes. */
static inline Node *each_node(Tape *t, const Op *op, Tensor *x) {
    op_want(op->name, t, INPUTS(x));
    return tape_node(t, op, x->shape, INPUTS(tape_contiguous(t, x)));
}

/* The function that records an operation of x alone, and `build`, for its cases. */
#define RECORD_EACH(name)                                                                          \
    Tensor *tape_##name(Tape *t, Tensor *x) {                                                      \
        return tape_forward(each_node(t, &op_##name, x));                                          \
    }                                                                                              \
    BUILD_CASE(build, tape_##name(t, x[0]))

/* The first rows of a table of cases: x in [low, high], of common shapes and layouts. */
/* clang-format off */
#define CASES_EACH(low, high)                                                                      \
    {"matrix", build, {{"x", DIMS(3, 4), low, high}}},                                             \
    {"strided", build, {{"x", DIMS(3, 4), low, high, .layout = TRANSPOSED}}},                      \
    {"scalar", build, {{"x", {0}, low, high}}},                                                    \
    {"empty", build, {{"x", DIMS(2, 0), low, high}}}
/* clang-format on */

enum { WALK_A, WALK_B };

/* Walks the elements of y in order, and with them those of a and b, or of their gradients. An
 * element that y repeats is visited each time, so that `da +=` sums over the broadcast axes. */
static inline Walk broadcast_walk(const Node *n) {
    long a[MAX_RANK], b[MAX_RANK];
    tensor_broadcast_strides(n->in[0]->shape, n->in[0]->stride, n->out->shape, a);
    tensor_broadcast_strides(n->in[1]->shape, n->in[1]->stride, n->out->shape, b);
    return tensor_walk(n->out->shape, 2, (const long *[]){a, b});
}

#define WALKED(array, operand) (array)[w.at[operand] + i * w.step[operand]]

#define FORWARD_PAIRS(statement)                                                                   \
    static void forward(Node *n) {                                                                 \
        real *out = n->out->data;                                                                  \
        for (Walk w = broadcast_walk(n); tensor_walk_row(&w); out += w.n)                          \
            for (long i = 0; i < w.n; i++) {                                                       \
                const real a = WALKED(n->in[0]->data, WALK_A), b = WALKED(n->in[1]->data, WALK_B); \
                real y;                                                                            \
                statement;                                                                         \
                out[i] = y;                                                                        \
            }                                                                                      \
    }

#define BACKWARD_PAIRS(statement_a, statement_b)                                                   \
    static void backward(Node *n) {                                                                \
        const real *out = n->out->data, *up = n->out->grad;                                        \
        for (Walk w = broadcast_walk(n); tensor_walk_row(&w); out += w.n, up += w.n) {             \
            BACKWARD_ROW(da, n->in[0]->grad, WALK_A, statement_a)                                  \
            BACKWARD_ROW(db, n->in[1]->grad, WALK_B, statement_b)                                  \
        }                                                                                          \
    }

#define BACKWARD_ROW(dx, grad, operand, statement)                                                 \
    for (long i = 0; (grad) && i < w.n; i++) {                                                     \
        const real a = WALKED(n->in[0]->data, WALK_A), b = WALKED(n->in[1]->data, WALK_B);         \
        const real y = out[i], dy = up[i];                                                         \
        real dx = WALKED(grad, operand);                                                           \
        (void)a, (void)b, (void)y;                                                                 \
        statement;                                                                                 \
        WALKED(grad, operand) = dx;                                                                \
    }

/* The function that records an operation of a and b, and `build`, for its cases. */
#define RECORD_PAIRS(name)                                                                         \
    Tensor *tape_##name(Tape *t, Tensor *a, Tensor *b) {                                           \
        op_want(#name, t, INPUTS(a, b));                                                           \
        Shape y = shape_broadcast(#name, a->shape, b->shape);                                      \
        a = tape_contiguous(t, a), b = tape_contiguous(t, b);                                      \
        return tape_forward(tape_node(t, &op_##name, y, INPUTS(a, b)));                            \
    }                                                                                              \
    BUILD_CASE(build, tape_##name(t, x[0], x[1]))

/* The first rows of a table of cases: common shapes and layouts; b is at least `margin_b` away from
 * 0. */
/* clang-format off */
#define CASES_PAIRS(margin_b)                                                                      \
    {"same shape", build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4), .margin = margin_b}}},             \
    {"broadcast row", build, {{"a", DIMS(2, 3, 4)}, {"b", DIMS(4), .margin = margin_b}}},          \
    {"broadcast both", build, {{"a", DIMS(2, 1, 4)}, {"b", DIMS(3, 1), .margin = margin_b}}},      \
    {"scalar", build, {{"a", {0}}, {"b", DIMS(2, 2), .margin = margin_b}}},                        \
    {"strided", build, {{"a", DIMS(3, 4), .layout = TRANSPOSED},                                   \
                        {"b", DIMS(3, 4), .margin = margin_b, .layout = STEPPED}}},                \
    {"one element", build, {{"a", DIMS(1)}, {"b", DIMS(1), .margin = margin_b}}},                  \
    {"empty", build, {{"a", DIMS(0, 4)}, {"b", DIMS(4), .margin = margin_b}}}
/* clang-format on */
