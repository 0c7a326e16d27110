/* A program that misuses the library gets one line, or what it asked for: never wrong numbers,
 * never a crash. A caller that sets a handler gets the line itself, and goes on. */
#include "base/arena.h"
#include "base/pool.h"
#include "expect_bug.h"
#include "formats/array.h"
#include "ops/ops.h"
#include <limits.h>
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
    for (int i = 0; i < SEQUENCES; i++) start[i] = i * ROWS, rows[i] = ROWS;
    for (int i = 0; i < TOKENS * WIDTH; i++) q[i] = (real)((i * 31) % 97) / 97 - (real)0.5;
    Tape *t = tape_new();
    Tensor *x = tape_scale(t, tape_leaf(t, SHAPE(TOKENS, WIDTH), q, dq), 1);
    pool_set_threads(forward_threads);
    Tensor *y = tape_attention(t, x, x, x, HEADS, &(Reach){&sequences, &sequences, true});
    y = tape_add(t, y, x);
    pool_set_threads(backward_threads);
    tape_backward_from(t, y, q);
    size_t peak = tape_peak(t);
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
    for (int i = 0; i < 64 * 64; i++) x[i] = (real)(i % 7) - 3, W[i] = (real)(i % 5) - 2;
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
    EXPECT_BUG("shape of rank 9, want at most 6", tape_constant(t, nine));
    EXPECT_BUG("shape of rank 9, want at most 6", tape_reshape(t, x, nine));
    EXPECT_BUG("shape of rank 9, want at most 6", tape_node(t, &op_neg, nine, INPUTS(x)));
    EXPECT_BUG("shape of rank 9, want at most 6", tape_view(t, &op_neg, x, nine, (long[9]){0}, 0));
    EXPECT_BUG("shape of rank 9, want at most 6", tape_masked_fill(t, x, (uint8_t[]){0}, nine, 0));
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
    tape_free(t), tape_free(other);
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
    x.grad = grad, x.grad_state = GRAD_SUM;
    for (int i = 0; i < 2; i++) {
        Tape *t = tape_new();
        for (int step = 0; step < 2; step++, tape_reset(t))
            tape_backward(t, tape_sum(t, &x, ALL_AXES));
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
    caught.calls++, caught.status = status;
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
    node_record(tape_constant(t, SHAPE(1)) ? tape_neg(t, tape_constant(t, SHAPE(1)))->maker : NULL,
                SIZE_MAX - 5);
}

static void endless_list(Tape *t) {
    long capacity = LONG_MAX / 2;
    (void)t, array_grown(NULL, capacity, &capacity, 1 << 20);
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
