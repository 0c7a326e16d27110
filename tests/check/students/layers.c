/* Pools, lookups and distances. */
#include "student.h"

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
static const CheckCase maxpool_cases[] = {
    {"eight", maxpool_build, {{"x", DIMS(8), .distinct = true}}},
    {"seven", maxpool_build, {{"x", DIMS(7), .distinct = true}}}};
const Op op_maxpool = OP(maxpool);

/* ---- window ---- */
static void window_forward(Node *n) {
    const real *x = values(n, 0);
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->out->data[i] = (x[i] + x[i + 1] + x[i + 2]) / 3;
}
static void window_backward(Node *n) {
    for (long i = 0; i < shape_count(n->out->shape); i++)
        for (long k = 0; k < 3; k++) n->in[0]->grad[i + k] += n->out->grad[i] / 3;
}
BUILD(window, SHAPE(x[0]->shape.size[0] - 2), x[0])
static const CheckCase window_cases[] = {{"nine", window_build, {{"x", DIMS(9)}}},
                                         {"three", window_build, {{"x", DIMS(3)}}}};
const Op op_window = OP(window);

/* ---- lookup ---- */
static const long lookup_ids[] = {2, 0, 2, 3};
static void lookup_forward(Node *n) {
    const real *E = values(n, 0);
    long C = columns(n, 0);
    for (long i = 0; i < 4 * C; i++) n->out->data[i] = E[lookup_ids[i / C] * C + i % C];
}
static void lookup_backward(Node *n) {
    long C = columns(n, 0);
    for (long i = 0; i < 4 * C; i++)
        n->in[0]->grad[lookup_ids[i / C] * C + i % C] += n->out->grad[i];
}
BUILD(lookup, SHAPE(4, x[0]->shape.size[1]), x[0])
static const CheckCase lookup_cases[] = {{"table", lookup_build, {{"E", DIMS(5, 3)}}},
                                         {"column", lookup_build, {{"E", DIMS(4, 1)}}}};
const Op op_lookup = OP(lookup);

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
static const CheckCase pairs_cases[] = {
    {"oblong", pairs_build, {{"x", DIMS(3, 2)}, {"z", DIMS(4, 2)}}},
    {"square", pairs_build, {{"x", DIMS(3, 3)}, {"z", DIMS(3, 3)}}}};
const Op op_pairs = OP(pairs);
