/* Windows of images and series, and places in them: files as a hand wrote them that had not seen the checker. */
#include "student.h"

/* ---- third_conv1d ---- */
/* conv1d with stride, dilation and zero padding
 * x [N,C,L]  W [O,C,K]  b [O]   ->  y [N,O,M],  M = (L + 2 pad - dilation (K-1) - 1) / stride + 1
 * y[i,o,m] = b[o] + sum_{c,k} W[o,c,k] x[i, c, m stride + k dilation - pad] */

typedef struct third_conv1d_Conv {
    long n, c, l, o, k, m;
    long stride, dilation, pad;
} third_conv1d_Conv;

static void third_conv1d_forward(Node *n) {
    const third_conv1d_Conv *v = n->attr;
    const real *x = n->in[0]->data, *w = n->in[1]->data, *b = n->in[2]->data;
    real *y = n->out->data;
    for (long i = 0; i < v->n; i++)
        for (long o = 0; o < v->o; o++)
            for (long m = 0; m < v->m; m++) {
                real sum = b[o];
                for (long c = 0; c < v->c; c++)
                    for (long k = 0; k < v->k; k++) {
                        long at = m * v->stride + k * v->dilation - v->pad;
                        if (at < 0 || at >= v->l) continue;
                        sum += w[(o * v->c + c) * v->k + k] * x[(i * v->c + c) * v->l + at];
                    }
                y[(i * v->o + o) * v->m + m] = sum;
            }
}

static void third_conv1d_backward(Node *n) {
    const third_conv1d_Conv *v = n->attr;
    const real *x = n->in[0]->data, *w = n->in[1]->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad, *dw = n->in[1]->grad, *db = n->in[2]->grad;
    for (long i = 0; i < v->n; i++)
        for (long o = 0; o < v->o; o++) {
            real total = 0;
            for (long m = 0; m < v->m; m++) {
                real g = dy[(i * v->o + o) * v->m + m];
                total += g;
                for (long c = 0; c < v->c; c++)
                    for (long k = 0; k < v->k; k++) {
                        long pos = m * v->stride + k * v->dilation - v->pad;
                        if (pos < 0 || pos >= v->l) continue;
                        if (dx) dx[(i * v->c + c) * v->l + pos] += g * w[(o * v->c + c) * v->k + k];
                        if (dw) dw[(o * v->c + c) * v->k + k] += g * x[(i * v->c + c) * v->l + pos];
                    }
            }
            if (db) db[o] += total;
        }
}

extern const Op op_third_conv1d;
static Tensor *third_conv1d(Tape *t, Tensor *x, Tensor *w, Tensor *b, long stride, long dilation, long pad) {
    x = tape_contiguous(t, x), w = tape_contiguous(t, w), b = tape_contiguous(t, b);
    third_conv1d_Conv v = {x->shape.size[0], x->shape.size[1], x->shape.size[2],
                           w->shape.size[0], w->shape.size[2], 0,
                           stride,           dilation,         pad};
    long span = v.l + 2 * pad - dilation * (v.k - 1) - 1;
    v.m = span < 0 ? 0 : span / stride + 1;
    Node *n = tape_node(t, &op_third_conv1d, SHAPE(v.n, v.o, v.m), INPUTS(x, w, b));
    *(third_conv1d_Conv *)node_attr(n, sizeof v) = v;
    return tape_record(n);
}

BUILD_CASE(third_conv1d_simple, third_conv1d(t, x[0], x[1], x[2], 1, 1, 0))
BUILD_CASE(third_conv1d_same, third_conv1d(t, x[0], x[1], x[2], 1, 1, 1))
BUILD_CASE(third_conv1d_strided, third_conv1d(t, x[0], x[1], x[2], 2, 2, 2))

static const CheckCase third_conv1d_cases[] = {
    {"valid", third_conv1d_simple, {{"x", DIMS(1, 2, 5)}, {"W", DIMS(2, 2, 3)}, {"b", DIMS(2)}}},
    {"same length", third_conv1d_same, {{"x", DIMS(2, 1, 4)}, {"W", DIMS(3, 1, 3)}, {"b", DIMS(3)}}},
    {"stride and dilation",
     third_conv1d_strided,
     {{"x", DIMS(2, 2, 7)}, {"W", DIMS(2, 2, 3)}, {"b", DIMS(2)}}},
};

