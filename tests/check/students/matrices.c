/* Operations on rows and matrices, written by other authors: losses, norms, products, distances. */
#include "student.h"

/* ---- where ---- */
/* y = cond ? a : b, b broadcast over the rows, cond given as 0 and 1 */
static void where_forward(Node *n) {
    long d = n->out->shape.size[1];
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->out->data[i] = n->in[0]->data[i] != 0 ? n->in[1]->data[i] : n->in[2]->data[i % d];
}
static void where_backward(Node *n) {
    long d = n->out->shape.size[1];
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        if (n->in[0]->data[i] != 0) {
            if (n->in[1]->grad) n->in[1]->grad[i] += n->out->grad[i];
        } else if (n->in[2]->grad)
            n->in[2]->grad[i % d] += n->out->grad[i];
    }
}
static const double where_c01[] = {1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1};
BUILD(where, x[1]->shape, tape_contiguous(t, x[0]), tape_contiguous(t, x[1]), tape_contiguous(t, x[2]))
static const CheckCase where_cases[] = {
    {"rows",
     where_build,
     {{"cond", DIMS(4, 3), .values = where_c01, .constant = true}, {"a", DIMS(4, 3)}, {"b", DIMS(3)}}},
    {"one row",
     where_build,
     {{"cond", DIMS(1, 5), .values = where_c01, .constant = true}, {"a", DIMS(1, 5)}, {"b", DIMS(5)}}},
};
const Op op_where = OP(where);

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
BUILD(smooth_l1, x[0]->shape, x[0], x[1])
static const CheckCase smooth_l1_cases[] = {
    {"matrix", smooth_l1_build, {{"a", DIMS(3, 3)}, {"b", DIMS(3, 3)}}},
    {"strided",
     smooth_l1_build,
     {{"a", DIMS(3, 5), .layout = TRANSPOSED}, {"b", DIMS(3, 5), .layout = STEPPED}}},
    {"near", smooth_l1_build, {{"a", DIMS(6), -0.2, 0.2}, {"b", DIMS(6), -0.2, 0.2}}},
};
const Op op_smooth_l1 = OP(smooth_l1);

/* ---- hinge ---- */
/* multi-class margin loss of x [R, V], labels r % V, summed */
static void hinge_forward(Node *n) {
    const real *in0 = values(n, 0);
    long R = n->in[0]->shape.size[0], V = n->in[0]->shape.size[1];
    real L = 0;
    for (long r = 0; r < R; r++)
        for (long v = 0; v < V; v++) {
            long t = r % V;
            if (v != t) L += fmax(0, 1 - in0[r * V + t] + in0[r * V + v]);
        }
    n->out->data[0] = L;
}
static void hinge_backward(Node *n) {
    const real *in0 = values(n, 0);
    long R = n->in[0]->shape.size[0], V = n->in[0]->shape.size[1];
    real g = n->out->grad[0], *dx = n->in[0]->grad;
    for (long r = 0; r < R; r++) {
        long t = r % V, active = 0;
        for (long v = 0; v < V; v++)
            if (v != t && 1 - in0[r * V + t] + in0[r * V + v] > 0) dx[r * V + v] += g, active++;
        dx[r * V + t] -= active * g;
    }
}
BUILD(hinge, SCALAR, x[0])
static const CheckCase hinge_cases[] = {
    {"scores", hinge_build, {{"x", DIMS(4, 3)}}},
    {"wide", hinge_build, {{"x", DIMS(3, 5)}}},
};
const Op op_hinge = OP(hinge);

