/* Layers: normalisations, pools, lookups, gates, and sums over several indices. */
#include "student.h"

/* ---- groups ---- */
enum { GROUPS = 2 };
static void groups_statistics(const real *x, long m, real *mean, real *inverse) {
    real square = 0;
    *mean = 0;
    for (long j = 0; j < m; j++) *mean += x[j] / (real)m;
    for (long j = 0; j < m; j++) square += (x[j] - *mean) * (x[j] - *mean) / (real)m;
    *inverse = 1 / sqrt(square + (real)1e-5);
}
static void groups_forward(Node *n) {
    const real *x = values(n, 0);
    long m = columns(n, 0) / GROUPS;
    for (long g = 0; g < rows(n, 0) * GROUPS; g++) {
        real mean, inverse;
        groups_statistics(x + g * m, m, &mean, &inverse);
        for (long j = 0; j < m; j++) n->out->data[g * m + j] = (x[g * m + j] - mean) * inverse;
    }
}
static void groups_backward(Node *n) {
    const real *x = values(n, 0), *dy = n->out->grad;
    long m = columns(n, 0) / GROUPS;
    for (long g = 0; g < rows(n, 0) * GROUPS; g++) {
        real mean, inverse, sum = 0, dot = 0;
        groups_statistics(x + g * m, m, &mean, &inverse);
        for (long j = 0; j < m; j++) {
            sum += dy[g * m + j] / (real)m;
            dot += dy[g * m + j] * n->out->data[g * m + j] / (real)m;
        }
        for (long j = 0; j < m; j++) {
            const real hat = n->out->data[g * m + j];
            n->in[0]->grad[g * m + j] += inverse * (dy[g * m + j] - sum - hat * dot);
        }
    }
}
BUILD(groups, x[0]->shape, x[0])
static const CheckCase groups_cases[] = {{"two of four", groups_build, {{"x", DIMS(3, 8)}}},
                                         {"two of three", groups_build, {{"x", DIMS(2, 6)}}}};
const Op op_groups = {"groups", groups_forward, groups_backward, CASES(groups_cases)};

/* ---- maxpool ---- */
static long maxpool_winner(const real *x, long i) {
    return x[2 * i + 1] > x[2 * i] ? 2 * i + 1 : 2 * i;
}
static void maxpool_forward(Node *n) {
    const real *x = values(n, 0);
    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] = x[maxpool_winner(x, i)];
}
static void maxpool_backward(Node *n) {
    const real *x = values(n, 0);
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->in[0]->grad[maxpool_winner(x, i)] += n->out->grad[i];
}
BUILD(maxpool, SHAPE(x[0]->shape.size[0] / 2), x[0])
static const CheckCase maxpool_cases[] = {{"eight", maxpool_build, {{"x", DIMS(8), .distinct = true}}},
                                          {"seven", maxpool_build, {{"x", DIMS(7), .distinct = true}}}};
const Op op_maxpool = {"maxpool", maxpool_forward, maxpool_backward, CASES(maxpool_cases)};

/* ---- window ---- */
static void window_forward(Node *n) {
    const real *x = values(n, 0);
    for (long i = 0; i < shape_count(n->out->shape); i++) n->out->data[i] = (x[i] + x[i + 1] + x[i + 2]) / 3;
}
static void window_backward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++)
        for (long k = 0; k < 3; k++) n->in[0]->grad[i + k] += n->out->grad[i] / 3;
}
BUILD(window, SHAPE(x[0]->shape.size[0] - 2), x[0])
static const CheckCase window_cases[] = {{"nine", window_build, {{"x", DIMS(9)}}},
                                         {"three", window_build, {{"x", DIMS(3)}}}};
const Op op_window = {"window", window_forward, window_backward, CASES(window_cases)};

/* ---- lookup ---- */
static const long lookup_ids[] = {2, 0, 2, 3};
static void lookup_forward(Node *n) {
    const real *E = values(n, 0);
    long C = columns(n, 0);
    for (long i = 0; i < 4 * C; i++) n->out->data[i] = E[lookup_ids[i / C] * C + i % C];
}
static void lookup_backward(Node *n) {
    long C = columns(n, 0);
    for (long i = 0; i < 4 * C; i++) n->in[0]->grad[lookup_ids[i / C] * C + i % C] += n->out->grad[i];
}
BUILD(lookup, SHAPE(4, x[0]->shape.size[1]), x[0])
static const CheckCase lookup_cases[] = {{"table", lookup_build, {{"E", DIMS(5, 3)}}},
                                         {"column", lookup_build, {{"E", DIMS(4, 1)}}}};
const Op op_lookup = {"lookup", lookup_forward, lookup_backward, CASES(lookup_cases)};

