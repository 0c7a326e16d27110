/* A program that misuses the library gets one line, or what it asked for: never wrong numbers,
 * never a crash. A caller that sets a handler gets the line itself, and goes on. */
#include "base/arena.h"
#include "base/pool.h"
#include "expect_bug.h"
#include "formats/array.h"
#include "ops/ops.h"
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdint.h>

/* ---- Threads ---- */

enum { SEQUENCES = 16, ROWS = 128, TOKENS = SEQUENCES * ROWS, WIDTH = 8, HEADS = 4 };

static real q[TOKENS * WIDTH];
static int32_t start[SEQUENCES], rows[SEQUENCES];
static const Sequences sequences = {SEQUENCES, start, rows, rows, TOKENS, ROWS};

/* Records y + q, y = attention, with so many threads and runs backward with so many. When
 * attention's backward runs, the gradient of q lies beside its scratch memory. Returns the tape's
 * peak. */
static size_t run_attention(int forward_threads, int backward_threads, real *dq) {
    for (int i = 0; i < SEQUENCES; i++) {
        start[i] = i * ROWS;
        rows[i] = ROWS;
    }
    for (int i = 0; i < TOKENS * WIDTH; i++) q[i] = (real)((i * 31) % 97) / 97 - (real)0.5;
    Tape *t = tape_new();
    Tensor *x = tape_scale(t, tape_leaf(t, SHAPE(TOKENS, WIDTH), q, dq), 1);
    pool_set_threads(forward_threads);
    Tensor *y = tape_attention(t, x, x, x, HEADS, &(Reach){&sequences, &sequences, true});
    y = tape_add(t, y, x);
    pool_set_threads(backward_threads);
    tape_backward_from(t, y, q);
    size_t peak = t->peak;
    tape_free(t);
    return peak;
}

/* Scratch memory is for the threads that run, not for those that there were when the operation was
 * recorded. */
TEST(threads_may_change_before_backward) {
    static real want[TOKENS * WIDTH], found[TOKENS * WIDTH];
    memset(want, 0, sizeof want);
    run_attention(1, 1, want);
    for (int more = 0; more < 2; more++) {
        memset(found, 0, sizeof found);
        run_attention(more ? 1 : 8, more ? 8 : 1, found);
        CHECK(memcmp(found, want, sizeof want) == 0, "%s threads", more ? "more" : "fewer");
    }
    size_t one = run_attention(1, 1, found), eight = run_attention(1, 8, found);
    CHECK(eight >= one + 7 * ROWS * sizeof(real), "%zu bytes for 8 threads, %zu for one", eight,
          one);
}

/* A child process starts with a pool of its own, wherever the parent forked. */
static void fork_in_body(void *status, long chunk) {
    if (chunk == 0) return; /* the caller's share; the others have one of their own */
    pid_t child = fork();
    if (child == 0) {
        pool_set_threads(1);
        _exit(pool_thread_index());
    }
    waitpid(child, (int *)status + chunk, 0);
}

TEST(a_child_forked_by_a_worker_counts_from_0) {
    int status[4] = {0};
    pool_set_threads(4);
    pool_for(4, fork_in_body, status);
    for (int i = 1; i < 4; i++)
        CHECK(status[i] == 0, "chunk %d: status %#x", i, (unsigned)status[i]);
}

/* A caller may decide after forward to keep gradients. They are then dy, not what backward makes of
 * its memory. */
TEST(keep_may_be_set_before_backward) {
    static real x[64 * 64], W[64 * 64], dW[64 * 64];
    for (int i = 0; i < 64 * 64; i++) {
        x[i] = (real)(i % 7) - 3;
        W[i] = (real)(i % 5) - 2;
    }
    Tape *t = tape_new();
    Tensor *y = tape_linear(t, tape_leaf(t, SHAPE(64, 64), x, NULL),
                            tape_leaf(t, SHAPE(64, 64), W, dW), NULL, ACT_RELU, NULL);
    t->keep = true;
    tape_backward(t, tape_sum(t, y, ALL_AXES));
    for (int i = 0; i < 64 * 64; i++)
        CHECK(y->grad[i] == 1, "element %d: %g", i, (double)y->grad[i]);
    tape_free(t);
}

/* ---- Shapes ---- */

