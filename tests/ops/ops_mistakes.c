/* A wrong argument of an operation is a bug with a message that names operation, argument, found
 * and wanted shape. */
#include "expect_bug.h"
#include "ops/sequences.h"
#include "ops_helpers.h"

/* One sequence of two tokens, and two of one each. */
static const int32_t first[] = {0, 1}, two_tokens[] = {2}, one_token[] = {1, 1};
static const Sequences alone = {1, first, two_tokens, two_tokens, 2, 2};
static const Sequences apart = {2, first, one_token, one_token, 2, 1};

/* ---- Mistakes ---- */

TEST(mistakes_in_elementary_operations) {
    Tape *t = new_tape();
    Tensor *x = blank_leaf(t, SHAPE(2, 3), PLAIN), *y = blank_leaf(t, SHAPE(4, 3), PLAIN);
    Tensor *v = blank_leaf(t, SHAPE(3), PLAIN), *s = blank_leaf(t, SCALAR, PLAIN);
    EXPECT_BUG("add: argument 2 is [4,3], want a shape that broadcasts with [2,3]",
               tape_add(t, x, y));
    EXPECT_BUG("div: argument 2 is [4,3], want a shape that broadcasts with [2,3]",
               tape_div(t, x, y));
    EXPECT_BUG("clamp: the interval is [1,-1], want low <= high", tape_clamp(t, x, 1, -1));
    EXPECT_BUG("clamp: the interval is [nan,1], want low <= high", tape_clamp(t, x, (real)NAN, 1));
    EXPECT_BUG("masked_fill: the mask is [3,3], want a shape that broadcasts to [3]",
               tape_masked_fill(t, v, (uint8_t[9]){0}, SHAPE(3, 3), 0));
    EXPECT_BUG("masked_fill: argument 2 is [2], want a shape that broadcasts with [2,3]",
               tape_masked_fill(t, x, (uint8_t[2]){0}, SHAPE(2), 0));
    EXPECT_BUG("sum: axis 2 of [2,3], want one in [-2,2)", tape_sum(t, x, 2));
    EXPECT_BUG("mean: axis -3 of [2,3], want one in [-2,2)", tape_mean(t, x, -3));
    EXPECT_BUG("max: axis 0 of [], want one in [0,0)", tape_max(t, s, 0));
    EXPECT_BUG("softmax: axis 5 of [2,3], want one in [-2,2)", tape_softmax(t, x, 5));
    EXPECT_BUG("log_softmax: axis 2 of [2,3], want one in [-2,2)", tape_log_softmax(t, x, 2));
    tape_free(t);
}

TEST(mistakes_in_shapes_and_products) {
    Tape *t = new_tape();
    Tensor *x = blank_leaf(t, SHAPE(2, 3), PLAIN), *y = blank_leaf(t, SHAPE(4, 3), PLAIN);
    Tensor *v = blank_leaf(t, SHAPE(3), PLAIN), *c = blank_leaf(t, SHAPE(5, 3, 2), PLAIN);
    Tensor *s = blank_leaf(t, SCALAR, PLAIN), *d = blank_leaf(t, SHAPE(4, 2, 3), PLAIN);
    EXPECT_BUG("reshape: x is [2,3], want as many elements as [7]", tape_reshape(t, x, SHAPE(7)));
    EXPECT_BUG("transpose: axis 2 of [2,3], want one in [-2,2)", tape_transpose(t, x, 0, 2));
    EXPECT_BUG("slice: [1,4) along axis 1 of [2,3], want a part of [0,3)",
               tape_slice(t, x, 1, 1, 4));
    EXPECT_BUG("slice: [2,1) along axis -1 of [2,3], want a part of [0,3)",
               tape_slice(t, x, -1, 2, 1));
    EXPECT_BUG("slice: [-1,1) along axis 0 of [2,3], want a part of [0,2)",
               tape_slice(t, x, 0, -1, 1));
    EXPECT_BUG("concat: argument 2 is [4,3], want [2,3] except along axis 1",
               tape_concat(t, -1, INPUTS(x, y)));
    EXPECT_BUG("concat: argument 2 is [3], want [2,3] except along axis 0",
               tape_concat(t, 0, INPUTS(x, v)));
    EXPECT_BUG("concat: 0 tensors, want 1 to 8", tape_concat(t, 0, 0, &x));
    EXPECT_BUG("concat: 9 tensors, want 1 to 8",
               tape_concat(t, 0, INPUTS(x, x, x, x, x, x, x, x, x)));
    EXPECT_BUG("concat: axis 0 of [], want one in [0,0)", tape_concat(t, 0, INPUTS(s, s)));
    EXPECT_BUG("matmul: argument 2 is [4,3], want [3,*]", tape_matmul(t, x, y));
    EXPECT_BUG("matmul: argument 1 is [3], want [*,*]", tape_matmul(t, v, x));
    EXPECT_BUG("matmul: argument 2 is [3], want [3,*]", tape_matmul(t, x, v));
    EXPECT_BUG("matmul: argument 2 is [5,3,2], want […,2,*]", tape_matmul(t, c, c));
    EXPECT_BUG("matmul, leading axes: argument 2 is [5], want a shape that broadcasts with [4]",
               tape_matmul(t, d, c));
    tape_free(t);
}

