/* grouped_linear: a linear layer with a matrix for each group of rows: the experts of a mixture (Shazeer et al.,
 * arXiv:1701.06538), each of which computes only the tokens that chose it.
 *
 *     x: [n, d_in], the rows of group 0, then those of group 1, …      rows: G counts, of sum n
 *     W: [G, d_out, d_in]   b: [G, d_out]      y: [n, d_out]
 *
 *     y_ij = Σ_k x_ik W_gjk + b_gj      with g the group of row i
 *
 * Backward. A group's matrix gets the sum over the group's rows:
 *
 *     dx_ik += Σ_j dy_ij W_gjk
 *     dW_gjk += Σ_{i in g} dy_ij x_ik            db_gj += Σ_{i in g} dy_ij
 *
 * Forward keeps nothing. `rows` is the caller's and must live until backward has run; a tape that plans has none. */
#include "kernels/arrays.h"
#include "kernels/product.h"
#include "ops/arguments.h"
#include "ops/ops.h"

enum { X, W, B };

typedef struct Attr {
    long groups, d_in, d_out;
    const int32_t *rows; /* [groups] */
} Attr;

/* exercise: begin */
static void forward(Node *n) {
    const Attr *a = n->attr;
    for (long g = 0, i = 0; g < a->groups; i += a->rows[g++]) {
        Gemm p = product_of(GEMM_NT, matrix_of(n->in[X]->data + i * a->d_in, a->rows[g], a->d_in),
                            matrix_of(n->in[W]->data + g * a->d_out * a->d_in, a->d_out, a->d_in),
                            matrix_of(n->out->data + i * a->d_out, a->rows[g], a->d_out), false);
        p.bias = n->in[B]->data + g * a->d_out;
        gemm(&p);
    }
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    Tensor *x = n->in[X], *w = n->in[W], *b = n->in[B];
    for (long g = 0, i = 0; g < a->groups; i += a->rows[g++]) {
        long rows = a->rows[g], matrix = g * a->d_out * a->d_in;
        Matrix dy = matrix_of(n->out->grad + i * a->d_out, rows, a->d_out);
        if (x->grad)
            product_nn(dy, matrix_of(w->data + matrix, a->d_out, a->d_in),
                       matrix_of(x->grad + i * a->d_in, rows, a->d_in), tensor_grad_adds(x));
        if (w->grad)
            product_tn(dy, matrix_of(x->data + i * a->d_in, rows, a->d_in),
                       matrix_of(w->grad + matrix, a->d_out, a->d_in), tensor_grad_adds(w));
        if (b->grad)
            kernel_column_sums(rows, a->d_out, dy.at, dy.ld, b->grad + g * a->d_out, tensor_grad_adds(b));
    }
}

static double flops(const Node *n) {
    const Attr *a = n->attr;
    return 2.0 * (double)n->out->shape.size[0] * (double)a->d_in * (double)a->d_out;
}

static void arguments(const Node *n, FILE *out) {
    const Attr *a = n->attr;
    print_ids(out, "rows", a->rows, a->groups);
}
/* exercise: end */

static const int32_t three[] = {2, 3, 1}, with_empty[] = {0, 4, 0}, none[] = {0, 0}, one[] = {5};
BUILD_CASE(three_groups, tape_grouped_linear(t, x[0], x[1], x[2], three))
BUILD_CASE(empty_groups, tape_grouped_linear(t, x[0], x[1], x[2], with_empty))
BUILD_CASE(no_rows, tape_grouped_linear(t, x[0], x[1], x[2], none))
BUILD_CASE(one_group, tape_grouped_linear(t, x[0], x[1], x[2], one))

static const CheckCase cases[] = {
    {"three groups", three_groups, {{"x", DIMS(6, 4)}, {"W", DIMS(3, 5, 4)}, {"b", DIMS(3, 5)}}},
    {"empty groups", empty_groups, {{"x", DIMS(4, 3)}, {"W", DIMS(3, 2, 3)}, {"b", DIMS(3, 2)}}},
    {"one group", one_group, {{"x", DIMS(5, 1)}, {"W", DIMS(1, 1, 1)}, {"b", DIMS(1, 1)}}},
    {"strided",
     three_groups,
     {{"x", DIMS(6, 4), .layout = TRANSPOSED}, {"W", DIMS(3, 5, 4), .layout = STEPPED}, {"b", DIMS(3, 5)}}},
    {"constant weights",
     three_groups,
     {{"x", DIMS(6, 4)}, {"W", DIMS(3, 5, 4), .constant = true}, {"b", DIMS(3, 5), .constant = true}}},
    {"no rows", no_rows, {{"x", DIMS(0, 4)}, {"W", DIMS(2, 5, 4)}, {"b", DIMS(2, 5)}}},
};

const Op op_grouped_linear = {"grouped_linear",     forward,        backward,
                              .stores_fresh = true, .flops = flops, .arguments = arguments,
                              CASES(cases)};

Tensor *tape_grouped_linear(Tape *t, Tensor *x, Tensor *weight, Tensor *b, const int32_t *rows) {
    Shape xs = x->shape, ws = weight->shape;
    if (xs.rank != 2) error_bug("grouped_linear: x is %s, want [n,d_in]", shape_text(xs));
    if (ws.rank != 3 || ws.size[2] != xs.size[1])
        error_bug("grouped_linear: W is %s, want [G,d_out,%ld]", shape_text(ws), xs.size[1]);
    if (!shape_equal(b->shape, SHAPE(ws.size[0], ws.size[1])))
        error_bug("grouped_linear: b is %s, want [%ld,%ld]", shape_text(b->shape), ws.size[0], ws.size[1]);
    long sum = 0;
    for (long g = 0; !t->planning && g < ws.size[0]; g++) sum += rows[g];
    if (!t->planning && sum != xs.size[0])
        error_bug("grouped_linear: the groups have %ld rows, want %ld", sum, xs.size[0]);
    x = tape_contiguous(t, x), weight = tape_contiguous(t, weight), b = tape_contiguous(t, b);
    Node *n = tape_node(t, &op_grouped_linear, SHAPE(xs.size[0], ws.size[1]), INPUTS(x, weight, b));
    *(Attr *)node_attr(n, sizeof(Attr)) = (Attr){ws.size[0], xs.size[1], ws.size[1], rows};
    return tape_record(n);
}
