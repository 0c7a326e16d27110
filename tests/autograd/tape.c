/* The tape: sums of gradients, lifetimes of memory, running out of memory, and its own bugs. The
 * operations' values are judged in tests/ops. */
#include "base/arena.h"
#include "expect_bug.h"
#include "failing_memory.h"
#include "ops/ops.h"
#include <limits.h>
#include <pthread.h>
#include <stdint.h>

enum {
    WIDE = 256
}; /* elements of a tensor whose memory lies with the arrays, not with the records */

static Tape *t; /* each test runs in a process of its own, with an empty tape */
static real data[WIDE], grad[WIDE];

__attribute__((constructor)) static void make_tape(void) {
    t = tape_new();
}

/* A leaf of WIDE elements i / WIDE with gradients of 0, on the tape anew. */
static Tensor *leaf(void) {
    tape_reset(t);
    for (int i = 0; i < WIDE; i++) {
        data[i] = (real)i / WIDE;
        grad[i] = 0;
    }
    return tape_leaf(t, SHAPE(WIDE), data, grad);
}

/* Runs backward from the sum of y. */
static Tensor *backward_sum(Tensor *y) {
    Tensor *loss = tape_sum(t, y, ALL_AXES);
    tape_backward(t, loss);
    return loss;
}

/* All elements of `found` are near `wanted`, an expression in the leaf's element v. */
#define CHECK_ALL(found, wanted)                                                                   \
    for (int i_ = 0; i_ < WIDE; i_++) {                                                            \
        const double v = (double)data[i_];                                                         \
        (void)v;                                                                                   \
        const double all_ = (wanted);                                                              \
        CHECK_NEAR((found)[i_], all_, 16 * (double)REAL_EPSILON * (1 + fabs(all_)));               \
    }

/* ---- Graphs ---- */

/* A chain of `length` operations on WIDE elements. */
static Tensor *chain(Tape *on, Tensor *x, int length) {
    for (int i = 0; i < length; i++) x = tape_scale(on, x, i & 1 ? (real)0.5 : 2);
    return tape_sum(on, x, ALL_AXES);
}

/* ---- Sums of gradients ---- */

/* Three uses of x, two of them in one operation: d/dx (x·x + x) = 2x + 1. Then uses of a tensor
 * that the tape made: c + c·c with c = 2x, and c = c + c + 1 again and again. */
TEST(many_uses_are_summed) {
    Tensor *x = leaf();
    backward_sum(tape_add(t, tape_mul(t, x, x), x));
    CHECK_ALL(grad, 2 * v + 1);
    Tensor *c = tape_scale(t, leaf(), 2);
    backward_sum(tape_add(t, c, tape_mul(t, c, c)));
    CHECK_ALL(grad, 2 + 8 * v);
    c = leaf();
    for (int i = 0; i < 10; i++) c = tape_add(t, tape_add(t, c, c), tape_constant(t, SCALAR));
    backward_sum(c);
    CHECK_ALL(grad, 1024);
}

/* From a tensor in the middle: operations recorded after it have no part. */
TEST(backward_may_start_in_the_middle) {
    Tensor *loss = tape_sum(t, tape_square(t, leaf()), ALL_AXES);
    tape_exp(t, loss);
    tape_backward(t, loss);
    CHECK_ALL(grad, 2 * v);
}

TEST(constants_and_unused_leaves_get_none) {
    Tensor *x = leaf(), *one = tape_constant(t, SHAPE(2));
    real b[2] = {5, 6}, unused[2] = {7, 8}, dunused[2] = {9, 9};
    Tensor *fixed = tape_leaf(t, SHAPE(2), b, NULL);
    one->data[0] = one->data[1] = 1;
    tape_exp(t, tape_leaf(t, SHAPE(2), unused, dunused));
    Tensor *free_of_leaves = tape_exp(t, one);
    Tensor *y = tape_mul(t, tape_mul(t, tape_slice(t, x, 0, 0, 2), fixed), free_of_leaves);
    CHECK(!tensor_wants_grad(fixed) && !tensor_wants_grad(one) &&
          !tensor_wants_grad(free_of_leaves) && tensor_wants_grad(y));
    backward_sum(y);
    CHECK(!fixed->grad && !one->grad && !free_of_leaves->grad);
    CHECK_NEAR(grad[0], 5 * exp(1.0), 16 * REAL_EPSILON * 16);
    CHECK(dunused[0] == 9 && dunused[1] == 9);
}

