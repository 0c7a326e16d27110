#include "ops/ops.h"
typedef struct Attr { double a, *s; } Attr;
static void backward(Node *n) { /* dx */
    Attr *m = n->attr;
    real *dx = n->in[0]->grad, w[] = {1, 0.5};
    for (long i = 0, N = n->in[0]->shape.size[0]; i < N; i++) {
        if (!dx || i > 3) continue;
        dx[i + 1] += m->s[i] * (m->a - w[i % 2]);
    }
}
const Op op_op = {"op", 0, backward};
