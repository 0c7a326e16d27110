/* Windows and pools: files as another hand wrote them. */
#include "student.h"

/* ---- avg_pool2d ---- */
/* 2x2 average pooling of [N, H, W], stride 2, H and W even */
static void avg_pool2d_forward(Node *n) {
    long N = n->out->shape.size[0], H = n->out->shape.size[1], W = n->out->shape.size[2];
    const long *s = n->in[0]->stride;
    const real *x = n->in[0]->data;
    for (long i = 0; i < N; i++)
        for (long h = 0; h < H; h++)
            for (long w = 0; w < W; w++) {
                const real *p = x + i * s[0] + 2 * h * s[1] + 2 * w * s[2];
                n->out->data[(i * H + h) * W + w] = 0.25 * (p[0] + p[s[2]] + p[s[1]] + p[s[1] + s[2]]);
            }
}
static void avg_pool2d_backward(Node *n) {
    long N = n->out->shape.size[0], H = n->out->shape.size[1], W = n->out->shape.size[2];
    for (long i = 0; i < N; i++)
        for (long h = 0; h < 2 * H; h++)
            for (long w = 0; w < 2 * W; w++)
                n->in[0]->grad[(i * 2 * H + h) * 2 * W + w] +=
                    0.25 * n->out->grad[(i * H + h / 2) * W + w / 2];
}
static Shape avg_pool2d_halves(Shape s) {
    if (s.rank != 3 || s.size[1] % 2 || s.size[2] % 2) error_bug("avg_pool2d: %s", shape_text(s));
    return SHAPE(s.size[0], s.size[1] / 2, s.size[2] / 2);
}
extern const Op op_avg_pool2d;
Tensor *tape_avg_pool2d(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_avg_pool2d, avg_pool2d_halves(x->shape), INPUTS(x)));
}
static Tensor *avg_pool2d_build(Tape *t_, Tensor **x_) {
    return tape_avg_pool2d(t_, x_[0]);
}
static const CheckCase avg_pool2d_cases[] = {
    {"image", avg_pool2d_build, {{"x", DIMS(2, 4, 6)}}},
    {"strided", avg_pool2d_build, {{"x", DIMS(2, 2, 4), .layout = TRANSPOSED}}},
};
const Op op_avg_pool2d = {"avg_pool2d", avg_pool2d_forward, avg_pool2d_backward, CASES(avg_pool2d_cases)};

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

/* ---- max_pool1d ---- */
/* max pooling over windows of 3, stride 2: x [C, L]; where the maximum was is kept */
typedef struct {
    long *arg;
} max_pool1d_Saved;
static void max_pool1d_forward(Node *n) {
    long C = n->in[0]->shape.size[0], L = n->in[0]->shape.size[1], T = n->out->shape.size[1];
    const real *x = n->in[0]->data;
    max_pool1d_Saved *s = node_attr(n, sizeof *s);
    s->arg = node_record(n, C * T * sizeof(long) + 1);
    for (long c = 0; c < C; c++)
        for (long t = 0; t < T; t++) {
            long best = c * L + 2 * t;
            for (long k = 1; k < 3; k++)
                if (x[c * L + 2 * t + k] > x[best]) best = c * L + 2 * t + k;
            s->arg[c * T + t] = best;
            n->out->data[c * T + t] = x[best];
        }
}
static void max_pool1d_backward(Node *n) {
    max_pool1d_Saved *s = n->attr;
    for (long i = 0; i < shape_count(n->out->shape); i++) n->in[0]->grad[s->arg[i]] += n->out->grad[i];
}
static Shape max_pool1d_pooled(Shape s) {
    if (s.size[1] < 3) error_bug("max_pool1d: too short");
    return SHAPE(s.size[0], (s.size[1] - 3) / 2 + 1);
}
extern const Op op_max_pool1d;
Tensor *tape_max_pool1d(Tape *t_, Tensor *x) {
    x = tape_contiguous(t_, x);
    return tape_record(tape_node(t_, &op_max_pool1d, max_pool1d_pooled(x->shape), INPUTS(x)));
}
static Tensor *max_pool1d_build(Tape *t_, Tensor **x_) {
    return tape_max_pool1d(t_, x_[0]);
}
static const CheckCase max_pool1d_cases[] = {
    {"two rows", max_pool1d_build, {{"x", DIMS(2, 9), .distinct = true}}},
    {"even", max_pool1d_build, {{"x", DIMS(3, 6), .distinct = true}}},
};
const Op op_max_pool1d = {"max_pool1d", max_pool1d_forward, max_pool1d_backward, CASES(max_pool1d_cases)};