/* ---- States of gradients ---- */

enum { TOLD = 8 };
static struct {
    int calls;
    bool fresh[TOLD];
} told;

static void probe_forward(Node *n) {
    tensor_copy_out(n->in[0], n->out->data);
}

/* Stores where it may, as Op.stores_fresh has it. */
static void probe_backward(Node *n) {
    long count = shape_count(n->out->shape);
    for (int i = 0; i < n->inputs; i++) {
        Tensor *x = n->in[i];
        if (told.calls < TOLD) told.fresh[told.calls++] = x->grad_state == GRAD_FRESH;
        for (long j = 0; j < count; j++)
            x->grad[j] =
                x->grad_state == GRAD_FRESH ? n->out->grad[j] : x->grad[j] + n->out->grad[j];
    }
}

static const Op op_probe = {"probe", probe_forward, probe_backward, .stores_fresh = true};

static Tensor *probed(int inputs, Tensor *const x[]) {
    return tape_forward(tape_node(t, &op_probe, SHAPE(WIDE), inputs, x));
}

/* The first to reach a gradient may store, the next must add; neither may where the tensor is
 * passed twice. A leaf is never fresh. Memory is full of NaN, so that whoever reads it shows. */
TEST(fresh_gradients) {
    Error e = {0};
    leaf();
    CHECK(tape_reserve(t, 1 << 20, &e), "%s", e.text);
    memset(t->arrays->region[0].base, 0xFF, t->arrays->region[0].bytes);
    Tensor *x = leaf(), *c = tape_exp(t, x);
    Tensor *twice = probed(INPUTS(c, c)), *again = probed(INPUTS(c)), *first = probed(INPUTS(c));
    backward_sum(tape_add(t, tape_add(t, twice, again), tape_add(t, first, probed(INPUTS(x)))));
    static const bool want[] = {false, true, false, false, false}; /* leaf, first, again, twice */
    CHECK(told.calls == 5 && memcmp(told.fresh, want, sizeof want) == 0);
    CHECK_ALL(grad, 4 * exp(v) + 1);

    told.calls = 0;
    c = tape_exp(t, leaf());
    backward_sum(probed(INPUTS(c, c)));
    CHECK(told.calls == 2 && !told.fresh[0] && !told.fresh[1], "passed twice");
    CHECK_ALL(grad, 2 * exp(v));
}

/* Gradients through views and residuals are summed with others, recorded before or after; also with
 * another input of the same operation. */
TEST(gradients_through_views_are_summed) {
    for (int other_use_first = 0; other_use_first < 2; other_use_first++) {
        Tensor *twice = tape_scale(t, leaf(), 2), *squared = NULL, *flat;
        if (other_use_first) squared = tape_square(t, twice);
        flat = tape_reshape(t, twice, SHAPE(16, WIDE / 16));
        if (!other_use_first) squared = tape_square(t, twice);
        backward_sum(tape_mul(t, flat, tape_reshape(t, squared, SHAPE(16, WIDE / 16))));
        CHECK_ALL(grad, 24 * v * v);
    }
    /* y = c + c W, W the unit matrix: dc is 2 dy. */
    Tensor *c = tape_reshape(t, tape_scale(t, leaf(), 2), SHAPE(16, 16)),
           *unit = tape_constant(t, SHAPE(16, 16));
    for (int i = 0; i < 16; i++) unit->data[17 * i] = 1;
    backward_sum(tape_linear(t, c, unit, NULL, ACT_NONE, c));
    CHECK_ALL(grad, 4);
}

