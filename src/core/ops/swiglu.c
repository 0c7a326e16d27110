/* swiglu: a linear unit whose gate is a silu, both from one product: the activation of a gated
 * feed-forward layer (Shazeer, arXiv:2002.05202).
 *
 *     x: [n, 2d], in each row d gates a and d values b      y: [n, d]
 *
 *   | y_ij = a_ij σ(a_ij) b_ij      x_i = a_i|b_i      σ(a) = 1 / (1 + e^-a)
 *
 * Backward. The slope of silu is derived in silu.c:
 *
 *   | silu(a) = a σ(a)      silu'(a) = σ(a) + a σ(a) (1 - σ(a))
 *   | da_ij += dy_ij b_ij silu'(a_ij)            db_ij += dy_ij silu(a_ij)
 *
 * Forward keeps nothing; backward reads x. silu and its slope are in kernels/vector_math.h. Equals
 * mul(silu(a), b) in one pass and without an array for silu(a). */
#include "kernels/vector_math.h"
#include "ops/ops.h"
#include "ops/row_loop.h"

/* exercise: begin */
static void forward_rows(Node *n, long begin, long end) {
    long d = n->out->shape.size[1];
    for (long i = begin; i < end; i++) {
        const real *restrict a = n->in[0]->data + i * 2 * d, *restrict b = a + d;
        real *restrict y = n->out->data + i * d;
        for (long j = 0; j < d; j++) y[j] = vm_silu(a[j]) * b[j];
    }
}

static void forward(Node *n) {
    row_loop(n, n->in[0]->shape.size[0], n->in[0]->shape.size[1], forward_rows);
}

static void backward_rows(Node *n, long begin, long end) {
    bool store = !tensor_grad_adds(n->in[0]);
    long d = n->out->shape.size[1];
    for (long i = begin; i < end; i++) {
        const real *restrict a = n->in[0]->data + i * 2 * d, *restrict b = a + d;
        const real *restrict dy = n->out->grad + i * d;
        real *restrict da = n->in[0]->grad + i * 2 * d, *restrict db = da + d;
        if (store)
            for (long j = 0; j < d; j++) da[j] = db[j] = 0;
        for (long j = 0; j < d; j++) {
            da[j] += dy[j] * b[j] * vm_silu_grad(a[j]);
            db[j] += dy[j] * vm_silu(a[j]);
        }
    }
}

static void backward(Node *n) {
    row_loop(n, n->in[0]->shape.size[0], n->in[0]->shape.size[1], backward_rows);
}
/* exercise: end */

BUILD_CASE(build, tape_swiglu(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 10)}}},
    {"strided", build, {{"x", DIMS(4, 6), .layout = TRANSPOSED}}},
    {"far away", build, {{"x", DIMS(2, 8), -1000, 1000}}, .flat = true},
    {"one column", build, {{"x", DIMS(3, 2)}}},
    {"no rows", build, {{"x", DIMS(0, 4)}}},
};

const Op op_swiglu = {"swiglu", forward, backward, .stores_fresh = true, CASES(cases)};

Tensor *tape_swiglu(Tape *t, Tensor *x) {
    op_want("swiglu", t, INPUTS(x));
    Shape s = x->shape;
    if (s.rank != 2 || s.size[1] % 2) error_bug("swiglu: x is %s, want [n,2d]", shape_text(s));
    x = tape_contiguous(t, x);
    return tape_forward(tape_node(t, &op_swiglu, SHAPE(s.size[0], s.size[1] / 2), INPUTS(x)));
}
