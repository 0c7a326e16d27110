/* Values and gradients of operations against PyTorch's: tests/golden/operations.py made them, in
 * double. */
#include "formats/safetensors.h"
#include "nn/nn.h"
#include "ops_helpers.h"

static Safetensors file;

static void open_file(void) {
    Error e = {0};
    if (!safetensors_read(&file, "tests/golden/ops.safetensors", &e)) {
        printf("  %s\n", e.text);
        exit((int)e.status);
    }
}

static const Array *need(const char *op, const char *part) {
    char name[64];
    Error e = {0};
    snprintf(name, sizeof name, "%s.%s", op, part);
    const Array *a = safetensors_need(&file, name, &e);
    if (!a) {
        printf("  %s\n", e.text);
        exit((int)e.status);
    }
    return a;
}

/* A leaf with the numbers of that array. Its gradient begins with GRAD_BEFORE. */
static Tensor *input(Tape *t, const char *op, const char *part) {
    const Array *a = need(op, part);
    Shape s;
    Error e = {0};
    CHECK(array_shape(a, &s, &e), "%s", e.text);
    Tensor *x = blank_leaf(t, s, PLAIN);
    CHECK(array_to_real(a, x->data, &e), "%s", e.text);
    return x;
}

/* The array's elements are the found ones less `before`, to within 64 roundings of the largest. */
static void expect(const char *op, const char *part, const real *found, real before) {
    const Array *a = need(op, part);
    double want[1024], largest = 1;
    CHECK(a->count <= 1024);
    array_to_double(a, want);
    for (long i = 0; i < a->count; i++) largest = fmax(largest, fabs(want[i]));
    for (long i = 0; i < a->count; i++) {
        double error = fabs((double)(found[i] - before) - want[i]);
        CHECK(error <= 64 * (double)REAL_EPSILON * largest, "%s.%s[%ld] is %.9g, want %.9g", op,
              part, i, (double)(found[i] - before), want[i]);
    }
}

/* Holds y, and after backward from the file's dy the gradients of the inputs, against the file. */
static void expect_all(Tape *t, const char *op, Tensor *y, int inputs, const char *const name[],
                       Tensor *const x[]) {
    expect(op, "y", y->data, 0);
    tape_backward_from(t, y, input(t, op, "dy")->data);
    for (int i = 0; i < inputs; i++) {
        char part[32];
        snprintf(part, sizeof part, "d%s", name[i]);
        expect(op, part, x[i]->grad, GRAD_BEFORE);
    }
}

BUILD_CASE(softmax, tape_softmax(t, x[0], -1))
BUILD_CASE(log_softmax, tape_log_softmax(t, x[0], -1))
BUILD_CASE(gelu, tape_gelu(t, x[0]))
BUILD_CASE(silu, tape_silu(t, x[0]))
BUILD_CASE(swiglu, tape_swiglu(t, x[0]))
BUILD_CASE(rms_norm, tape_rms_norm(t, x[0], x[1]))
BUILD_CASE(matmul, tape_matmul(t, x[0], x[1]))

static Tensor *rows(Tape *t, Tensor *x) {
    long width = x->shape.size[x->shape.rank - 1];
    return tape_reshape(t, x, SHAPE(shape_count(x->shape) / width, width));
}

BUILD_CASE(linear, tape_linear(t, rows(t, x[0]), x[1], x[2], ACT_NONE, NULL))
BUILD_CASE(layer_norm, tape_layer_norm(t, x[0], x[1], x[2]))

TEST(operations_of_tensors) {
    static const struct {
        const char *op;
        Tensor *(*build)(Tape *t, Tensor **x);
        const char *input[4];
    } golden[] = {
        {"softmax", softmax, {"x"}},
        {"log_softmax", log_softmax, {"x"}},
        {"gelu", gelu, {"x"}},
        {"silu", silu, {"x"}},
        {"swiglu", swiglu, {"x"}},
        {"rms_norm", rms_norm, {"x", "weight"}},
        {"matmul", matmul, {"a", "b"}},
        {"linear", linear, {"x", "weight", "bias"}},
        {"layer_norm", layer_norm, {"x", "weight", "bias"}},
        {"layer_norm_flat", layer_norm, {"x", "weight", "bias"}},
    };
    open_file();
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        Tape *t = tape_new();
        Tensor *x[4];
        int inputs = 0;
        for (; golden[i].input[inputs]; inputs++)
            x[inputs] = input(t, golden[i].op, golden[i].input[inputs]);
        expect_all(t, golden[i].op, golden[i].build(t, x), inputs, golden[i].input, x);
        tape_free(t);
    }
    safetensors_free(&file);
}

static void integers(const char *op, const char *part, int32_t *out, long count) {
    const Array *a = need(op, part);
    Error e = {0};
    CHECK(a->count == count && array_to_int32(a, out, &e), "%s.%s: %ld numbers %s", op, part,
          a->count, e.text);
}

TEST(embedding_of_ids) {
    open_file();
    Tape *t = tape_new();
    int32_t ids[8];
    integers("embedding", "ids", ids, 8);
    Tensor *weight = input(t, "embedding", "weight");
    Tensor *y = tape_embedding(t, weight, 8, ids, 1, NULL, NULL);
    expect_all(t, "embedding", y, 1, (const char *[]){"weight"}, &weight);
    tape_free(t);
    safetensors_free(&file);
}

