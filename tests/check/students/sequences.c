/* Operations on sequences, written by other authors: cumulative sums, positions, attention, cells, convolution. */
#include "student.h"

/* ---- cumsum ---- */
/* cumulative sum along the last axis */
static void cumsum_forward(Node *n) {
    Shape s = n->out->shape;
    long d = s.size[s.rank - 1], N = shape_count(s);
    tensor_copy_out(n->in[0], n->out->data);
    for (long i = 0; i < N; i++)
        if (i % d) n->out->data[i] += n->out->data[i - 1];
}
static void cumsum_backward(Node *n) {
    Shape s = n->out->shape;
    long d = s.size[s.rank - 1], N = shape_count(s);
    real acc = 0;
    for (long i = N - 1; i >= 0; i--) {
        acc += n->out->grad[i];
        n->in[0]->grad[i] += acc;
        if (i % d == 0) acc = 0;
    }
}
BUILD(cumsum, x[0]->shape, x[0])
static const CheckCase cumsum_cases[] = {
    {"matrix", cumsum_build, {{"x", DIMS(3, 4)}}},
    {"vector", cumsum_build, {{"x", DIMS(6)}}},
    {"transposed", cumsum_build, {{"x", DIMS(4, 3), .layout = TRANSPOSED}}},
};
const Op op_cumsum = OP(cumsum);

/* ---- cumprod ---- */
/* cumulative product along the last axis, with zeros allowed: O(d^2) without division */
static void cumprod_forward(Node *n) {
    const real *in0 = values(n, 0);
    long d = n->out->shape.size[1], R = n->out->shape.size[0];
    for (long r = 0; r < R; r++) {
        real p = 1;
        for (long j = 0; j < d; j++) n->out->data[r * d + j] = p *= in0[r * d + j];
    }
}
static void cumprod_backward(Node *n) {
    const real *in0 = values(n, 0);
    long d = n->out->shape.size[1], R = n->out->shape.size[0];
    for (long r = 0; r < R; r++)
        for (long k = 0; k < d; k++) {
            real p = 1;
            for (long j = 0; j < k; j++) p *= in0[r * d + j];
            for (long j = k; j < d; j++) {
                if (j > k) p *= in0[r * d + j];
                n->in[0]->grad[r * d + k] += n->out->grad[r * d + j] * p;
            }
        }
}
static const double cumprod_withzero[] = {1, 2, 0, 3, 0.5, 0, 0, 1};
BUILD(cumprod, x[0]->shape, x[0])
static const CheckCase cumprod_cases[] = {
    {"matrix", cumprod_build, {{"x", DIMS(3, 4)}}},
    {"zeros", cumprod_build, {{"x", DIMS(2, 4), .values = cumprod_withzero}}},
};
const Op op_cumprod = OP(cumprod);

/* ---- alibi ---- */
/* alibi: y[h,i,j] = s[h,i,j] - m[h] (i - j) for j <= i, -1e4 above the diagonal; the slopes are learned */
static void alibi_forward(Node *n) {
    Shape s = n->out->shape;
    long k = 0;
    for (long h = 0; h < s.size[0]; h++)
        for (long i = 0; i < s.size[1]; i++)
            for (long j = 0; j < s.size[2]; j++, k++)
                n->out->data[k] = j <= i ? n->in[0]->data[k] - n->in[1]->data[h] * (i - j) : -1e4;
}
static void alibi_backward(Node *n) {
    Shape s = n->out->shape;
    long k = 0;
    for (long h = 0; h < s.size[0]; h++)
        for (long i = 0; i < s.size[1]; i++)
            for (long j = 0; j < s.size[2]; j++, k++) {
                if (j > i) continue;
                if (n->in[0]->grad) n->in[0]->grad[k] += n->out->grad[k];
                if (n->in[1]->grad) n->in[1]->grad[h] -= n->out->grad[k] * (i - j);
            }
}
BUILD(alibi, x[0]->shape, tape_contiguous(t, x[0]), tape_contiguous(t, x[1]))
static const CheckCase alibi_cases[] = {
    {"two heads", alibi_build, {{"s", DIMS(2, 3, 3)}, {"m", DIMS(2)}}},
    {"one head", alibi_build, {{"s", DIMS(1, 4, 4)}, {"m", DIMS(1), 0.1, 1}}},
};
const Op op_alibi = OP(alibi);