TEST(mistakes_in_layers) {
    Tape *t = new_tape();
    Tensor *x = blank_leaf(t, SHAPE(2, 4), PLAIN), *w = blank_leaf(t, SHAPE(3, 4), PLAIN);
    Tensor *wide = blank_leaf(t, SHAPE(3, 5), PLAIN), *y = blank_leaf(t, SHAPE(2, 3), PLAIN);
    Tensor *three = blank_leaf(t, SHAPE(3), PLAIN), *four = blank_leaf(t, SHAPE(4), PLAIN);
    Tensor *scalar = blank_leaf(t, SCALAR, PLAIN), *no_column = blank_leaf(t, SHAPE(2, 0), PLAIN);
    EXPECT_BUG("layer_norm: x is [], want […,d], d >= 1", tape_layer_norm(t, scalar, four, four));
    EXPECT_BUG("layer_norm: x is [2,0], want […,d], d >= 1",
               tape_layer_norm(t, no_column, four, four));
    EXPECT_BUG("layer_norm: gamma is [3], want [4]", tape_layer_norm(t, x, three, four));
    EXPECT_BUG("layer_norm: beta is [3], want [4]", tape_layer_norm(t, x, four, three));
    EXPECT_BUG("linear: x is [4], want [n,d_in]", tape_linear(t, four, w, NULL, ACT_NONE, NULL));
    EXPECT_BUG("linear: W is [4], want [d_out,4]", tape_linear(t, x, four, NULL, ACT_NONE, NULL));
    EXPECT_BUG("linear: W is [3,5], want [d_out,4]", tape_linear(t, x, wide, NULL, ACT_NONE, NULL));
    EXPECT_BUG("linear: b is [4], want [3]", tape_linear(t, x, w, four, ACT_NONE, NULL));
    EXPECT_BUG("linear: r is [2,4], want [2,3]", tape_linear(t, x, w, three, ACT_NONE, x));
    EXPECT_BUG("linear: found a residual and an activation, want at most one",
               tape_linear(t, x, w, three, ACT_RELU, y));
    EXPECT_BUG("residual: f is [3,4], want [2,4]", tape_residual(t, x, w, 0));
    EXPECT_BUG("residual: p is -0.5, want it in [0,1)", tape_residual(t, x, x, -0.5));
    EXPECT_BUG("residual: p is 1, want it in [0,1)", tape_residual(t, x, x, 1));
    EXPECT_BUG("dropout: p is -0.5, want it in [0,1)", tape_dropout(t, x, -0.5));
    EXPECT_BUG("dropout: p is 1, want it in [0,1)", tape_dropout(t, x, 1));
    tape_free(t);
}