TEST(ranks_are_limited) {
    real one = 1;
    Tape *t = tape_new();
    Shape nine = {.rank = 9}, negative = {.rank = -1};
    for (int i = 0; i < MAX_RANK; i++) nine.size[i] = 1;
    Tensor *x = tape_leaf(t, SHAPE(1), &one, NULL);
    EXPECT_BUG("shape of rank 9, want at most 6", tape_leaf(t, nine, &one, &one));
    EXPECT_BUG("shape of rank 9, want at most 6", tape_node(t, &op_neg, nine, INPUTS(x)));
    EXPECT_BUG("shape of rank 9, want at most 6", tape_view(t, &op_neg, x, nine, (long[9]){0}, 0));
    EXPECT_BUG("shape of rank 9, want at most 6", tensor_over(&one, nine));
    EXPECT_BUG("shape of rank -1, want at most 6", tensor_over(&one, negative));
    EXPECT_BUG("array_over: x [1,1,1,1,1,1]", array_over("x", DTYPE_F32, nine, &one));
    tape_free(t);
}

TEST(sequences_lie_in_their_rows) {
    static real data[6 * 4];
    static const int32_t first[] = {0, 4}, three[] = {3, 3}, two[] = {2, 2};
    static const Sequences beyond = {2, first, three, three, 6, 3},
                           longer = {1, first, three, three, 6, 2},
                           fuller = {1, first, two, three, 6, 3};
    Tape *t = tape_new();
    Tensor *x = tape_leaf(t, SHAPE(6, 4), data, NULL);
    EXPECT_BUG("attention: sequence 1 of the queries has rows [4,7), 3 of them real, want them in "
               "[0,6), at most 3",
               tape_attention(t, x, x, x, 1, &(Reach){&beyond, &beyond, false}));
    EXPECT_BUG("attention: sequence 0 of the queries has rows [0,3), 3 of them real, want them in "
               "[0,6), at most 2",
               tape_attention(t, x, x, x, 1, &(Reach){&longer, &longer, false}));
    EXPECT_BUG("attention: sequence 0 of the queries has rows [0,2), 3 of them real, want them in "
               "[0,6), at most 3",
               tape_attention(t, x, x, x, 1, &(Reach){&fuller, &fuller, false}));
    tape_free(t);
}

/* ---- NULL, sizes and types ---- */

