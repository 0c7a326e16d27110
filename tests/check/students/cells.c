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

/* ---- linear_attention ---- */
/* causal linear attention (Katharopoulos 2020) without the denominator: y_t = sum_{s<=t} (linear_attention_phi(q_t).phi(k_s)) v_s, linear_attention_phi = elu + 1 */
static real linear_attention_phi(real x) {
    return x > 0 ? x + 1 : exp(x);
}
static real linear_attention_dphi(real x) {
    return x > 0 ? 1 : exp(x);
}
static void linear_attention_forward(Node *n) {
    long T = n->in[0]->shape.size[0], D = n->in[0]->shape.size[1], V = n->in[2]->shape.size[1];
    const real *q = n->in[0]->data, *k = n->in[1]->data, *v = n->in[2]->data;
    for (long i = 0; i < T * V; i++) n->out->data[i] = 0;
    for (long t = 0; t < T; t++)
        for (long s = 0; s <= t; s++) {
            real a = 0;
            for (long d = 0; d < D; d++)
                a += linear_attention_phi(q[t * D + d]) * linear_attention_phi(k[s * D + d]);
            for (long j = 0; j < V; j++) n->out->data[t * V + j] += a * v[s * V + j];
        }
}
static void linear_attention_backward(Node *n) {
    long T = n->in[0]->shape.size[0], D = n->in[0]->shape.size[1], V = n->in[2]->shape.size[1];
    const real *q = n->in[0]->data, *k = n->in[1]->data, *v = n->in[2]->data, *dy = n->out->grad;
    real *dq = n->in[0]->grad, *dk = n->in[1]->grad, *dv = n->in[2]->grad;
    for (long t = 0; t < T; t++)
        for (long s = 0; s <= t; s++) {
            real a = 0, da = 0;
            for (long d = 0; d < D; d++)
                a += linear_attention_phi(q[t * D + d]) * linear_attention_phi(k[s * D + d]);
            for (long j = 0; j < V; j++) da += dy[t * V + j] * v[s * V + j];
            for (long j = 0; dv && j < V; j++) dv[s * V + j] += a * dy[t * V + j];
            for (long d = 0; dq && d < D; d++)
                dq[t * D + d] +=
                    da * linear_attention_dphi(q[t * D + d]) * linear_attention_phi(k[s * D + d]);
            for (long d = 0; dk && d < D; d++)
                dk[s * D + d] +=
                    da * linear_attention_phi(q[t * D + d]) * linear_attention_dphi(k[s * D + d]);
        }
}
extern const Op op_linear_attention;
Tensor *tape_linear_attention(Tape *t_, Tensor *q, Tensor *k, Tensor *v) {
    q = tape_contiguous(t_, q);
    k = tape_contiguous(t_, k);
    v = tape_contiguous(t_, v);
    return tape_record(
        tape_node(t_, &op_linear_attention, SHAPE(q->shape.size[0], v->shape.size[1]), INPUTS(q, k, v)));
}
static Tensor *linear_attention_build(Tape *t_, Tensor **x_) {
    return tape_linear_attention(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase linear_attention_cases[] = {
    {"four steps", linear_attention_build, {{"q", DIMS(4, 3)}, {"k", DIMS(4, 3)}, {"v", DIMS(4, 2)}}},
    {"values alone",
     linear_attention_build,
     {{"q", DIMS(3, 2), .constant = true}, {"k", DIMS(3, 2), .constant = true}, {"v", DIMS(3, 2)}}},
};
const Op op_linear_attention = {"linear_attention", linear_attention_forward, linear_attention_backward,
                                CASES(linear_attention_cases)};

/* ---- unrolled_dot ---- */
/* row-wise dot product of wide rows, unrolled by four */
static void unrolled_dot_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    long R = n->in[0]->shape.size[0], D = n->in[0]->shape.size[1];
    for (long r = 0; r < R; r++) {
        const real *a = in0 + r * D, *b = in1 + r * D;
        real s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        long j = 0;
        for (; j + 4 <= D; j += 4)
            s0 += a[j] * b[j], s1 += a[j + 1] * b[j + 1], s2 += a[j + 2] * b[j + 2],
                s3 += a[j + 3] * b[j + 3];
        for (; j < D; j++) s0 += a[j] * b[j];
        n->out->data[r] = s0 + s1 + s2 + s3;
    }
}
static void unrolled_dot_axpy(long D, real g, const real *x, real *y) {
    long j = 0;
    for (; j + 4 <= D; j += 4)
        y[j] += g * x[j], y[j + 1] += g * x[j + 1], y[j + 2] += g * x[j + 2], y[j + 3] += g * x[j + 3];
    for (; j < D; j++) y[j] += g * x[j];
}
static void unrolled_dot_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    long R = n->in[0]->shape.size[0], D = n->in[0]->shape.size[1];
    for (long r = 0; r < R; r++) {
        if (n->in[0]->grad) unrolled_dot_axpy(D, n->out->grad[r], in1 + r * D, n->in[0]->grad + r * D);
        if (n->in[1]->grad) unrolled_dot_axpy(D, n->out->grad[r], in0 + r * D, n->in[1]->grad + r * D);
    }
}
extern const Op op_unrolled_dot;
Tensor *tape_unrolled_dot(Tape *t_, Tensor *a, Tensor *b) {
    return tape_record(tape_node(t_, &op_unrolled_dot, SHAPE(a->shape.size[0]), INPUTS(a, b)));
}
static Tensor *unrolled_dot_build(Tape *t_, Tensor **x_) {
    return tape_unrolled_dot(t_, x_[0], x_[1]);
}
static const CheckCase unrolled_dot_cases[] = {
    {"wide", unrolled_dot_build, {{"a", DIMS(3, 18)}, {"b", DIMS(3, 18)}}},
    {"narrow", unrolled_dot_build, {{"a", DIMS(2, 3)}, {"b", DIMS(2, 3)}}},
};
const Op op_unrolled_dot = {"unrolled_dot", unrolled_dot_forward, unrolled_dot_backward,
                            CASES(unrolled_dot_cases)};

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

