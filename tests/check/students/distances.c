/* Operations that compare two or three arrays, by an author who had not seen the checker. */
#include "student.h"

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