/* Operations with an absent tape or tensor, and with arguments out of range. */
/* Of operations' arguments, tests/ops/ops_mistakes.c has the shapes. */
TEST(operations_say_what_they_want) {
    static real data[24], grad[24];
    static const int32_t ids[4] = {0, 1, 1, 0};
    static const uint8_t mask[24];
    static const int32_t zero[] = {0}, two[] = {2};
    static const Sequences one = {1, zero, two, two, 2, 2}, empty = {.count = 1, .total_rows = 2};
    const Reach reach = {&one, &one, false};
    Tape *t = tape_new();
    Tensor *x = tape_leaf(t, SHAPE(2, 4), data, grad), *w = tape_leaf(t, SHAPE(3, 4), data, grad);
    Tensor *row = tape_leaf(t, SHAPE(4), data, grad);
#define NO_TENSOR(name, n) name ": argument " #n " is NULL, want a tensor"
#define NO_TAPE(name)      name ": the tape is NULL"
    EXPECT_BUG(NO_TENSOR("add", 1), tape_add(t, NULL, x));
    EXPECT_BUG(NO_TENSOR("sub", 2), tape_sub(t, x, NULL));
    EXPECT_BUG(NO_TENSOR("mul", 2), tape_mul(t, x, NULL));
    EXPECT_BUG(NO_TENSOR("div", 1), tape_div(t, NULL, NULL));
    EXPECT_BUG(NO_TENSOR("scale", 1), tape_scale(t, NULL, 2));
    EXPECT_BUG(NO_TENSOR("neg", 1), tape_neg(t, NULL));
    EXPECT_BUG(NO_TENSOR("exp", 1), tape_exp(t, NULL));
    EXPECT_BUG(NO_TENSOR("relu", 1), tape_relu(t, NULL));
    EXPECT_BUG(NO_TENSOR("gelu", 1), tape_gelu(t, NULL));
    EXPECT_BUG(NO_TENSOR("clamp", 1), tape_clamp(t, NULL, 0, 1));
    EXPECT_BUG(NO_TENSOR("sum", 1), tape_sum(t, NULL, 0));
    EXPECT_BUG(NO_TENSOR("mean", 1), tape_mean(t, NULL, ALL_AXES));
    EXPECT_BUG(NO_TENSOR("max", 1), tape_max(t, NULL, 0));
    EXPECT_BUG(NO_TENSOR("reshape", 1), tape_reshape(t, NULL, SHAPE(8)));
    EXPECT_BUG(NO_TENSOR("transpose", 1), tape_transpose(t, NULL, 0, 1));
    EXPECT_BUG(NO_TENSOR("slice", 1), tape_slice(t, NULL, 0, 0, 1));
    EXPECT_BUG(NO_TENSOR("concat", 2), tape_concat(t, 0, 2, (Tensor *[]){x, NULL}));
    EXPECT_BUG(NO_TENSOR("contiguous", 1), tape_contiguous(t, NULL));
    EXPECT_BUG(NO_TENSOR("matmul", 2), tape_matmul(t, x, NULL));
    EXPECT_BUG(NO_TENSOR("softmax", 1), tape_softmax(t, NULL, -1));
    EXPECT_BUG(NO_TENSOR("log_softmax", 1), tape_log_softmax(t, NULL, -1));
    EXPECT_BUG(NO_TENSOR("masked_fill", 1), tape_masked_fill(t, NULL, mask, SHAPE(1), 0));
    EXPECT_BUG(NO_TENSOR("dropout", 1), tape_dropout(t, NULL, 0));
    EXPECT_BUG(NO_TENSOR("residual", 2), tape_residual(t, x, NULL, 0));
    EXPECT_BUG(NO_TENSOR("linear", 2), tape_linear(t, x, NULL, NULL, ACT_NONE, NULL));
    EXPECT_BUG(NO_TENSOR("layer_norm", 3), tape_layer_norm(t, x, row, NULL));
    EXPECT_BUG(NO_TENSOR("rms_norm", 2), tape_rms_norm(t, x, NULL));
    EXPECT_BUG(NO_TENSOR("swiglu", 1), tape_swiglu(t, NULL));
    EXPECT_BUG(NO_TENSOR("rotary", 1), tape_rotary(t, NULL, 1, 2, NULL, NULL, true));
    EXPECT_BUG(NO_TENSOR("embedding", 1), tape_embedding(t, NULL, 1, ids, 1, NULL, NULL));
    EXPECT_BUG(NO_TENSOR("attention", 1), tape_attention(t, NULL, x, x, 1, &reach));
    EXPECT_BUG(NO_TENSOR("cross_entropy", 1), tape_cross_entropy(t, NULL, ids, -1, 0));
    EXPECT_BUG(NO_TENSOR("linear_cross_entropy", 2),
               tape_linear_cross_entropy(t, x, NULL, ids, -1, 0));
    EXPECT_BUG(NO_TAPE("add"), tape_add(NULL, x, x));
    EXPECT_BUG(NO_TAPE("exp"), tape_exp(NULL, x));
    EXPECT_BUG(NO_TAPE("sum"), tape_sum(NULL, x, 0));
    EXPECT_BUG(NO_TAPE("softmax"), tape_softmax(NULL, x, 0));
    EXPECT_BUG(NO_TAPE("linear"), tape_linear(NULL, x, w, NULL, ACT_NONE, NULL));
    EXPECT_BUG(NO_TAPE("attention"), tape_attention(NULL, x, x, x, 1, &reach));

    EXPECT_BUG("tape_concat: x is NULL", tape_concat(t, 0, 1, NULL));
    EXPECT_BUG("tape_masked_fill: mask is NULL", tape_masked_fill(t, x, NULL, SHAPE(4), 0));
    EXPECT_BUG("linear: found activation 4, want one of Activation",
               tape_linear(t, x, w, NULL, (Activation)4, NULL));
    EXPECT_BUG("linear: found activation -1, want one of Activation",
               tape_linear(t, x, w, NULL, (Activation)-1, NULL));
    EXPECT_BUG("rms_norm: gamma is [2,4], want [4]", tape_rms_norm(t, x, x));
    EXPECT_BUG("swiglu: x is [4], want [n,2d]", tape_swiglu(t, row));
    EXPECT_BUG("rotary: x is [2,4], want [n,w], w >= 6", tape_rotary(t, x, 3, 2, NULL, NULL, true));
    EXPECT_BUG("rotary: 0 heads of width 2, want at least 1 of an even width",
               tape_rotary(t, x, 0, 2, NULL, NULL, true));
    EXPECT_BUG("embedding: -1 tokens, want at least 0",
               tape_embedding(t, w, -1, ids, 1, NULL, NULL));
    EXPECT_BUG("tape_embedding: ids is NULL", tape_embedding(t, w, 2, NULL, 1, NULL, NULL));
    EXPECT_BUG("cross_entropy: targets is NULL", tape_cross_entropy(t, x, NULL, -1, 0));
    EXPECT_BUG("tape_attention: reach is NULL", tape_attention(t, x, x, x, 1, NULL));
    EXPECT_BUG("tape_attention: queries is NULL",
               tape_attention(t, x, x, x, 1, &(Reach){NULL, &one, false}));
    EXPECT_BUG("attention: the queries are 1 sequences without start, rows or length",
               tape_attention(t, x, x, x, 1, &(Reach){&empty, &empty, false}));
    EXPECT_BUG("attention: found v without k, want both, k or none",
               tape_attention(t, x, NULL, x, 1, &reach));
    tape_free(t);
}

