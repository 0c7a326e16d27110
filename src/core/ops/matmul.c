/* matmul: products of matrices, one for each index of the leading axes, which broadcast. Section
 * 3.2.1: q kᵀ, and the weights times v.
 *
 *     a: [… m k]   b: [… k n], leading axes that broadcast      y: [… m n]
 *
 *   | y_ij = Σ_p a_ip b_pj
 *
 * Backward. a_ip is multiplied by row p of b, b_pj by column p of a:
 *
 *   | da_ip += Σ_j dy_ij b_pj         in matrices da += dy bᵀ
 *   | db_pj += Σ_i a_ip dy_ij         in matrices db += aᵀ dy
 *
 * A matrix that is broadcast to several products gets the sum over them.
 *
 * Forward keeps nothing; backward reads both inputs. An input may be stored by rows or by columns,
 * as a transpose leaves it; `contiguous` first copies an input with other strides. */
#include "kernels/product.h"
#include "ops/ops.h"

/* Whether the matrices of an operand are stored by rows or by columns. */
typedef enum Order { BY_ROWS, BY_COLUMNS, SCATTERED } Order;

enum { A, B, Y };

typedef struct Attr {
    Shape places;                /* the leading axes of y */
    long step[3][MAX_RANK];      /* of A, B, Y: between matrices along each axis; 0: broadcast */
    long grad_step[2][MAX_RANK]; /* the same for da and db */
} Attr;

/* Sets *first to x's first matrix as it is stored: its transpose if it is stored by columns. Its
 * rows (or columns) must not overlap, and what has no second row is apart by its length. */
static Order stored(const Tensor *x, Matrix *first) {
    int r = x->shape.rank;
    long rows = x->shape.size[r - 2], columns = x->shape.size[r - 1];
    long down = x->stride[r - 2], right = x->stride[r - 1];
    if ((columns <= 1 || right == 1) && (rows <= 1 || down >= columns)) {
        *first = (Matrix){x->data, rows, columns, rows > 1 ? down : columns};
        return BY_ROWS;
    }
    /* There are several columns: one alone is by rows, or one row again and again. */
    *first = (Matrix){x->data, columns, rows, right};
    return (rows <= 1 || down == 1) && right >= rows ? BY_COLUMNS : SCATTERED;
}

static Order order_of(const Tensor *x) {
    return stored(x, &(Matrix){0});
}

/* exercise: begin */
/* One product for each matrix of y. Products that add to the same matrix run one after another. */
static void products(Gemm g, const Attr *attr, const long *a, const long *b, const long *c) {
    for (Walk w = tensor_walk(attr->places, 3, (const long *[]){a, b, c}); tensor_walk_row(&w);) {
        long together = w.step[2] == 0 ? 1 : w.n;
        for (long i = 0; i < w.n; i += together) {
            Gemm some = g;
            some.a += w.at[0] + i * w.step[0];
            some.b += w.at[1] + i * w.step[1];
            some.c += w.at[2] + i * w.step[2];
            some.batch = together;
            some.stride_a = w.step[0];
            some.stride_b = w.step[1];
            some.stride_c = w.step[2];
            gemm(&some);
        }
    }
}

/* The first matrix of a contiguous array in x's shape. */
static Matrix first_of(const Tensor *x, real *array) {
    const long *size = x->shape.size + x->shape.rank - 2;
    return matrix_of(array, size[0], size[1]);
}

static void forward(Node *n) {
    const Attr *s = n->attr;
    Matrix a, b;
    Order a_order = stored(n->in[A], &a), b_order = stored(n->in[B], &b);
    GemmLayout layout = b_order == BY_COLUMNS ? GEMM_NT : GEMM_NN;
    if (a_order == BY_COLUMNS) layout = GEMM_TN;
    Gemm y = product_of(layout, a, b, first_of(n->out, n->out->data), false);
    products(y, s, s->step[A], s->step[B], s->step[Y]);
}

static void backward(Node *n) {
    const Attr *s = n->attr;
    Matrix a, b, dy = first_of(n->out, n->out->grad);
    Order a_order = stored(n->in[A], &a), b_order = stored(n->in[B], &b);
    if (n->in[A]->grad) {
        GemmLayout layout = b_order == BY_COLUMNS ? GEMM_NN : GEMM_NT;
        Gemm da = product_of(layout, dy, b, first_of(n->in[A], n->in[A]->grad), true);
        products(da, s, s->step[Y], s->step[B], s->grad_step[A]);
    }
    if (n->in[B]->grad) {
        GemmLayout layout = a_order == BY_COLUMNS ? GEMM_NN : GEMM_TN;
        Gemm db = product_of(layout, a, dy, first_of(n->in[B], n->in[B]->grad), true);
        products(db, s, s->step[A], s->step[Y], s->grad_step[B]);
    }
}

static double flops(const Node *n) {
    Shape a = n->in[A]->shape;
    return 2.0 * (double)shape_count(n->out->shape) * (double)a.size[a.rank - 1];
}
/* exercise: end */

BUILD_CASE(build, tape_matmul(t, x[0], x[1]))
BUILD_CASE(by_own_transpose, tape_matmul(t, x[0], tape_transpose(t, x[0], -2, -1)))

