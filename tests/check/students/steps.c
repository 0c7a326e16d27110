/* Steps in time and layers: recurrence, running averages, rotations: files as a hand wrote them that had not seen the checker. */
#include "student.h"

/* ---- gru_cell ---- */
/* gru_cell: one step of a gated recurrent unit.
 * x [B,I]  h [B,H]  W [3H,I]  U [3H,H]  b [3H]   gates in the order reset, update, candidate
 *   r = s(W_r x + b_r + U_r h)   z = s(W_z x + b_z + U_z h)   c = tanh(W_c x + b_c + r * U_c h)
 *   y = (1-z) c + z h
 */

enum { gru_cell_X, gru_cell_HID, gru_cell_W, gru_cell_U, gru_cell_B };

typedef struct gru_cell_Gru {
    long batch, in, hid;
    real *r, *z, *c, *uh; /* each [batch, hid] */
} gru_cell_Gru;

static real gru_cell_sigm(real v) {
    return 1 / (1 + exp(-v));
}

static void gru_cell_forward(Node *n) {
    gru_cell_Gru *a = n->attr;
    const real *x = n->in[gru_cell_X]->data, *h = n->in[gru_cell_HID]->data, *w = n->in[gru_cell_W]->data,
               *u = n->in[gru_cell_U]->data;
    const real *bias = n->in[gru_cell_B]->data;
    for (long b = 0; b < a->batch; b++)
        for (long j = 0; j < a->hid; j++) {
            real gi[3], gh[3];
            for (int g = 0; g < 3; g++) {
                long row = g * a->hid + j;
                gi[g] = bias[row];
                gh[g] = 0;
                for (long i = 0; i < a->in; i++) gi[g] += w[row * a->in + i] * x[b * a->in + i];
                for (long k = 0; k < a->hid; k++) gh[g] += u[row * a->hid + k] * h[b * a->hid + k];
            }
            long at = b * a->hid + j;
            real r = gru_cell_sigm(gi[0] + gh[0]), z = gru_cell_sigm(gi[1] + gh[1]),
                 c = tanh(gi[2] + r * gh[2]);
            a->r[at] = r, a->z[at] = z, a->c[at] = c, a->uh[at] = gh[2];
            n->out->data[at] = (1 - z) * c + z * h[at];
        }
}

static void gru_cell_backward(Node *n) {
    gru_cell_Gru *a = n->attr;
    const real *x = n->in[gru_cell_X]->data, *h = n->in[gru_cell_HID]->data, *w = n->in[gru_cell_W]->data,
               *u = n->in[gru_cell_U]->data;
    real *dx = n->in[gru_cell_X]->grad, *dh = n->in[gru_cell_HID]->grad, *dw = n->in[gru_cell_W]->grad,
         *du = n->in[gru_cell_U]->grad;
    real *db = n->in[gru_cell_B]->grad;
    for (long b = 0; b < a->batch; b++)
        for (long j = 0; j < a->hid; j++) {
            long at = b * a->hid + j;
            real r = a->r[at], z = a->z[at], c = a->c[at], dy = n->out->grad[at];
            if (dh) dh[at] += dy * z;
            real dz = dy * (h[at] - c);
            real dpre_c = dy * (1 - z) * (1 - c * c);
            real dr = dpre_c * a->uh[at];
            real di[3], dhid[3];
            di[0] = dhid[0] = dr * r * (1 - r);
            di[1] = dhid[1] = dz * z * (1 - z);
            di[2] = dpre_c;
            dhid[2] = dpre_c * r;
            for (int g = 0; g < 3; g++) {
                long row = g * a->hid + j;
                if (db) db[row] += di[g];
                for (long i = 0; i < a->in; i++) {
                    if (dw) dw[row * a->in + i] += di[g] * x[b * a->in + i];
                    if (dx) dx[b * a->in + i] += di[g] * w[row * a->in + i];
                }
                for (long k = 0; k < a->hid; k++) {
                    if (du) du[row * a->hid + k] += dhid[g] * h[b * a->hid + k];
                    if (dh) dh[b * a->hid + k] += dhid[g] * u[row * a->hid + k];
                }
            }
        }
}