/* ---- products ---- */
static void products_forward(Node *n) {
    const real *x = values(n, 0);
    real product = 1;
    for (long i = 0; i < count(n, 0); i++) n->out->data[i] = product *= x[i];
}
static void products_backward(Node *n) {
    const real *x = values(n, 0);
    real sum = 0;
    for (long i = count(n, 0) - 1; i >= 0; i--) {
        sum += n->out->grad[i] * n->out->data[i];
        n->in[0]->grad[i] += sum / x[i];
    }
}
BUILD(products, x[0]->shape, x[0])
static const CheckCase products_cases[] = {
    {"seven", products_build, {{"x", DIMS(7), .low = 0.5, .high = 1.5}}},
    {"one", products_build, {{"x", DIMS(1), .low = 0.5, .high = 1.5}}}};
const Op op_products = {"products", products_forward, products_backward, CASES(products_cases)};

/* ---- logsum ---- */
static void logsum_forward(Node *n) {
    const real *x = values(n, 0);
    long R = rows(n, 0), C = columns(n, 0);
    for (long j = 0; j < C; j++) {
        real m = -INFINITY, sum = 0;
        for (long r = 0; r < R; r++) m = fmax(m, x[r * C + j]);
        for (long r = 0; r < R; r++) sum += exp(x[r * C + j] - m);
        n->out->data[j] = m + log(sum);
    }
}
static void logsum_backward(Node *n) {
    const real *x = values(n, 0);
    long R = rows(n, 0), C = columns(n, 0);
    for (long r = 0; r < R; r++)
        for (long j = 0; j < C; j++)
            n->in[0]->grad[r * C + j] += n->out->grad[j] * exp(x[r * C + j] - n->out->data[j]);
}
BUILD(logsum, SHAPE(x[0]->shape.size[1]), x[0])
static const CheckCase logsum_cases[] = {{"matrix", logsum_build, {{"x", DIMS(4, 5)}}},
                                         {"square", logsum_build, {{"x", DIMS(3, 3)}}}};
const Op op_logsum = {"logsum", logsum_forward, logsum_backward, CASES(logsum_cases)};

/* ---- direction ---- */
static real direction_length(const real *x, long C) {
    real sum = 0;
    for (long j = 0; j < C; j++) sum += x[j] * x[j];
    return sqrt(sum);
}
static void direction_forward(Node *n) {
    const real *x = values(n, 0);
    long C = columns(n, 0);
    for (long i = 0; i < count(n, 0); i++) n->out->data[i] = x[i] / direction_length(x + i / C * C, C);
}
static void direction_backward(Node *n) {
    const real *x = values(n, 0);
    long C = columns(n, 0);
    for (long r = 0; r < rows(n, 0); r++) {
        const real *y = n->out->data + r * C, *dy = n->out->grad + r * C;
        real dot = 0;
        for (long j = 0; j < C; j++) dot += dy[j] * y[j];
        for (long j = 0; j < C; j++)
            n->in[0]->grad[r * C + j] += (dy[j] - y[j] * dot) / direction_length(x + r * C, C);
    }
}
BUILD(direction, x[0]->shape, x[0])
static const CheckCase direction_cases[] = {{"rows", direction_build, {{"x", DIMS(3, 5)}}},
                                            {"long rows", direction_build, {{"x", DIMS(2, 9)}}}};
const Op op_direction = {"direction", direction_forward, direction_backward, CASES(direction_cases)};

/* ---- halves ---- */
static void halves_forward(Node *n) {
    const real *x = values(n, 0);
    long C = columns(n, 0) / 2;
    for (long r = 0; r < rows(n, 0); r++)
        for (long j = 0; j < C; j++)
            n->out->data[r * C + j] = x[2 * r * C + j] / (1 + exp(-x[2 * r * C + C + j]));
}
static void halves_backward(Node *n) {
    const real *x = values(n, 0), *dy = n->out->grad;
    long C = columns(n, 0) / 2;
    for (long r = 0; r < rows(n, 0); r++)
        for (long j = 0; j < C; j++) {
            real a = x[2 * r * C + j], gate = 1 / (1 + exp(-x[2 * r * C + C + j]));
            n->in[0]->grad[2 * r * C + j] += dy[r * C + j] * gate;
            n->in[0]->grad[2 * r * C + C + j] += dy[r * C + j] * a * gate * (1 - gate);
        }
}
BUILD(halves, SHAPE(x[0]->shape.size[0], x[0]->shape.size[1] / 2), x[0])
static const CheckCase halves_cases[] = {{"rows", halves_build, {{"x", DIMS(3, 8)}}},
                                         {"narrow", halves_build, {{"x", DIMS(4, 2)}}}};
