/* linear: a matrix product with bias, activation and residual in one pass. Sections 3.2.2, 3.3:
 * every projection.
 *
 *     x: [n, d_in]   W: [d_out, d_in] (as PyTorch lays it out)      y: [n, d_out]
 *     b: [d_out] or none   r: [n, d_out] or none
 *
 *   | z_ij = Σ_k x_ik W_jk + b_j      when b
 *   | z_ij = Σ_k x_ik W_jk            when no b
 *   | y = act(z)                      when act
 *   | y = r + z                       when r
 *   | y = z                           when no act, no r
 *
 * Backward. The slope of the activation comes first, then the derivatives of the sum:
 *
 *   | dz = dy                                  when no act
 *   | dz_ij = dy_ij act'(z_ij)                 when act, no relu
 *   | dz_ij = dy_ij where y_ij > 0, else 0     when relu
 *   | dx_ik += Σ_j dz_ij W_jk         in matrices dx += dz W
 *   | dW_jk += Σ_i dz_ij x_ik         in matrices dW += dzᵀ x
 *   | db_j += Σ_i dz_ij               when b
 *   | dr_ij += dy_ij                  when r
 *
 * relu' needs only the sign of z, which is that of y; gelu' and silu' need z, which forward keeps.
 * */
#include "kernels/arrays.h"
#include "kernels/product.h"
#include "kernels/vector_math.h"
#include "ops/ops.h"
#include "ops/row_loop.h"

enum { X, W, B, R };

typedef struct Attr {
    long n, d_in, d_out;
    Activation activation;
    real *z; /* [n, d_out], for gelu' */
} Attr;

/* exercise: begin */
static void forward(Node *n) {
    const Attr *a = n->attr;
    real *y = n->out->data;
    if (n->in[R]) tensor_copy_out(n->in[R], y);
    Gemm g = product_of(GEMM_NT, matrix_of(n->in[X]->data, a->n, a->d_in),
                        matrix_of(n->in[W]->data, a->d_out, a->d_in), matrix_of(y, a->n, a->d_out),
                        n->in[R] != NULL);
    g.packed = n->in[W]->packed;
    g.bias = n->in[B] ? n->in[B]->data : NULL;
    g.activation = a->activation;
    g.pre_activation = a->z;
    gemm(&g);
}

/* dz = dy act'(z), in place of dy or of its copy in the scratch memory. */
static void activation_backward(Node *n, long begin, long end) {
    const Attr *a = n->attr;
    const real *y = n->out->data, *z = a->z;
    real *dz = n->scratch ? n->scratch : n->out->grad;
    if (a->activation == ACT_RELU)
        for (long i = begin; i < end; i++) dz[i] = y[i] > 0 ? dz[i] : 0;
    else if (a->activation == ACT_GELU)
        for (long i = begin; i < end; i++) dz[i] *= vm_gelu_grad(z[i]);
    else
        for (long i = begin; i < end; i++) dz[i] *= vm_silu_grad(z[i]);
}

/* dz overwrites dy, unless the tape keeps dy. */
static long scratch(const Node *n, bool backward) {
    const Attr *a = n->attr;
    return backward && a->activation != ACT_NONE && n->tape->keep ? a->n * a->d_out : 0;
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    Tensor *x = n->in[X], *w = n->in[W], *b = n->in[B], *r = n->in[R];
    Matrix dz = matrix_of(n->out->grad, a->n, a->d_out);
    if (a->activation != ACT_NONE) {
        if (n->scratch) {
            kernel_scale_to(a->n * a->d_out, 1, dz.at, n->scratch, false);
            dz.at = n->scratch;
        }
        row_loop(n, a->n * a->d_out, 1, activation_backward);
    }
    if (x->grad)
        product_nn(dz, matrix_of(w->data, a->d_out, a->d_in), matrix_of(x->grad, a->n, a->d_in),
                   tensor_grad_adds(x));
    if (w->grad)
        product_tn(dz, matrix_of(x->data, a->n, a->d_in), matrix_of(w->grad, a->d_out, a->d_in),
                   tensor_grad_adds(w));
    if (b && b->grad)
        kernel_column_sums(a->n, a->d_out, dz.at, dz.ld, b->grad, tensor_grad_adds(b));
    if (r && r->grad)
        kernel_scale_to(a->n * a->d_out, 1, n->out->grad, r->grad, tensor_grad_adds(r));
}

static double flops(const Node *n) {
    const Attr *a = n->attr;
    return 2.0 * (double)a->n * (double)a->d_in * (double)a->d_out;
}

static uint64_t branches(const Node *n) {
    const Attr *a = n->attr;
    uint64_t hash = 0;
    if (a->activation != ACT_RELU) return 0;
    for (long i = 0; i < a->n * a->d_out; i++) hash = branch_hash(hash, n->out->data[i] > 0);
    return hash;
}

static void arguments(const Node *n, FILE *out) {
    static const char *const name[] = {
        [ACT_NONE] = "none", [ACT_RELU] = "relu", [ACT_GELU] = "gelu", [ACT_SILU] = "silu"};
    fprintf(out, "\"act\": \"%s\"", name[((const Attr *)n->attr)->activation]);
}
/* exercise: end */

