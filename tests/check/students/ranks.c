/* Rows gathered, ranked, gated, multiplied and normalised: files as a hand wrote them that had not seen the checker. */
#include "student.h"

/* ---- topk_mean ---- */
/* topk_decay: the k largest of each row, weighted by decay^rank and added
 *   x [n,m] -> y [n]     y_i = sum_{r<k} decay^r x_i(r),   x_i(0) the largest */

typedef struct topk_mean_TopK {
    long n, m, k;
    double decay;
    long *place; /* [n,k] */
} topk_mean_TopK;

static bool topk_mean_taken(const long *place, long count, long j) {
    for (long r = 0; r < count; r++)
        if (place[r] == j) return true;
    return false;
}

static void topk_mean_forward(Node *n) {
    topk_mean_TopK *a = n->attr;
    for (long i = 0; i < a->n; i++) {
        const real *x = n->in[0]->data + i * a->m;
        long *place = a->place + i * a->k;
        double sum = 0, weight = 1;
        for (long r = 0; r < a->k; r++) {
            long best = -1;
            for (long j = 0; j < a->m; j++) {
                if (topk_mean_taken(place, r, j)) continue;
                if (best < 0 || x[j] > x[best]) best = j;
            }
            place[r] = best;
            sum += weight * x[best];
            weight *= a->decay;
        }
        n->out->data[i] = sum;
    }
}

static void topk_mean_backward(Node *n) {
    topk_mean_TopK *a = n->attr;
    for (long i = 0; i < a->n; i++) {
        real *dx = n->in[0]->grad + i * a->m;
        const long *place = a->place + i * a->k;
        for (long r = 0; r < a->k; r++) dx[place[r]] += n->out->grad[i] * pow(a->decay, r);
    }
}

extern const Op op_topk_mean;
static Tensor *topk_mean_topk(Tape *t, Tensor *x, long k, double decay) {
    x = tape_contiguous(t, x);
    long rows = x->shape.size[0], m = x->shape.size[1];
    Node *n = tape_node(t, &op_topk_mean, SHAPE(rows), INPUTS(x));
    topk_mean_TopK *a = node_attr(n, sizeof *a);
    a->n = rows, a->m = m, a->k = k < m ? k : m, a->decay = decay;
    a->place = node_record(n, (rows * a->k + 1) * sizeof(long));
    return tape_record(n);
}

BUILD_CASE(topk_mean_two, topk_mean_topk(t, x[0], 2, 1))
BUILD_CASE(topk_mean_three_decaying, topk_mean_topk(t, x[0], 3, 0.5))

static const CheckCase topk_mean_cases[] = {
    {"two largest", topk_mean_two, {{"x", DIMS(3, 5), .distinct = true}}},
    {"three, decaying", topk_mean_three_decaying, {{"x", DIMS(4, 6), .distinct = true}}},
    {"all of them", topk_mean_three_decaying, {{"x", DIMS(2, 3), .distinct = true}}},
};

const Op op_topk_mean = {"topk_mean", topk_mean_forward, topk_mean_backward, CASES(topk_mean_cases)};

/* ---- third_attention_pool ---- */
/* pooling by learned scores with a learned scale and a mask
 *   s [n], v [n,d], log_scale scalar, mask: n bytes, 1 = left out     y [d]
 *   p = softmax over the rows not masked of e^log_scale s_i       y = sum_i p_i v_i       (0 if all are masked) */

typedef struct third_attention_pool_Attr {
    long n, d;
    uint8_t *mask;
    real *p;
} third_attention_pool_Attr;

static void third_attention_pool_forward(Node *n) {
    third_attention_pool_Attr *a = n->attr;
    const real *s = n->in[0]->data, *v = n->in[1]->data;
    double scale = exp(n->in[2]->data[0]), max = -INFINITY, sum = 0;
    for (long i = 0; i < a->n; i++)
        if (!a->mask[i] && scale * s[i] > max) max = scale * s[i];
    for (long i = 0; i < a->n; i++) {
        a->p[i] = a->mask[i] ? 0 : exp(scale * s[i] - max);
        sum += a->p[i];
    }
    for (long j = 0; j < a->d; j++) n->out->data[j] = 0;
    if (sum == 0) return;
    for (long i = 0; i < a->n; i++) {
        a->p[i] /= sum;
        for (long j = 0; j < a->d; j++) n->out->data[j] += a->p[i] * v[i * a->d + j];
    }
}