TEST(mistakes_in_embeddings_and_losses) {
    static const int32_t ids[] = {2, 0}, beyond[] = {0, 3}, negative[] = {-1, 0},
                         ignored[] = {-1, -1};
    Tape *t = new_tape();
    Tensor *x = blank_leaf(t, SHAPE(2, 4), PLAIN), *w = blank_leaf(t, SHAPE(3, 4), PLAIN);
    Tensor *wide = blank_leaf(t, SHAPE(3, 5), PLAIN), *four = blank_leaf(t, SHAPE(4), PLAIN);
    Tensor *no_row = blank_leaf(t, SHAPE(0, 4), PLAIN),
           *no_column = blank_leaf(t, SHAPE(2, 0), PLAIN);
    EXPECT_BUG("embedding: E is [4], want [V,d]", tape_embedding(t, four, 2, ids, 1, NULL, NULL));
    EXPECT_BUG("embedding: P is [4], want [*,4]", tape_embedding(t, w, 2, ids, 1, four, ids));
    EXPECT_BUG("embedding: P is [3,5], want [*,4]", tape_embedding(t, w, 2, ids, 1, wide, ids));
    EXPECT_BUG("embedding: token 1 is 3, want it in [0,3)",
               tape_embedding(t, w, 2, beyond, 1, NULL, NULL));
    EXPECT_BUG("embedding: token 0 is -1, want it in [0,3)",
               tape_embedding(t, w, 2, negative, 1, NULL, NULL));
    EXPECT_BUG("embedding: position 0 is 2, want it in [0,2)",
               tape_embedding(t, w, 2, ids, 1, x, ids));
    EXPECT_BUG("cross_entropy: x is [4], want [n,V], V >= 1",
               tape_cross_entropy(t, four, ids, -1, 0));
    EXPECT_BUG("cross_entropy: x is [2,0], want [n,V], V >= 1",
               tape_cross_entropy(t, no_column, ids, -1, 0));
    EXPECT_BUG("cross_entropy: smoothing is -1, want it in [0,1]",
               tape_cross_entropy(t, x, ids, -1, -1));
    EXPECT_BUG("cross_entropy: smoothing is 1.5, want it in [0,1]",
               tape_cross_entropy(t, x, ids, -1, 1.5));
    EXPECT_BUG("cross_entropy: target 0 is -1, want it in [0,4)",
               tape_cross_entropy(t, x, negative, 0, 0));
    EXPECT_BUG("linear_cross_entropy: x is [4], want [n,d]",
               tape_linear_cross_entropy(t, four, w, ids, -1, 0));
    EXPECT_BUG("linear_cross_entropy: W is [4], want [V,4], V >= 1",
               tape_linear_cross_entropy(t, x, four, ids, -1, 0));
    EXPECT_BUG("linear_cross_entropy: W is [3,5], want [V,4], V >= 1",
               tape_linear_cross_entropy(t, x, wide, ids, -1, 0));
    EXPECT_BUG("linear_cross_entropy: W is [0,4], want [V,4], V >= 1",
               tape_linear_cross_entropy(t, x, no_row, ignored, -1, 0));
    EXPECT_BUG("linear_cross_entropy: smoothing is -1, want it in [0,1]",
               tape_linear_cross_entropy(t, x, w, ids, -1, -1));
    EXPECT_BUG("linear_cross_entropy: smoothing is 1.5, want it in [0,1]",
               tape_linear_cross_entropy(t, x, w, ids, -1, 1.5));
    EXPECT_BUG("linear_cross_entropy: target 1 is 3, want it in [0,3)",
               tape_linear_cross_entropy(t, x, w, beyond, -1, 0));
    tape_free(t);
}

TEST(mistakes_in_attention) {
    Tape *t = new_tape();
    Tensor *x = blank_leaf(t, SHAPE(2, 4), PLAIN), *three_rows = blank_leaf(t, SHAPE(3, 4), PLAIN);
    Tensor *narrow = blank_leaf(t, SHAPE(2, 3), PLAIN), *four = blank_leaf(t, SHAPE(4), PLAIN);
    Tensor *no_column = blank_leaf(t, SHAPE(2, 0), PLAIN);
#define ATTEND(q, k, heads, keys) tape_attention(t, q, k, x, heads, &(Reach){&alone, keys, false})
    EXPECT_BUG("attention: q is [4], want [n,d]", ATTEND(four, x, 1, &alone));
    EXPECT_BUG("attention: 0 heads, want a divisor of the width 4", ATTEND(x, x, 0, &alone));
    EXPECT_BUG("attention: 3 heads, want a divisor of the width 4", ATTEND(x, x, 3, &alone));
    EXPECT_BUG("attention: 1 heads, want a divisor of the width 0",
               ATTEND(no_column, x, 1, &alone));
    EXPECT_BUG("attention: keys have 2 sequences, want 1", ATTEND(x, x, 2, &apart));
    EXPECT_BUG("attention: q is [3,4], want [2,4]", ATTEND(three_rows, x, 2, &alone));
    EXPECT_BUG("attention: k is [4], want [2,4]", ATTEND(x, four, 2, &alone));
    EXPECT_BUG("attention: k is [2,3], want [2,4]", ATTEND(x, narrow, 2, &alone));
    tape_free(t);
}

RUN_TESTS
