/* cross_entropy: the loss of predicting one target for each row, with label smoothing. Section 5.4.
 *
 *     x: logits [n, V]   targets: n ids in [0, V), or `ignore`      y: scalar
 *
 *     y = 1/C Σ_i loss(x_i, targets_i)      over the C rows whose target is not `ignore`; 0 if C = 0
 *
 * The loss of a row is derived in cross_entropy_row.h. Backward:
 *
 *     dx_ij += dy/C (p_ij - q_ij)           ignored rows get no gradient
 *
 * Forward keeps nothing; backward recomputes p from x. The mean is that of
 * torch.nn.functional.cross_entropy(reduction="mean", ignore_index, label_smoothing). `targets` is the
 * caller's and must live until backward has run.
 *
 * Numerical note: the row's maximum is subtracted before the exponential, and no log of a small p is
 * taken, so that finite logits of any size give a finite loss. The mean is summed in double. */
#include "ops/arguments.h"
#include "ops/cross_entropy_row.h"
#include "ops/ops.h"

typedef struct Attr {
    long n, V, counted;
    const int32_t *targets;
    int32_t ignore;
    real smoothing;
} Attr;

/* exercise: begin */
static void forward(Node *n) {
    const Attr *a = n->attr;
    double sum = 0;
    for (long i = 0; i < a->n; i++)
        if (a->targets[i] != a->ignore)
            sum += cross_entropy_row(a->V, n->in[0]->data + i * a->V, a->targets[i], a->smoothing, 0, NULL);
    n->out->data[0] = a->counted ? (real)(sum / (double)a->counted) : 0;
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    if (!a->counted) return;
    real scale = n->out->grad[0] / (real)a->counted;
    for (long i = 0; i < a->n; i++) {
        if (a->targets[i] == a->ignore) continue;
        real *dx = n->in[0]->grad + i * a->V;
        cross_entropy_row(a->V, n->in[0]->data + i * a->V, a->targets[i], a->smoothing, scale, n->scratch);
        for (long j = 0; j < a->V; j++) dx[j] += n->scratch[j];
    }
}

/* One row of gradients. */
static long scratch(const Node *n, bool backward) {
    return backward ? ((const Attr *)n->attr)->V : 0;
}
/* exercise: end */

static const int32_t some_targets[] = {3, 0, -1, 3}, no_targets[] = {-1, -1};

/* exercise: begin */
static void arguments(const Node *n, FILE *out) {
    const Attr *a = n->attr;
    print_ids(out, "targets", a->targets, a->n);
    fprintf(out, ", \"ignore\": %ld, ", (long)a->ignore);
    print_number(out, "smoothing", (double)a->smoothing);
}
/* exercise: end */

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

const Op op_cross_entropy = {"cross_entropy",        forward,     backward, .scratch = scratch,
                             .arguments = arguments, CASES(cases)};

Tensor *tape_cross_entropy(Tape *t, Tensor *x, const int32_t *targets, int32_t ignore, double smoothing) {
    Shape s = x->shape;
    if (s.rank != 2 || s.size[1] < 1) error_bug("cross_entropy: x is %s, want [n,V], V >= 1", shape_text(s));
    if (!(smoothing >= 0 && smoothing <= 1))
        error_bug("cross_entropy: smoothing is %g, want it in [0,1]", smoothing);
    if (!t->planning) check_targets("cross_entropy", s.size[0], targets, ignore, s.size[1]);
    x = tape_contiguous(t, x);
    Node *n = tape_node(t, &op_cross_entropy, SCALAR, INPUTS(x));
    Attr *a = node_attr(n, sizeof *a);
    *a = (Attr){
        .n = s.size[0], .V = s.size[1], .targets = targets, .ignore = ignore, .smoothing = (real)smoothing};
    if (!t->planning) a->counted = counted_targets(a->n, targets, ignore);
    return tape_record(n);
}
