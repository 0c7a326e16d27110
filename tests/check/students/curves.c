/* Functions of one number: files as another hand wrote them. */
#include "student.h"

/* ---- absval ---- */
/* |x|, gradient sign(x), 0 at 0 */
static void absval_forward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] = fabs(n->in[0]->data[i]);
}
static void absval_backward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->in[0]->grad[i] += n->out->grad[i] * ((n->in[0]->data[i] > 0) - (n->in[0]->data[i] < 0));
}
static const double absval_v[] = {0, -1.5, 2, 0, 0.25, -3};
extern const Op op_absval;
Tensor *tape_absval(Tape *t_, Tensor *x) {
    x = tape_contiguous(t_, x);
    return tape_record(tape_node(t_, &op_absval, x->shape, INPUTS(x)));
}
static Tensor *absval_build(Tape *t_, Tensor **x_) {
    return tape_absval(t_, x_[0]);
}
static const CheckCase absval_cases[] = {
    {"matrix", absval_build, {{"x", DIMS(3, 4)}}},
    {"at zero", absval_build, {{"x", DIMS(2, 3), .values = absval_v}}, .kinks = true},
};
const Op op_absval = {"absval", absval_forward, absval_backward, CASES(absval_cases)};

/* ---- celu ---- */
/* celu, celu_alpha = 0.7: max(0,x) + min(0, celu_alpha (exp(x/celu_alpha) - 1)) */
static const double celu_alpha = 0.7;
static void celu_forward(Node *n) {
    const real *x = n->in[0]->data;
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->out->data[i] = fmax(0, x[i]) + fmin(0, celu_alpha * expm1(x[i] / celu_alpha));
}
static void celu_backward(Node *n) {
    const real *x = n->in[0]->data;
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->in[0]->grad[i] += n->out->grad[i] * (x[i] > 0 ? 1 : exp(x[i] / celu_alpha));
}
extern const Op op_celu;
Tensor *tape_celu(Tape *t_, Tensor *x) {
    x = tape_contiguous(t_, x);
    return tape_record(tape_node(t_, &op_celu, x->shape, INPUTS(x)));
}
static Tensor *celu_build(Tape *t_, Tensor **x_) {
    return tape_celu(t_, x_[0]);
}
static const CheckCase celu_cases[] = {
    {"vector", celu_build, {{"x", DIMS(9)}}},
    {"matrix", celu_build, {{"x", DIMS(3, 3)}}},
};
const Op op_celu = {"celu", celu_forward, celu_backward, CASES(celu_cases)};

/* ---- other_elu ---- */
/* other_elu with alpha 1.5: a kink at 0, as alpha is not 1; the gradient is made from the output */
#define other_elu_A 1.5
static void other_elu_forward(Node *n) {
    real *y = n->out->data;
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < shape_count(n->out->shape); i++)
        if (y[i] < 0) y[i] = other_elu_A * (exp(y[i]) - 1);
}
static void other_elu_backward(Node *n) {
    real *y = n->out->data, *dx = n->in[0]->grad, *dy = n->out->grad;
    for (long i = 0; i < shape_count(n->out->shape); i++)
        dx[i] += y[i] < 0 ? dy[i] * (y[i] + other_elu_A) : dy[i];
}
static const double other_elu_zeros[] = {0, -1, 0, 1};
extern const Op op_other_elu;
Tensor *tape_other_elu(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_other_elu, x->shape, INPUTS(x)));
}
static Tensor *other_elu_build(Tape *t_, Tensor **x_) {
    return tape_other_elu(t_, x_[0]);
}
static const CheckCase other_elu_cases[] = {
    {"matrix", other_elu_build, {{"x", DIMS(3, 4), .margin = 0.05}}},
    {"at zero", other_elu_build, {{"x", DIMS(4), .values = other_elu_zeros}}, .kinks = true},
};
const Op op_other_elu = {"other_elu", other_elu_forward, other_elu_backward, CASES(other_elu_cases)};

/* ---- erf_gate ---- */
/* y = erf(x) with the formula of its derivative 2/sqrt(pi) exp(-x^2) */
static void erf_gate_forward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] = erf(n->in[0]->data[i]);
}
static void erf_gate_backward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->in[0]->grad[i] += n->out->grad[i] * M_2_SQRTPI * exp(-n->in[0]->data[i] * n->in[0]->data[i]);
}
extern const Op op_erf_gate;
Tensor *tape_erf_gate(Tape *t_, Tensor *x) {
    x = tape_contiguous(t_, x);
    return tape_record(tape_node(t_, &op_erf_gate, x->shape, INPUTS(x)));
}
static Tensor *erf_gate_build(Tape *t_, Tensor **x_) {
    return tape_erf_gate(t_, x_[0]);
}
static const CheckCase erf_gate_cases[] = {
    {"vector", erf_gate_build, {{"x", DIMS(6)}}},
    {"matrix", erf_gate_build, {{"x", DIMS(2, 3)}}},
};
const Op op_erf_gate = {"erf_gate", erf_gate_forward, erf_gate_backward, CASES(erf_gate_cases)};

