/* Parts of networks: files as another hand wrote them. */
#include "student.h"

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
extern const Op op_attention_pool;
Tensor *tape_attention_pool(Tape *t_, Tensor *s, Tensor *x) {
    s = tape_contiguous(t_, s);
    x = tape_contiguous(t_, x);
    return tape_record(tape_node(t_, &op_attention_pool, SHAPE(x->shape.size[1]), INPUTS(s, x)));
}
static Tensor *attention_pool_build(Tape *t_, Tensor **x_) {
    return tape_attention_pool(t_, x_[0], x_[1]);
}
static const CheckCase attention_pool_cases[] = {
    {"sequence", attention_pool_build, {{"s", DIMS(4)}, {"x", DIMS(4, 3)}}},
    {"one", attention_pool_build, {{"s", DIMS(1)}, {"x", DIMS(1, 2)}}},
};
const Op op_attention_pool = {"attention_pool", attention_pool_forward, attention_pool_backward,
                              CASES(attention_pool_cases)};

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
extern const Op op_lstm_cell;
Tensor *tape_lstm_cell(Tape *t_, Tensor *z, Tensor *c) {
    z = tape_contiguous(t_, z);
    c = tape_contiguous(t_, c);
    return tape_record(tape_node(t_, &op_lstm_cell, lstm_cell_hc(z, c), INPUTS(z, c)));
}
static Tensor *lstm_cell_build(Tape *t_, Tensor **x_) {
    return tape_lstm_cell(t_, x_[0], x_[1]);
}
static const CheckCase lstm_cell_cases[] = {
    {"batch", lstm_cell_build, {{"z", DIMS(3, 8)}, {"c", DIMS(3, 2)}}},
    {"single", lstm_cell_build, {{"z", DIMS(1, 4)}, {"c", DIMS(1, 1)}}},
};
const Op op_lstm_cell = {"lstm_cell", lstm_cell_forward, lstm_cell_backward, CASES(lstm_cell_cases)};

/* ---- gru_mix ---- */
/* the last step of a GRU: h' = (1 - z) n + z h with z = sigmoid(a), n = tanh(b) */
static real gru_mix_s(real x) {
    return 0.5 * (1 + tanh(0.5 * x));
}
static void gru_mix_forward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        real z = gru_mix_s(n->in[0]->data[i]), c = tanh(n->in[1]->data[i]), h = n->in[2]->data[i];
        n->out->data[i] = (1 - z) * c + z * h;
    }
}
static void gru_mix_backward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        real z = gru_mix_s(n->in[0]->data[i]), c = tanh(n->in[1]->data[i]), h = n->in[2]->data[i],
             g = n->out->grad[i];
        if (n->in[0]->grad) n->in[0]->grad[i] += g * (h - c) * z * (1 - z);
        if (n->in[1]->grad) n->in[1]->grad[i] += g * (1 - z) * (1 - c * c);
        if (n->in[2]->grad) n->in[2]->grad[i] += g * z;
    }
}
extern const Op op_gru_mix;
Tensor *tape_gru_mix(Tape *t_, Tensor *a, Tensor *b, Tensor *h) {
    a = tape_contiguous(t_, a);
    b = tape_contiguous(t_, b);
    h = tape_contiguous(t_, h);
    return tape_record(tape_node(t_, &op_gru_mix, a->shape, INPUTS(a, b, h)));
}
static Tensor *gru_mix_build(Tape *t_, Tensor **x_) {
    return tape_gru_mix(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase gru_mix_cases[] = {
    {"batch", gru_mix_build, {{"a", DIMS(2, 3)}, {"b", DIMS(2, 3)}, {"h", DIMS(2, 3)}}},
    {"start", gru_mix_build, {{"a", DIMS(4)}, {"b", DIMS(4)}, {"h", DIMS(4), .constant = true}}},
};
const Op op_gru_mix = {"gru_mix", gru_mix_forward, gru_mix_backward, CASES(gru_mix_cases)};

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
extern const Op op_conv1d;
Tensor *tape_conv1d(Tape *t_, Tensor *x, Tensor *w, Tensor *b) {
    return tape_record(tape_node(t_, &op_conv1d, conv1d_out_shape(x, w), INPUTS(x, w, b)));
}
static Tensor *conv1d_build(Tape *t_, Tensor **x_) {
    return tape_conv1d(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase conv1d_cases[] = {
    {"two images", conv1d_build, {{"x", DIMS(2, 2, 6)}, {"w", DIMS(3, 2, 3)}, {"b", DIMS(3)}}},
    {"one channel", conv1d_build, {{"x", DIMS(1, 1, 7)}, {"w", DIMS(1, 1, 3)}, {"b", DIMS(1)}}},
};
const Op op_conv1d = {"conv1d", conv1d_forward, conv1d_backward, CASES(conv1d_cases)};

/* ---- depthwise2d ---- */
/* depthwise 3x3 convolution of [C, H, W] with w [C, 3, 3], depthwise2d_same padding */
static void depthwise2d_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    long C = n->out->shape.size[0], H = n->out->shape.size[1], W = n->out->shape.size[2];
    for (long c = 0; c < C; c++)
        for (long h = 0; h < H; h++)
            for (long w = 0; w < W; w++) {
                real s = 0;
                for (long i = -1; i <= 1; i++)
                    for (long j = -1; j <= 1; j++)
                        if (h + i >= 0 && h + i < H && w + j >= 0 && w + j < W)
                            s += in0[(c * H + h + i) * W + w + j] * in1[c * 9 + (i + 1) * 3 + j + 1];
                n->out->data[(c * H + h) * W + w] = s;
            }
}
static void depthwise2d_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    long C = n->out->shape.size[0], H = n->out->shape.size[1], W = n->out->shape.size[2];
    real *dx = n->in[0]->grad, *dw = n->in[1]->grad;
    for (long c = 0; c < C; c++)
        for (long h = 0; h < H; h++)
            for (long w = 0; w < W; w++) {
                real g = n->out->grad[(c * H + h) * W + w];
                for (long i = -1; i <= 1; i++)
                    for (long j = -1; j <= 1; j++)
                        if (h + i >= 0 && h + i < H && w + j >= 0 && w + j < W) {
                            if (dx) dx[(c * H + h + i) * W + w + j] += g * in1[c * 9 + (i + 1) * 3 + j + 1];
                            if (dw) dw[c * 9 + (i + 1) * 3 + j + 1] += g * in0[(c * H + h + i) * W + w + j];
                        }
            }
}
static Shape depthwise2d_same(Tensor *x, Tensor *w) {
    if (w->shape.size[0] != x->shape.size[0] || w->shape.size[1] != 3 || w->shape.size[2] != 3)
        error_bug("depthwise2d: w");
    return x->shape;
}
extern const Op op_depthwise2d;
Tensor *tape_depthwise2d(Tape *t_, Tensor *x, Tensor *w) {
    return tape_record(tape_node(t_, &op_depthwise2d, depthwise2d_same(x, w), INPUTS(x, w)));
}
static Tensor *depthwise2d_build(Tape *t_, Tensor **x_) {
    return tape_depthwise2d(t_, x_[0], x_[1]);
}
static const CheckCase depthwise2d_cases[] = {
    {"image", depthwise2d_build, {{"x", DIMS(2, 3, 4)}, {"w", DIMS(2, 3, 3)}}},
    {"one channel", depthwise2d_build, {{"x", DIMS(1, 4, 4)}, {"w", DIMS(1, 3, 3)}}},
};
const Op op_depthwise2d = {"depthwise2d", depthwise2d_forward, depthwise2d_backward,
                           CASES(depthwise2d_cases)};