const Op op_third_conv1d = {"third_conv1d", third_conv1d_forward, third_conv1d_backward,
                            CASES(third_conv1d_cases)};

/* ---- third_avg_pool2d ---- */
/* average pooling of images, the padding does not count
 *   x [C,H,W] -> y [C,P,Q],  P = (H + 2 pad - k) / stride + 1, Q likewise; pad < k */

typedef struct third_avg_pool2d_Avg {
    long c, h, w, p, q, k, stride, pad;
} third_avg_pool2d_Avg;

/* The part [*from, *to) of a window that lies inside [0, size). Returns its length. */
static long third_avg_pool2d_window(const third_avg_pool2d_Avg *a, long o, long size, long *from, long *to) {
    *from = o * a->stride - a->pad;
    *to = *from + a->k;
    if (*from < 0) *from = 0;
    if (*to > size) *to = size;
    return *to > *from ? *to - *from : 0;
}

static void third_avg_pool2d_forward(Node *n) {
    const third_avg_pool2d_Avg *a = n->attr;
    for (long c = 0; c < a->c; c++)
        for (long p = 0; p < a->p; p++)
            for (long q = 0; q < a->q; q++) {
                long r0, r1, c0, c1;
                long count = third_avg_pool2d_window(a, p, a->h, &r0, &r1) *
                             third_avg_pool2d_window(a, q, a->w, &c0, &c1);
                double sum = 0;
                for (long i = r0; i < r1; i++)
                    for (long j = c0; j < c1; j++) sum += n->in[0]->data[(c * a->h + i) * a->w + j];
                n->out->data[(c * a->p + p) * a->q + q] = count ? sum / count : 0;
            }
}

static void third_avg_pool2d_backward(Node *n) {
    const third_avg_pool2d_Avg *a = n->attr;
    for (long c = 0; c < a->c; c++)
        for (long p = 0; p < a->p; p++)
            for (long q = 0; q < a->q; q++) {
                long r0, r1, c0, c1;
                long count = third_avg_pool2d_window(a, p, a->h, &r0, &r1) *
                             third_avg_pool2d_window(a, q, a->w, &c0, &c1);
                if (!count) continue;
                real share = 1.0 / count;
                real g = n->out->grad[(c * a->p + p) * a->q + q];
                for (long i = r0; i < r1; i++)
                    for (long j = c0; j < c1; j++) n->in[0]->grad[(c * a->h + i) * a->w + j] += g * share;
            }
}

extern const Op op_third_avg_pool2d;
static long third_avg_pool2d_out_size(long size, long k, long stride, long pad) {
    return size + 2 * pad < k ? 0 : (size + 2 * pad - k) / stride + 1;
}
static Tensor *third_avg_pool2d(Tape *t, Tensor *x, long k, long stride, long pad) {
    x = tape_contiguous(t, x);
    long c = x->shape.size[0], h = x->shape.size[1], w = x->shape.size[2];
    long p = third_avg_pool2d_out_size(h, k, stride, pad), q = third_avg_pool2d_out_size(w, k, stride, pad);
    Node *n = tape_node(t, &op_third_avg_pool2d, SHAPE(c, p, q), INPUTS(x));
    *(third_avg_pool2d_Avg *)node_attr(n, sizeof(third_avg_pool2d_Avg)) =
        (third_avg_pool2d_Avg){c, h, w, p, q, k, stride, pad};
    return tape_record(n);
}

BUILD_CASE(third_avg_pool2d_two, third_avg_pool2d(t, x[0], 2, 2, 0))
BUILD_CASE(third_avg_pool2d_padded, third_avg_pool2d(t, x[0], 3, 2, 1))
BUILD_CASE(third_avg_pool2d_sliding, third_avg_pool2d(t, x[0], 3, 1, 1))