/* ---- Memory ---- */

/* The tape keeps every output and every gradient: two arrays a node, and nothing else. */
TEST(everything_is_kept) {
    enum { LENGTH = 40 };
    const size_t array = WIDE * sizeof(real), scalar = 64;
    Tensor *x = leaf();
    size_t before = t->in_use;
    Tensor *y = chain(t, x, LENGTH);
    CHECK(t->in_use == before + LENGTH * array + scalar, "%zu bytes after forward", t->in_use);
    tape_backward(t, y);
    CHECK(t->in_use == before + 2 * (LENGTH * array + scalar), "%zu bytes", t->in_use);
    CHECK_ALL(grad, 1);
}

static void scratch_probe(Node *n) {
    for (long i = 0; i < 10 * WIDE; i++) n->scratch[i] = (real)i;
    (n->out->grad ? probe_backward : probe_forward)(n);
}

static long ten_arrays(const Node *n, bool backward) {
    (void)n;
    (void)backward;
    return 10 * WIDE;
}

static const Op op_scratch = {"scratch", scratch_probe, scratch_probe, .scratch = ten_arrays,
                              .stores_fresh = true};

/* Scratch memory is lent for one run: fifty operations that want ten arrays each share ten. */
TEST(scratch_memory_is_lent) {
    Tensor *x = leaf();
    for (int i = 0; i < 50; i++) {
        Node *n = tape_node(t, &op_scratch, SHAPE(WIDE), INPUTS(x));
        x = tape_forward(n);
        CHECK(!n->scratch);
    }
    const size_t array = WIDE * sizeof(real), scalar = 64;
    CHECK(t->peak == 60 * array, "%zu bytes", t->peak);
    CHECK(t->in_use == 50 * array, "%zu bytes", t->in_use);
    backward_sum(x);
    CHECK(t->in_use == 100 * array + 2 * scalar, "%zu bytes", t->in_use);
    CHECK(t->peak <= 110 * array + 2 * scalar, "%zu bytes", t->peak);
    CHECK_ALL(grad, 1);
}

/* Overwrites dy with twice it. */
static void spoil_backward(Node *n) {
    real *twice = n->scratch ? n->scratch : n->out->grad;
    for (long i = 0; i < WIDE; i++) twice[i] = 2 * n->out->grad[i];
    memcpy(n->in[0]->grad, twice, WIDE * sizeof(real));
}

static long spoil_scratch(const Node *n, bool backward) {
    return backward && n->tape->keep ? WIDE : 0;
}

static const Op op_spoil = {"spoil", probe_forward, spoil_backward, .scratch = spoil_scratch,
                            .stores_fresh = true};

/* A backward that works in place of the output's gradient takes no memory for it; with `keep` it
 * has scratch memory, and the gradient stays as it was. */
TEST(backward_may_spoil_the_gradient) {
    for (int keep = 0; keep < 2; keep++) {
        Tensor *y = leaf();
        t->keep = keep;
        for (int i = 0; i < 3; i++)
            y = tape_forward(tape_node(t, &op_spoil, SHAPE(WIDE), INPUTS(y)));
        backward_sum(y);
        CHECK_ALL(grad, 8);
        if (keep) CHECK_ALL(y->grad, 1);
        CHECK(t->peak <= (size_t)(keep ? 7 : 6) * WIDE * sizeof(real) + 128, "%zu bytes", t->peak);
    }
}

/* Values and gradients on the way stay after backward. With `keep` backward may run again from
 * another tensor: gradients on the way begin anew, those of leaves are added to. */
