/* Functions of rows, matrices and several inputs. */
#include "student.h"

/* ---- lse ---- */
static void lse_forward(Node *n) {
    const real *x = values(n, 0);
    long C = columns(n, 0);
    for (long r = 0; r < rows(n, 0); r++) {
        real sum = 0;
        for (long j = 0; j < C; j++) sum += exp(x[r * C + j]);
        n->out->data[r] = log(sum);
    }
}
static void lse_backward(Node *n) {
    const real *x = values(n, 0);
    long C = columns(n, 0);
    for (long r = 0; r < rows(n, 0); r++)
        for (long j = 0; j < C; j++)
            n->in[0]->grad[r * C + j] += n->out->grad[r] * exp(x[r * C + j] - n->out->data[r]);
}
BUILD(lse, SHAPE(x[0]->shape.size[0]), x[0])
static const CheckCase lse_cases[] = {{"rows", lse_build, {{"x", DIMS(3, 5)}}}};
const Op op_lse = OP(lse);

/* ---- rotate ---- */
static void rotate_forward(Node *n) {
    const real *x = values(n, 0);
    long N = count(n, 0);
    for (long i = 0; i < N; i++) n->out->data[(i + 2) % N] = x[i];
}
static void rotate_backward(Node *n) {
    long N = count(n, 0);
    for (long i = 0; i < N; i++) n->in[0]->grad[i] += n->out->grad[(i + 2) % N];
}
BUILD(rotate, x[0]->shape, x[0])
static const CheckCase rotate_cases[] = {{"seven", rotate_build, {{"x", DIMS(7)}}}};
const Op op_rotate = OP(rotate);

/* ---- reverse ---- */
static void reverse_forward(Node *n) {
    const real *x = values(n, 0);
    for (long i = 0; i < count(n, 0); i++) n->out->data[i] = x[count(n, 0) - 1 - i];
}
static void reverse_backward(Node *n) {
    for (long i = 0; i < count(n, 0); i++) n->in[0]->grad[i] += n->out->grad[count(n, 0) - 1 - i];
}
BUILD(reverse, x[0]->shape, x[0])
static const CheckCase reverse_cases[] = {{"six", reverse_build, {{"x", DIMS(6)}}}};
const Op op_reverse = OP(reverse);

/* ---- rowmax ---- */
static void rowmax_forward(Node *n) {
    const real *x = values(n, 0);
    long C = columns(n, 0);
    for (long r = 0; r < rows(n, 0); r++) {
        n->out->data[r] = x[r * C];
        for (long j = 1; j < C; j++) n->out->data[r] = fmax(n->out->data[r], x[r * C + j]);
    }
}
static void rowmax_backward(Node *n) {
    const real *x = values(n, 0);
    long C = columns(n, 0);
    for (long r = 0; r < rows(n, 0); r++) {
        real ties = 0;
        for (long j = 0; j < C; j++) ties += x[r * C + j] == n->out->data[r];
        for (long j = 0; j < C; j++)
            if (x[r * C + j] == n->out->data[r])
                n->in[0]->grad[r * C + j] += n->out->grad[r] / ties;
    }
}
BUILD(rowmax, SHAPE(x[0]->shape.size[0]), x[0])
static const double rowmax_ties[] = {1, 3, 3, 2, 2, 2};
static const CheckCase rowmax_cases[] = {
    {"rows", rowmax_build, {{"x", DIMS(3, 5), .distinct = true}}},
    {"ties", rowmax_build, {{"x", DIMS(2, 3), .values = rowmax_ties}}, .kinks = true}};
const Op op_rowmax = OP(rowmax);

/* ---- product ---- */
static void product_forward(Node *n) {
    const real *a = values(n, 0), *b = values(n, 1);
    long R = rows(n, 0), K = columns(n, 0), C = columns(n, 1);
    for (long i = 0; i < R; i++)
        for (long j = 0; j < C; j++) {
            real sum = 0;
            for (long k = 0; k < K; k++) sum += a[i * K + k] * b[k * C + j];
            n->out->data[i * C + j] = sum;
        }
}
static void product_backward(Node *n) {
    const real *a = values(n, 0), *b = values(n, 1), *dy = n->out->grad;
    real *da = n->in[0]->grad, *db = n->in[1]->grad;
    long R = rows(n, 0), K = columns(n, 0), C = columns(n, 1);
    for (long i = 0; i < R; i++)
        for (long j = 0; j < C; j++)
            for (long k = 0; k < K; k++) {
                if (da) da[i * K + k] += dy[i * C + j] * b[k * C + j];
                if (db) db[k * C + j] += dy[i * C + j] * a[i * K + k];
            }
}
BUILD(product, SHAPE(x[0]->shape.size[0], x[1]->shape.size[1]), x[0], x[1])
static const CheckCase product_cases[] = {
    {"oblong", product_build, {{"a", DIMS(2, 3)}, {"b", DIMS(3, 4)}}},
    {"square", product_build, {{"a", DIMS(3, 3)}, {"b", DIMS(3, 3)}}}};
const Op op_product = OP(product);

