/* Losses of one prediction each, and weighted means: files as a hand wrote them that had not seen the checker. */
#include "student.h"

/* ---- third_focal_loss ---- */
/* focal_loss: binary focal loss with logits, mean over the targets that are not ignored.
 *
 *   x [n] logits, target: n of 0, 1 or -1 (ignored)       y scalar
 *   pt = sigmoid(x) if target else sigmoid(-x)
 *   loss = -alpha_t (1-pt)^gamma log pt
 *
 * backward: with s = +1 or -1
 *   dloss/dx = s alpha_t (1-pt)^gamma (gamma pt log pt - (1-pt))
 */

typedef struct third_focal_loss_Focal {
    long n, counted;
    const int32_t *target;
    double alpha, gamma;
} third_focal_loss_Focal;

static double third_focal_loss_sigmoid(double v) {
    if (v >= 0) return 1 / (1 + exp(-v));
    double e = exp(v);
    return e / (1 + e);
}

static double third_focal_loss_log_sigmoid(double v) {
    return v >= 0 ? -log1p(exp(-v)) : v - log1p(exp(v));
}

static void third_focal_loss_forward(Node *n) {
    third_focal_loss_Focal *f = n->attr;
    double total = 0;
    for (long i = 0; i < f->n; i++) {
        if (f->target[i] < 0) continue;
        double s = f->target[i] ? 1 : -1, weight = f->target[i] ? f->alpha : 1 - f->alpha;
        double v = s * n->in[0]->data[i];
        total -= weight * pow(third_focal_loss_sigmoid(-v), f->gamma) * third_focal_loss_log_sigmoid(v);
    }
    n->out->data[0] = f->counted ? total / f->counted : 0;
}

static void third_focal_loss_backward(Node *n) {
    third_focal_loss_Focal *f = n->attr;
    real *dx = n->in[0]->grad;
    if (f->counted == 0) return;
    double scale = n->out->grad[0] / f->counted;
    for (long i = 0; i < f->n; i++) {
        if (f->target[i] < 0) continue;
        double s = f->target[i] ? 1 : -1, weight = f->target[i] ? f->alpha : 1 - f->alpha;
        double v = s * n->in[0]->data[i];
        double pt = third_focal_loss_sigmoid(v), rest = third_focal_loss_sigmoid(-v);
        double power = pow(rest, f->gamma);
        double slope = f->gamma * pt * third_focal_loss_log_sigmoid(v) - rest;
        dx[i] += scale * s * weight * power * slope;
    }
}

extern const Op op_third_focal_loss;
static Tensor *third_focal_loss_focal(Tape *t, Tensor *x, const int32_t *target, double alpha, double gamma) {
    x = tape_contiguous(t, x);
    long count = shape_count(x->shape);
    Node *n = tape_node(t, &op_third_focal_loss, SCALAR, INPUTS(x));
    third_focal_loss_Focal *f = node_attr(n, sizeof *f);
    f->n = count, f->alpha = alpha, f->gamma = gamma, f->target = target;
    for (long i = 0; i < count; i++) f->counted += target[i] >= 0;
    return tape_record(n);
}

static const int32_t third_focal_loss_labels[64] = {1, 0, 0, 1, 1, 0, 1, 0};
static const int32_t third_focal_loss_some_ignored[64] = {1, -1, 0, 1, -1, 0, 0, 1};

BUILD_CASE(third_focal_loss_usual, third_focal_loss_focal(t, x[0], third_focal_loss_labels, 0.25, 2))
BUILD_CASE(third_focal_loss_ignoring,
           third_focal_loss_focal(t, x[0], third_focal_loss_some_ignored, 0.4, 1.5))

static const CheckCase third_focal_loss_cases[] = {
    {"gamma 2", third_focal_loss_usual, {{"x", DIMS(8)}}},
    {"some ignored", third_focal_loss_ignoring, {{"x", DIMS(8)}}},
    {"surer", third_focal_loss_usual, {{"x", DIMS(6), -6, 6}}},
};

const Op op_third_focal_loss = {"third_focal_loss", third_focal_loss_forward, third_focal_loss_backward,
                                CASES(third_focal_loss_cases)};

/* ---- segment_mean ---- */
/* weighted mean of the rows of each segment; weights are squares so that they are positive
 *   x [n,d]  w [n]  ids: n segment numbers in [0,S)     y [S,d]
 *   y_s = sum_{ids_i = s} w_i^2 x_i / sum_{ids_i = s} w_i^2        0 for a segment without rows */

typedef struct segment_mean_Segments {
    long n, d, S;
    int32_t *ids;
    real *total;
    long *rows;
} segment_mean_Segments;

