/* Losses of pairs: files as another hand wrote them. */
#include "student.h"

/* ---- bce_logits ---- */
/* binary_cross_entropy_with_logits(x, t, pos_weight=3), mean; t takes no gradient */
#define bce_logits_P 3.0
static double bce_logits_log_sigmoid(double x) {
    return x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x));
}
static void bce_logits_forward(Node *n) {
    const real *x = n->in[0]->data, *t = n->in[1]->data;
    long N = shape_count(n->in[0]->shape);
    double L = 0;
    for (long i = 0; i < N; i++)
        L -= bce_logits_P * t[i] * bce_logits_log_sigmoid(x[i]) + (1 - t[i]) * bce_logits_log_sigmoid(-x[i]);
    *n->out->data = L / N;
}
static void bce_logits_backward(Node *n) {
    const real *x = n->in[0]->data, *t = n->in[1]->data;
    long N = shape_count(n->in[0]->shape);
    for (long i = 0; i < N; i++) {
        double s = exp(bce_logits_log_sigmoid(x[i]));
        n->in[0]->grad[i] += *n->out->grad * ((1 - t[i]) * s - bce_logits_P * t[i] * (1 - s)) / N;
    }
}
extern const Op op_bce_logits;
Tensor *tape_bce_logits(Tape *t_, Tensor *x, Tensor *t) {
    x = tape_contiguous(t_, x);
    t = tape_contiguous(t_, t);
    return tape_record(tape_node(t_, &op_bce_logits, SCALAR, INPUTS(x, t)));
}
static Tensor *bce_logits_build(Tape *t_, Tensor **x_) {
    return tape_bce_logits(t_, x_[0], x_[1]);
}
static const CheckCase bce_logits_cases[] = {
    {"batch", bce_logits_build, {{"x", DIMS(3, 4)}, {"t", DIMS(3, 4), 0, 1, .constant = true}}},
    {"sure", bce_logits_build, {{"x", DIMS(6), -20, 20}, {"t", DIMS(6), 0, 1, .constant = true}}},
};
const Op op_bce_logits = {"bce_logits", bce_logits_forward, bce_logits_backward, CASES(bce_logits_cases)};

/* ---- dice ---- */
/* soft dice loss: 1 - (2 sum p t + 1) / (sum p + sum t + 1) */
static void dice_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    real i = 0, u = 0;
    for (long k = 0; k < shape_count(n->in[0]->shape); k++) {
        i += in0[k] * in1[k];
        u += in0[k] + in1[k];
    }
    n->out->data[0] = 1 - (2 * i + 1) / (u + 1);
}
static void dice_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    real i = 0, u = 0, g = n->out->grad[0];
    for (long k = 0; k < shape_count(n->in[0]->shape); k++) {
        i += in0[k] * in1[k];
        u += in0[k] + in1[k];
    }
    real c = (2 * i + 1) / ((u + 1) * (u + 1));
    for (long k = 0; k < shape_count(n->in[0]->shape); k++) {
        if (n->in[0]->grad) n->in[0]->grad[k] += g * (c - 2 * in1[k] / (u + 1));
        if (n->in[1]->grad) n->in[1]->grad[k] += g * (c - 2 * in0[k] / (u + 1));
    }
}
extern const Op op_dice;
Tensor *tape_dice(Tape *t_, Tensor *p, Tensor *t) {
    return tape_record(tape_node(t_, &op_dice, SCALAR, INPUTS(p, t)));
}
static Tensor *dice_build(Tape *t_, Tensor **x_) {
    return tape_dice(t_, x_[0], x_[1]);
}
static const CheckCase dice_cases[] = {
    {"mask", dice_build, {{"p", DIMS(3, 4), 0, 1}, {"t", DIMS(3, 4), 0, 1, .constant = true}}},
    {"both", dice_build, {{"p", DIMS(5), 0, 1}, {"t", DIMS(5), 0, 1}}},
};
const Op op_dice = {"dice", dice_forward, dice_backward, CASES(dice_cases)};