/* ---- batch_norm ---- */
/* batch norm in training over the rows of [N, C], affine; x hat is kept */
typedef struct {
    real *xhat, *rstd;
} batch_norm_Kept;
static void batch_norm_forward(Node *n) {
    long N = n->in[0]->shape.size[0], C = n->in[0]->shape.size[1];
    batch_norm_Kept *k = node_attr(n, sizeof *k);
    k->xhat = node_array(n, N * C);
    k->rstd = node_array(n, C);
    for (long c = 0; c < C; c++) {
        real m = 0, v = 0;
        for (long i = 0; i < N; i++) m += n->in[0]->data[i * C + c] / N;
        for (long i = 0; i < N; i++) v += pow(n->in[0]->data[i * C + c] - m, 2) / N;
        k->rstd[c] = 1 / sqrt(v + 1e-3);
        for (long i = 0; i < N; i++) {
            k->xhat[i * C + c] = (n->in[0]->data[i * C + c] - m) * k->rstd[c];
            n->out->data[i * C + c] = n->in[1]->data[c] * k->xhat[i * C + c] + n->in[2]->data[c];
        }
    }
}
static void batch_norm_backward(Node *n) {
    long N = n->in[0]->shape.size[0], C = n->in[0]->shape.size[1];
    const batch_norm_Kept *k = n->attr;
    const real *dy = n->out->grad;
    for (long c = 0; c < C; c++) {
        real sum = 0, dot = 0;
        for (long i = 0; i < N; i++) sum += dy[i * C + c], dot += dy[i * C + c] * k->xhat[i * C + c];
        if (n->in[2]->grad) n->in[2]->grad[c] += sum;
        if (n->in[1]->grad) n->in[1]->grad[c] += dot;
        if (n->in[0]->grad)
            for (long i = 0; i < N; i++)
                n->in[0]->grad[i * C + c] +=
                    n->in[1]->data[c] * k->rstd[c] / N * (N * dy[i * C + c] - sum - k->xhat[i * C + c] * dot);
    }
}
BUILD(batch_norm, x[0]->shape, tape_contiguous(t, x[0]), tape_contiguous(t, x[1]), tape_contiguous(t, x[2]))
static const CheckCase batch_norm_cases[] = {
    {"batch", batch_norm_build, {{"x", DIMS(5, 3)}, {"gamma", DIMS(3)}, {"beta", DIMS(3)}}},
    {"two rows", batch_norm_build, {{"x", DIMS(2, 2)}, {"gamma", DIMS(2)}, {"beta", DIMS(2)}}},
};
const Op op_batch_norm = OP(batch_norm);

/* ---- rms_norm ---- */
/* LLaMA's RMSNorm: y = g * x / sqrt(mean(x^2) + eps) */
#define rms_norm_EPS 1e-6
static void rms_norm_forward(Node *n) {
    long d = n->in[1]->shape.size[0], rows = d ? shape_count(n->out->shape) / d : 0;
    const real *x = n->in[0]->data, *g = n->in[1]->data;
    for (long i = 0; i < rows; i++) {
        double ms = 0;
        for (long j = 0; j < d; j++) ms += x[i * d + j] * x[i * d + j];
        ms = ms / d + rms_norm_EPS;
        for (long j = 0; j < d; j++) n->out->data[i * d + j] = g[j] * x[i * d + j] / sqrt(ms);
    }
}
static void rms_norm_backward(Node *n) {
    long d = n->in[1]->shape.size[0], rows = d ? shape_count(n->out->shape) / d : 0;
    for (long i = 0; i < rows; i++) {
        const real *x = n->in[0]->data + i * d, *g = n->in[1]->data, *dy = n->out->grad + i * d;
        double ms = 0, dot = 0;
        for (long j = 0; j < d; j++) {
            ms += x[j] * x[j];
            dot += dy[j] * g[j] * x[j];
        }
        double r = 1 / sqrt(ms / d + rms_norm_EPS);
        if (n->in[0]->grad)
            for (long j = 0; j < d; j++)
                n->in[0]->grad[i * d + j] += r * dy[j] * g[j] - x[j] * r * r * r * dot / d;
        if (n->in[1]->grad)
            for (long j = 0; j < d; j++) n->in[1]->grad[j] += dy[j] * x[j] * r;
    }
}
BUILD(rms_norm, x[0]->shape, tape_contiguous(t, x[0]), tape_contiguous(t, x[1]))
static const CheckCase rms_norm_cases[] = {
    {"matrix", rms_norm_build, {{"x", DIMS(3, 5)}, {"g", DIMS(5)}}},
    {"three axes", rms_norm_build, {{"x", DIMS(2, 2, 4)}, {"g", DIMS(4)}}},
    {"fixed gain", rms_norm_build, {{"x", DIMS(3, 5)}, {"g", DIMS(5), .constant = true}}},
    {"one row", rms_norm_build, {{"x", DIMS(1, 6)}, {"g", DIMS(6)}}},
};
const Op op_rms_norm = OP(rms_norm);

