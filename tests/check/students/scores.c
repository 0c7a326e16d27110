/* Losses of rows, and what compares them: files as another hand wrote them. */
#include "student.h"

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
extern const Op op_hinge;
Tensor *tape_hinge(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_hinge, SCALAR, INPUTS(x)));
}
static Tensor *hinge_build(Tape *t_, Tensor **x_) {
    return tape_hinge(t_, x_[0]);
}
static const CheckCase hinge_cases[] = {
    {"scores", hinge_build, {{"x", DIMS(4, 3)}}},
    {"wide", hinge_build, {{"x", DIMS(3, 5)}}},
};
const Op op_hinge = {"hinge", hinge_forward, hinge_backward, CASES(hinge_cases)};

/* ---- entropy ---- */
/* entropy of softmax(x), entropy_rows */
static void entropy_forward(Node *n) {
    long R = n->in[0]->shape.size[0], V = n->in[0]->shape.size[1];
    real *lp = node_array(n, R * V);
    n->attr = lp;
    for (long r = 0; r < R; r++) {
        real m = n->in[0]->data[r * V], z = 0, h = 0;
        for (long v = 1; v < V; v++) m = fmax(m, n->in[0]->data[r * V + v]);
        for (long v = 0; v < V; v++) z += exp(n->in[0]->data[r * V + v] - m);
        for (long v = 0; v < V; v++) {
            lp[r * V + v] = n->in[0]->data[r * V + v] - m - log(z);
            h -= exp(lp[r * V + v]) * lp[r * V + v];
        }
        n->out->data[r] = h;
    }
}
static void entropy_backward(Node *n) {
    long R = n->in[0]->shape.size[0], V = n->in[0]->shape.size[1];
    const real *lp = n->attr;
    for (long r = 0; r < R; r++)
        for (long v = 0; v < V; v++)
            n->in[0]->grad[r * V + v] -=
                n->out->grad[r] * exp(lp[r * V + v]) * (lp[r * V + v] + n->out->data[r]);
}
static Shape entropy_rows(Shape s) {
    if (!s.size[1]) error_bug("entropy of nothing");
    return SHAPE(s.size[0]);
}
extern const Op op_entropy;
Tensor *tape_entropy(Tape *t_, Tensor *x) {
    x = tape_contiguous(t_, x);
    return tape_record(tape_node(t_, &op_entropy, entropy_rows(x->shape), INPUTS(x)));
}
static Tensor *entropy_build(Tape *t_, Tensor **x_) {
    return tape_entropy(t_, x_[0]);
}
static const CheckCase entropy_cases[] = {
    {"rows", entropy_build, {{"x", DIMS(3, 4)}}},
    {"pair", entropy_build, {{"x", DIMS(2, 2)}}},
};
const Op op_entropy = {"entropy", entropy_forward, entropy_backward, CASES(entropy_cases)};

/* ---- info_nce ---- */
/* InfoNCE: rows of a against rows of b, positives on the diagonal, temperature 0.5 */
#define info_nce_TAU 0.5
static void info_nce_forward(Node *n) {
    long N = n->in[0]->shape.size[0], D = n->in[0]->shape.size[1];
    const real *a = n->in[0]->data, *b = n->in[1]->data;
    real *p = node_array(n, N * N), L = 0;
    n->attr = p;
    for (long i = 0; i < N; i++) {
        real m = -INFINITY, z = 0, pos;
        for (long j = 0; j < N; j++) {
            real s = 0;
            for (long k = 0; k < D; k++) s += a[i * D + k] * b[j * D + k];
            p[i * N + j] = s / info_nce_TAU;
            m = s / info_nce_TAU > m ? s / info_nce_TAU : m;
        }
        pos = p[i * N + i];
        for (long j = 0; j < N; j++) z += p[i * N + j] = exp(p[i * N + j] - m);
        for (long j = 0; j < N; j++) p[i * N + j] /= z;
        L += log(z) + m - pos;
    }
    n->out->data[0] = L / N;
}
static void info_nce_backward(Node *n) {
    long N = n->in[0]->shape.size[0], D = n->in[0]->shape.size[1];
    const real *a = n->in[0]->data, *b = n->in[1]->data, *p = n->attr;
    real *da = n->in[0]->grad, *db = n->in[1]->grad;
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) {
            real ds = n->out->grad[0] * (p[i * N + j] - (i == j)) / info_nce_TAU / N;
            for (long k = 0; k < D; k++) {
                if (da) da[i * D + k] += ds * b[j * D + k];
                if (db) db[j * D + k] += ds * a[i * D + k];
            }
        }
}
extern const Op op_info_nce;
Tensor *tape_info_nce(Tape *t_, Tensor *a, Tensor *b) {
    a = tape_contiguous(t_, a);
    b = tape_contiguous(t_, b);
    return tape_record(tape_node(t_, &op_info_nce, SCALAR, INPUTS(a, b)));
}
static Tensor *info_nce_build(Tape *t_, Tensor **x_) {
    return tape_info_nce(t_, x_[0], x_[1]);
}
static const CheckCase info_nce_cases[] = {
    {"three pairs", info_nce_build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4)}}},
    {"two pairs", info_nce_build, {{"a", DIMS(2, 3)}, {"b", DIMS(2, 3)}}},
};
const Op op_info_nce = {"info_nce", info_nce_forward, info_nce_backward, CASES(info_nce_cases)};