/* q kᵀ with strided heads, as one projection makes them: [positions, h, d_k]. */
static Tensor *heads(Tape *t, Tensor **x) {
    Tensor *q = tape_transpose(t, x[0], 0, 1), *k = tape_transpose(t, x[1], 0, 1);
    return tape_matmul(t, q, tape_transpose(t, k, 1, 2));
}

static const CheckCase cases[] = {
    {"matrices", build, {{"a", DIMS(3, 4)}, {"b", DIMS(4, 2)}}},
    {"many", build, {{"a", DIMS(2, 3, 4)}, {"b", DIMS(2, 4, 5)}}},
    {"broadcast both", build, {{"a", DIMS(2, 1, 3, 4)}, {"b", DIMS(3, 4, 2)}}},
    {"one b for all", build, {{"a", DIMS(3, 2, 4)}, {"b", DIMS(4, 3)}}},
    {"one a for all", build, {{"a", DIMS(2, 4)}, {"b", DIMS(2, 3, 4, 2)}}},
    {"a transposed", build, {{"a", DIMS(2, 3, 4), .layout = TRANSPOSED}, {"b", DIMS(4, 2)}}},
    {"b transposed", build, {{"a", DIMS(3, 4)}, {"b", DIMS(2, 4, 5), .layout = TRANSPOSED}}},
    {"both transposed",
     build,
     {{"a", DIMS(3, 4), .layout = TRANSPOSED}, {"b", DIMS(4, 2), .layout = TRANSPOSED}}},
    {"stepped",
     build,
     {{"a", DIMS(2, 3, 4), .layout = STEPPED}, {"b", DIMS(4, 2), .layout = STEPPED}}},
    {"repeated matrices", build, {{"a", DIMS(2, 3, 4), .layout = REPEATED}, {"b", DIMS(2, 4, 5)}}},
    {"repeated rows",
     build,
     {{"a", DIMS(3, 4), .layout = REPEATED}, {"b", DIMS(4, 5), .layout = REPEATED}}},
    {"heads", heads, {{"q", DIMS(3, 2, 4)}, {"k", DIMS(5, 2, 4)}}},
    {"squared", build, {{"a", DIMS(3, 3)}, {"a", .same_as = 1}}},
    {"by its own transpose", by_own_transpose, {{"a", DIMS(2, 3, 4)}}},
    {"constant a", build, {{"a", DIMS(3, 4), .constant = true}, {"b", DIMS(4, 2)}}},
    {"constant b", build, {{"a", DIMS(3, 4)}, {"b", DIMS(4, 2), .constant = true}}},
    {"row by column", build, {{"a", DIMS(1, 4)}, {"b", DIMS(4, 1)}}},
    {"column by row", build, {{"a", DIMS(4, 1)}, {"b", DIMS(1, 3), .layout = TRANSPOSED}}},
    {"one by one", build, {{"a", DIMS(1, 1)}, {"b", DIMS(1, 1)}}},
    {"no rows", build, {{"a", DIMS(0, 4)}, {"b", DIMS(4, 2)}}},
    {"no columns", build, {{"a", DIMS(3, 4)}, {"b", DIMS(4, 0)}}},
    {"nothing to sum", build, {{"a", DIMS(3, 0)}, {"b", DIMS(0, 2)}}},
    {"no matrices", build, {{"a", DIMS(0, 3, 4)}, {"b", DIMS(4, 2)}}},
};

const Op op_matmul = {"matmul", forward, backward, .flops = flops, CASES(cases)};

/* The axes before the last two. */
static Shape places_of(Shape s) {
    s.rank -= 2;
    return s;
}

Tensor *tape_matmul(Tape *t, Tensor *a, Tensor *b) {
    op_want("matmul", t, INPUTS(a, b));
    int ra = a->shape.rank, rb = b->shape.rank;
    if (ra < 2) error_bug("matmul: argument 1 is %s, want [*,*]", shape_text(a->shape));
    long k = a->shape.size[ra - 1];
    if (rb < 2 || b->shape.size[rb - 2] != k)
        error_bug("matmul: argument 2 is %s, want [%s%ld,*]", shape_text(b->shape),
                  rb > 2 ? "…," : "", k);
    Attr s = {.places = shape_broadcast("matmul, leading axes", places_of(a->shape),
                                        places_of(b->shape))};
    Shape out = s.places;
    out.size[out.rank++] = a->shape.size[ra - 2];
    out.size[out.rank++] = b->shape.size[rb - 1];

    /* gemm takes only one of A and B by columns. */
    if (order_of(a) == SCATTERED) a = tape_contiguous(t, a);
    Order order = order_of(b);
    if (order == SCATTERED || (order == BY_COLUMNS && order_of(a) == BY_COLUMNS))
        b = tape_contiguous(t, b);

    Node *node = tape_node(t, &op_matmul, out, INPUTS(a, b));
    for (int i = 0; i < 2; i++) {
        Tensor *x = node->in[i];
        long contiguous[MAX_RANK];
        tensor_contiguous_strides(x->shape, contiguous);
        tensor_broadcast_strides(places_of(x->shape), x->stride, s.places, s.step[i]);
        tensor_broadcast_strides(places_of(x->shape), contiguous, s.places, s.grad_step[i]);
    }
    for (int i = 0; i < s.places.rank; i++) s.step[Y][i] = node->out->stride[i];
    *(Attr *)node_attr(node, sizeof s) = s;
    return tape_forward(node);
}