/* ---- reflect_pad ---- */
/* reflection padding by 2 at each end of the last axis of [R, L] */
static long reflect_pad_source(long j, long L) {
    j -= 2;
    if (j < 0) j = -j;
    if (j >= L) j = 2 * L - 2 - j;
    return j;
}
static void reflect_pad_forward(Node *n) {
    const real *in0 = values(n, 0);
    long R = n->in[0]->shape.size[0], L = n->in[0]->shape.size[1];
    for (long r = 0; r < R; r++)
        for (long j = 0; j < L + 4; j++)
            n->out->data[r * (L + 4) + j] = in0[r * L + reflect_pad_source(j, L)];
}
static void reflect_pad_backward(Node *n) {
    long R = n->in[0]->shape.size[0], L = n->in[0]->shape.size[1];
    for (long r = 0; r < R; r++)
        for (long j = 0; j < L + 4; j++)
            n->in[0]->grad[r * L + reflect_pad_source(j, L)] += n->out->grad[r * (L + 4) + j];
}
static Shape reflect_pad_padded(Shape s) {
    if (s.size[1] < 3) error_bug("reflect_pad: too short");
    return SHAPE(s.size[0], s.size[1] + 4);
}
extern const Op op_reflect_pad;
Tensor *tape_reflect_pad(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_reflect_pad, reflect_pad_padded(x->shape), INPUTS(x)));
}
static Tensor *reflect_pad_build(Tape *t_, Tensor **x_) {
    return tape_reflect_pad(t_, x_[0]);
}
static const CheckCase reflect_pad_cases[] = {
    {"rows", reflect_pad_build, {{"x", DIMS(2, 5)}}},
    {"short", reflect_pad_build, {{"x", DIMS(3, 3)}}},
};
const Op op_reflect_pad = {"reflect_pad", reflect_pad_forward, reflect_pad_backward,
                           CASES(reflect_pad_cases)};

/* ---- masked_mean ---- */
/* mean pooling of [B, T, D] over the steps whose mask [B, T] is 1 */
static void masked_mean_forward(Node *n) {
    long B = n->in[0]->shape.size[0], T = n->in[0]->shape.size[1], D = n->in[0]->shape.size[2];
    for (long b = 0; b < B; b++) {
        real len = 0;
        for (long t = 0; t < T; t++) len += n->in[1]->data[b * T + t];
        for (long j = 0; j < D; j++) {
            real s = 0;
            for (long t = 0; t < T; t++) s += n->in[1]->data[b * T + t] * n->in[0]->data[(b * T + t) * D + j];
            n->out->data[b * D + j] = len > 0 ? s / len : 0;
        }
    }
}
static void masked_mean_backward(Node *n) {
    long B = n->in[0]->shape.size[0], T = n->in[0]->shape.size[1], D = n->in[0]->shape.size[2];
    for (long b = 0; b < B; b++) {
        real len = 0;
        for (long t = 0; t < T; t++) len += n->in[1]->data[b * T + t];
        if (len == 0) continue;
        for (long t = 0; t < T; t++)
            for (long j = 0; j < D; j++)
                n->in[0]->grad[(b * T + t) * D + j] +=
                    n->in[1]->data[b * T + t] * n->out->grad[b * D + j] / len;
    }
}
static const double masked_mean_m[] = {1, 1, 0, 1, 0, 0, 1, 1, 1};
extern const Op op_masked_mean;
Tensor *tape_masked_mean(Tape *t_, Tensor *x, Tensor *mask) {
    x = tape_contiguous(t_, x);
    mask = tape_contiguous(t_, mask);
    return tape_record(
        tape_node(t_, &op_masked_mean, SHAPE(x->shape.size[0], x->shape.size[2]), INPUTS(x, mask)));
}
static Tensor *masked_mean_build(Tape *t_, Tensor **x_) {
    return tape_masked_mean(t_, x_[0], x_[1]);
}
static const CheckCase masked_mean_cases[] = {
    {"sentences",
     masked_mean_build,
     {{"x", DIMS(3, 3, 2)}, {"mask", DIMS(3, 3), .values = masked_mean_m, .constant = true}}},
    {"one",
     masked_mean_build,
     {{"x", DIMS(1, 4, 3)}, {"mask", DIMS(1, 4), .values = masked_mean_m, .constant = true}}},
};
const Op op_masked_mean = {"masked_mean", masked_mean_forward, masked_mean_backward,
                           CASES(masked_mean_cases)};