BUILD_CASE(plain, tape_linear(t, x[0], x[1], x[2], ACT_NONE, NULL))
BUILD_CASE(no_bias, tape_linear(t, x[0], x[1], NULL, ACT_NONE, NULL))
BUILD_CASE(with_relu, tape_linear(t, x[0], x[1], x[2], ACT_RELU, NULL))
BUILD_CASE(with_gelu, tape_linear(t, x[0], x[1], x[2], ACT_GELU, NULL))
BUILD_CASE(with_silu, tape_linear(t, x[0], x[1], x[2], ACT_SILU, NULL))
BUILD_CASE(with_residual, tape_linear(t, x[0], x[1], x[2], ACT_NONE, x[3]))

static const CheckCase cases[] = {
    {"plain", plain, {{"x", DIMS(3, 5)}, {"W", DIMS(4, 5)}, {"b", DIMS(4)}}},
    {"no bias", no_bias, {{"x", DIMS(3, 5)}, {"W", DIMS(4, 5)}}},
    {"relu", with_relu, {{"x", DIMS(3, 5)}, {"W", DIMS(4, 5)}, {"b", DIMS(4)}}},
    {"gelu", with_gelu, {{"x", DIMS(3, 5)}, {"W", DIMS(4, 5)}, {"b", DIMS(4)}}},
    {"silu", with_silu, {{"x", DIMS(3, 5)}, {"W", DIMS(4, 5)}, {"b", DIMS(4)}}},
    {"residual",
     with_residual,
     {{"x", DIMS(3, 5)}, {"W", DIMS(4, 5)}, {"b", DIMS(4)}, {"r", DIMS(3, 4)}}},
    {"input is residual",
     with_residual,
     {{"x", DIMS(3, 4)}, {"W", DIMS(4, 4)}, {"b", DIMS(4)}, {"x", .same_as = 1}}},
    {"x strided",
     plain,
     {{"x", DIMS(3, 5), .layout = TRANSPOSED}, {"W", DIMS(4, 5)}, {"b", DIMS(4)}}},
    {"W strided",
     plain,
     {{"x", DIMS(3, 5)}, {"W", DIMS(4, 5), .layout = STEPPED}, {"b", DIMS(4), .layout = STEPPED}}},
    {"constant weights",
     plain,
     {{"x", DIMS(3, 5)}, {"W", DIMS(4, 5), .constant = true}, {"b", DIMS(4), .constant = true}}},
    {"one by one", with_gelu, {{"x", DIMS(1, 1)}, {"W", DIMS(1, 1)}, {"b", DIMS(1)}}},
    {"no rows", plain, {{"x", DIMS(0, 5)}, {"W", DIMS(4, 5)}, {"b", DIMS(4)}}},
    {"no inputs", plain, {{"x", DIMS(3, 0)}, {"W", DIMS(4, 0)}, {"b", DIMS(4)}}},
};

const Op op_linear = {"linear",
                      forward,
                      backward,
                      .scratch = scratch,
                      .stores_fresh = true,
                      .branches = branches,
                      .flops = flops,
                      .arguments = arguments,
                      CASES(cases)};

Tensor *tape_linear(Tape *t, Tensor *x, Tensor *weight, Tensor *b, Activation activation,
                    Tensor *r) {
    op_want("linear", t, INPUTS(x, weight));
    Shape xs = x->shape, ws = weight->shape;
    if (xs.rank != 2) error_bug("linear: x is %s, want [n,d_in]", shape_text(xs));
    if (ws.rank != 2 || ws.size[1] != xs.size[1])
        error_bug("linear: W is %s, want [d_out,%ld]", shape_text(ws), xs.size[1]);
    Shape out = SHAPE(xs.size[0], ws.size[0]);
    if (b && !shape_equal(b->shape, SHAPE(ws.size[0])))
        error_bug("linear: b is %s, want [%ld]", shape_text(b->shape), ws.size[0]);
    if (r && !shape_equal(r->shape, out))
        error_bug("linear: r is %s, want %s", shape_text(r->shape), shape_text(out));
    if (activation < ACT_NONE || activation > ACT_SILU)
        error_bug("linear: found activation %d, want one of Activation", (int)activation);
    if (r && activation != ACT_NONE)
        error_bug("linear: found a residual and an activation, want at most one");
    x = tape_contiguous(t, x);
    weight = tape_contiguous(t, weight);
    if (b) b = tape_contiguous(t, b);
    Node *n = tape_node(t, &op_linear, out, INPUTS(x, weight, b, r));
    Attr *a = node_attr(n, sizeof *a);
    *a = (Attr){.n = xs.size[0], .d_in = xs.size[1], .d_out = ws.size[0], .activation = activation};
    if (activation >= ACT_GELU && tensor_wants_grad(n->out)) a->z = node_array(n, a->n * a->d_out);
    return tape_forward(n);
}