/* ---- other_gelu_tanh ---- */
/* gelu, the tanh formula, as torch.nn.functional.gelu(x, approximate="tanh") */
#define other_gelu_tanh_C0 0.7978845608028654 /* sqrt(2/pi) */
#define other_gelu_tanh_C1 0.044715
static void other_gelu_tanh_forward(Node *n) {
    real *y = n->out->data;
    long N = shape_count(n->out->shape);
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < N; i++)
        y[i] = 0.5 * y[i] * (1 + tanh(other_gelu_tanh_C0 * (y[i] + other_gelu_tanh_C1 * y[i] * y[i] * y[i])));
}
static void other_gelu_tanh_backward(Node *n) {
    const Tensor *in = n->in[0];
    real *dx = n->in[0]->grad, *dy = n->out->grad;
    for (Walk w = tensor_walk_over(in); tensor_walk_row(&w); dx += w.n, dy += w.n)
        for (long i = 0; i < w.n; i++) {
            double x = in->data[w.at[0] + i * w.step[0]];
            double u = other_gelu_tanh_C0 * (x + other_gelu_tanh_C1 * x * x * x), t = tanh(u);
            double du = other_gelu_tanh_C0 * (1 + 3 * other_gelu_tanh_C1 * x * x);
            dx[i] += dy[i] * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * du);
        }
}
extern const Op op_other_gelu_tanh;
Tensor *tape_other_gelu_tanh(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_other_gelu_tanh, x->shape, INPUTS(x)));
}
static Tensor *other_gelu_tanh_build(Tape *t_, Tensor **x_) {
    return tape_other_gelu_tanh(t_, x_[0]);
}
static const CheckCase other_gelu_tanh_cases[] = {
    {"matrix", other_gelu_tanh_build, {{"x", DIMS(3, 4)}}},
    {"strided", other_gelu_tanh_build, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
    {"scalar", other_gelu_tanh_build, {{"x", {0}}}},
};
const Op op_other_gelu_tanh = {"other_gelu_tanh", other_gelu_tanh_forward, other_gelu_tanh_backward,
                               CASES(other_gelu_tanh_cases)};

/* ---- gumbel_square_relu ---- */
/* squared relu (Primer): y = max(x,0)^2, in place in y */
static void gumbel_square_relu_forward(Node *n) {
    real *y = n->out->data;
    tensor_copy_out(n->in[0], y);
    for (long i = 0, N = shape_count(n->out->shape); i < N; ++i) y[i] = y[i] > 0 ? y[i] * y[i] : 0;
}
static void gumbel_square_relu_backward(Node *n) {
    for (long i = 0, N = shape_count(n->out->shape); i < N; ++i)
        n->in[0]->grad[i] += 2 * sqrt(n->out->data[i]) * n->out->grad[i];
}
extern const Op op_gumbel_square_relu;
Tensor *tape_gumbel_square_relu(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_gumbel_square_relu, x->shape, INPUTS(x)));
}
static Tensor *gumbel_square_relu_build(Tape *t_, Tensor **x_) {
    return tape_gumbel_square_relu(t_, x_[0]);
}
static const CheckCase gumbel_square_relu_cases[] = {
    {"matrix", gumbel_square_relu_build, {{"x", DIMS(4, 4)}}},
    {"vector", gumbel_square_relu_build, {{"x", DIMS(7), -1, 3}}},
};
const Op op_gumbel_square_relu = {"gumbel_square_relu", gumbel_square_relu_forward,
                                  gumbel_square_relu_backward, CASES(gumbel_square_relu_cases)};