static void segment_mean_forward(Node *n) {
    segment_mean_Segments *a = n->attr;
    const real *x = n->in[0]->data, *w = n->in[1]->data;
    real *y = n->out->data;
    for (long s = 0; s < a->S; s++) a->total[s] = 0, a->rows[s] = 0;
    for (long i = 0; i < a->S * a->d; i++) y[i] = 0;
    for (long i = 0; i < a->n; i++) {
        long s = a->ids[i];
        a->total[s] += w[i] * w[i];
        a->rows[s]++;
        for (long j = 0; j < a->d; j++) y[s * a->d + j] += w[i] * w[i] * x[i * a->d + j];
    }
    for (long s = 0; s < a->S; s++)
        for (long j = 0; j < a->d; j++)
            if (a->total[s] > 0) y[s * a->d + j] /= a->total[s];
}

static void segment_mean_backward(Node *n) {
    segment_mean_Segments *a = n->attr;
    const real *x = n->in[0]->data, *w = n->in[1]->data, *y = n->out->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad, *dw = n->in[1]->grad;
    for (long i = 0; i < a->n; i++) {
        long s = a->ids[i];
        real total = a->total[s], dot = 0;
        if (total == 0) continue;
        for (long j = 0; j < a->d; j++) {
            real g = dy[s * a->d + j];
            if (dx) dx[i * a->d + j] += g * w[i] * w[i] / total;
            dot += g * (x[i * a->d + j] - y[s * a->d + j]);
        }
        if (dw) dw[i] += 2 * w[i] * dot / total;
    }
}

extern const Op op_segment_mean;
static Tensor *segment_mean(Tape *t, Tensor *x, Tensor *w, const int32_t *ids, long S) {
    x = tape_contiguous(t, x), w = tape_contiguous(t, w);
    long rows = x->shape.size[0], d = x->shape.size[1];
    Node *n = tape_node(t, &op_segment_mean, SHAPE(S, d), INPUTS(x, w));
    segment_mean_Segments *a = node_attr(n, sizeof *a);
    a->n = rows, a->d = d, a->S = S;
    a->ids = node_record(n, rows * sizeof(int32_t));
    memcpy(a->ids, ids, rows * sizeof(int32_t));
    a->total = node_record(n, S * sizeof(real));
    a->rows = node_record(n, S * sizeof(long));
    return tape_record(n);
}

static const int32_t segment_mean_three[32] = {0, 2, 0, 2, 2, 0, 2};
static const int32_t segment_mean_sorted[32] = {0, 0, 1, 1, 1, 2};
BUILD_CASE(segment_mean_unsorted, segment_mean(t, x[0], x[1], segment_mean_three, 4))
BUILD_CASE(segment_mean_in_order, segment_mean(t, x[0], x[1], segment_mean_sorted, 3))

static const CheckCase segment_mean_cases[] = {
    {"two empty segments", segment_mean_unsorted, {{"x", DIMS(7, 2)}, {"w", DIMS(7), 0.5, 2}}},
    {"in order", segment_mean_in_order, {{"x", DIMS(6, 3)}, {"w", DIMS(6), 0.5, 2}}},
    {"fixed weights", segment_mean_in_order, {{"x", DIMS(6, 1)}, {"w", DIMS(6), 0.5, 1.5, .constant = true}}},
};

const Op op_segment_mean = {"segment_mean", segment_mean_forward, segment_mean_backward,
                            CASES(segment_mean_cases)};

/* ---- quantile_loss ---- */
/* quantile_loss: pinball loss of several quantiles, and a penalty where a quantile lies above the next one
 *
 * pred [n,Q], target [n], tau: Q levels
 *     y = 1/n sum_i ( sum_q pinball_tau_q(target_i - pred_iq) + lambda sum_q max(0, pred_iq - pred_i(q+1))^2 )
 */

typedef struct quantile_loss_Q {
    long n, q;
    const double *tau;
    double lambda;
} quantile_loss_Q;

static double quantile_loss_pinball(double tau, double e) {
    return e >= 0 ? tau * e : (tau - 1) * e;
}

static void quantile_loss_forward(Node *node) {
    const quantile_loss_Q *a = node->attr;
    const real *pred = node->in[0]->data, *target = node->in[1]->data;
    double sum = 0;
    for (long i = 0; i < a->n; i++) {
        const real *p = pred + i * a->q;
        for (long q = 0; q < a->q; q++) sum += quantile_loss_pinball(a->tau[q], target[i] - p[q]);
        for (long q = 0; q + 1 < a->q; q++) {
            double over = p[q] - p[q + 1];
            if (over > 0) sum += a->lambda * over * over;
        }
    }
    node->out->data[0] = a->n ? sum / a->n : 0;
}