/* ---- focal_loss ---- */
/* RetinaNet's focal loss, gamma 2, alpha 0.25: -alpha (1-p)^2 log p, p = sigmoid(x) for a positive, per element */
#define focal_loss_ALPHA 0.25
static void focal_loss_forward(Node *n) {
    long N = shape_count(n->out->shape);
    for (long i = 0; i < N; i++) {
        int pos = n->in[1]->data[i] > 0.5;
        double x = pos ? n->in[0]->data[i] : -n->in[0]->data[i],
               a = pos ? focal_loss_ALPHA : 1 - focal_loss_ALPHA;
        double p = 1 / (1 + exp(-x)), logp = -log1p(exp(-x));
        n->out->data[i] = -a * (1 - p) * (1 - p) * logp;
    }
}
static void focal_loss_backward(Node *n) {
    long N = shape_count(n->out->shape);
    for (long i = 0; i < N; i++) {
        int pos = n->in[1]->data[i] > 0.5;
        double x = pos ? n->in[0]->data[i] : -n->in[0]->data[i],
               a = pos ? focal_loss_ALPHA : 1 - focal_loss_ALPHA;
        double p = 1 / (1 + exp(-x)), logp = -log1p(exp(-x));
        double dp = a * (2 * (1 - p) * logp - (1 - p) * (1 - p) / p);
        double d = dp * p * (1 - p);
        n->in[0]->grad[i] += n->out->grad[i] * (pos ? d : -d);
    }
}
static const double focal_loss_labels[] = {1, 0, 0, 1, 0, 1, 1, 0};
extern const Op op_focal_loss;
Tensor *tape_focal_loss(Tape *t_, Tensor *x, Tensor *t) {
    x = tape_contiguous(t_, x);
    t = tape_contiguous(t_, t);
    return tape_record(tape_node(t_, &op_focal_loss, x->shape, INPUTS(x, t)));
}
static Tensor *focal_loss_build(Tape *t_, Tensor **x_) {
    return tape_focal_loss(t_, x_[0], x_[1]);
}
static const CheckCase focal_loss_cases[] = {
    {"boxes",
     focal_loss_build,
     {{"x", DIMS(4, 2)}, {"t", DIMS(4, 2), .values = focal_loss_labels, .constant = true}}},
    {"few",
     focal_loss_build,
     {{"x", DIMS(5), -4, 4}, {"t", DIMS(5), .values = focal_loss_labels, .constant = true}}},
};
const Op op_focal_loss = {"focal_loss", focal_loss_forward, focal_loss_backward, CASES(focal_loss_cases)};

/* ---- gaussian_nll ---- */
/* 0.5 (log v + (m - t)^2 / max(v, 1e-3)), mean */
static void gaussian_nll_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    long N = shape_count(n->in[0]->shape);
    real s = 0;
    for (long i = 0; i < N; i++) {
        real v = fmax(in2[i], 1e-3), e = in0[i] - in1[i];
        s += 0.5 * (log(v) + e * e / v);
    }
    n->out->data[0] = s / N;
}
static void gaussian_nll_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    long N = shape_count(n->in[0]->shape);
    for (long i = 0; i < N; i++) {
        real w = in2[i], v = fmax(w, 1e-3), e = in0[i] - in1[i], g = n->out->grad[0] / N;
        if (n->in[0]->grad) n->in[0]->grad[i] += g * e / v;
        if (n->in[1]->grad) n->in[1]->grad[i] -= g * e / v;
        if (n->in[2]->grad && w > 1e-3) n->in[2]->grad[i] += g * 0.5 * (1 / v - e * e / (v * v));
    }
}
extern const Op op_gaussian_nll;
Tensor *tape_gaussian_nll(Tape *t_, Tensor *mean, Tensor *target, Tensor *var) {
    return tape_record(tape_node(t_, &op_gaussian_nll, SCALAR, INPUTS(mean, target, var)));
}
static Tensor *gaussian_nll_build(Tape *t_, Tensor **x_) {
    return tape_gaussian_nll(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase gaussian_nll_cases[] = {
    {"batch",
     gaussian_nll_build,
     {{"mean", DIMS(3, 2)}, {"target", DIMS(3, 2)}, {"var", DIMS(3, 2), 0.3, 2}}},
    {"target fixed",
     gaussian_nll_build,
     {{"mean", DIMS(4)}, {"target", DIMS(4), .constant = true}, {"var", DIMS(4), 0.3, 2}}},
};
const Op op_gaussian_nll = {"gaussian_nll", gaussian_nll_forward, gaussian_nll_backward,
                            CASES(gaussian_nll_cases)};

/* ---- other_huber ---- */
/* mean Huber loss of prediction and target, delta = 1.5 */
#define other_huber_DELTA 1.5
static void other_huber_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    long N = shape_count(n->in[0]->shape);
    double s = 0;
    for (long i = 0; i < N; i++) {
        double e = in0[i] - in1[i], a = fabs(e);
        s += a <= other_huber_DELTA ? 0.5 * e * e : other_huber_DELTA * (a - 0.5 * other_huber_DELTA);
    }
    n->out->data[0] = s / N;
}
static void other_huber_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    long N = shape_count(n->in[0]->shape);
    real *dp = n->in[0]->grad, *dt = n->in[1]->grad, g = n->out->grad[0] / N;
    for (long i = 0; i < N; i++) {
        double e = in0[i] - in1[i];
        double d = fmin(fmax(e, -other_huber_DELTA), other_huber_DELTA);
        if (dp) dp[i] += g * d;
        if (dt) dt[i] -= g * d;
    }
}
extern const Op op_other_huber;
Tensor *tape_other_huber(Tape *t_, Tensor *pred, Tensor *target) {
    return tape_record(tape_node(t_, &op_other_huber, SCALAR, INPUTS(pred, target)));
}
static Tensor *other_huber_build(Tape *t_, Tensor **x_) {
    return tape_other_huber(t_, x_[0], x_[1]);
}
static const CheckCase other_huber_cases[] = {
    {"batch", other_huber_build, {{"pred", DIMS(4, 3)}, {"target", DIMS(4, 3)}}},
    {"vector", other_huber_build, {{"pred", DIMS(8), -4, 4}, {"target", DIMS(8), .constant = true}}},
};
const Op op_other_huber = {"other_huber", other_huber_forward, other_huber_backward,
                           CASES(other_huber_cases)};

