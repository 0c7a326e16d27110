/* An operation of one's own, y = x / (1 + |x|), and its gradient check: dx = dy / (1 + |x|)². In
 * double: pkg-config tapeformer-double. */
#include <math.h>
#include <tapeformer.h>

static void forward(Node *n) {
    const real *x = n->in[0]->data;
    for (long i = 0; i < shape_count(n->out->shape); i++)
        n->out->data[i] = x[i] / (1 + (real)fabs(x[i]));
}

static void backward(Node *n) {
    const real *x = n->in[0]->data, *dy = n->out->grad;
    for (long i = 0; i < shape_count(n->out->shape); i++) {
        real s = 1 + (real)fabs(x[i]);
        n->in[0]->grad[i] += dy[i] / (s * s);
    }
}

static Tensor *softsign(Tape *t, Tensor *x);

BUILD_CASE(build, softsign(t, x[0]))

static const CheckCase cases[] = {
    {"matrix", build, {{"x", DIMS(3, 5)}}},
    {"strided", build, {{"x", DIMS(3, 5), .layout = TRANSPOSED}}},
    {"empty", build, {{"x", DIMS(0, 5)}}},
};
static const Op op_softsign = {"softsign", forward, backward, CASES(cases)};

static Tensor *softsign(Tape *t, Tensor *x) {
    Tensor *plain = tape_contiguous(t, x); /* forward and backward read plain arrays */
    return tape_forward(tape_node(t, &op_softsign, plain->shape, INPUTS(plain)));
}

int main(void) {
    return (int)gradcheck_op(&op_softsign, stdout);
}