extern const Op op_gru_cell;
Tensor *tape_gru_cell(Tape *t, Tensor *x, Tensor *h, Tensor *w, Tensor *u, Tensor *b);

Tensor *tape_gru_cell(Tape *t, Tensor *x, Tensor *h, Tensor *w, Tensor *u, Tensor *b) {
    x = tape_contiguous(t, x), h = tape_contiguous(t, h), w = tape_contiguous(t, w);
    u = tape_contiguous(t, u), b = tape_contiguous(t, b);
    Node *n = tape_node(t, &op_gru_cell, h->shape, INPUTS(x, h, w, u, b));
    gru_cell_Gru *a = node_attr(n, sizeof *a);
    a->batch = x->shape.size[0], a->in = x->shape.size[1], a->hid = h->shape.size[1];
    long count = a->batch * a->hid;
    a->r = node_array(n, count), a->z = node_array(n, count);
    a->c = node_array(n, count), a->uh = node_array(n, count);
    return tape_record(n);
}
BUILD_CASE(gru_cell_build, tape_gru_cell(t, x[0], x[1], x[2], x[3], x[4]))

static const CheckCase gru_cell_cases[] = {
    {"two in a batch",
     gru_cell_build,
     {{"x", DIMS(2, 3)}, {"h", DIMS(2, 2)}, {"W", DIMS(6, 3)}, {"U", DIMS(6, 2)}, {"b", DIMS(6)}}},
    {"one",
     gru_cell_build,
     {{"x", DIMS(1, 1)}, {"h", DIMS(1, 3)}, {"W", DIMS(9, 1)}, {"U", DIMS(9, 3)}, {"b", DIMS(9)}}},
    {"first state fixed",
     gru_cell_build,
     {{"x", DIMS(2, 4)},
      {"h", DIMS(2, 2), .constant = true},
      {"W", DIMS(6, 4)},
      {"U", DIMS(6, 2)},
      {"b", DIMS(6)}}},
};

const Op op_gru_cell = {"gru_cell", gru_cell_forward, gru_cell_backward, CASES(gru_cell_cases)};

/* ---- ema_scan ---- */
/* exponential moving average over time, with a learned decay in each column and a learned start
 *   x [T,d], logit [d], h0 [d] -> y [T,d]     a = sigmoid(logit)    y_t = a y_(t-1) + (1-a) x_t,   y_(-1) = h0 */

static real ema_scan_decay(real logit) {
    return 1 / (1 + exp(-logit));
}

static void ema_scan_forward(Node *n) {
    long T = n->out->shape.size[0], d = n->out->shape.size[1];
    const real *x = n->in[0]->data, *h0 = n->in[2]->data;
    real *y = n->out->data;
    for (long j = 0; j < d; j++) {
        real a = ema_scan_decay(n->in[1]->data[j]), h = h0[j];
        for (long t = 0; t < T; t++) {
            h = a * h + (1 - a) * x[t * d + j];
            y[t * d + j] = h;
        }
    }
}

static void ema_scan_backward(Node *n) {
    long T = n->out->shape.size[0], d = n->out->shape.size[1];
    const real *x = n->in[0]->data, *h0 = n->in[2]->data, *y = n->out->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad, *dlogit = n->in[1]->grad, *dh0 = n->in[2]->grad;
    for (long j = 0; j < d; j++) {
        real a = ema_scan_decay(n->in[1]->data[j]), carry = 0, da = 0;
        for (long t = T - 1; t >= 0; t--) {
            real g = dy[t * d + j] + carry;
            real before = t > 0 ? y[(t - 1) * d + j] : h0[j];
            da += g * (before - x[t * d + j]);
            if (dx) dx[t * d + j] += g * (1 - a);
            carry = g * a;
        }
        if (dlogit) dlogit[j] += da * a * (1 - a);
        if (dh0) dh0[j] += carry;
    }
}