/* ---- attention_pool ---- */
/* attention pooling: w = softmax(s), y = sum_t w_t x_t; s [T], x [T, D]; the softmax row is recomputed in attention_pool_backward */
static real *attention_pool_weights(Node *n) {
    long T = n->in[0]->shape.size[0];
    const real *s = n->in[0]->data;
    real *w = malloc((T + 1) * sizeof *w), m = -INFINITY, z = 0;
    for (long t = 0; t < T; t++) m = fmax(m, s[t]);
    for (long t = 0; t < T; t++) z += w[t] = exp(s[t] - m);
    for (long t = 0; t < T; t++) w[t] /= z;
    return w;
}
static void attention_pool_forward(Node *n) {
    long T = n->in[0]->shape.size[0], D = n->in[1]->shape.size[1];
    real *w = attention_pool_weights(n);
    for (long j = 0; j < D; j++) {
        n->out->data[j] = 0;
        for (long t = 0; t < T; t++) n->out->data[j] += w[t] * n->in[1]->data[t * D + j];
    }
    free(w);
}
static void attention_pool_backward(Node *n) {
    long T = n->in[0]->shape.size[0], D = n->in[1]->shape.size[1];
    real *w = attention_pool_weights(n);
    const real *x = n->in[1]->data, *y = n->out->data, *dy = n->out->grad;
    for (long t = 0; t < T; t++)
        for (long j = 0; j < D; j++) {
            if (n->in[0]->grad) n->in[0]->grad[t] += w[t] * (x[t * D + j] - y[j]) * dy[j];
            if (n->in[1]->grad) n->in[1]->grad[t * D + j] += w[t] * dy[j];
        }
    free(w);
}
BUILD(attention_pool, SHAPE(x[1]->shape.size[1]), tape_contiguous(t, x[0]), tape_contiguous(t, x[1]))
static const CheckCase attention_pool_cases[] = {
    {"sequence", attention_pool_build, {{"s", DIMS(4)}, {"x", DIMS(4, 3)}}},
    {"one", attention_pool_build, {{"s", DIMS(1)}, {"x", DIMS(1, 2)}}},
};
const Op op_attention_pool = OP(attention_pool);

/* ---- lstm_cell ---- */
/* an LSTM cell from its pre-activations z [B, 4H] (i f g o) and c [B, H]; y = [h, c'] of [B, 2H] */
static real lstm_cell_sg(real x) {
    return 1 / (1 + exp(-x));
}
static void lstm_cell_forward(Node *n) {
    long B = n->in[1]->shape.size[0], H = n->in[1]->shape.size[1];
    for (long b = 0; b < B; b++)
        for (long j = 0; j < H; j++) {
            const real *z = n->in[0]->data + b * 4 * H + j;
            real c = lstm_cell_sg(z[H]) * n->in[1]->data[b * H + j] + lstm_cell_sg(z[0]) * tanh(z[2 * H]);
            n->out->data[b * 2 * H + j] = lstm_cell_sg(z[3 * H]) * tanh(c);
            n->out->data[b * 2 * H + H + j] = c;
        }
}
static void lstm_cell_backward(Node *n) {
    long B = n->in[1]->shape.size[0], H = n->in[1]->shape.size[1];
    for (long b = 0; b < B; b++)
        for (long j = 0; j < H; j++) {
            const real *z = n->in[0]->data + b * 4 * H + j;
            real i = lstm_cell_sg(z[0]), f = lstm_cell_sg(z[H]), g = tanh(z[2 * H]),
                 o = lstm_cell_sg(z[3 * H]), c0 = n->in[1]->data[b * H + j];
            real tc = tanh(n->out->data[b * 2 * H + H + j]);
            real dh = n->out->grad[b * 2 * H + j];
            real dc = n->out->grad[b * 2 * H + H + j] + dh * o * (1 - tc * tc);
            if (n->in[0]->grad) {
                real *dz = n->in[0]->grad + b * 4 * H + j;
                dz[0] += dc * g * i * (1 - i);
                dz[H] += dc * c0 * f * (1 - f);
                dz[2 * H] += dc * i * (1 - g * g);
                dz[3 * H] += dh * tc * o * (1 - o);
            }
            if (n->in[1]->grad) n->in[1]->grad[b * H + j] += dc * f;
        }
}
static Shape lstm_cell_hc(Tensor *z, Tensor *c) {
    if (z->shape.size[1] != 4 * c->shape.size[1] || z->shape.size[0] != c->shape.size[0])
        error_bug("lstm_cell: %s", shape_text(z->shape));
    return SHAPE(c->shape.size[0], 2 * c->shape.size[1]);
}
BUILD(lstm_cell, lstm_cell_hc(x[0], x[1]), tape_contiguous(t, x[0]), tape_contiguous(t, x[1]))
static const CheckCase lstm_cell_cases[] = {
    {"batch", lstm_cell_build, {{"z", DIMS(3, 8)}, {"c", DIMS(3, 2)}}},
    {"single", lstm_cell_build, {{"z", DIMS(1, 4)}, {"c", DIMS(1, 1)}}},
};
const Op op_lstm_cell = OP(lstm_cell);

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

