/* Operations that compare two or three arrays, by an author who had not seen the checker. */
#include "student.h"

/* ---- trilinear ---- */
/* y[b,k] = sum_ij x[b,i] T[i,j,k] z[b,j] */

enum { trilinear_X, trilinear_T3, trilinear_Z };
typedef struct trilinear_Sizes {
    long B, I, J, K;
} trilinear_Sizes;

static void trilinear_forward(Node *n) {
    const trilinear_Sizes *s = n->attr;
    const real *x = n->in[trilinear_X]->data, *T = n->in[trilinear_T3]->data, *z = n->in[trilinear_Z]->data;
    for (long b = 0; b < s->B; b++)
        for (long k = 0; k < s->K; k++) {
            real sum = 0;
            for (long i = 0; i < s->I; i++)
                for (long j = 0; j < s->J; j++)
                    sum += x[b * s->I + i] * T[(i * s->J + j) * s->K + k] * z[b * s->J + j];
            n->out->data[b * s->K + k] = sum;
        }
}

static void trilinear_backward(Node *n) {
    const trilinear_Sizes *s = n->attr;
    const real *x = n->in[trilinear_X]->data, *T = n->in[trilinear_T3]->data, *z = n->in[trilinear_Z]->data;
    real *dx = n->in[trilinear_X]->grad, *dT = n->in[trilinear_T3]->grad, *dz = n->in[trilinear_Z]->grad;
    for (long b = 0; b < s->B; b++) {
        const real *dy = n->out->grad + b * s->K;
        for (long i = 0; i < s->I; i++)
            for (long j = 0; j < s->J; j++)
                for (long k = 0; k < s->K; k++) {
                    long at = (i * s->J + j) * s->K + k;
                    real xi = x[b * s->I + i], zj = z[b * s->J + j];
                    if (dx) dx[b * s->I + i] += dy[k] * T[at] * zj;
                    if (dz) dz[b * s->J + j] += dy[k] * T[at] * xi;
                    if (dT) dT[at] += dy[k] * xi * zj;
                }
    }
}

extern const Op op_trilinear;
static Tensor *trilinear(Tape *t, Tensor *x, Tensor *core, Tensor *z) {
    x = tape_contiguous(t, x), core = tape_contiguous(t, core), z = tape_contiguous(t, z);
    trilinear_Sizes s = {x->shape.size[0], core->shape.size[0], core->shape.size[1], core->shape.size[2]};
    Node *n = tape_node(t, &op_trilinear, SHAPE(s.B, s.K), INPUTS(x, core, z));
    *(trilinear_Sizes *)node_attr(n, sizeof s) = s;
    return tape_record(n);
}

BUILD_CASE(trilinear_build, trilinear(t, x[0], x[1], x[2]))
BUILD_CASE(trilinear_with_itself, trilinear(t, x[0], x[1], x[0]))

static const CheckCase trilinear_cases[] = {
    {"batch", trilinear_build, {{"x", DIMS(3, 2)}, {"T", DIMS(2, 4, 3)}, {"z", DIMS(3, 4)}}},
    {"square", trilinear_build, {{"x", DIMS(2, 3)}, {"T", DIMS(3, 3, 2)}, {"z", DIMS(2, 3)}}},
    {"a vector with itself", trilinear_with_itself, {{"x", DIMS(2, 3)}, {"T", DIMS(3, 3, 2)}}},
};

const Op op_trilinear = {"trilinear", trilinear_forward, trilinear_backward, CASES(trilinear_cases)};

/* ---- pair_distance ---- */
/* all distances between two sets of points: a [n,d], b [m,d] -> y [n,m],  y_ij = sqrt(|a_i - b_j|^2 + eps)
 * The inputs are read with their strides. */

static const double pair_distance_EPS = 1e-6;

static void pair_distance_forward(Node *node) {
    const Tensor *A = node->in[0], *B = node->in[1];
    long n = A->shape.size[0], m = B->shape.size[0], d = A->shape.size[1];
    for (long i = 0; i < n; i++)
        for (long j = 0; j < m; j++) {
            double sum = pair_distance_EPS;
            for (long e = 0; e < d; e++) {
                double diff = A->data[i * A->stride[0] + e * A->stride[1]] -
                              B->data[j * B->stride[0] + e * B->stride[1]];
                sum += diff * diff;
            }
            node->out->data[i * m + j] = sqrt(sum);
        }
}

static void pair_distance_backward(Node *node) {
    Tensor *A = node->in[0], *B = node->in[1];
    long n = A->shape.size[0], m = B->shape.size[0], d = A->shape.size[1];
    for (long i = 0; i < n; i++)
        for (long j = 0; j < m; j++) {
            real y = node->out->data[i * m + j];
            real g = node->out->grad[i * m + j] / y;
            for (long e = 0; e < d; e++) {
                real u = A->data[i * A->stride[0] + e * A->stride[1]];
                real v = B->data[j * B->stride[0] + e * B->stride[1]];
                if (A->grad) A->grad[i * d + e] += g * (u - v);
                if (B->grad) B->grad[j * d + e] -= g * (u - v);
            }
        }
}

extern const Op op_pair_distance;
static Tensor *pair_distance(Tape *t, Tensor *a, Tensor *b) {
    return tape_record(
        tape_node(t, &op_pair_distance, SHAPE(a->shape.size[0], b->shape.size[0]), INPUTS(a, b)));
}

BUILD_CASE(pair_distance_build, pair_distance(t, x[0], x[1]))

static const CheckCase pair_distance_cases[] = {
    {"points", pair_distance_build, {{"a", DIMS(3, 2)}, {"b", DIMS(4, 2)}}},
    {"as many", pair_distance_build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4)}}},
    {"transposed",
     pair_distance_build,
     {{"a", DIMS(2, 3), .layout = TRANSPOSED}, {"b", DIMS(4, 3), .layout = STEPPED}}},
};

const Op op_pair_distance = {"pair_distance", pair_distance_forward, pair_distance_backward,
                             CASES(pair_distance_cases)};

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