TEST(keep_keeps_everything) {
    Tensor *a = tape_scale(t, leaf(), 2), *b = tape_reshape(t, a, SHAPE(2, WIDE / 2)),
           *c = tape_square(t, b);
    t->keep = true;
    backward_sum(tape_scale(t, c, 5));
    CHECK_ALL(c->data, 4 * v * v);
    CHECK_ALL(c->grad, 5);
    CHECK_ALL(b->grad, 20 * v);
    CHECK_ALL(grad, 40 * v);
    backward_sum(tape_add(t, b, c));
    CHECK_ALL(a->grad, 4 * v + 1);
    CHECK_ALL(grad, 48 * v + 2);
    t->keep = false;
    Tensor *loss = backward_sum(tape_exp(t, tape_scale(t, leaf(), 0)));
    CHECK(loss->data[0] == WIDE && loss->grad[0] == 1, "found %g", (double)loss->data[0]);
}

/* A graph with shared tensors, views, copies, scratch memory, saved arrays and dead ends. */
static Tensor *mixed(Tensor *x, Tensor *w) {
    Tensor *a = tape_matmul(t, x, w), *b = tape_matmul(t, w, tape_transpose(t, x, 0, 1));
    Tensor *c = tape_softmax(t, tape_add(t, a, tape_contiguous(t, tape_transpose(t, b, 0, 1))), -1);
    Tensor *d = tape_concat(t, 0, INPUTS(tape_slice(t, c, 0, 0, 8), tape_gelu(t, a), c));
    tape_exp(t, d);
    Tensor *e = tape_linear(t, d, w, NULL, ACT_GELU, NULL);
    Tensor *f = tape_linear(t, tape_relu(t, e), w, NULL, ACT_RELU, NULL);
    return tape_mean(t, tape_mul(t, f, tape_max(t, f, -1)), ALL_AXES);
}

typedef struct Matrices {
    real x[24 * 24], w[24 * 24], dx[24 * 24], dw[24 * 24];
} Matrices;

static void fill_matrices(Matrices *m) {
    for (int i = 0; i < 24 * 24; i++) {
        m->x[i] = (real)((i * 37) % 101) / 101 - (real)0.4;
        m->w[i] = (real)((i * 53) % 97) / 97 - (real)0.5;
        m->dx[i] = m->dw[i] = 0;
    }
}

static void mixed_step(Matrices *m) {
    tape_backward(t, mixed(tape_leaf(t, SHAPE(24, 24), m->x, m->dx),
                           tape_leaf(t, SHAPE(24, 24), m->w, m->dw)));
}

/* From the second step on, the same shapes ask for no memory at all, and give the same bits
 * although memory is full of the last step's. */
TEST(a_steady_step_allocates_nothing) {
    static Matrices first, next;
    fill_matrices(&first);
    heap.made = 0;
    mixed_step(&first);
    const char *under = getenv("UNDER"); /* valgrind, which keeps malloc to itself */
    CHECK(heap.made > 1 || !COUNTS_MALLOC || (under && *under), "the count does not work");
    size_t peak = t->peak;
    tape_reset(t);
    fill_matrices(&next);
    for (int step = 0; step < 20; step++) {
        fill_matrices(&next);
        heap.made = 0;
        mixed_step(&next);
        tape_reset(t);
        CHECK(heap.made == 0, "step %d: %ld requests", step, heap.made);
        CHECK(memcmp(&next, &first, sizeof next) == 0, "step %d: another result", step);
    }
    CHECK(t->peak == peak && t->arrays->regions == 1, "peak %zu, then %zu", peak, t->peak);
}

/* Constants are zero although memory is not. */
TEST(constants_are_zero) {
    Error e = {0};
    CHECK(tape_reserve(t, 1 << 20, &e), "%s", e.text);
    memset(t->arrays->region[0].base, 0xFF, t->arrays->region[0].bytes);
    for (long n = 1; n < 2000; n = 2 * n + 1) {
        Tensor *x = tape_constant(t, SHAPE(n));
        for (long i = 0; i < n; i++) CHECK(x->data[i] == 0);
    }
}

/* ---- Depth ---- */

enum { DEPTH = 100000 };

static void *deep_graph(void *nothing) {
    tape_backward(t, chain(t, leaf(), DEPTH));
    return nothing;
}