/* Queries and keys of 2 heads of width 6, and values after them. */
TEST(rotary_positions) {
    enum { ROWS = 5, POSITIONS = 101, D_K = 6 };
    static real turns[POSITIONS * D_K];
    static const char *const op[] = {"rotary", "rotary_normalised"};
    for (int p = 0; p < POSITIONS; p++)
        for (int j = 0; j < D_K / 2; j++) {
            double angle = p / pow(10000, 2.0 * j / D_K);
            turns[p * D_K + j] = (real)cos(angle);
            turns[p * D_K + D_K / 2 + j] = (real)sin(angle);
        }
    open_file();
    for (int normalised = 0; normalised < 2; normalised++) {
        Tape *t = tape_new();
        int32_t at[ROWS];
        integers(op[normalised], "at", at, ROWS);
        Tensor *x = input(t, op[normalised], "x");
        expect_all(t, op[normalised], tape_rotary(t, x, 4, D_K, at, turns, normalised), 1,
                   (const char *[]){"x"}, &x);
        tape_free(t);
    }
    safetensors_free(&file);
}

TEST(losses) {
    static const struct {
        const char *op;
        int32_t ignore;
        double smoothing;
    } loss[] = {{"cross_entropy", 0, 0.1}, {"cross_entropy_plain", -1, 0}};
    open_file();
    for (int i = 0; i < 2; i++) {
        Tape *t = tape_new();
        int32_t target[7];
        integers(loss[i].op, "target", target, 7);
        Tensor *x = input(t, loss[i].op, "x");
        Tensor *y = tape_cross_entropy(t, x, target, loss[i].ignore, loss[i].smoothing);
        expect_all(t, loss[i].op, y, 1, (const char *[]){"x"}, &x);
        tape_free(t);
    }
    safetensors_free(&file);
}

/* ---- Attention: the file has q, k, v and y as [B,h,T,d_k] ---- */

/* As the operation wants them: [B·T, h·d_k]. */
static Tensor *tokens(Tape *t, Tensor *x) {
    Shape s = x->shape;
    Tensor *y = tape_transpose(t, x, 1, 2);
    return tape_reshape(t, y, SHAPE(s.size[0] * s.size[2], s.size[1] * s.size[3]));
}

static Tensor *heads(Tape *t, Tensor *x, Shape s) {
    Tensor *y = tape_reshape(t, x, SHAPE(s.size[0], s.size[2], s.size[1], s.size[3]));
    return tape_transpose(t, y, 1, 2);
}

enum { BATCH = 2, MAX_KEYS = 6 };

static Sequences sequences(long length, int32_t *start, int32_t *own, const int32_t *real_length) {
    for (int i = 0; i < BATCH; i++) {
        start[i] = (int32_t)(i * length);
        own[i] = (int32_t)length;
    }
    return (Sequences){BATCH, start, own, real_length, BATCH * length, length};
}

/* With w, [h, d_k], additive attention. */
static Tensor *attention_of(Tape *t, Tensor **x, Tensor *w, const int32_t *hidden, bool causal) {
    static int32_t start[2][BATCH], own[2][BATCH], seen[BATCH];
    static Sequences queries, keys;
    long T = x[0]->shape.size[2], S = x[1]->shape.size[2];
    for (int i = 0; i < BATCH; i++) {
        seen[i] = (int32_t)S;
        while (seen[i] > 0 && hidden[i * S + seen[i] - 1]) seen[i]--;
    }
    queries = sequences(T, start[0], own[0], own[0]);
    keys = sequences(S, start[1], own[1], seen);
    Tensor *q = tokens(t, x[0]), *k = tokens(t, x[1]), *v = tokens(t, x[2]);
    int h = (int)x[0]->shape.size[1];
    Reach reach = {&queries, &keys, causal};
    if (w) w = tape_reshape(t, w, SHAPE(shape_count(w->shape)));
    Tensor *y =
        w ? nn_plain_attention(t, &(Scoring){&attention_additive, w}, q, k, v, h, &reach, NULL)
          : tape_attention(t, q, k, v, h, &reach);
    return tape_contiguous(t, heads(t, y, x[0]->shape));
}

TEST(attention_over_heads) {
    static const char *const ops[] = {"attention", "cross_attention", "additive_attention"};
    static const char *const name[] = {"q", "k", "v", "w"};
    open_file();
    for (int i = 0; i < 3; i++) {
        Tape *t = tape_new();
        Tensor *x[4] = {NULL};
        int inputs = i == 2 ? 4 : 3;
        int32_t hidden[BATCH * MAX_KEYS];
        for (int k = 0; k < inputs; k++) x[k] = input(t, ops[i], name[k]);
        integers(ops[i], "key_padding_mask", hidden, BATCH * x[1]->shape.size[2]);
        expect_all(t, ops[i], attention_of(t, x, x[3], hidden, i != 1), inputs, name, x);
        tape_free(t);
    }
    safetensors_free(&file);
}

RUN_TESTS