TEST(the_tape_says_what_it_wants) {
    static real data[8], grad[8];
    static const Op no_name = {"mine"};
    Tape *t = tape_new();
    Tensor *x = tape_leaf(t, SHAPE(2, 4), data, grad), *fixed = tape_leaf(t, SHAPE(1), data, NULL);
    Error e = {0};
    EXPECT_BUG("tape_leaf: t is NULL", tape_leaf(NULL, SHAPE(1), data, NULL));
    EXPECT_BUG("tape_leaf: data is NULL", tape_leaf(t, SHAPE(1), NULL, grad));
    EXPECT_BUG("shape [1099511627776,1099511627776]: too many elements",
               tape_leaf(t, SHAPE(1L << 40, 1L << 40), data, grad));
    EXPECT_BUG("shape [-1]: too many elements", tape_leaf(t, SHAPE(-1), data, grad));
    EXPECT_BUG("shape [-1]: too many elements", tape_constant(t, SHAPE(-1)));
    EXPECT_BUG("tape_constant: t is NULL", tape_constant(NULL, SHAPE(1)));
    EXPECT_BUG("tape_reset: t is NULL", tape_reset(NULL));
    EXPECT_BUG("tape_failed: t is NULL", tape_failed(NULL, &e));
    EXPECT_BUG("tape_failed: e is NULL", tape_failed(t, NULL));
    EXPECT_BUG("tape_first_non_finite: t is NULL", tape_first_non_finite(NULL));
    EXPECT_BUG("tape_backward: loss is NULL", tape_backward(t, NULL));
    EXPECT_BUG("tape_backward: t is NULL", tape_backward(NULL, x));
    EXPECT_BUG("tape_backward_from: dy is NULL", tape_backward_from(t, tape_neg(t, x), NULL));
    EXPECT_BUG("backward: the loss is [2,4], want one element", tape_backward(t, tape_neg(t, x)));
    EXPECT_BUG("backward: the output is a leaf", tape_backward_from(t, x, data));
    EXPECT_BUG("backward: the output depends on nothing that needs a gradient",
               tape_backward(t, tape_neg(t, fixed)));
    EXPECT_BUG(
        "mine: has no backward, but its output needs a gradient",
        tape_backward_from(t, tape_forward(tape_node(t, &no_name, SHAPE(2, 4), INPUTS(x))), data));
    EXPECT_BUG("mine: -1 inputs, want 0 to 8",
               tape_node(t, &no_name, SHAPE(1), -1, (Tensor *[]){x}));
    EXPECT_BUG("mine: 9 inputs, want 0 to 8",
               tape_node(t, &no_name, SHAPE(1), 9, (Tensor *[9]){x}));
    EXPECT_BUG("tape_node: in is NULL", tape_node(t, &no_name, SHAPE(1), 1, NULL));
    EXPECT_BUG("new_node: op is NULL", tape_node(t, NULL, SHAPE(1), INPUTS(x)));
    EXPECT_BUG("new_node: t is NULL", tape_node(NULL, &no_name, SHAPE(1), INPUTS(x)));
    EXPECT_BUG("tape_view: in is NULL", tape_view(t, &no_name, NULL, SHAPE(1), (long[]){1}, 0));
    EXPECT_BUG("tape_view: stride is NULL", tape_view(t, &no_name, x, SHAPE(1), NULL, 0));
    EXPECT_BUG("mine: the view has elements [0,8] of [2,4], want them in [0,7]",
               tape_view(t, &no_name, x, SHAPE(9), (long[]){1}, 0));
    EXPECT_BUG("mine: the view has elements [4,8] of [2,4], want them in [0,7]",
               tape_view(t, &no_name, x, SHAPE(2), (long[]){4}, 4));
    EXPECT_BUG("mine: the view has elements [-1,-1] of [2,4], want them in [0,7]",
               tape_view(t, &no_name, x, SHAPE(1), (long[]){1}, -1));
    EXPECT_BUG("tape_forward: n is NULL", tape_forward(NULL));
    EXPECT_BUG("node_array: n is NULL", node_array(NULL, 1));
    EXPECT_BUG("node_array: -1 numbers, want at least 0",
               node_array(tape_node(t, &no_name, SHAPE(1), INPUTS(x)), -1));
    EXPECT_BUG("node_memory: n is NULL", node_memory(NULL, 1));
    EXPECT_BUG("tensor_contiguous: x is NULL", tensor_contiguous(NULL));
    EXPECT_BUG("tensor_copy_out: x is NULL", tensor_copy_out(NULL, data));
    EXPECT_BUG("error_set: e is NULL", error_set(NULL, STATUS_IO, "a text"));
    EXPECT_BUG("shape [-1]: too many elements", shape_count(SHAPE(-1)));
    EXPECT_BUG("shape of rank 7, want at most 6", shape_count((Shape){.rank = 7}));
    EXPECT_BUG("mine: axis 0 of [], want one in [0,0)", shape_axis("mine", SCALAR, 0));
    tape_free(t);
}