static void third_attention_pool_backward(Node *n) {
    third_attention_pool_Attr *a = n->attr;
    const real *s = n->in[0]->data, *v = n->in[1]->data, *y = n->out->data, *dy = n->out->grad;
    real *ds = n->in[0]->grad, *dv = n->in[1]->grad, *dlog = n->in[2]->grad;
    double scale = exp(n->in[2]->data[0]);
    for (long i = 0; i < a->n; i++) {
        if (a->mask[i]) continue;
        double dl = 0; /* p_i (dp_i - sum_k p_k dp_k), as sum_k p_k v_k is y */
        for (long j = 0; j < a->d; j++) {
            dl += a->p[i] * dy[j] * (v[i * a->d + j] - y[j]);
            if (dv) dv[i * a->d + j] += a->p[i] * dy[j];
        }
        if (ds) ds[i] += dl * scale;
        if (dlog) *dlog += dl * s[i] * scale;
    }
}

extern const Op op_third_attention_pool;
static Tensor *third_attention_pool(Tape *t, Tensor *s, Tensor *v, Tensor *log_scale, const uint8_t *mask) {
    s = tape_contiguous(t, s), v = tape_contiguous(t, v), log_scale = tape_contiguous(t, log_scale);
    long rows = v->shape.size[0], d = v->shape.size[1];
    Node *n = tape_node(t, &op_third_attention_pool, SHAPE(d), INPUTS(s, v, log_scale));
    third_attention_pool_Attr *a = node_attr(n, sizeof *a);
    a->n = rows, a->d = d;
    a->mask = node_record(n, rows + 1);
    memcpy(a->mask, mask, rows);
    a->p = node_array(n, rows);
    return tape_record(n);
}

static const uint8_t third_attention_pool_none[64], some[64] = {0, 1, 0, 0, 1};

BUILD_CASE(third_attention_pool_open, third_attention_pool(t, x[0], x[1], x[2], third_attention_pool_none))
BUILD_CASE(third_attention_pool_masked, third_attention_pool(t, x[0], x[1], x[2], some))

static const CheckCase third_attention_pool_cases[] = {
    {"no mask", third_attention_pool_open, {{"s", DIMS(4)}, {"v", DIMS(4, 3)}, {"log_scale", {0}, -1, 1}}},
    {"mask", third_attention_pool_masked, {{"s", DIMS(5)}, {"v", DIMS(5, 2)}, {"log_scale", {0}, -1, 1}}},
    {"fixed scale",
     third_attention_pool_masked,
     {{"s", DIMS(5)}, {"v", DIMS(5, 2)}, {"log_scale", {0}, -1, 1, .constant = true}}},
};

const Op op_third_attention_pool = {"third_attention_pool", third_attention_pool_forward,
                                    third_attention_pool_backward, CASES(third_attention_pool_cases)};

/* ---- mish_gate ---- */
/* mish gated unit: x [n,2d] split into a, b;   y [n,d] = mish(a) b,   mish(a) = a tanh(softplus(a)) */

static double mish_gate_softplus(double v) {
    return fmax(v, 0) + log1p(exp(-fabs(v)));
}

static void mish_gate_forward(Node *n) {
    long rows = n->out->shape.size[0], d = n->out->shape.size[1];
    for (long i = 0; i < rows; i++) {
        const real *a = n->in[0]->data + i * 2 * d, *b = a + d;
        for (long j = 0; j < d; j++) n->out->data[i * d + j] = a[j] * tanh(mish_gate_softplus(a[j])) * b[j];
    }
}