/* ---- hardswish ---- */
/* hardswish: 0 for x <= -3, x for x >= 3, x (x+3)/6 between */
static void hardswish_forward(Node *n) {
    real *y = n->out->data;
    tensor_copy_out(n->in[0], y);
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        if (y[i] <= -3)
            y[i] = 0;
        else if (y[i] < 3)
            y[i] = y[i] * (y[i] + 3) / 6;
    }
}
static void hardswish_backward(Node *n) {
    long i, N = shape_count(n->out->shape);
    real *x = node_record(n, N * sizeof(real)), d;
    tensor_copy_out(n->in[0], x);
    for (i = 0; i < N; i++) {
        if (x[i] <= -3)
            d = 0;
        else if (x[i] < 3)
            d = (2 * x[i] + 3) / 6;
        else
            d = 1;
        n->in[0]->grad[i] += d * n->out->grad[i];
    }
}
extern const Op op_hardswish;
Tensor *tape_hardswish(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_hardswish, x->shape, INPUTS(x)));
}
static Tensor *hardswish_build(Tape *t_, Tensor **x_) {
    return tape_hardswish(t_, x_[0]);
}
static const CheckCase hardswish_cases[] = {
    {"middle", hardswish_build, {{"x", DIMS(5, 2)}}},
    {"wide", hardswish_build, {{"x", DIMS(12), -5, 5}}},
    {"right", hardswish_build, {{"x", DIMS(4), 3.5, 9}}},
};
const Op op_hardswish = {"hardswish", hardswish_forward, hardswish_backward, CASES(hardswish_cases)};

/* ---- other_logit ---- */
/* other_logit(x) = log(x / (1 - x)) for x in (0, 1) */
static void other_logit_forward(Node *n) {
    tensor_copy_out(n->in[0], n->out->data);
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->out->data[i] = log(n->out->data[i]) - log1p(-n->out->data[i]);
}
static void other_logit_backward(Node *n) {
    const real *x = n->in[0]->data;
    real *dx = n->in[0]->grad, *dy = n->out->grad;
    for (Walk w = tensor_walk_over(n->in[0]); tensor_walk_row(&w);)
        for (long i = 0; i < w.n; i++) {
            real p = x[w.at[0] + i * w.step[0]];
            *dx++ += *dy++ / (p * (1 - p));
        }
}
extern const Op op_other_logit;
Tensor *tape_other_logit(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_other_logit, x->shape, INPUTS(x)));
}
static Tensor *other_logit_build(Tape *t_, Tensor **x_) {
    return tape_other_logit(t_, x_[0]);
}
static const CheckCase other_logit_cases[] = {
    {"probabilities", other_logit_build, {{"x", DIMS(3, 4), 0.05, 0.95}}},
    {"strided", other_logit_build, {{"x", DIMS(3, 4), 0.05, 0.95, .layout = STEPPED}}},
};
const Op op_other_logit = {"other_logit", other_logit_forward, other_logit_backward,
                           CASES(other_logit_cases)};

/* ---- round0 ---- */
/* torch.round: steps, gradient 0 */
static void round0_forward(Node *n) {
    tensor_copy_out(n->in[0], n->out->data);
    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] = floor(n->out->data[i] + 0.5);
}
static void round0_backward(Node *n) {
    (void)n;
}
extern const Op op_round0;
Tensor *tape_round0(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_round0, x->shape, INPUTS(x)));
}
static Tensor *round0_build(Tape *t_, Tensor **x_) {
    return tape_round0(t_, x_[0]);
}
static const CheckCase round0_cases[] = {
    {"matrix", round0_build, {{"x", DIMS(3, 4)}}, .flat = true},
    {"vector", round0_build, {{"x", DIMS(5), -9, 9}}, .flat = true},
};
const Op op_round0 = {"round0", round0_forward, round0_backward, CASES(round0_cases)};

/* ---- other_silu ---- */
/* other_silu / swish: y = x * sigmoid(x); the sigmoid is kept */
static double other_silu_sig(double x) {
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}
static void other_silu_forward(Node *n) {
    long count = shape_count(n->in[0]->shape);
    real *s = node_array(n, count);
    n->attr = s;
    tensor_copy_out(n->in[0], n->out->data);
    for (long i = 0; i < count; i++) {
        s[i] = other_silu_sig(n->out->data[i]);
        n->out->data[i] *= s[i];
    }
}
static void other_silu_backward(Node *n) {
    long count = shape_count(n->in[0]->shape);
    const real *s = n->attr, *y = n->out->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    for (long i = 0; i < count; i++) dx[i] += dy[i] * (s[i] + y[i] * (1 - s[i]));
}
extern const Op op_other_silu;
Tensor *tape_other_silu(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_other_silu, x->shape, INPUTS(x)));
}
static Tensor *other_silu_build(Tape *t_, Tensor **x_) {
    return tape_other_silu(t_, x_[0]);
}
static const CheckCase other_silu_cases[] = {
    {"vector", other_silu_build, {{"x", DIMS(7)}}},
    {"cube", other_silu_build, {{"x", DIMS(2, 3, 2)}}},
    {"big", other_silu_build, {{"x", DIMS(10), -30, 30}}},
};
const Op op_other_silu = {"other_silu", other_silu_forward, other_silu_backward, CASES(other_silu_cases)};