static void quantile_loss_backward(Node *node) {
    const quantile_loss_Q *a = node->attr;
    const real *pred = node->in[0]->data, *target = node->in[1]->data;
    real *dpred = node->in[0]->grad, *dtarget = node->in[1]->grad;
    double g = node->out->grad[0] / a->n;
    for (long i = 0; i < a->n; i++) {
        const real *p = pred + i * a->q;
        for (long q = 0; q < a->q; q++) {
            double tau = a->tau[q];
            double slope = target[i] - p[q] >= 0 ? tau : tau - 1;
            if (dpred) dpred[i * a->q + q] -= g * slope;
            if (dtarget) dtarget[i] += g * slope;
        }
        if (!dpred) continue;
        for (long q = 0; q + 1 < a->q; q++) {
            double over = p[q] - p[q + 1];
            if (over <= 0) continue;
            dpred[i * a->q + q] += 2 * g * a->lambda * over;
            dpred[i * a->q + q + 1] -= 2 * g * a->lambda * over;
        }
    }
}

extern const Op op_quantile_loss;
static Tensor *quantile_loss(Tape *t, Tensor *pred, Tensor *target, const double *tau, double lambda) {
    pred = tape_contiguous(t, pred);
    target = tape_contiguous(t, target);
    Node *node = tape_node(t, &op_quantile_loss, SCALAR, INPUTS(pred, target));
    quantile_loss_Q *a = node_attr(node, sizeof *a);
    a->n = pred->shape.size[0];
    a->q = pred->shape.size[1];
    a->tau = tau;
    a->lambda = lambda;
    return tape_record(node);
}

static const double quantile_loss_levels[16] = {0.1, 0.5, 0.9,  0.95, 0.2,  0.3,  0.4,  0.6,
                                                0.7, 0.8, 0.25, 0.75, 0.05, 0.15, 0.35, 0.65};
BUILD_CASE(quantile_loss_penalised, quantile_loss(t, x[0], x[1], quantile_loss_levels, 0.7))
BUILD_CASE(quantile_loss_plain, quantile_loss(t, x[0], x[1], quantile_loss_levels, 0))

static const CheckCase quantile_loss_cases[] = {
    {"three levels", quantile_loss_penalised, {{"pred", DIMS(4, 3)}, {"target", DIMS(4)}}},
    {"no penalty", quantile_loss_plain, {{"pred", DIMS(5, 2)}, {"target", DIMS(5)}}},
    {"targets given", quantile_loss_penalised, {{"pred", DIMS(3, 4)}, {"target", DIMS(3), .constant = true}}},
};

const Op op_quantile_loss = {"quantile_loss", quantile_loss_forward, quantile_loss_backward,
                             CASES(quantile_loss_cases)};

/* ---- huber_weighted ---- */
/* Huber loss, each column with a weight
 *   x, target [n,m], w [m] -> scalar     y = mean_ij w_j huber(x_ij - target_ij)
 *   huber(e) = e^2/2 if |e| <= delta else delta (|e| - delta/2) */

typedef struct huber_weighted_Huber {
    long n, m;
    double delta;
} huber_weighted_Huber;

static double huber_weighted_huber(double e, double delta) {
    return fabs(e) <= delta ? 0.5 * e * e : delta * (fabs(e) - 0.5 * delta);
}

static double huber_weighted_huber_slope(double e, double delta) {
    if (e > delta) return delta;
    if (e < -delta) return -delta;
    return e;
}

static void huber_weighted_forward(Node *n) {
    const huber_weighted_Huber *a = n->attr;
    const real *x = n->in[0]->data, *target = n->in[1]->data, *w = n->in[2]->data;
    double sum = 0;
    for (long i = 0; i < a->n * a->m; i++)
        sum += w[i % a->m] * huber_weighted_huber(x[i] - target[i], a->delta);
    n->out->data[0] = sum / (a->n * a->m);
}

static void huber_weighted_backward(Node *n) {
    const huber_weighted_Huber *a = n->attr;
    const real *x = n->in[0]->data, *target = n->in[1]->data, *w = n->in[2]->data;
    double g = n->out->grad[0] / (a->n * a->m);
    for (long i = 0; i < a->n * a->m; i++) {
        double e = x[i] - target[i];
        double d = g * w[i % a->m] * huber_weighted_huber_slope(e, a->delta);
        if (n->in[0]->grad) n->in[0]->grad[i] += d;
        if (n->in[1]->grad) n->in[1]->grad[i] -= d;
        if (n->in[2]->grad) n->in[2]->grad[i % a->m] += g * huber_weighted_huber(e, a->delta);
    }
}

extern const Op op_huber_weighted;
static Tensor *huber_weighted(Tape *t, Tensor *x, Tensor *target, Tensor *w, double delta) {
    x = tape_contiguous(t, x), target = tape_contiguous(t, target), w = tape_contiguous(t, w);
    Node *n = tape_node(t, &op_huber_weighted, SCALAR, INPUTS(x, target, w));
    *(huber_weighted_Huber *)node_attr(n, sizeof(huber_weighted_Huber)) =
        (huber_weighted_Huber){x->shape.size[0], x->shape.size[1], delta};
    return tape_record(n);
}