static const CheckCase third_avg_pool2d_cases[] = {
    {"2 by 2", third_avg_pool2d_two, {{"x", DIMS(2, 4, 6)}}},
    {"padded", third_avg_pool2d_padded, {{"x", DIMS(1, 5, 4)}}},
    {"sliding", third_avg_pool2d_sliding, {{"x", DIMS(2, 3, 3)}}},
};

const Op op_third_avg_pool2d = {"third_avg_pool2d", third_avg_pool2d_forward, third_avg_pool2d_backward,
                                CASES(third_avg_pool2d_cases)};

/* ---- grid_sample ---- */
/* bilinear sampling: image [H,W], where [n,2] (row, column in pixels) -> y [n]; outside the image all is 0 */

typedef struct grid_sample_Grid {
    long h, w, n;
} grid_sample_Grid;

static real grid_sample_pixel(const grid_sample_Grid *a, const real *image, long r, long c) {
    return r >= 0 && r < a->h && c >= 0 && c < a->w ? image[r * a->w + c] : 0;
}

static void grid_sample_forward(Node *n) {
    const grid_sample_Grid *a = n->attr;
    const real *image = n->in[0]->data, *where = n->in[1]->data;
    for (long i = 0; i < a->n; i++) {
        double r0 = floor(where[2 * i]), c0 = floor(where[2 * i + 1]);
        double fr = where[2 * i] - r0, fc = where[2 * i + 1] - c0;
        long r = (long)r0, c = (long)c0;
        n->out->data[i] = (1 - fr) * (1 - fc) * grid_sample_pixel(a, image, r, c) +
                          (1 - fr) * fc * grid_sample_pixel(a, image, r, c + 1) +
                          fr * (1 - fc) * grid_sample_pixel(a, image, r + 1, c) +
                          fr * fc * grid_sample_pixel(a, image, r + 1, c + 1);
    }
}

static void grid_sample_backward(Node *n) {
    const grid_sample_Grid *a = n->attr;
    const real *image = n->in[0]->data, *where = n->in[1]->data, *dy = n->out->grad;
    real *dimage = n->in[0]->grad, *dwhere = n->in[1]->grad;
    for (long i = 0; i < a->n; i++) {
        double r0 = floor(where[2 * i]), c0 = floor(where[2 * i + 1]);
        double fr = where[2 * i] - r0, fc = where[2 * i + 1] - c0;
        double drow = 0, dcol = 0;
        for (int p = 0; p < 2; p++)
            for (int q = 0; q < 2; q++) {
                long r = (long)r0 + p, c = (long)c0 + q;
                double wr = p ? fr : 1 - fr, wc = q ? fc : 1 - fc;
                if (r < 0 || r >= a->h || c < 0 || c >= a->w) continue;
                if (dimage) dimage[r * a->w + c] += dy[i] * wr * wc;
                double v = image[r * a->w + c];
                drow += (p ? 1 : -1) * wc * v;
                dcol += (q ? 1 : -1) * wr * v;
            }
        if (dwhere) {
            dwhere[2 * i] += dy[i] * drow;
            dwhere[2 * i + 1] += dy[i] * dcol;
        }
    }
}

extern const Op op_grid_sample;
static Tensor *grid_sample(Tape *t, Tensor *image, Tensor *where) {
    image = tape_contiguous(t, image), where = tape_contiguous(t, where);
    Node *n = tape_node(t, &op_grid_sample, SHAPE(where->shape.size[0]), INPUTS(image, where));
    *(grid_sample_Grid *)node_attr(n, sizeof(grid_sample_Grid)) =
        (grid_sample_Grid){image->shape.size[0], image->shape.size[1], where->shape.size[0]};
    return tape_record(n);
}

BUILD_CASE(grid_sample_build, grid_sample(t, x[0], x[1]))

static const double grid_sample_inside[] = {0.3, 1.7, 1.4, 0.6, 0.25, 2.1, 1.8, 1.2, 0.7, 0.1};
static const double grid_sample_around[] = {-0.6, 1.3, 2.4, 2.7, 1.5, -0.2, 0.4, 3.5, 9.5, 0.5};

