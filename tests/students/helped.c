/* helped: a right operation with what students have functions and loops of their own for. tests/repairs.c spoils it.
 *
 *     x [R,d], w1 [m,d], w2 [d,m]:  u = w1 x of each row, y = x + w2 (u sigmoid(u)) */
#include "ops/ops.h"
#include <math.h>
#include <stdlib.h>
typedef struct Save {
    real *u;
} Save;
static void mul(const real *w, const real *x, real *y, long rows, long cols) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < cols; j++) y[i] += w[i * cols + j] * x[j];
}
static void mul_t(const real *w, const real *g, real *dx, long rows, long cols) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < cols; j++) dx[j] += w[i * cols + j] * g[i];
}
static void outer(real *dw, const real *g, const real *x, long rows, long cols) {
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < cols; j++) dw[i * cols + j] += g[i] * x[j];
}
static void forward(Node *n) {
    Save *s = n->attr;
    long R = n->in[0]->shape.size[0], d = n->in[0]->shape.size[1], m = n->in[1]->shape.size[0];
    s->u = node_array(n, R * m);
    real *a = calloc(m, sizeof *a);
    for (long r = 0; r < R; r++) {
        const real *x = n->in[0]->data + r * d;
        real *u = s->u + r * m, *y = n->out->data + r * d;
        for (long k = 0; k < m; k++) u[k] = 0;
        mul(n->in[1]->data, x, u, m, d);
        for (long k = 0; k < m; k++) a[k] = u[k] / (1 + exp(-u[k]));
        for (long j = 0; j < d; j++) y[j] = x[j];
        mul(n->in[2]->data, a, y, d, m);
    }
    free(a);
}
static void backward(Node *n) {
    Save *s = n->attr;
    long R = n->in[0]->shape.size[0], d = n->in[0]->shape.size[1], m = n->in[1]->shape.size[0];
    real *a = calloc(m, sizeof *a), *da = calloc(m, sizeof *da);
    for (long r = 0; r < R; r++) {
        const real *x = n->in[0]->data + r * d, *g = n->out->grad + r * d, *u = s->u + r * m;
        for (long k = 0; k < m; k++) da[k] = 0;
        for (long k = 0; k < m; k++) a[k] = u[k] / (1 + exp(-u[k]));
        mul_t(n->in[2]->data, g, da, d, m);
        if (n->in[2]->grad) outer(n->in[2]->grad, g, a, d, m);
        for (long k = 0; k < m; k++) {
            double sg = 1 / (1 + exp(-u[k]));
            da[k] *= sg * (1 + u[k] * (1 - sg));
        }
        if (n->in[1]->grad) outer(n->in[1]->grad, da, x, m, d);
        if (n->in[0]->grad) {
            real *dx = n->in[0]->grad + r * d;
            mul_t(n->in[1]->data, da, dx, m, d);
            for (long j = 0; j < d; j++) dx[j] += g[j];
        }
    }
    free(a), free(da);
}
extern const Op op_helped;
Tensor *tape_helped(Tape *t, Tensor *x, Tensor *w1, Tensor *w2) {
    x = tape_contiguous(t, x), w1 = tape_contiguous(t, w1), w2 = tape_contiguous(t, w2);
    Node *node = tape_node(t, &op_helped, x->shape, INPUTS(x, w1, w2));
    node_attr(node, sizeof(Save));
    return tape_record(node);
}
BUILD_CASE(plain, tape_helped(t, x[0], x[1], x[2]))
static const CheckCase cases[] = {
    {"rows", plain, {{"x", DIMS(2, 3)}, {"w1", DIMS(4, 3)}, {"w2", DIMS(3, 4)}}},
    {"one", plain, {{"x", DIMS(1, 2)}, {"w1", DIMS(3, 2)}, {"w2", DIMS(2, 3)}}},
};
const Op op_helped = {"helped", forward, backward, CASES(cases)};