static void mish_gate_backward(Node *n) {
    long rows = n->out->shape.size[0], d = n->out->shape.size[1];
    for (long i = 0; i < rows; i++) {
        const real *a = n->in[0]->data + i * 2 * d, *b = a + d;
        const real *dy = n->out->grad + i * d;
        real *da = n->in[0]->grad + i * 2 * d;
        real *db = da + d;
        for (long j = 0; j < d; j++) {
            double th = tanh(mish_gate_softplus(a[j]));
            double sig = 1 / (1 + exp(-a[j]));
            double slope = th + a[j] * (1 - th * th) * sig;
            double g = dy[j] * b[j];
            da[j] += g * slope;
            db[j] += dy[j] * a[j] * th;
        }
    }
}

extern const Op op_mish_gate;
static Tensor *mish_gate(Tape *t, Tensor *x) {
    Tensor *c = tape_contiguous(t, x);
    return tape_record(tape_node(t, &op_mish_gate, SHAPE(x->shape.size[0], x->shape.size[1] / 2), INPUTS(c)));
}

BUILD_CASE(mish_gate_build, mish_gate(t, x[0]))

static const CheckCase mish_gate_cases[] = {
    {"matrix", mish_gate_build, {{"x", DIMS(3, 6)}}},
    {"one row", mish_gate_build, {{"x", DIMS(1, 8), -5, 5}}},
};

const Op op_mish_gate = {"mish_gate", mish_gate_forward, mish_gate_backward, CASES(mish_gate_cases)};

/* ---- rms_norm_gain ---- */
/* partial RMS norm: the root mean square is that of the first `part` elements of each row
 *   x [n,d], g [d]     y_j = x_j r (1 + g_j),     r = 1 / sqrt(mean_{i < part} x_i^2 + eps)
 *   dx_j = r (1+g_j) dy_j - [j < part] x_j r^3 / part sum_i dy_i (1+g_i) x_i */

#define rms_norm_gain_EPS 1e-6

typedef struct rms_norm_gain_Rms {
    long rows, d, part;
    real *r;
} rms_norm_gain_Rms;

static void rms_norm_gain_forward(Node *n) {
    rms_norm_gain_Rms *a = n->attr;
    for (long i = 0; i < a->rows; i++) {
        const real *x = n->in[0]->data + i * a->d, *g = n->in[1]->data;
        double sum = 0;
        for (long j = 0; j < a->part; j++) sum += x[j] * x[j];
        real r = a->r[i] = 1 / sqrt(sum / a->part + rms_norm_gain_EPS);
        for (long j = 0; j < a->d; j++) n->out->data[i * a->d + j] = x[j] * r * (1 + g[j]);
    }
}

static void rms_norm_gain_backward(Node *n) {
    rms_norm_gain_Rms *a = n->attr;
    for (long i = 0; i < a->rows; i++) {
        const real *x = n->in[0]->data + i * a->d, *g = n->in[1]->data, *y = n->out->data + i * a->d;
        const real *dy = n->out->grad + i * a->d;
        real r = a->r[i];
        double dot = 0;
        (void)y;
        for (long j = 0; j < a->d; j++) dot += dy[j] * (1 + g[j]) * x[j];
        if (n->in[1]->grad)
            for (long j = 0; j < a->d; j++) n->in[1]->grad[j] += dy[j] * x[j] * r;
        if (n->in[0]->grad)
            for (long j = 0; j < a->d; j++) {
                double down = r * (1 + g[j]) * dy[j];
                if (j < a->part) down -= x[j] * r * r * r * dot / a->part;
                n->in[0]->grad[i * a->d + j] += down;
            }
    }
}

extern const Op op_rms_norm_gain;
static Tensor *rms_norm_gain_rms_norm(Tape *t, Tensor *x, Tensor *g, long part) {
    x = tape_contiguous(t, x);
    g = tape_contiguous(t, g);
    Node *n = tape_node(t, &op_rms_norm_gain, x->shape, INPUTS(x, g));
    rms_norm_gain_Rms *a = node_attr(n, sizeof *a);
    a->rows = x->shape.size[0], a->d = x->shape.size[1];
    a->part = part < a->d ? part : a->d;
    a->r = node_array(n, a->rows);
    return tape_record(n);
}