extern const Op op_ema_scan;
static Tensor *ema_scan_ema(Tape *t, Tensor *x, Tensor *logit, Tensor *h0) {
    x = tape_contiguous(t, x), logit = tape_contiguous(t, logit), h0 = tape_contiguous(t, h0);
    return tape_record(tape_node(t, &op_ema_scan, x->shape, INPUTS(x, logit, h0)));
}
BUILD_CASE(ema_scan_build, ema_scan_ema(t, x[0], x[1], x[2]))

static const CheckCase ema_scan_cases[] = {
    {"five steps", ema_scan_build, {{"x", DIMS(5, 3)}, {"logit", DIMS(3)}, {"h0", DIMS(3)}}},
    {"one step", ema_scan_build, {{"x", DIMS(1, 4)}, {"logit", DIMS(4)}, {"h0", DIMS(4)}}},
    {"from zero", ema_scan_build, {{"x", DIMS(4, 2)}, {"logit", DIMS(2)}, {"h0", DIMS(2), .constant = true}}},
};

const Op op_ema_scan = {"ema_scan", ema_scan_forward, ema_scan_backward, CASES(ema_scan_cases)};

/* ---- tied_autoencoder ---- */
/* tied autoencoder: one matrix encodes and decodes
 *   x [n,d]  W [h,d]  b [h]  c [d]     s = tanh(x W^T + b)    y = s W + c */

typedef struct tied_autoencoder_Tied {
    long n, d, h;
    real *s; /* [n,h] */
} tied_autoencoder_Tied;

static void tied_autoencoder_forward(Node *node) {
    tied_autoencoder_Tied *a = node->attr;
    const real *x = node->in[0]->data, *W = node->in[1]->data, *b = node->in[2]->data, *c = node->in[3]->data;
    long d = a->d, h = a->h;
    for (long i = 0; i < a->n; i++) {
        for (long u = 0; u < h; u++) {
            real sum = b[u];
            for (long j = 0; j < d; j++) sum += W[u * d + j] * x[i * d + j];
            a->s[i * h + u] = tanh(sum);
        }
        for (long j = 0; j < d; j++) {
            real sum = c[j];
            for (long u = 0; u < h; u++) sum += a->s[i * h + u] * W[u * d + j];
            node->out->data[i * d + j] = sum;
        }
    }
}

static void tied_autoencoder_backward(Node *node) {
    tied_autoencoder_Tied *a = node->attr;
    const real *x = node->in[0]->data, *W = node->in[1]->data;
    real *dx = node->in[0]->grad, *dW = node->in[1]->grad, *db = node->in[2]->grad, *dc = node->in[3]->grad;
    long d = a->d, h = a->h;
    for (long i = 0; i < a->n; i++) {
        const real *dy = node->out->grad + i * d;
        if (dc)
            for (long j = 0; j < d; j++) dc[j] += dy[j];
        real ds = 0;
        for (long u = 0; u < h; u++) {
            real s = a->s[i * h + u];
            ds = 0;
            for (long j = 0; j < d; j++) {
                ds += dy[j] * W[u * d + j];
                if (dW) dW[u * d + j] += dy[j] * s;
            }
            real da = ds * (1 - s * s);
            if (db) db[u] += da;
            for (long j = 0; j < d; j++) {
                if (dW) dW[u * d + j] += da * x[i * d + j];
                if (dx) dx[i * d + j] += da * W[u * d + j];
            }
        }
    }
}

extern const Op op_tied_autoencoder;
static Tensor *tied_autoencoder_autoencoder(Tape *t, Tensor *x, Tensor *W, Tensor *b, Tensor *c) {
    x = tape_contiguous(t, x), W = tape_contiguous(t, W), b = tape_contiguous(t, b),
    c = tape_contiguous(t, c);
    Node *node = tape_node(t, &op_tied_autoencoder, x->shape, INPUTS(x, W, b, c));
    tied_autoencoder_Tied *a = node_attr(node, sizeof *a);
    a->n = x->shape.size[0], a->d = x->shape.size[1], a->h = W->shape.size[0];
    a->s = node_array(node, a->n * a->h);
    return tape_record(node);
}
BUILD_CASE(tied_autoencoder_build, tied_autoencoder_autoencoder(t, x[0], x[1], x[2], x[3]))