BUILD_CASE(huber_weighted_unit, huber_weighted(t, x[0], x[1], x[2], 1))
BUILD_CASE(huber_weighted_half, huber_weighted(t, x[0], x[1], x[2], 0.5))

static const CheckCase huber_weighted_cases[] = {
    {"delta 1", huber_weighted_unit, {{"x", DIMS(3, 4)}, {"target", DIMS(3, 4)}, {"w", DIMS(4), 0.5, 2}}},
    {"delta 0.5", huber_weighted_half, {{"x", DIMS(4, 3)}, {"target", DIMS(4, 3)}, {"w", DIMS(3)}}},
    {"only x learns",
     huber_weighted_half,
     {{"x", DIMS(4, 2)}, {"target", DIMS(4, 2), .constant = true}, {"w", DIMS(2), .constant = true}}},
};

const Op op_huber_weighted = {"huber_weighted", huber_weighted_forward, huber_weighted_backward,
                              CASES(huber_weighted_cases)};

/* ---- third_gaussian_nll ---- */
/* Gaussian negative log likelihood, sigma = softplus(s) + 0.001
 *   mu, s, target [n] -> y scalar     y = sum or mean of ln sigma + (target - mu)^2 / (2 sigma^2) */

typedef struct third_gaussian_nll_Nll {
    long n;
    bool third_gaussian_nll_mean;
} third_gaussian_nll_Nll;

static double third_gaussian_nll_sigma_of(double s) {
    return fmax(s, 0) + log1p(exp(-fabs(s))) + 1e-3;
}

static void third_gaussian_nll_forward(Node *node) {
    const third_gaussian_nll_Nll *a = node->attr;
    const real *mu = node->in[0]->data, *s = node->in[1]->data, *target = node->in[2]->data;
    double third_gaussian_nll_sum = 0;
    for (long i = 0; i < a->n; i++) {
        double sigma = third_gaussian_nll_sigma_of(s[i]), z = (target[i] - mu[i]) / sigma;
        third_gaussian_nll_sum += log(sigma) + 0.5 * z * z;
    }
    node->out->data[0] = a->third_gaussian_nll_mean ? third_gaussian_nll_sum / a->n : third_gaussian_nll_sum;
}

static void third_gaussian_nll_backward(Node *node) {
    const third_gaussian_nll_Nll *a = node->attr;
    const real *mu = node->in[0]->data, *s = node->in[1]->data, *target = node->in[2]->data;
    real *dmu = node->in[0]->grad, *ds = node->in[1]->grad, *dtarget = node->in[2]->grad;
    double dy = node->out->grad[0];
    double g = a->third_gaussian_nll_mean ? dy / a->n : dy;
    for (long i = 0; i < a->n; i++) {
        double sigma = third_gaussian_nll_sigma_of(s[i]), e = target[i] - mu[i];
        double dsigma = 1 / sigma - e * e / pow(sigma, 3);
        if (dmu) dmu[i] -= g * e / (sigma * sigma);
        if (dtarget) dtarget[i] += g * e / (sigma * sigma);
        if (ds) ds[i] += g * dsigma / (1 + exp(-s[i]));
    }
}

extern const Op op_third_gaussian_nll;
static Tensor *third_gaussian_nll(Tape *t, Tensor *mu, Tensor *s, Tensor *target,
                                  bool third_gaussian_nll_mean) {
    mu = tape_contiguous(t, mu), s = tape_contiguous(t, s), target = tape_contiguous(t, target);
    Node *node = tape_node(t, &op_third_gaussian_nll, SCALAR, INPUTS(mu, s, target));
    *(third_gaussian_nll_Nll *)node_attr(node, sizeof(third_gaussian_nll_Nll)) =
        (third_gaussian_nll_Nll){shape_count(mu->shape), third_gaussian_nll_mean};
    return tape_record(node);
}

BUILD_CASE(third_gaussian_nll_mean, third_gaussian_nll(t, x[0], x[1], x[2], true))
BUILD_CASE(third_gaussian_nll_sum, third_gaussian_nll(t, x[0], x[1], x[2], false))

static const CheckCase third_gaussian_nll_cases[] = {
    {"mean", third_gaussian_nll_mean, {{"mu", DIMS(5)}, {"s", DIMS(5)}, {"target", DIMS(5)}}},
    {"sum",
     third_gaussian_nll_sum,
     {{"mu", DIMS(2, 3)}, {"s", DIMS(2, 3)}, {"target", DIMS(2, 3), .constant = true}}},
};

const Op op_third_gaussian_nll = {"third_gaussian_nll", third_gaussian_nll_forward,
                                  third_gaussian_nll_backward, CASES(third_gaussian_nll_cases)};