static const CheckCase grid_sample_cases[] = {
    {"inside",
     grid_sample_build,
     {{"image", DIMS(3, 4)}, {"where", DIMS(5, 2), .values = grid_sample_inside}}},
    {"over the border",
     grid_sample_build,
     {{"image", DIMS(3, 4)}, {"where", DIMS(5, 2), .values = grid_sample_around}}},
    {"fixed places",
     grid_sample_build,
     {{"image", DIMS(4, 3)}, {"where", DIMS(5, 2), .values = grid_sample_inside, .constant = true}}},
};

const Op op_grid_sample = {"grid_sample", grid_sample_forward, grid_sample_backward,
                           CASES(grid_sample_cases)};

/* ---- lse_pool ---- */
/* log-mean-exp pooling, a soft maximum over windows
 *   x [C,L] -> y [C,M]   M = (L-k)/stride + 1
 *   y = 1/r ln( 1/k sum_{window} e^(r x) ) */

typedef struct lse_pool_Pool {
    long channels, length, out, k, stride;
    double r;
} lse_pool_Pool;

static void lse_pool_forward(Node *n) {
    const lse_pool_Pool *p = n->attr;
    const real *x = n->in[0]->data;
    real *y = n->out->data;
    for (long c = 0; c < p->channels; c++, x += p->length)
        for (long o = 0; o < p->out; o++) {
            const real *window = x + o * p->stride;
            double m = window[0], sum = 0;
            for (long i = 1; i < p->k; i++) m = fmax(m, window[i]);
            for (long i = 0; i < p->k; i++) sum += exp(p->r * (window[i] - m));
            *y++ = m + log(sum / p->k) / p->r;
        }
}

/* dy_o/dx_i = e^(r (x_i - y_o)) / k */
static void lse_pool_backward(Node *n) {
    const lse_pool_Pool *p = n->attr;
    const real *x = n->in[0]->data, *y = n->out->data, *dy = n->out->grad;
    real *dx = n->in[0]->grad;
    for (long c = 0; c < p->channels; c++)
        for (long o = 0; o < p->out; o++) {
            long start = c * p->length + o * p->stride, to = c * p->out + o;
            for (long i = 0; i < p->k; i++) {
                double share = exp(p->r * (x[start + i] - y[to])) / p->k;
                dx[start + i] += dy[to] * share;
            }
        }
}

extern const Op op_lse_pool;
static Tensor *lse_pool(Tape *t, Tensor *x, long k, long stride, double r) {
    x = tape_contiguous(t, x);
    long length = x->shape.size[1], out = length < k ? 0 : (length - k) / stride + 1;
    Node *n = tape_node(t, &op_lse_pool, SHAPE(x->shape.size[0], out), INPUTS(x));
    lse_pool_Pool *p = node_attr(n, sizeof *p);
    *p = (lse_pool_Pool){
        .channels = x->shape.size[0], .length = length, .out = out, .k = k, .stride = stride, .r = r};
    return tape_record(n);
}

BUILD_CASE(lse_pool_overlapping, lse_pool(t, x[0], 3, 1, 2))
BUILD_CASE(lse_pool_apart, lse_pool(t, x[0], 2, 2, 1))
BUILD_CASE(lse_pool_gaps, lse_pool(t, x[0], 2, 3, 0.5))

static const CheckCase lse_pool_cases[] = {
    {"overlapping", lse_pool_overlapping, {{"x", DIMS(2, 6)}}},
    {"side by side", lse_pool_apart, {{"x", DIMS(3, 6)}}},
    {"with gaps", lse_pool_gaps, {{"x", DIMS(2, 8)}}},
};

const Op op_lse_pool = {"lse_pool", lse_pool_forward, lse_pool_backward, CASES(lse_pool_cases)};

/* ---- instance_norm ---- */
/* instance_norm: every channel of every example gets mean 0 and variance 1 over its positions
 *   x [N,C,L], gamma [C], beta [C]      y = gamma (x - m) / sqrt(var + eps) + beta
 */

enum { instance_norm_X, instance_norm_GAMMA, instance_norm_BETA };

typedef struct instance_norm_Norm {
    long n, c, l;
    double eps;
    real *mean, *var; /* [n,c] */
} instance_norm_Norm;