const Op op_halves = {"halves", halves_forward, halves_backward, CASES(halves_cases)};

/* ---- bilinear ---- */
static void bilinear_forward(Node *n) {
    const real *x = values(n, 0), *W = values(n, 1), *z = values(n, 2);
    long J = count(n, 0), K = count(n, 2);
    for (long i = 0; i < n->out->shape.size[0]; i++) {
        n->out->data[i] = 0;
        for (long j = 0; j < J; j++)
            for (long k = 0; k < K; k++) n->out->data[i] += x[j] * W[(i * J + j) * K + k] * z[k];
    }
}
static void bilinear_backward(Node *n) {
    const real *x = values(n, 0), *W = values(n, 1), *z = values(n, 2), *dy = n->out->grad;
    real *dx = n->in[0]->grad, *dW = n->in[1]->grad, *dz = n->in[2]->grad;
    long J = count(n, 0), K = count(n, 2);
    for (long i = 0; i < n->out->shape.size[0]; i++)
        for (long j = 0; j < J; j++)
            for (long k = 0; k < K; k++) {
                const long at = (i * J + j) * K + k;
                if (dx) dx[j] += dy[i] * W[at] * z[k];
                if (dz) dz[k] += dy[i] * W[at] * x[j];
                if (dW) dW[at] += dy[i] * x[j] * z[k];
            }
}
BUILD(bilinear, SHAPE(x[1]->shape.size[0]), x[0], x[1], x[2])
static const CheckCase bilinear_cases[] = {
    {"cube", bilinear_build, {{"x", DIMS(3)}, {"W", DIMS(3, 3, 3)}, {"z", DIMS(3)}}},
    {"oblong", bilinear_build, {{"x", DIMS(4)}, {"W", DIMS(2, 4, 3)}, {"z", DIMS(3)}}}};
const Op op_bilinear = {"bilinear", bilinear_forward, bilinear_backward, CASES(bilinear_cases)};

/* ---- prelu ---- */
static void prelu_forward(Node *n) {
    const real *x = values(n, 0), *a = values(n, 1);
    for (long i = 0; i < count(n, 0); i++) n->out->data[i] = x[i] > 0 ? x[i] : a[i % count(n, 1)] * x[i];
}
static void prelu_backward(Node *n) {
    const real *x = values(n, 0), *a = values(n, 1), *dy = n->out->grad;
    for (long i = 0; i < count(n, 0); i++) {
        const long c = i % count(n, 1);
        if (n->in[0]->grad) n->in[0]->grad[i] += x[i] > 0 ? dy[i] : dy[i] * a[c];
        if (n->in[1]->grad && x[i] < 0) n->in[1]->grad[c] += dy[i] * x[i];
    }
}
BUILD(prelu, x[0]->shape, x[0], x[1])
static const CheckCase prelu_cases[] = {
    {"channels", prelu_build, {{"x", DIMS(5, 3), .margin = 0.1}, {"a", DIMS(3)}}},
    {"one slope", prelu_build, {{"x", DIMS(6), .margin = 0.1}, {"a", DIMS(1)}}}};
const Op op_prelu = {"prelu", prelu_forward, prelu_backward, CASES(prelu_cases)};

/* ---- pairs ---- */
static void pairs_forward(Node *n) {
    const real *x = values(n, 0), *z = values(n, 1);
    long R = rows(n, 0), S = rows(n, 1), C = columns(n, 0);
    for (long i = 0; i < R * S; i++) {
        n->out->data[i] = 0;
        for (long c = 0; c < C; c++) n->out->data[i] += pow(x[i / S * C + c] - z[i % S * C + c], 2);
    }
}
static void pairs_backward(Node *n) {
    const real *x = values(n, 0), *z = values(n, 1), *dy = n->out->grad;
    long R = rows(n, 0), S = rows(n, 1), C = columns(n, 0);
    for (long i = 0; i < R * S; i++)
        for (long c = 0; c < C; c++) {
            real d = 2 * dy[i] * (x[i / S * C + c] - z[i % S * C + c]);
            if (n->in[0]->grad) n->in[0]->grad[i / S * C + c] += d;
            if (n->in[1]->grad) n->in[1]->grad[i % S * C + c] -= d;
        }
}
BUILD(pairs, SHAPE(x[0]->shape.size[0], x[1]->shape.size[0]), x[0], x[1])
static const CheckCase pairs_cases[] = {{"oblong", pairs_build, {{"x", DIMS(3, 2)}, {"z", DIMS(4, 2)}}},
                                        {"square", pairs_build, {{"x", DIMS(3, 3)}, {"z", DIMS(3, 3)}}}};
const Op op_pairs = {"pairs", pairs_forward, pairs_backward, CASES(pairs_cases)};