/* Views from the end to the beginning, and of repeated elements, stay within their tensor. */
TEST(views_may_step_backward) {
    static real data[4] = {1, 2, 3, 4}, out[4];
    static const Op flip = {"flip", .view = true};
    Tape *t = tape_new();
    Tensor *x = tape_leaf(t, SHAPE(4), data, NULL);
    Tensor *back = tape_forward(tape_view(t, &flip, x, SHAPE(4), (long[]){-1}, 3));
    Tensor *again = tape_forward(tape_view(t, &flip, back, SHAPE(4), (long[]){1}, -3));
    tensor_copy_out(back, out);
    CHECK(out[0] == 4 && out[3] == 1);
    tensor_copy_out(again, out);
    CHECK(out[0] == 1 && out[3] == 4);
    EXPECT_BUG("flip: the view has elements [-4,-1] of [4], want them in [-3,0]",
               tape_view(t, &flip, back, SHAPE(4), (long[]){1}, -4));
    tape_free(t);
}

/* ---- Tensors that are not this tape's ---- */

TEST(a_loss_has_one_tape) {
    Tape *t = tape_new(), *other = tape_new();
    real data[3] = {1, 2, 3}, grad[3] = {0};
    Tensor *a = tape_exp(other, tape_leaf(other, SHAPE(3), data, grad));
    Tensor *b = tape_leaf(t, SHAPE(3), data, grad);
    EXPECT_BUG("mul: argument 2 is of another tape, or of this one before it was reset",
               tape_mul(t, b, a));
    EXPECT_BUG("reshape: argument 1 is of another tape, or of this one before it was reset",
               tape_reshape(t, a, SHAPE(3, 1)));
    EXPECT_BUG("backward: the output is of another tape, or of this one before it was reset",
               tape_backward_from(t, a, data));
    tape_free(t);
    tape_free(other);
}

TEST(a_reset_ends_the_tensors) {
    Tape *t = tape_new();
    real data[3] = {1, 2, 3}, grad[3] = {0};
    Tensor *x = tape_leaf(t, SHAPE(3), data, grad), *loss = tape_sum(t, x, ALL_AXES);
    tape_reset(t);
    EXPECT_BUG("backward: the output is of another tape, or of this one before it was reset",
               tape_backward(t, loss));
    EXPECT_BUG("neg: argument 1 is of another tape, or of this one before it was reset",
               tape_neg(t, x));
    tape_free(t);
}

/* A tensor that the caller keeps is of no tape, and may be used on any. */
TEST(the_callers_tensors_outlive_tapes) {
    real data[3] = {1, 2, 3}, grad[3] = {0};
    Tensor x = tensor_over(data, SHAPE(3));
    x.grad = grad;
    x.grad_state = GRAD_SUM;
    for (int i = 0; i < 2; i++) {
        Tape *t = tape_new();
        for (int step = 0; step < 2; step++) {
            tape_backward(t, tape_sum(t, &x, ALL_AXES));
            tape_reset(t);
        }
        tape_free(t);
    }
    for (int i = 0; i < 3; i++) CHECK(grad[i] == 4, "found %g", (double)grad[i]);
}

/* ---- A handler in place of the end of the process ---- */

