/* carried: a right operation in which it matters where a statement stands: sums and a recursion in nested loops.
 * tests/repairs.c spoils it.
 *
 *     x [B,T], u [T], a [1]:  h_bt = a h_b(t-1) + x_bt,  y_b = (Σ_t u_t tanh(h_bt))² */
#include "ops/ops.h"
#include <math.h>

typedef struct Attr {
    real *h, *z;
} Attr;

static void forward(Node *n) {
    Attr *m = n->attr;
    long B = n->in[0]->shape.size[0], T = n->in[0]->shape.size[1];
    const real *x = n->in[0]->data, *u = n->in[1]->data, *a = n->in[2]->data;
    m->h = node_array(n, B * T), m->z = node_array(n, B);
    for (long b = 0; b < B; b++) {
        double h = 0, z = 0;
        for (long t = 0; t < T; t++) {
            h = a[0] * h + x[b * T + t];
            m->h[b * T + t] = h;
            z += u[t] * tanh(h);
        }
        m->z[b] = z;
        n->out->data[b] = z * z;
    }
}

static void backward(Node *n) {
    Attr *m = n->attr;
    long B = n->in[0]->shape.size[0], T = n->in[0]->shape.size[1];
    const real *u = n->in[1]->data, *a = n->in[2]->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad, *du = n->in[1]->grad, *da = n->in[2]->grad;
    for (long b = 0; b < B; b++) {
        const real *h = m->h + b * T;
        double dz = 2 * m->z[b] * dy[b];
        double carry = 0;
        double slope = 0;
        for (long t = T - 1; t >= 0; t--) {
            double th = tanh(h[t]);
            carry += dz * u[t] * (1 - th * th);
            if (dx) dx[b * T + t] += carry;
            if (t > 0) slope += carry * h[t - 1];
            carry *= a[0];
            if (du) du[t] += dz * th;
        }
        if (da) da[0] += slope;
    }
}

extern const Op op_carried;

Tensor *tape_carried(Tape *t, Tensor *x, Tensor *u, Tensor *a) {
    x = tape_contiguous(t, x), u = tape_contiguous(t, u);
    if (x->shape.rank != 2 || u->shape.size[0] != x->shape.size[1]) error_bug("carried: need x [B,T], u [T]");
    Node *node = tape_node(t, &op_carried, SHAPE(x->shape.size[0]), INPUTS(x, u, a));
    node_attr(node, sizeof(Attr));
    return tape_record(node);
}

BUILD_CASE(build, tape_carried(t, x[0], x[1], x[2]))

static const CheckCase cases[] = {
    {"three rows", build, {{"x", DIMS(3, 4)}, {"u", DIMS(4)}, {"a", DIMS(1), 0.3, 0.9}}},
    {"one row", build, {{"x", DIMS(1, 5)}, {"u", DIMS(5)}, {"a", DIMS(1), 0.3, 0.9}}},
};

const Op op_carried = {"carried", forward, backward, CASES(cases)};