/* On a stack of 1 MB, where anything that recursed would not return. */
TEST(deep_graphs_need_no_stack) {
    pthread_attr_t small;
    pthread_t thread;
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 1 << 20) == 0);
    if (pthread_create(&thread, &small, deep_graph, NULL))
        CHECK(false, "no thread");
    else
        pthread_join(thread, NULL);
    CHECK(t->nodes == DEPTH + 1);
    CHECK_ALL(grad, 1);
}

/* ---- Running out of memory ---- */

/* A leaf of 2⁴² elements costs nothing, being one number repeated; its exponential has no room
 * anywhere. The tape goes on over shapes, runs no backward, and gives the error; after reset it
 * works again. */
TEST(a_step_too_large_fails) {
    if (LONG_MAX == 0x7fffffff) return; /* every shape that a long can count has room in memory */
    leaf();
    Tensor *x = tape_leaf(t, SHAPE(1L << 21, 1L << 21), data, grad);
    x->stride[0] = x->stride[1] = 0;
    Error e = {0};
    CHECK(!tape_failed(t, &e));
    Tensor *y = tape_exp(t, x);
    CHECK(!y->data && tape_failed(t, &e));
    CHECK(e.status == STATUS_NO_MEMORY && strncmp(e.text, "memory: ", 8) == 0 &&
              !strchr(e.text, '\n'),
          "%s", e.text);
    Tensor *loss = tape_sum(t, tape_matmul(t, y, tape_transpose(t, y, 0, 1)), ALL_AXES);
    CHECK(shape_equal(loss->shape, SCALAR));
    tape_backward(t, loss);
    CHECK(grad[0] == 0);
    CHECK(!tape_first_non_finite(t));

    tape_reset(t);
    e = (Error){0};
    CHECK(!tape_failed(t, &e));
    backward_sum(tape_exp(t, leaf()));
    CHECK_ALL(grad, exp(v));

    CHECK(!tape_reserve(t, SIZE_MAX / 4 * 3, &e) && e.status == STATUS_NO_MEMORY, "%s", e.text);
}

/* Memory is refused at each request in turn, in forward and in backward: always reported, never a
 * crash, and the tape works again once there is memory. */
TEST(running_out_is_reported_wherever_it_happens) {
    enum { LARGE = 1 << 18 }; /* elements: two of them fill the first region */
    static real large[LARGE], dlarge[LARGE];
    for (int refused = 0; refused < 6; refused++) {
        tape_free(t);
        t = tape_new();
        Tensor *y = tape_leaf(t, SHAPE(LARGE), large, dlarge);
        for (int i = 0; i < 5; i++) {
            heap.no_pages = i >= refused;
            y = tape_scale(t, y, 2);
        }
        heap.no_pages =
            true; /* refused = 5: only backward is left to fail, with less memory than it wants */
        Tensor *loss = tape_sum(t, tape_concat(t, 0, INPUTS(y, y, y)), ALL_AXES);
        tape_backward(t, loss);
        heap.no_pages = false;
        Error e = {0};
        CHECK(tape_failed(t, &e) && e.status == STATUS_NO_MEMORY && *e.text, "refused from %d on",
              refused);

        tape_reset(t);
        e = (Error){0};
        memset(dlarge, 0, sizeof dlarge);
        tape_backward(t, chain(t, tape_leaf(t, SHAPE(LARGE), large, dlarge), 4));
        CHECK(!tape_failed(t, &e), "%s", e.text);
        for (int i = 0; i < LARGE; i++)
            CHECK(dlarge[i] == 1, "gradient %d is %g", i, (double)dlarge[i]);
    }
}

/* ---- Views, evaluation, looking for NaN ---- */