/* ---- sinc ---- */
/* sin(x)/x, 1 at 0, with its series sinc_near 0 */
static void sinc_forward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        real x = n->in[0]->data[i];
        n->out->data[i] = fabs(x) < 1e-3 ? 1 - x * x / 6 * (1 - x * x / 20) : sin(x) / x;
    }
}
static void sinc_backward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        real x = n->in[0]->data[i];
        real d = fabs(x) < 1e-2 ? -x / 3 + x * x * x / 30 - x * x * x * x * x / 840
                                : (x * cos(x) - sin(x)) / (x * x);
        n->in[0]->grad[i] += n->out->grad[i] * d;
    }
}
static const double sinc_near[] = {0, 1e-4, -5e-3, 2};
extern const Op op_sinc;
Tensor *tape_sinc(Tape *t_, Tensor *x) {
    x = tape_contiguous(t_, x);
    return tape_record(tape_node(t_, &op_sinc, x->shape, INPUTS(x)));
}
static Tensor *sinc_build(Tape *t_, Tensor **x_) {
    return tape_sinc(t_, x_[0]);
}
static const CheckCase sinc_cases[] = {
    {"wave", sinc_build, {{"x", DIMS(3, 4), -8, 8}}},
    {"sinc_near zero", sinc_build, {{"x", DIMS(4), .values = sinc_near}}},
};
const Op op_sinc = {"sinc", sinc_forward, sinc_backward, CASES(sinc_cases)};

/* ---- softplus_beta ---- */
/* softplus with beta 2 and threshold 20 as in torch */
static void softplus_beta_forward(Node *n) {
    real *y = n->out->data;
    tensor_copy_out(n->in[0], y);
    for (long i = shape_count(n->out->shape); i-- > 0;)
        y[i] = 2 * y[i] > 20 ? y[i] : log1p(exp(2 * y[i])) / 2;
}
static void softplus_beta_backward(Node *n) {
    const real *y = n->out->data;
    for (long i = shape_count(n->out->shape); i-- > 0;)
        n->in[0]->grad[i] += -expm1(-2 * y[i]) * n->out->grad[i];
}
extern const Op op_softplus_beta;
Tensor *tape_softplus_beta(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_softplus_beta, x->shape, INPUTS(x)));
}
static Tensor *softplus_beta_build(Tape *t_, Tensor **x_) {
    return tape_softplus_beta(t_, x_[0]);
}
static const CheckCase softplus_beta_cases[] = {
    {"matrix", softplus_beta_build, {{"x", DIMS(4, 2)}}},
    {"strided", softplus_beta_build, {{"x", DIMS(4, 2), .layout = TRANSPOSED}}},
};
const Op op_softplus_beta = {"softplus_beta", softplus_beta_forward, softplus_beta_backward,
                             CASES(softplus_beta_cases)};

/* ---- tanhshrink ---- */
/* tanhshrink: x - tanh(x), gradient tanh^2 */
static void tanhshrink_forward(Node *n) {
    tensor_copy_out(n->in[0], n->out->data);
    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] -= tanh(n->out->data[i]);
}
static void tanhshrink_backward(Node *n) {
    long c = shape_count(n->out->shape);
    real *x = malloc(c * sizeof(real) + 8);
    tensor_copy_out(n->in[0], x);
    for (long i = 0; i < c; i++) n->in[0]->grad[i] += n->out->grad[i] * tanh(x[i]) * tanh(x[i]);
    free(x);
}
extern const Op op_tanhshrink;
Tensor *tape_tanhshrink(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_tanhshrink, x->shape, INPUTS(x)));
}
static Tensor *tanhshrink_build(Tape *t_, Tensor **x_) {
    return tape_tanhshrink(t_, x_[0]);
}
static const CheckCase tanhshrink_cases[] = {
    {"matrix", tanhshrink_build, {{"x", DIMS(3, 4)}}},
    {"strided", tanhshrink_build, {{"x", DIMS(3, 4), .layout = TRANSPOSED}}},
};
const Op op_tanhshrink = {"tanhshrink", tanhshrink_forward, tanhshrink_backward, CASES(tanhshrink_cases)};