/* ---- swiglu ---- */
/* swiglu: the halves of the last axis, y = silu(gate) * up */
static void swiglu_forward(Node *n) {
    const real *in0 = values(n, 0);
    Shape s = n->out->shape;
    long h = s.size[s.rank - 1], N = shape_count(s);
    for (long o = 0; o < N; o++) {
        long r = o / h, j = o % h;
        real g = in0[r * 2 * h + j], u = in0[r * 2 * h + h + j];
        n->out->data[o] = g / (1 + exp(-g)) * u;
    }
}
static void swiglu_backward(Node *n) {
    const real *in0 = values(n, 0);
    Shape s = n->out->shape;
    long h = s.size[s.rank - 1], N = shape_count(s);
    for (long o = 0; o < N; o++) {
        long r = o / h, j = o % h;
        real g = in0[r * 2 * h + j], u = in0[r * 2 * h + h + j];
        real sg = 1 / (1 + exp(-g));
        n->in[0]->grad[r * 2 * h + j] += n->out->grad[o] * u * sg * (1 + g * (1 - sg));
        n->in[0]->grad[r * 2 * h + h + j] += n->out->grad[o] * g * sg;
    }
}
static Shape swiglu_half(Shape s) {
    if (s.size[s.rank - 1] % 2) error_bug("swiglu: an odd last axis");
    s.size[s.rank - 1] /= 2;
    return s;
}
extern const Op op_swiglu;
Tensor *tape_swiglu(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_swiglu, swiglu_half(x->shape), INPUTS(x)));
}
static Tensor *swiglu_build(Tape *t_, Tensor **x_) {
    return tape_swiglu(t_, x_[0]);
}
static const CheckCase swiglu_cases[] = {
    {"matrix", swiglu_build, {{"x", DIMS(3, 6)}}},
    {"three axes", swiglu_build, {{"x", DIMS(2, 2, 4)}}},
};
const Op op_swiglu = {"swiglu", swiglu_forward, swiglu_backward, CASES(swiglu_cases)};

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