static void instance_norm_forward(Node *node) {
    instance_norm_Norm *a = node->attr;
    for (long i = 0; i < a->n * a->c; i++) {
        const real *x = node->in[instance_norm_X]->data + i * a->l;
        real *y = node->out->data + i * a->l;
        real gamma = node->in[instance_norm_GAMMA]->data[i % a->c],
             beta = node->in[instance_norm_BETA]->data[i % a->c];
        double sum = 0, squares = 0;
        for (long j = 0; j < a->l; j++) sum += x[j];
        double mean = sum / a->l;
        for (long j = 0; j < a->l; j++) squares += (x[j] - mean) * (x[j] - mean);
        a->mean[i] = mean;
        a->var[i] = squares / a->l;
        double r = 1 / sqrt(a->var[i] + a->eps);
        for (long j = 0; j < a->l; j++) y[j] = gamma * (x[j] - mean) * r + beta;
    }
}

static void instance_norm_backward(Node *node) {
    instance_norm_Norm *a = node->attr;
    real *dgamma = node->in[instance_norm_GAMMA]->grad, *dbeta = node->in[instance_norm_BETA]->grad;
    for (long i = 0; i < a->n * a->c; i++) {
        const real *x = node->in[instance_norm_X]->data + i * a->l, *dy = node->out->grad + i * a->l;
        long channel = i % a->c;
        real gamma = node->in[instance_norm_GAMMA]->data[channel];
        real mean = a->mean[i];
        double r = 1 / sqrt(a->var[i] + a->eps);
        double sum_g = 0, sum_gx = 0;
        for (long j = 0; j < a->l; j++) {
            double hat = (x[j] - mean) * r;
            sum_g += dy[j];
            sum_gx += dy[j] * hat;
        }
        if (dgamma) dgamma[channel] += sum_gx;
        if (dbeta) dbeta[channel] += sum_g;
        if (!node->in[instance_norm_X]->grad) continue;
        real *dx = node->in[instance_norm_X]->grad + i * a->l;
        double inv = 1.0 / a->l;
        for (long j = 0; j < a->l; j++) {
            double hat = (x[j] - mean) * r;
            dx[j] += gamma * r * (dy[j] - inv * sum_g - inv * hat * sum_gx);
        }
    }
}

extern const Op op_instance_norm;
Tensor *tape_instance_norm(Tape *t, Tensor *x, Tensor *gamma, Tensor *beta, double eps);
Tensor *tape_instance_norm(Tape *t, Tensor *x, Tensor *gamma, Tensor *beta, double eps) {
    x = tape_contiguous(t, x);
    gamma = tape_contiguous(t, gamma);
    beta = tape_contiguous(t, beta);
    Node *node = tape_node(t, &op_instance_norm, x->shape, INPUTS(x, gamma, beta));
    instance_norm_Norm *a = node_attr(node, sizeof *a);
    a->n = x->shape.size[0], a->c = x->shape.size[1], a->l = x->shape.size[2];
    a->eps = eps;
    a->mean = node_array(node, a->n * a->c);
    a->var = node_array(node, a->n * a->c);
    return tape_record(node);
}

BUILD_CASE(instance_norm_usual, tape_instance_norm(t, x[0], x[1], x[2], 1e-5))
BUILD_CASE(instance_norm_coarse, tape_instance_norm(t, x[0], x[1], x[2], 0.01))

static const CheckCase instance_norm_cases[] = {
    {"two by three", instance_norm_usual, {{"x", DIMS(2, 3, 5)}, {"gamma", DIMS(3)}, {"beta", DIMS(3)}}},
    {"large epsilon", instance_norm_coarse, {{"x", DIMS(3, 2, 4)}, {"gamma", DIMS(2)}, {"beta", DIMS(2)}}},
    {"one channel", instance_norm_usual, {{"x", DIMS(2, 1, 6), 3, 5}, {"gamma", DIMS(1)}, {"beta", DIMS(1)}}},
};

const Op op_instance_norm = {"instance_norm", instance_norm_forward, instance_norm_backward,
                             CASES(instance_norm_cases)};