/* ---- mixing ---- */
static const real mixing_matrix[3][3] = {{1, 2, 3}, {0, 1, 4}, {5, 6, 0}};
static void mixing_forward(Node *n) {
    const real *x = values(n, 0);
    for (int i = 0; i < 3; i++) {
        n->out->data[i] = 0;
        for (int j = 0; j < 3; j++) n->out->data[i] += mixing_matrix[i][j] * x[j];
    }
}
static void mixing_backward(Node *n) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) n->in[0]->grad[j] += mixing_matrix[i][j] * n->out->grad[i];
}
BUILD(mixing, x[0]->shape, x[0])
static const CheckCase mixing_cases[] = {{"three", mixing_build, {{"x", DIMS(3)}}}};
const Op op_mixing = OP(mixing);

/* ---- quadratic ---- */
static void quadratic_forward(Node *n) {
    const real *x = values(n, 0), *A = values(n, 1);
    long N = count(n, 0);
    n->out->data[0] = 0;
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) n->out->data[0] += x[i] * A[i * N + j] * x[j];
}
static void quadratic_backward(Node *n) {
    const real *x = values(n, 0), *A = values(n, 1), dy = n->out->grad[0];
    long N = count(n, 0);
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) {
            if (n->in[0]->grad) n->in[0]->grad[i] += dy * (A[i * N + j] + A[j * N + i]) * x[j];
            if (n->in[1]->grad) n->in[1]->grad[i * N + j] += dy * x[i] * x[j];
        }
}
BUILD(quadratic, SCALAR, x[0], x[1])
static const CheckCase quadratic_cases[] = {
    {"three", quadratic_build, {{"x", DIMS(3)}, {"A", DIMS(3, 3)}}}};
const Op op_quadratic = OP(quadratic);

/* ---- conv ---- */
static void conv_forward(Node *n) {
    const real *x = values(n, 0), *w = values(n, 1);
    long K = count(n, 1), N = count(n, 0) - K + 1;
    for (long i = 0; i < N; i++) {
        n->out->data[i] = 0;
        for (long k = 0; k < K; k++) n->out->data[i] += x[i + k] * w[k];
    }
}
static void conv_backward(Node *n) {
    const real *x = values(n, 0), *w = values(n, 1), *dy = n->out->grad;
    real *dx = n->in[0]->grad, *dw = n->in[1]->grad;
    long K = count(n, 1), N = count(n, 0) - K + 1;
    for (long i = 0; i < N; i++)
        for (long k = 0; k < K; k++) {
            if (dx) dx[i + k] += dy[i] * w[k];
            if (dw) dw[k] += dy[i] * x[i + k];
        }
}
BUILD(conv, SHAPE(shape_count(x[0]->shape) - shape_count(x[1]->shape) + 1), x[0], x[1])
static const CheckCase conv_cases[] = {{"seven", conv_build, {{"x", DIMS(7)}, {"w", DIMS(3)}}}};
const Op op_conv = OP(conv);

/* ---- affine ---- */
static void affine_forward(Node *n) {
    const real *x = values(n, 0), *w = values(n, 1), *b = values(n, 2);
    long C = columns(n, 0);
    for (long i = 0; i < count(n, 0); i++) n->out->data[i] = x[i] * w[i % C] + b[i % C];
}
static void affine_backward(Node *n) {
    const real *x = values(n, 0), *w = values(n, 1), *dy = n->out->grad;
    long C = columns(n, 0);
    for (long i = 0; i < count(n, 0); i++) {
        if (n->in[0]->grad) n->in[0]->grad[i] += dy[i] * w[i % C];
        if (n->in[1]->grad) n->in[1]->grad[i % C] += dy[i] * x[i];
        if (n->in[2]->grad) n->in[2]->grad[i % C] += dy[i];
    }
}
BUILD(affine, x[0]->shape, x[0], x[1], x[2])
static const CheckCase affine_cases[] = {
    {"rows", affine_build, {{"x", DIMS(3, 4)}, {"w", DIMS(4)}, {"b", DIMS(4)}}}};
const Op op_affine = OP(affine);

/* ---- same ---- */
static Tensor *same_build(Tape *t, Tensor **x) {
    (void)t;
    return x[0];
}
static const CheckCase same_cases[] = {{"as it is", same_build, {{"x", DIMS(3, 4)}}}};
const Op op_same = {"same", .cases = same_cases, .n_cases = 1};

/* ---- five ---- */
static void five_forward(Node *n) {
    for (long i = 0; i < count(n, 0); i++) n->out->data[i] = 0;
    for (int k = 0; k < 5; k++) {
        const real *x = values(n, k);
        for (long i = 0; i < count(n, 0); i++) n->out->data[i] += (real)(k + 1) * x[i] * x[i];
    }
}
static void five_backward(Node *n) {
    for (int k = 0; k < 5; k++) {
        const real *x = values(n, k);
        for (long i = 0; n->in[k]->grad && i < count(n, 0); i++)
            n->in[k]->grad[i] += n->out->grad[i] * (real)(2 * (k + 1)) * x[i];
    }
}
BUILD(five, x[0]->shape, x[0], x[1], x[2], x[3], x[4])
static const CheckCase five_cases[] = {
    {"inputs",
     five_build,
     {{"a", DIMS(3)}, {"b", DIMS(3)}, {"c", DIMS(3)}, {"d", DIMS(3)}, {"e", DIMS(3)}}}};
const Op op_five = OP(five);

/* ---- wide ---- */
ELEMENTWISE(wide, sin(x), cos(x))
static const CheckCase wide_cases[] = {{"256 by 128", wide_build, {{"x", DIMS(256, 128)}}}};
const Op op_wide = OP(wide);
