/* What compares two or three arrays: files as a hand wrote them that had not seen the checker. */
#include "student.h"

/* ---- cosine_rows ---- */
/* cosine similarity of each row of a with the same row of b
 *   y_i = a_i . b_i / max(|a_i| |b_i|, eps) */

typedef struct cosine_rows_Cosine {
    long n, d;
    double eps;
    real *na, *nb; /* the norms */
} cosine_rows_Cosine;

static void cosine_rows_forward(Node *n) {
    cosine_rows_Cosine *c = n->attr;
    for (long i = 0; i < c->n; i++) {
        const real *a = &n->in[0]->data[i * c->d];
        const real *b = &n->in[1]->data[i * c->d];
        double dot = 0, aa = 0, bb = 0;
        for (long j = 0; j < c->d; j++) {
            dot += a[j] * b[j];
            aa += a[j] * a[j];
            bb += b[j] * b[j];
        }
        c->na[i] = sqrt(aa);
        c->nb[i] = sqrt(bb);
        n->out->data[i] = dot / fmax(c->na[i] * c->nb[i], c->eps);
    }
}

static void cosine_rows_backward(Node *n) {
    cosine_rows_Cosine *c = n->attr;
    for (long i = 0; i < c->n; i++) {
        const real *a = &n->in[0]->data[i * c->d];
        const real *b = &n->in[1]->data[i * c->d];
        real y = n->out->data[i], dy = n->out->grad[i];
        real na = c->na[i], nb = c->nb[i];
        int small = na * nb < c->eps; /* then the denominator is a constant */
        double below = small ? c->eps : na * nb;
        if (n->in[0]->grad) {
            real *da = &n->in[0]->grad[i * c->d];
            for (long j = 0; j < c->d; j++) {
                double g = b[j] / below;
                if (!small) g -= y * a[j] / (na * na);
                da[j] += dy * g;
            }
        }
        if (n->in[1]->grad) {
            real *db = &n->in[1]->grad[i * c->d];
            for (long j = 0; j < c->d; j++) {
                double g = a[j] / below;
                if (!small) g -= y * b[j] / (nb * nb);
                db[j] += dy * g;
            }
        }
    }
}

extern const Op op_cosine_rows;
static Tensor *cosine_rows(Tape *t, Tensor *a, Tensor *b, double eps) {
    a = tape_contiguous(t, a), b = tape_contiguous(t, b);
    long rows = a->shape.size[0];
    Node *n = tape_node(t, &op_cosine_rows, SHAPE(rows), INPUTS(a, b));
    cosine_rows_Cosine *c = node_attr(n, sizeof *c);
    c->n = rows, c->d = a->shape.size[1], c->eps = eps;
    c->na = node_array(n, rows), c->nb = node_array(n, rows);
    return tape_record(n);
}

BUILD_CASE(cosine_rows_usual, cosine_rows(t, x[0], x[1], 1e-8))
BUILD_CASE(cosine_rows_wide_eps, cosine_rows(t, x[0], x[1], 4))

static const CheckCase cosine_rows_cases[] = {
    {"rows", cosine_rows_usual, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4)}}},
    {"big eps", cosine_rows_wide_eps, {{"a", DIMS(5, 3)}, {"b", DIMS(5, 3)}}},
    {"short vectors", cosine_rows_wide_eps, {{"a", DIMS(2, 3), -1, 1}, {"b", DIMS(2, 3), -1, 1}}},
    {"b is given", cosine_rows_usual, {{"a", DIMS(3, 2)}, {"b", DIMS(3, 2), .constant = true}}},
};

const Op op_cosine_rows = {"cosine_rows", cosine_rows_forward, cosine_rows_backward,
                           CASES(cosine_rows_cases)};

/* ---- third_info_nce ---- */
/* InfoNCE: row i of q should be most similar to row i of k
 *   l_ij = q_i . k_j / T      y = mean_i ( ln sum_j e^l_ij - l_ii ) */

typedef struct third_info_nce_Nce {
    long n, d;
    double T;
    real *p; /* softmax of l, [n,n] */
} third_info_nce_Nce;

static void third_info_nce_forward(Node *node) {
    third_info_nce_Nce *a = node->attr;
    const real *q = node->in[0]->data, *k = node->in[1]->data;
    double loss = 0;
    for (long i = 0; i < a->n; i++) {
        real *p = a->p + i * a->n;
        double m = -INFINITY, sum = 0;
        for (long j = 0; j < a->n; j++) {
            double dot = 0;
            for (long e = 0; e < a->d; e++) dot += q[i * a->d + e] * k[j * a->d + e];
            p[j] = dot / a->T;
            if (p[j] > m) m = p[j];
        }
        double own = p[i];
        for (long j = 0; j < a->n; j++) sum += p[j] = exp(p[j] - m);
        for (long j = 0; j < a->n; j++) p[j] /= sum;
        loss += m + log(sum) - own;
    }
    node->out->data[0] = a->n ? loss / a->n : 0;
}

static void third_info_nce_backward(Node *node) {
    third_info_nce_Nce *a = node->attr;
    const real *q = node->in[0]->data, *k = node->in[1]->data;
    real *dq = node->in[0]->grad, *dk = node->in[1]->grad;
    double scale = node->out->grad[0] / a->n;
    for (long i = 0; i < a->n; i++)
        for (long j = 0; j < a->n; j++) {
            double dl = scale * (a->p[i * a->n + j] - (i == j));
            for (long e = 0; dq && e < a->d; e++) dq[i * a->d + e] += dl * k[j * a->d + e] / a->T;
            for (long e = 0; dk && e < a->d; e++) dk[j * a->d + e] += dl * q[i * a->d + e] / a->T;
        }
}