static const CheckCase tied_autoencoder_cases[] = {
    {"bottleneck",
     tied_autoencoder_build,
     {{"x", DIMS(3, 4)}, {"W", DIMS(2, 4), -1, 1}, {"b", DIMS(2)}, {"c", DIMS(4)}}},
    {"wider",
     tied_autoencoder_build,
     {{"x", DIMS(2, 2)}, {"W", DIMS(3, 2), -1, 1}, {"b", DIMS(3)}, {"c", DIMS(2)}}},
    {"no biases learned",
     tied_autoencoder_build,
     {{"x", DIMS(2, 3)},
      {"W", DIMS(2, 3)},
      {"b", DIMS(2), .constant = true},
      {"c", DIMS(3), .constant = true}}},
};

const Op op_tied_autoencoder = {"tied_autoencoder", tied_autoencoder_forward, tied_autoencoder_backward,
                                CASES(tied_autoencoder_cases)};

/* ---- butterfly ---- */
/* butterfly: layers of plane rotations in the pattern of an FFT
 *   x [rows,n], theta [L, n/2] -> y [rows,n];   layer l turns the pairs (i, i + 2^l), pair p by theta[l,p] */

typedef struct butterfly_Butterfly {
    long rows, n, layers;
    real *stage; /* [layers, rows, n]: what went into each layer */
    real *g;     /* [n] */
} butterfly_Butterfly;

static void butterfly_forward(Node *node) {
    butterfly_Butterfly *a = node->attr;
    long half = a->n / 2;
    const real *theta = node->in[1]->data;
    real *y = node->out->data;
    memcpy(y, node->in[0]->data, a->rows * a->n * sizeof(real));
    for (long l = 0; l < a->layers; l++) {
        memcpy(a->stage + l * a->rows * a->n, y, a->rows * a->n * sizeof(real));
        long stride = 1L << l;
        for (long row = 0; row < a->rows; row++) {
            real *v = y + row * a->n;
            long p = 0;
            for (long base = 0; base < a->n; base += 2 * stride)
                for (long i = base; i < base + stride && i + stride < a->n; i++, p++) {
                    real c = cos(theta[l * half + p]), s = sin(theta[l * half + p]);
                    real u = v[i], w = v[i + stride];
                    v[i] = c * u - s * w;
                    v[i + stride] = s * u + c * w;
                }
        }
    }
}

static void butterfly_backward(Node *node) {
    butterfly_Butterfly *a = node->attr;
    long half = a->n / 2;
    const real *theta = node->in[1]->data;
    real *dx = node->in[0]->grad, *dtheta = node->in[1]->grad, *g = a->g;
    for (long row = 0; row < a->rows; row++) {
        memcpy(g, node->out->grad + row * a->n, a->n * sizeof(real));
        for (long l = a->layers - 1; l >= 0; l--) {
            const real *v = a->stage + (l * a->rows + row) * a->n;
            long stride = 1L << l, p = 0;
            for (long base = 0; base < a->n; base += 2 * stride)
                for (long i = base; i < base + stride && i + stride < a->n; i++, p++) {
                    real c = cos(theta[l * half + p]), s = sin(theta[l * half + p]);
                    real gu = g[i], gw = g[i + stride];
                    real u = v[i], w = v[i + stride];
                    if (dtheta) dtheta[l * half + p] += gu * (-s * u - c * w) + gw * (c * u - s * w);
                    g[i] = c * gu + s * gw;
                    g[i + stride] = -s * gu + c * gw;
                }
        }
        if (dx)
            for (long i = 0; i < a->n; i++) dx[row * a->n + i] += g[i];
    }
}

