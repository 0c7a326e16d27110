/* Macros that the students' files of this folder share. */
#ifndef TESTS_STUDENTS_STUDENT_H
#define TESTS_STUDENTS_STUDENT_H

#include "ops/ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values of input k in the order of its shape, whatever its strides. */
static inline const real *values(Node *n, int k) {
    real *x = node_memory(n, (size_t)(shape_count(n->in[k]->shape) + 1) * sizeof *x);
    tensor_copy_out(n->in[k], x);
    return x;
}

static inline long count(const Node *n, int k) {
    return shape_count(n->in[k]->shape);
}

/* A matrix's rows and columns. */
static inline long rows(const Node *n, int k) {
    return n->in[k]->shape.size[0];
}
static inline long columns(const Node *n, int k) {
    return n->in[k]->shape.size[1];
}

/* The function that records operation `name` on inputs x[0] …, with an output of this shape. */
#define BUILD(name, shape, ...)                                                                    \
    extern const Op op_##name;                                                                     \
    static Tensor *name##_build(Tape *t, Tensor **x) {                                             \
        return tape_forward(tape_node(t, &op_##name, shape, INPUTS(__VA_ARGS__)));                 \
    }

/* y = f(x), element by element, and its derivative; in both x is the element, in the derivative y the result. */
#define ELEMENTWISE(name, f, derivative)                                                           \
    static void name##_forward(Node *n) {                                                          \
        const real *in = values(n, 0);                                                             \
        for (long i = 0; i < count(n, 0); i++) {                                                   \
            const real x = in[i];                                                                  \
            n->out->data[i] = f;                                                                   \
        }                                                                                          \
    }                                                                                              \
    static void name##_backward(Node *n) {                                                         \
        const real *in = values(n, 0), *dy = n->out->grad;                                         \
        for (long i = 0; i < count(n, 0); i++) {                                                   \
            const real x = in[i], y = n->out->data[i];                                             \
            (void)x, (void)y;                                                                      \
            n->in[0]->grad[i] += dy[i] * (derivative);                                             \
        }                                                                                          \
    }                                                                                              \
    BUILD(name, x[0]->shape, x[0])

/* y = f(a, b), element by element, of two inputs of one shape, and its derivatives. */
#define PAIRWISE(name, f, by_a, by_b)                                                              \
    static void name##_forward(Node *n) {                                                          \
        const real *in_a = values(n, 0), *in_b = values(n, 1);                                     \
        for (long i = 0; i < count(n, 0); i++) {                                                   \
            const real a = in_a[i], b = in_b[i];                                                   \
            n->out->data[i] = f;                                                                   \
        }                                                                                          \
    }                                                                                              \
    static void name##_backward(Node *n) {                                                         \
        const real *in_a = values(n, 0), *in_b = values(n, 1), *dy = n->out->grad;                 \
        real *da = n->in[0]->grad, *db = n->in[1]->grad;                                           \
        for (long i = 0; i < count(n, 0); i++) {                                                   \
            const real a = in_a[i], b = in_b[i], y = n->out->data[i];                              \
            (void)a, (void)b, (void)y;                                                             \
            if (da) da[i] += dy[i] * (by_a);                                                       \
            if (db) db[i] += dy[i] * (by_b);                                                       \
        }                                                                                          \
    }                                                                                              \
    BUILD(name, x[0]->shape, x[0], x[1])

/* The operation, after its functions and cases. */
#define OP(name)                                                                                   \
    { #name, name##_forward, name##_backward, CASES(name##_cases) }

#define POINTS(name, ...)                                                                          \
    {"vector", name##_build, {{"x", DIMS(7), __VA_ARGS__}}}, {                                     \
        "matrix", name##_build, {                                                                  \
            { "x", DIMS(3, 4), __VA_ARGS__ }                                                       \
        }                                                                                          \
    }
#define PAIRS(name, ...)                                                                           \
    {                                                                                              \
        "pairs", name##_build, {                                                                   \
            {"a", DIMS(3, 4), __VA_ARGS__}, {                                                      \
                "b", DIMS(3, 4), __VA_ARGS__                                                       \
            }                                                                                      \
        }                                                                                          \
    }

#endif