extern const Op op_third_info_nce;
static Tensor *third_info_nce(Tape *t, Tensor *q, Tensor *k, double T) {
    q = tape_contiguous(t, q);
    k = tape_contiguous(t, k);
    long rows = q->shape.size[0];
    Node *node = tape_node(t, &op_third_info_nce, SCALAR, INPUTS(q, k));
    third_info_nce_Nce *a = node_attr(node, sizeof *a);
    *a = (third_info_nce_Nce){rows, q->shape.size[1], T, node_array(node, rows * rows)};
    return tape_record(node);
}

BUILD_CASE(third_info_nce_warm, third_info_nce(t, x[0], x[1], 1))
BUILD_CASE(third_info_nce_cold, third_info_nce(t, x[0], x[1], 0.5))

static const CheckCase third_info_nce_cases[] = {
    {"temperature 1", third_info_nce_warm, {{"q", DIMS(4, 3)}, {"k", DIMS(4, 3)}}},
    {"temperature 0.5", third_info_nce_cold, {{"q", DIMS(3, 5), -1, 1}, {"k", DIMS(3, 5), -1, 1}}},
    {"keys from a fixed encoder",
     third_info_nce_cold,
     {{"q", DIMS(3, 2)}, {"k", DIMS(3, 2), .constant = true}}},
};

const Op op_third_info_nce = {"third_info_nce", third_info_nce_forward, third_info_nce_backward,
                              CASES(third_info_nce_cases)};

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

/* ---- triplet_hinge ---- */
/* triplet loss with squared distances, one for each row
 *   anchor, positive, negative [n,d] -> y [n]   y = max(0, |a-p|^2 - |a-n|^2 + margin) */

enum { triplet_hinge_ANCHOR, triplet_hinge_POSITIVE, triplet_hinge_NEGATIVE };

static void triplet_hinge_forward(Node *n) {
    double margin = *(double *)n->attr;
    long rows = n->in[triplet_hinge_ANCHOR]->shape.size[0], d = n->in[triplet_hinge_ANCHOR]->shape.size[1];
    const real *a = n->in[triplet_hinge_ANCHOR]->data, *p = n->in[triplet_hinge_POSITIVE]->data,
               *q = n->in[triplet_hinge_NEGATIVE]->data;
    for (long i = 0; i < rows; i++) {
        double near = 0, far = 0;
        for (long j = i * d; j < (i + 1) * d; j++) {
            near += (a[j] - p[j]) * (a[j] - p[j]);
            far += (a[j] - q[j]) * (a[j] - q[j]);
        }
        double loss = near - far + margin;
        n->out->data[i] = loss > 0 ? loss : 0;
    }
}

static void triplet_hinge_backward(Node *n) {
    double margin = *(double *)n->attr;
    (void)margin;
    long rows = n->in[triplet_hinge_ANCHOR]->shape.size[0], d = n->in[triplet_hinge_ANCHOR]->shape.size[1];
    const real *a = n->in[triplet_hinge_ANCHOR]->data, *p = n->in[triplet_hinge_POSITIVE]->data,
               *q = n->in[triplet_hinge_NEGATIVE]->data;
    real *da = n->in[triplet_hinge_ANCHOR]->grad, *dp = n->in[triplet_hinge_POSITIVE]->grad,
         *dq = n->in[triplet_hinge_NEGATIVE]->grad;
    for (long i = 0; i < rows; i++) {
        real dy = n->out->grad[i], y = n->out->data[i];
        if (y <= 0) continue;
        for (long j = i * d; j < (i + 1) * d; j++) {
            if (da) da[j] += dy * 2 * (q[j] - p[j]);
            if (dp) dp[j] -= dy * 2 * (a[j] - p[j]);
            if (dq) dq[j] += dy * 2 * (a[j] - q[j]);
        }
    }
}

extern const Op op_triplet_hinge;
static Tensor *triplet_hinge_triplet(Tape *t, Tensor *a, Tensor *p, Tensor *q, double margin) {
    a = tape_contiguous(t, a), p = tape_contiguous(t, p), q = tape_contiguous(t, q);
    Node *n = tape_node(t, &op_triplet_hinge, SHAPE(a->shape.size[0]), INPUTS(a, p, q));
    *(double *)node_attr(n, sizeof(double)) = margin;
    return tape_record(n);
}

BUILD_CASE(triplet_hinge_margin_one, triplet_hinge_triplet(t, x[0], x[1], x[2], 1))
BUILD_CASE(triplet_hinge_margin_five, triplet_hinge_triplet(t, x[0], x[1], x[2], 5))

static const CheckCase triplet_hinge_cases[] = {
    {"margin 1",
     triplet_hinge_margin_one,
     {{"anchor", DIMS(6, 3)}, {"positive", DIMS(6, 3)}, {"negative", DIMS(6, 3)}}},
    {"margin 5",
     triplet_hinge_margin_five,
     {{"anchor", DIMS(6, 2)}, {"positive", DIMS(6, 2)}, {"negative", DIMS(6, 2)}}},
};

const Op op_triplet_hinge = {"triplet_hinge", triplet_hinge_forward, triplet_hinge_backward,
                             CASES(triplet_hinge_cases)};

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