/* ---- dense_layer ---- */
/* y = x W + b with wide rows: x [N, I], W [I, O], b [O] */
static void dense_layer_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    long N = n->in[0]->shape.size[0], I = n->in[0]->shape.size[1], O = n->in[1]->shape.size[1];
    for (long i = 0; i < N; i++)
        for (long o = 0; o < O; o++) {
            real a = in2[o];
            for (long k = 0; k < I; k++) a += in0[i * I + k] * in1[k * O + o];
            n->out->data[i * O + o] = a;
        }
}
static void dense_layer_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    long N = n->in[0]->shape.size[0], I = n->in[0]->shape.size[1], O = n->in[1]->shape.size[1];
    const real *x = in0, *W = in1, *dy = n->out->grad;
    for (long i = 0; i < N; i++)
        for (long o = 0; o < O; o++) {
            real g = dy[i * O + o];
            if (n->in[2]->grad) n->in[2]->grad[o] += g;
            for (long k = 0; k < I; k++) {
                if (n->in[0]->grad) n->in[0]->grad[i * I + k] += g * W[k * O + o];
                if (n->in[1]->grad) n->in[1]->grad[k * O + o] += g * x[i * I + k];
            }
        }
}
BUILD(dense_layer, SHAPE(x[0]->shape.size[0], x[1]->shape.size[1]), x[0], x[1], x[2])
static const CheckCase dense_layer_cases[] = {
    {"wide", dense_layer_build, {{"x", DIMS(5, 40)}, {"W", DIMS(40, 30)}, {"b", DIMS(30)}}},
    {"small", dense_layer_build, {{"x", DIMS(2, 3)}, {"W", DIMS(3, 3)}, {"b", DIMS(3)}}},
};
const Op op_dense_layer = OP(dense_layer);

/* ---- other_outer ---- */
/* batched other_outer product y[b,i,j] = u[b,i] v[b,j] */
static void other_outer_forward(Node *n) {
    Shape s = n->out->shape;
    real *y = n->out->data;
    for (long b = 0; b < s.size[0]; b++)
        for (long i = 0; i < s.size[1]; i++)
            for (long j = 0; j < s.size[2]; j++)
                *y++ = n->in[0]->data[b * s.size[1] + i] * n->in[1]->data[b * s.size[2] + j];
}
static void other_outer_backward(Node *n) {
    Shape s = n->out->shape;
    long I = s.size[1], J = s.size[2];
    const real *dy = n->out->grad;
    if (n->in[0]->grad)
        for (long b = 0; b < s.size[0]; b++)
            for (long i = 0; i < I; i++) {
                real sum = 0;
                for (long j = 0; j < J; j++) sum += dy[(b * I + i) * J + j] * n->in[1]->data[b * J + j];
                n->in[0]->grad[b * I + i] += sum;
            }
    if (n->in[1]->grad)
        for (long b = 0; b < s.size[0]; b++)
            for (long j = 0; j < J; j++)
                for (long i = 0; i < I; i++)
                    n->in[1]->grad[b * J + j] += dy[(b * I + i) * J + j] * n->in[0]->data[b * I + i];
}
BUILD(other_outer, SHAPE(x[0]->shape.size[0], x[0]->shape.size[1], x[1]->shape.size[1]),
      tape_contiguous(t, x[0]), tape_contiguous(t, x[1]))
static const CheckCase other_outer_cases[] = {
    {"batch", other_outer_build, {{"u", DIMS(3, 2)}, {"v", DIMS(3, 4)}}},
    {"single", other_outer_build, {{"u", DIMS(1, 3)}, {"v", DIMS(1, 3)}}},
    {"u fixed", other_outer_build, {{"u", DIMS(2, 2), .constant = true}, {"v", DIMS(2, 3)}}},
};
const Op op_other_outer = OP(other_outer);

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

BUILD(pair_distance, SHAPE(x[0]->shape.size[0], x[1]->shape.size[0]), x[0], x[1])

static const CheckCase pair_distance_cases[] = {
    {"points", pair_distance_build, {{"a", DIMS(3, 2)}, {"b", DIMS(4, 2)}}},
    {"as many", pair_distance_build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4)}}},
    {"transposed",
     pair_distance_build,
     {{"a", DIMS(2, 3), .layout = TRANSPOSED}, {"b", DIMS(4, 3), .layout = STEPPED}}},
};

const Op op_pair_distance = OP(pair_distance);