/* ---- kl_div ---- */
/* F.kl_div(logq, p, reduction="batchmean"): 1/B sum p (log p - log q) */
static void kl_div_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *lq = in0, *p = in1;
    long B = n->in[0]->shape.size[0], i, N = shape_count(n->in[0]->shape);
    real s = 0;
    for (i = 0; i < N; i++) s += p[i] * (log(p[i]) - lq[i]);
    n->out->data[0] = s / B;
}
static void kl_div_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *lq = in0, *p = in1;
    long B = n->in[0]->shape.size[0], i, N = shape_count(n->in[0]->shape);
    const real g = n->out->grad[0] / B;
    if (n->in[0]->grad)
        for (i = 0; i < N; i++) n->in[0]->grad[i] -= g * p[i];
    if (n->in[1]->grad)
        for (i = 0; i < N; i++) n->in[1]->grad[i] += g * (log(p[i]) + 1 - lq[i]);
}
extern const Op op_kl_div;
Tensor *tape_kl_div(Tape *t_, Tensor *logq, Tensor *p) {
    return tape_record(tape_node(t_, &op_kl_div, SCALAR, INPUTS(logq, p)));
}
static Tensor *kl_div_build(Tape *t_, Tensor **x_) {
    return tape_kl_div(t_, x_[0], x_[1]);
}
static const CheckCase kl_div_cases[] = {
    {"both", kl_div_build, {{"logq", DIMS(3, 4), -3, 0}, {"p", DIMS(3, 4), 0.1, 1}}},
    {"p given", kl_div_build, {{"logq", DIMS(2, 5), -3, 0}, {"p", DIMS(2, 5), 0.1, 1, .constant = true}}},
};
const Op op_kl_div = {"kl_div", kl_div_forward, kl_div_backward, CASES(kl_div_cases)};

/* ---- smoothed_ce ---- */
/* cross entropy with smoothed_ce_label smoothing 0.1, mean over the rows; the labels are ours */
static const int smoothed_ce_label[] = {1, 0, 3, 2};
#define smoothed_ce_E 0.1
static void smoothed_ce_softmax_row(const real *x, long V, real *p) {
    real m = x[0], s = 0;
    for (long v = 1; v < V; v++) m = fmax(m, x[v]);
    for (long v = 0; v < V; v++) s += p[v] = exp(x[v] - m);
    for (long v = 0; v < V; v++) p[v] /= s;
}
static void smoothed_ce_forward(Node *n) {
    const real *in0 = values(n, 0);
    long R = n->in[0]->shape.size[0], V = n->in[0]->shape.size[1];
    real *p = node_array(n, R * V), loss = 0;
    n->attr = p;
    for (long r = 0; r < R; r++) {
        smoothed_ce_softmax_row(in0 + r * V, V, p + r * V);
        for (long v = 0; v < V; v++) {
            real q = smoothed_ce_E / V + (v == smoothed_ce_label[r] ? 1 - smoothed_ce_E : 0);
            loss -= q * log(p[r * V + v]);
        }
    }
    n->out->data[0] = loss / R;
}
static void smoothed_ce_backward(Node *n) {
    long R = n->in[0]->shape.size[0], V = n->in[0]->shape.size[1];
    const real *p = n->attr;
    for (long r = 0; r < R; r++)
        for (long v = 0; v < V; v++) {
            real q = smoothed_ce_E / V + (v == smoothed_ce_label[r] ? 1 - smoothed_ce_E : 0);
            n->in[0]->grad[r * V + v] += n->out->grad[0] * (p[r * V + v] - q) / R;
        }
}
static Shape smoothed_ce_scalar(Tensor *x) {
    if (x->shape.size[0] > 4 || x->shape.size[0] < 1 || x->shape.size[1] < 4)
        error_bug("smoothed_ce: %s", shape_text(x->shape));
    return SCALAR;
}
extern const Op op_smoothed_ce;
Tensor *tape_smoothed_ce(Tape *t_, Tensor *x) {
    return tape_record(tape_node(t_, &op_smoothed_ce, smoothed_ce_scalar(x), INPUTS(x)));
}
static Tensor *smoothed_ce_build(Tape *t_, Tensor **x_) {
    return tape_smoothed_ce(t_, x_[0]);
}
static const CheckCase smoothed_ce_cases[] = {
    {"four words", smoothed_ce_build, {{"x", DIMS(4, 5)}}},
    {"two words", smoothed_ce_build, {{"x", DIMS(2, 4)}}},
};
const Op op_smoothed_ce = {"smoothed_ce", smoothed_ce_forward, smoothed_ce_backward,
                           CASES(smoothed_ce_cases)};