/* Views share memory, also views of views; their gradients come home through them. */
TEST(views_share_memory) {
    real x_data[24], dx[24] = {0}, dy[4] = {1, 2, 3, 4};
    for (int i = 0; i < 24; i++) x_data[i] = (real)i;
    Tensor *x = tape_leaf(t, SHAPE(2, 3, 4), x_data, dx);
    Tensor *turned = tape_transpose(t, tape_transpose(t, x, 0, 2), 1,
                                    2); /* [4,2,3]: turned[i][j][k] is x[j][k][i] */
    Tensor *part =
        tape_slice(t, tape_slice(t, turned, 2, 1, 2), 0, 1, 3); /* [2,2,1]: x[j][1][1 + i] */
    Tensor *back = tape_transpose(t, part, 0, 1);               /* [2,2,1]: x[i][1][1 + j] */
    CHECK(back->data == x_data + 5 && back->stride[0] == 12 && back->stride[1] == 1);
    x_data[5] = 50;
    Tensor *y = tape_scale(t, back, 10);
    const real want[4] = {500, 60, 170, 180};
    for (int i = 0; i < 4; i++) CHECK(y->data[i] == want[i], "found %g", (double)y->data[i]);
    tape_backward_from(t, y, dy);
    const real want_dx[24] = {[5] = 10, [6] = 20, [17] = 30, [18] = 40};
    for (int i = 0; i < 24; i++) CHECK(dx[i] == want_dx[i], "grad %d is %g", i, (double)dx[i]);
    CHECK(tape_reshape(t, x, SHAPE(6, 4))->data == x_data, "a reshape of contiguous memory copied");
    CHECK(tape_reshape(t, turned, SHAPE(24))->data != x_data,
          "a reshape of strided memory did not copy");
}

/* Evaluation: nothing needs a gradient, nothing that backward would want is kept, values are the
 * same. */
TEST(no_grad_needs_no_gradient) {
    static Matrices m;
    fill_matrices(&m);
    Tensor *x = tape_leaf(t, SHAPE(24, 24), m.x, m.dx), *w = tape_leaf(t, SHAPE(24, 24), m.w, m.dw);
    real with = mixed(x, w)->data[0];
    tape_reset(t);
    t->no_grad = true;
    x = tape_leaf(t, SHAPE(24, 24), m.x, m.dx);
    w = tape_leaf(t, SHAPE(24, 24), m.w, m.dw);
    Tensor *loss = mixed(x, w);
    CHECK(!tensor_wants_grad(loss) && loss->data[0] == with);
    for (const Node *n = t->last; n; n = n->previous)
        CHECK(!tensor_wants_grad(n->out), "%s", n->op->name);
    EXPECT_BUG("backward: the output depends on nothing that needs a gradient",
               tape_backward(t, loss));
}

TEST(the_first_non_finite_is_found) {
    real values[4] = {1, 2, -1, 3};
    Tensor *x = tape_leaf(t, SHAPE(2, 2), values, NULL);
    Tensor *fine = tape_exp(t, x);
    CHECK(!tape_first_non_finite(t));
    Tensor *bad = tape_log(t, tape_transpose(t, x, 0, 1));
    tape_mul(t, fine, tape_transpose(t, bad, 0, 1));
    CHECK(tape_first_non_finite(t) == bad->maker);
}

/* ---- Bugs ---- */

/* Numbers on either side of a guarded array are seen, of its data and of its gradient. */
TEST(guards_are_looked_at) {
    real dy[3] = {1, 1, 1};
    t->guard = t->keep = true;
    Tensor *y = tape_neg(t, tape_leaf(t, SHAPE(3), data, grad));
    CHECK(tape_guards_hold(y));
    tape_backward_from(t, y, dy);
    CHECK(tape_guards_hold(y) && y->grad);
    real *beside[] = {y->data - 1, y->data + 3, y->grad - 1, y->grad + 3};
    for (int i = 0; i < 4; i++) {
        *beside[i] = 0;
        CHECK(!tape_guards_hold(y), "place %d", i);
        *beside[i] = (real)NAN;
    }
    CHECK(tape_guards_hold(y));
}

RUN_TESTS