static struct {
    jmp_buf before;
    int calls;
    Status status;
    char text[ERROR_TEXT];
} caught;

static void catch_fatal(void *context, Status status, const char *text) {
    caught.calls++;
    caught.status = status;
    snprintf(caught.text, sizeof caught.text, "%s", text);
    if (context) longjmp(*(jmp_buf *)context, 1);
}

/* Runs `f`, which meets `want`, and is left by the handler. */
static void check_caught(void (*f)(Tape *t), Tape *t, Status status, const char *want) {
    caught.calls = 0;
    FatalHandler before = error_on_fatal((FatalHandler){catch_fatal, &caught.before});
    if (setjmp(caught.before) == 0) {
        f(t);
        CHECK(false, "`%s` was not met", want);
    }
    error_on_fatal(before);
    CHECK(caught.calls == 1 && caught.status == status && strcmp(caught.text, want) == 0,
          "%d calls, status %d, `%s`", caught.calls, (int)caught.status, caught.text);
    tape_reset(t);
    real data[3] = {1, 2, 3}, grad[3] = {0};
    tape_backward(t, tape_sum(t, tape_square(t, tape_leaf(t, SHAPE(3), data, grad)), ALL_AXES));
    for (int i = 0; i < 3; i++)
        CHECK(grad[i] == 2 * data[i], "after `%s`: %g", want, (double)grad[i]);
    tape_reset(t);
}

static void wrong_shapes(Tape *t) {
    tape_matmul(t, tape_constant(t, SHAPE(2, 3)), tape_constant(t, SHAPE(4, 3)));
}

static void backward_twice(Tape *t) {
    static real data[3], grad[3];
    Tensor *loss = tape_sum(t, tape_leaf(t, SHAPE(3), data, grad), ALL_AXES);
    tape_backward(t, loss);
    tape_backward(t, loss);
}

static void half_a_node(Tape *t) {
    tape_node(t, &op_neg, (Shape){.rank = 9}, INPUTS(tape_constant(t, SHAPE(1))));
}

static void endless_record(Tape *t) {
    node_memory(tape_constant(t, SHAPE(1)) ? tape_neg(t, tape_constant(t, SHAPE(1)))->maker : NULL,
                SIZE_MAX - 5);
}

static void endless_list(Tape *t) {
    long capacity = LONG_MAX / 2;
    (void)t;
    array_grown(NULL, capacity, &capacity, 1 << 20);
}

static void fail_in_chunk(void *context, long chunk) {
    (void)context;
    if (chunk == 77) error_bug("chunk %ld", chunk);
}

static void failing_worker(Tape *t) {
    (void)t;
    pool_set_threads(4);
    pool_for(100, fail_in_chunk, NULL);
}

static void count_chunk(void *count, long chunk) {
    ((char *)count)[chunk]++;
}

TEST(a_handler_may_go_on) {
    Tape *t = tape_new();
    for (int round = 0; round < 20; round++) {
        check_caught(wrong_shapes, t, STATUS_BUG, "matmul: argument 2 is [4,3], want [3,*]");
        check_caught(backward_twice, t, STATUS_BUG,
                     "backward: it has run already, want tape_reset before it runs again");
        check_caught(half_a_node, t, STATUS_BUG, "shape of rank 9, want at most 6");
        char want[64];
        snprintf(want, sizeof want, "%zu bytes for records", SIZE_MAX - 5);
        check_caught(endless_record, t, STATUS_NO_MEMORY, want);
        snprintf(want, sizeof want, "a list of %zu elements", (size_t)LONG_MAX + 63);
        check_caught(endless_list, t, STATUS_NO_MEMORY, want);
        check_caught(failing_worker, t, STATUS_BUG, "chunk 77");
        char counts[1000] = {0};
        pool_for(1000, count_chunk, counts);
        for (int i = 0; i < 1000; i++) CHECK(counts[i] == 1, "chunk %d ran %d times", i, counts[i]);
    }
    tape_free(t);
}

/* A handler that returns, and one that was set in another thread or taken away, leave the end to
 * the library. */
TEST(without_a_jump_the_process_ends) {
    EXPECT_BUG("chunk 77", {
        error_on_fatal((FatalHandler){catch_fatal, NULL});
        failing_worker(NULL);
    });
    EXPECT_BUG("chunk 77", {
        FatalHandler before = error_on_fatal((FatalHandler){catch_fatal, &caught.before});
        error_on_fatal(before);
        failing_worker(NULL);
    });
}

RUN_TESTS