extern const Op op_butterfly;
static Tensor *butterfly(Tape *t, Tensor *x, Tensor *theta) {
    x = tape_contiguous(t, x), theta = tape_contiguous(t, theta);
    Node *node = tape_node(t, &op_butterfly, x->shape, INPUTS(x, theta));
    butterfly_Butterfly *a = node_attr(node, sizeof *a);
    a->rows = x->shape.size[0], a->n = x->shape.size[1], a->layers = theta->shape.size[0];
    a->stage = node_array(node, a->layers * a->rows * a->n);
    a->g = node_array(node, a->n);
    return tape_record(node);
}
BUILD_CASE(butterfly_build, butterfly(t, x[0], x[1]))

static const CheckCase butterfly_cases[] = {
    {"eight", butterfly_build, {{"x", DIMS(2, 8)}, {"theta", DIMS(3, 4)}}},
    {"four", butterfly_build, {{"x", DIMS(3, 4)}, {"theta", DIMS(2, 2)}}},
    {"one layer", butterfly_build, {{"x", DIMS(2, 6)}, {"theta", DIMS(1, 3)}}},
};

const Op op_butterfly = {"butterfly", butterfly_forward, butterfly_backward, CASES(butterfly_cases)};

/* ---- rotary ---- */
/* Rotary position embedding, halves form.
 * x [T,d] -> y [T,d]; pair (j, j + d/2) of row t is turned by (start + t) * base^(-2j/d).
 * If d is odd the last column stays what it is. */

typedef struct {
    long rows, d, start;
    double base;
} Rotary;

static void rotary_angle_of(double base, long d, long position, long j, double *c, double *s) {
    double angle = (double)position * pow(base, -2.0 * (double)j / (double)d);
    *c = cos(angle);
    *s = sin(angle);
}

static void rotary_forward(Node *n) {
    const Rotary *a = n->attr;
    long half = a->d / 2;
    for (long t = 0; t < a->rows; t++) {
        const real *x = n->in[0]->data + t * a->d;
        real *y = n->out->data + t * a->d;
        for (long j = 0; j < half; j++) {
            double c, s;
            rotary_angle_of(a->base, a->d, a->start + t, j, &c, &s);
            y[j] = x[j] * c - x[j + half] * s;
            y[j + half] = x[j + half] * c + x[j] * s;
        }
        if (a->d % 2) y[a->d - 1] = x[a->d - 1];
    }
}

/* the inverse rotation of dy */
static void rotary_backward(Node *n) {
    const Rotary *a = n->attr;
    long half = a->d / 2;
    for (long t = 0; t < a->rows; t++) {
        const real *dy = n->out->grad + t * a->d;
        real *dx = n->in[0]->grad + t * a->d;
        for (long j = 0; j < half; j++) {
            double c, s;
            long position = a->start + t;
            double base = a->base;
            rotary_angle_of(base, a->d, position, j, &c, &s);
            dx[j] += dy[j] * c + dy[j + half] * s;
            dx[j + half] += dy[j + half] * c - dy[j] * s;
        }
        if (a->d % 2) dx[a->d - 1] += dy[a->d - 1];
    }
}

extern const Op op_rotary;
static Tensor *rotary(Tape *t, Tensor *x, long start, double base) {
    x = tape_contiguous(t, x);
    Node *n = tape_node(t, &op_rotary, x->shape, INPUTS(x));
    Rotary *a = node_attr(n, sizeof(Rotary));
    *a = (Rotary){x->shape.size[0], x->shape.size[1], start, base};
    return tape_record(n);
}
BUILD_CASE(rotary_from_zero, rotary(t, x[0], 0, 10000))
BUILD_CASE(rotary_from_seven, rotary(t, x[0], 7, 10000))
BUILD_CASE(rotary_small_base, rotary(t, x[0], 2, 100))

static const CheckCase rotary_cases[] = {
    {"from position 0", rotary_from_zero, {{"x", DIMS(3, 4)}}},
    {"from position 7", rotary_from_seven, {{"x", DIMS(2, 6)}}},
    {"base 100", rotary_small_base, {{"x", DIMS(4, 8)}}},
    {"odd width", rotary_from_zero, {{"x", DIMS(3, 5)}}},
};

const Op op_rotary = {"rotary", rotary_forward, rotary_backward, CASES(rotary_cases)};
