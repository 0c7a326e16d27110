/* cross_entropy: the loss of predicting one target for each row, with label smoothing. Section 5.4.
 *
 *     x: logits [n, V]   targets: n ids in [0, V), or `ignore`      y: scalar
 *
 *   | y = -1/C Σ_i Σ_j q_ij ln p_ij      over the C rows i whose target is not `ignore`; 0 if C = 0
 *
 * The loss of a row is derived in cross_entropy_row.h. Backward:
 *
 *   | p_ij = e^x_ij / Σ_k e^x_ik
 *   | q_ij = 1 if j is the target of row i, else 0; smoothed (1-ε) q_ij + ε/V
 *   | dx_ij += dy (p_ij - q_ij) / C      ignored rows get no gradient
 *
 * Forward keeps nothing; backward recomputes p from x. The mean is that of
 * torch.nn.functional.cross_entropy(reduction="mean", ignore_index, label_smoothing). `targets` is
 * the caller's and must live until backward has run.
 *
 * Numerical note: the row's maximum is subtracted before the exponential, and no log of a small p
 * is taken, so that finite logits of any size give a finite loss. The mean is summed in double. */
#include "ops/cross_entropy_row.h"

/* exercise: begin */
static void forward(Node *n) {
    const Targets *t = n->attr;
    double sum = 0;
    for (long i = 0; i < t->n; i++)
        if (t->id[i] != t->ignore)
            sum +=
                cross_entropy_row(t->V, n->in[0]->data + i * t->V, t->id[i], t->smoothing, 0, NULL);
    n->out->data[0] = t->counted ? (real)(sum / (double)t->counted) : 0;
}

static void backward(Node *n) {
    const Targets *t = n->attr;
    if (!t->counted) return;
    real scale = n->out->grad[0] / (real)t->counted;
    for (long i = 0; i < t->n; i++) {
        if (t->id[i] == t->ignore) continue;
        real *dx = n->in[0]->grad + i * t->V;
        cross_entropy_row(t->V, n->in[0]->data + i * t->V, t->id[i], t->smoothing, scale,
                          n->scratch);
        for (long j = 0; j < t->V; j++) dx[j] += n->scratch[j];
    }
}

/* One row of gradients. */
static long scratch(const Node *n, bool backward) {
    return backward ? ((const Targets *)n->attr)->V : 0;
}
/* exercise: end */

static const int32_t some_targets[] = {3, 0, -1, 3}, no_targets[] = {-1, -1};

BUILD_CASE(plain, tape_cross_entropy(t, x[0], some_targets, -1, 0))
BUILD_CASE(smoothed, tape_cross_entropy(t, x[0], some_targets, -1, 0.1))
BUILD_CASE(all_ignored, tape_cross_entropy(t, x[0], no_targets, -1, 0.1))

static const CheckCase cases[] = {
    {"one row ignored", plain, {{"x", DIMS(4, 5)}}},
    {"smoothed", smoothed, {{"x", DIMS(4, 5)}}},
    {"strided", smoothed, {{"x", DIMS(4, 5), .layout = TRANSPOSED}}},
    {"extreme logits", smoothed, {{"x", DIMS(4, 5), -1e4, 1e4}}, .flat = true},
    {"all ignored", all_ignored, {{"x", DIMS(2, 5)}}},
    {"no rows", plain, {{"x", DIMS(0, 5)}}},
};

const Op op_cross_entropy = {
    "cross_entropy", forward, backward, .scratch = scratch, .arguments = targets_print,
    CASES(cases)};

Tensor *tape_cross_entropy(Tape *t, Tensor *x, const int32_t *targets, int32_t ignore,
                           double smoothing) {
    op_want("cross_entropy", t, INPUTS(x));
    Shape s = x->shape;
    if (s.rank != 2 || s.size[1] < 1)
        error_bug("cross_entropy: x is %s, want [n,V], V >= 1", shape_text(s));
    Targets all = targets_of("cross_entropy", s.size[0], s.size[1], targets, ignore, smoothing);
    x = tape_contiguous(t, x);
    Node *n = tape_node(t, &op_cross_entropy, SCALAR, INPUTS(x));
    *(Targets *)node_attr(n, sizeof all) = all;
    return tape_forward(n);
}