/* ---- triplet ---- */
/* triplet margin loss, squared distances, margin 1, mean over rows */
static real triplet_d2(const real *a, const real *b, long D) {
    real s = 0;
    while (D--) s += (a[D] - b[D]) * (a[D] - b[D]);
    return s;
}
static void triplet_forward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    long R = n->in[0]->shape.size[0], D = n->in[0]->shape.size[1];
    real L = 0;
    for (long r = 0; r < R; r++) {
        const real *a = in0 + r * D, *p = in1 + r * D, *q = in2 + r * D;
        L += fmax(0, triplet_d2(a, p, D) - triplet_d2(a, q, D) + 1);
    }
    n->out->data[0] = L / R;
}
static void triplet_backward(Node *n) {
    const real *in0 = values(n, 0);
    const real *in1 = values(n, 1);
    const real *in2 = values(n, 2);
    long R = n->in[0]->shape.size[0], D = n->in[0]->shape.size[1];
    real g = 2 * n->out->grad[0] / R;
    for (long r = 0; r < R; r++) {
        const real *a = in0 + r * D, *p = in1 + r * D, *q = in2 + r * D;
        if (triplet_d2(a, p, D) - triplet_d2(a, q, D) + 1 <= 0) continue;
        for (long j = 0; j < D; j++) {
            if (n->in[0]->grad) n->in[0]->grad[r * D + j] += g * (q[j] - p[j]);
            if (n->in[1]->grad) n->in[1]->grad[r * D + j] += g * (p[j] - a[j]);
            if (n->in[2]->grad) n->in[2]->grad[r * D + j] += g * (a[j] - q[j]);
        }
    }
}
extern const Op op_triplet;
Tensor *tape_triplet(Tape *t_, Tensor *a, Tensor *p, Tensor *q) {
    return tape_record(tape_node(t_, &op_triplet, SCALAR, INPUTS(a, p, q)));
}
static Tensor *triplet_build(Tape *t_, Tensor **x_) {
    return tape_triplet(t_, x_[0], x_[1], x_[2]);
}
static const CheckCase triplet_cases[] = {
    {"rows", triplet_build, {{"a", DIMS(4, 3)}, {"p", DIMS(4, 3)}, {"q", DIMS(4, 3)}}},
    {"far", triplet_build, {{"a", DIMS(5, 2), -4, 4}, {"p", DIMS(5, 2), -4, 4}, {"q", DIMS(5, 2), -4, 4}}},
};
const Op op_triplet = {"triplet", triplet_forward, triplet_backward, CASES(triplet_cases)};

/* ---- cosine_similarity ---- */
/* y_i = a_i . b_i / (|a_i| |b_i|) for each row */
static void cosine_similarity_forward(Node *n) {
    long R = n->in[0]->shape.size[0], D = n->in[0]->shape.size[1];
    for (long r = 0; r < R; r++) {
        const real *a = n->in[0]->data + r * D, *b = n->in[1]->data + r * D;
        real ab = 0, aa = 0, bb = 0;
        for (long j = 0; j < D; j++) ab += a[j] * b[j], aa += a[j] * a[j], bb += b[j] * b[j];
        n->out->data[r] = ab / sqrt(aa * bb);
    }
}
static void cosine_similarity_backward(Node *n) {
    long R = n->in[0]->shape.size[0], D = n->in[0]->shape.size[1];
    real *da = n->in[0]->grad, *db = n->in[1]->grad;
    for (long r = 0; r < R; r++) {
        const real *a = n->in[0]->data + r * D, *b = n->in[1]->data + r * D;
        real c = n->out->data[r], g = n->out->grad[r], aa = 0, bb = 0;
        for (long j = 0; j < D; j++) aa += a[j] * a[j], bb += b[j] * b[j];
        real ia = 1 / sqrt(aa), ib = 1 / sqrt(bb);
        for (long j = 0; j < D; j++) {
            if (da) da[r * D + j] += g * (b[j] * ia * ib - c * a[j] * ia * ia);
            if (db) db[r * D + j] += g * (a[j] * ia * ib - c * b[j] * ib * ib);
        }
    }
}
extern const Op op_cosine_similarity;
Tensor *tape_cosine_similarity(Tape *t_, Tensor *a, Tensor *b) {
    a = tape_contiguous(t_, a);
    b = tape_contiguous(t_, b);
    return tape_record(tape_node(t_, &op_cosine_similarity, SHAPE(a->shape.size[0]), INPUTS(a, b)));
}
static Tensor *cosine_similarity_build(Tape *t_, Tensor **x_) {
    return tape_cosine_similarity(t_, x_[0], x_[1]);
}
static const CheckCase cosine_similarity_cases[] = {
    {"rows", cosine_similarity_build, {{"a", DIMS(3, 4)}, {"b", DIMS(3, 4)}}},
    {"long", cosine_similarity_build, {{"a", DIMS(2, 9)}, {"b", DIMS(2, 9), .constant = true}}},
};
const Op op_cosine_similarity = {"cosine_similarity", cosine_similarity_forward, cosine_similarity_backward,
                                 CASES(cosine_similarity_cases)};