/* ---- pinball ---- */
/* quantile loss, tau 0.9, per element */
#define pinball_TAU 0.9
static void pinball_forward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        real e = n->in[1]->data[i] - n->in[0]->data[i];
        n->out->data[i] = fmax(pinball_TAU * e, (pinball_TAU - 1) * e);
    }
}
static void pinball_backward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        real d = n->in[1]->data[i] > n->in[0]->data[i] ? pinball_TAU : pinball_TAU - 1;
        if (n->in[0]->grad) n->in[0]->grad[i] -= d * n->out->grad[i];
        if (n->in[1]->grad) n->in[1]->grad[i] += d * n->out->grad[i];
    }
}
extern const Op op_pinball;
Tensor *tape_pinball(Tape *t_, Tensor *pred, Tensor *y) {
    pred = tape_contiguous(t_, pred);
    y = tape_contiguous(t_, y);
    return tape_record(tape_node(t_, &op_pinball, pred->shape, INPUTS(pred, y)));
}
static Tensor *pinball_build(Tape *t_, Tensor **x_) {
    return tape_pinball(t_, x_[0], x_[1]);
}
static const CheckCase pinball_cases[] = {
    {"matrix", pinball_build, {{"pred", DIMS(3, 4)}, {"y", DIMS(3, 4)}}},
    {"data", pinball_build, {{"pred", DIMS(6)}, {"y", DIMS(6), .constant = true}}},
};
const Op op_pinball = {"pinball", pinball_forward, pinball_backward, CASES(pinball_cases)};

/* ---- smooth_l1 ---- */
/* smooth l1 without reduction, smooth_l1_beta 0.5, broadcasting nothing */
static const real smooth_l1_beta = 0.5;
static real smooth_l1_f(real d) {
    return fabs(d) < smooth_l1_beta ? d * d / (2 * smooth_l1_beta) : fabs(d) - smooth_l1_beta / 2;
}
static real smooth_l1_df(real d) {
    return fabs(d) < smooth_l1_beta ? d / smooth_l1_beta : d > 0 ? 1 : -1;
}
static void smooth_l1_forward(Node *n) {
    Walk w = tensor_walk(n->out->shape, 2, (const long *[]){n->in[0]->stride, n->in[1]->stride});
    real *y = n->out->data;
    while (tensor_walk_row(&w))
        for (long i = 0; i < w.n; i++)
            *y++ = smooth_l1_f(n->in[0]->data[w.at[0] + i * w.step[0]] -
                               n->in[1]->data[w.at[1] + i * w.step[1]]);
}
static void smooth_l1_backward(Node *n) {
    Walk w = tensor_walk(n->out->shape, 2, (const long *[]){n->in[0]->stride, n->in[1]->stride});
    long k = 0;
    while (tensor_walk_row(&w))
        for (long i = 0; i < w.n; i++, k++) {
            real d = smooth_l1_df(n->in[0]->data[w.at[0] + i * w.step[0]] -
                                  n->in[1]->data[w.at[1] + i * w.step[1]]);
            if (n->in[0]->grad) n->in[0]->grad[k] += n->out->grad[k] * d;
            if (n->in[1]->grad) n->in[1]->grad[k] += -n->out->grad[k] * d;
        }
}
extern const Op op_smooth_l1;
Tensor *tape_smooth_l1(Tape *t_, Tensor *a, Tensor *b) {
    return tape_record(tape_node(t_, &op_smooth_l1, a->shape, INPUTS(a, b)));
}
static Tensor *smooth_l1_build(Tape *t_, Tensor **x_) {
    return tape_smooth_l1(t_, x_[0], x_[1]);
}
static const CheckCase smooth_l1_cases[] = {
    {"matrix", smooth_l1_build, {{"a", DIMS(3, 3)}, {"b", DIMS(3, 3)}}},
    {"strided",
     smooth_l1_build,
     {{"a", DIMS(3, 5), .layout = TRANSPOSED}, {"b", DIMS(3, 5), .layout = STEPPED}}},
    {"near", smooth_l1_build, {{"a", DIMS(6), -0.2, 0.2}, {"b", DIMS(6), -0.2, 0.2}}},
};
const Op op_smooth_l1 = {"smooth_l1", smooth_l1_forward, smooth_l1_backward, CASES(smooth_l1_cases)};