BUILD_CASE(rms_norm_gain_whole, rms_norm_gain_rms_norm(t, x[0], x[1], 100))
BUILD_CASE(rms_norm_gain_first_two, rms_norm_gain_rms_norm(t, x[0], x[1], 2))

static const CheckCase rms_norm_gain_cases[] = {
    {"whole rows", rms_norm_gain_whole, {{"x", DIMS(3, 4)}, {"g", DIMS(4)}}},
    {"first two", rms_norm_gain_first_two, {{"x", DIMS(3, 5)}, {"g", DIMS(5)}}},
};

const Op op_rms_norm_gain = {"rms_norm_gain", rms_norm_gain_forward, rms_norm_gain_backward,
                             CASES(rms_norm_gain_cases)};

/* ---- third_cumprod ---- */
/* cumulative product along the last axis; exclusive leaves out the element itself
 *   y_i = prod_{k <= i} x_k     or prod_{k < i} x_k
 * backward without dividing, so that zeros do no harm:
 *   dx_j = sum_i dy_i prod_{k of y_i, k != j} x_k */

typedef struct third_cumprod_CumProd {
    long lines, m;
    bool third_cumprod_exclusive;
} third_cumprod_CumProd;

static void third_cumprod_forward(Node *n) {
    third_cumprod_CumProd *a = n->attr;
    for (long line = 0; line < a->lines; line++) {
        const real *x = n->in[0]->data + line * a->m;
        real *y = n->out->data + line * a->m, p = 1;
        for (long i = 0; i < a->m; i++) {
            if (a->third_cumprod_exclusive) {
                y[i] = p;
                p *= x[i];
            } else {
                p *= x[i];
                y[i] = p;
            }
        }
    }
}

static void third_cumprod_backward(Node *n) {
    third_cumprod_CumProd *a = n->attr;
    for (long line = 0; line < a->lines; line++) {
        const real *x = n->in[0]->data + line * a->m;
        const real *y = n->out->data + line * a->m;
        const real *dy = n->out->grad + line * a->m;
        real *dx = n->in[0]->grad + line * a->m;
        (void)y;
        for (long j = 0; j < a->m; j++) {
            real before = 1, total = 0;
            for (long k = 0; k < j; k++) before *= x[k];
            real others = before; /* product of all up to i but j */
            for (long i = j; i < a->m; i++) {
                long newest = a->third_cumprod_exclusive ? i - 1 : i;
                if (newest < j) continue;
                if (newest > j) others *= x[newest];
                total += dy[i] * others;
            }
            dx[j] += total;
        }
    }
}

extern const Op op_third_cumprod;
static Tensor *third_cumprod(Tape *t, Tensor *x, bool third_cumprod_exclusive) {
    x = tape_contiguous(t, x);
    Node *n = tape_node(t, &op_third_cumprod, x->shape, INPUTS(x));
    third_cumprod_CumProd *a = node_attr(n, sizeof *a);
    a->m = x->shape.size[x->shape.rank - 1];
    a->lines = a->m ? shape_count(x->shape) / a->m : 0;
    a->third_cumprod_exclusive = third_cumprod_exclusive;
    return tape_record(n);
}

static const double third_cumprod_with_zeros[] = {1.5, 0, 2, -1, 0.5, 2, 0, 0};

BUILD_CASE(third_cumprod_inclusive, third_cumprod(t, x[0], false))
BUILD_CASE(third_cumprod_exclusive, third_cumprod(t, x[0], true))

static const CheckCase third_cumprod_cases[] = {
    {"inclusive", third_cumprod_inclusive, {{"x", DIMS(2, 5)}}},
    {"exclusive", third_cumprod_exclusive, {{"x", DIMS(2, 5)}}},
    {"zeros", third_cumprod_inclusive, {{"x", DIMS(2, 4), .values = third_cumprod_with_zeros}}},
    {"three axes", third_cumprod_exclusive, {{"x", DIMS(2, 2, 3)}}},
};

const Op op_third_cumprod = {"third_cumprod", third_cumprod_forward, third_cumprod_backward,
                             CASES(third_cumprod_cases)};
