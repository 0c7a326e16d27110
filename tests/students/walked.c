/* walked: a right operation with what students walk along rows with, call, and save of a recursion. tests/repairs.c spoils it.
 *
 *     x [R,d], c [1]:  a = x_0 + i (x_0 + Σ_(j<k) tanh(x_j - x_k)), b = cos c + i sin c of each row,  y_0 + i y_1 = a* b + b;
 *     s_0 = x_1, v_0 = x_2, s_(t+1) = s_t - c s_t v_t, v_(t+1) = v_t + c s_t v_t,  y_(2+t) = v_(t+1) */
#include "ops/ops.h"
#include <math.h>

enum { T = 3 };
#define STATE(array, r, t) array[(r) * (T + 1) + (t)]

typedef struct V2 {
    real re, im;
} V2;
typedef struct Save {
    real *tanh, *sum, *s, *v;
} Save;

static V2 pair(real re, real im) {
    return (V2){re, im};
}
static V2 plus(V2 a, V2 b) {
    return pair(a.re + b.re, a.im + b.im);
}
static V2 along(V2 a, V2 b) {
    return pair(a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re);
}
static V2 across(V2 a, V2 b) {
    return pair(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
static void waves(real c, real *w) {
    w[0] = sin(c), w[1] = cos(c);
}

static void forward(Node *n) {
    Save *m = n->attr;
    long R = n->in[0]->shape.size[0], d = n->in[0]->shape.size[1];
    const real *x = n->in[0]->data;
    real *y = n->out->data, c = n->in[1]->data[0], w[2];
    m->tanh = node_array(n, R * d * (d - 1) / 2), m->sum = node_array(n, R);
    m->s = node_array(n, R * (T + 1)), m->v = node_array(n, R * (T + 1));
    real *p = m->tanh;
    waves(c, w);
    for (long r = 0; r < R; r++, x += d, y += 2 + T) {
        m->sum[r] = x[0];
        for (long j = 0; j < d; j++)
            for (long k = j + 1; k < d; k++) {
                *p = tanh(x[j] - x[k]);
                m->sum[r] += *p++;
            }
        V2 b = pair(w[1], w[0]), z = plus(along(pair(x[0], m->sum[r]), b), b);
        y[0] = z.re, y[1] = z.im;
        STATE(m->s, r, 0) = x[1], STATE(m->v, r, 0) = x[2];
        for (long t = 0; t < T; t++) {
            real flow = c * STATE(m->s, r, t) * STATE(m->v, r, t);
            STATE(m->s, r, t + 1) = STATE(m->s, r, t) - flow;
            STATE(m->v, r, t + 1) = STATE(m->v, r, t) + flow;
            y[2 + t] = STATE(m->v, r, t + 1);
        }
    }
}

static void backward(Node *n) {
    Save *m = n->attr;
    long R = n->in[0]->shape.size[0], d = n->in[0]->shape.size[1];
    const real *dy = n->out->grad, *p = m->tanh, *x = n->in[0]->data;
    real *dx = n->in[0]->grad ? n->in[0]->grad : n->scratch, c = n->in[1]->data[0], w[2] = {0}, dc = 0;
    waves(c, w);
    for (long r = 0; r < R; r++, x += d, dx += d, dy += 2 + T) {
        const real *s = m->s + r * (T + 1), *v = m->v + r * (T + 1);
        V2 a = pair(x[0], m->sum[r]), b = pair(w[1], w[0]), g = pair(dy[0], dy[1]);
        V2 ga = along(g, b), gb = across(a, g);
        gb = plus(gb, g);
        dc += gb.im * w[1] - gb.re * w[0];
        dx[0] += ga.re + ga.im;
        for (long j = 0; j < d; j++)
            for (long k = j + 1; k < d; k++, p++) {
                real slope = ga.im * (1 - *p * *p);
                dx[j] += slope;
                dx[k] -= slope;
            }
        real ls = 0, lv = 0;
        for (long t = T - 1; t >= 0; t--) {
            real early = s[t], sick = v[t];
            lv += dy[2 + t];
            real flow = lv - ls;
            dc += flow * STATE(m->s, r, t) * STATE(m->v, r, t);
            ls += flow * c * sick;
            lv += flow * c * early;
        }
        dx[1] += ls;
        dx[2] += lv;
    }
    if (n->in[1]->grad) n->in[1]->grad[0] += dc;
}

extern const Op op_walked;

Tensor *tape_walked(Tape *t, Tensor *x, Tensor *c) {
    x = tape_contiguous(t, x), c = tape_contiguous(t, c);
    Node *node = tape_node(t, &op_walked, SHAPE(x->shape.size[0], 2 + T), INPUTS(x, c));
    node_attr(node, sizeof(Save));
    node->backward_scratch = shape_count(x->shape);
    return tape_record(node);
}

BUILD_CASE(plain, tape_walked(t, x[0], x[1]))

static const CheckCase cases[] = {
    {"two rows", plain, {{"x", DIMS(2, 4)}, {"c", DIMS(1), 0.2, 1}}},
    {"three rows", plain, {{"x", DIMS(3, 3)}, {"c", DIMS(1), 0.2, 1}}},
};

const Op op_walked = {"walked", forward, backward, CASES(cases)};