const Op op_rotary = OP(rotary);

/* ---- conv1d ---- */
/* 1-d convolution, stride 2, padding 1: x [N,C,L], w [O,C,K], b [O] */
enum { conv1d_STRIDE = 2, conv1d_PAD = 1 };
typedef struct {
    long N, C, L, O, K, T;
} conv1d_D;
static conv1d_D conv1d_dims(Node *n) {
    Shape x = n->in[0]->shape, w = n->in[1]->shape;
    return (conv1d_D){x.size[0], x.size[1], x.size[2], w.size[0], w.size[2], n->out->shape.size[2]};
}
static void conv1d_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    conv1d_D d = conv1d_dims(n);
    for (long i = 0; i < d.N; i++)
        for (long o = 0; o < d.O; o++)
            for (long t = 0; t < d.T; t++) {
                real acc = in2[o];
                for (long c = 0; c < d.C; c++)
                    for (long k = 0; k < d.K; k++) {
                        long p = t * conv1d_STRIDE - conv1d_PAD + k;
                        if (p >= 0 && p < d.L)
                            acc += in0[(i * d.C + c) * d.L + p] * in1[(o * d.C + c) * d.K + k];
                    }
                n->out->data[(i * d.O + o) * d.T + t] = acc;
            }
}
static void conv1d_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    conv1d_D d = conv1d_dims(n);
    real *dx = n->in[0]->grad, *dw = n->in[1]->grad, *db = n->in[2]->grad;
    for (long i = 0; i < d.N; i++)
        for (long o = 0; o < d.O; o++)
            for (long t = 0; t < d.T; t++) {
                real g = n->out->grad[(i * d.O + o) * d.T + t];
                if (db) db[o] += g;
                for (long c = 0; c < d.C; c++)
                    for (long k = 0; k < d.K; k++) {
                        long p = t * conv1d_STRIDE - conv1d_PAD + k;
                        if (p < 0 || p >= d.L) continue;
                        if (dx) dx[(i * d.C + c) * d.L + p] += g * in1[(o * d.C + c) * d.K + k];
                        if (dw) dw[(o * d.C + c) * d.K + k] += g * in0[(i * d.C + c) * d.L + p];
                    }
            }
}
static Shape conv1d_out_shape(Tensor *x, Tensor *w) {
    long L = x->shape.size[2] + 2 * conv1d_PAD - w->shape.size[2];
    if (L < 0) error_bug("conv1d: kernel longer than the input");
    if (x->shape.size[1] != w->shape.size[1]) error_bug("conv1d: channels differ");
    return SHAPE(x->shape.size[0], w->shape.size[0], L / conv1d_STRIDE + 1);
}
BUILD(conv1d, conv1d_out_shape(x[0], x[1]), x[0], x[1], x[2])
static const CheckCase conv1d_cases[] = {
    {"two images", conv1d_build, {{"x", DIMS(2, 2, 6)}, {"w", DIMS(3, 2, 3)}, {"b", DIMS(3)}}},
    {"one channel", conv1d_build, {{"x", DIMS(1, 1, 7)}, {"w", DIMS(1, 1, 3)}, {"b", DIMS(1)}}},
};
const Op op_conv1d = OP(conv1d);
