/* The tape: sums of gradients, lifetimes of memory, planning, running out of memory, and its own bugs. The
 * operations' values are judged in tests/ops. */
#include "autograd/tape_memory.h"
#include "expect_bug.h"
#include "failing_memory.h"
#include "ops/ops.h"
#include <limits.h>
#include <pthread.h>
#include <stdint.h>

enum { WIDE = 256 }; /* elements of a tensor whose memory lies with the arrays, not with the records */

/* ---- Graphs ---- */

/* A chain of `length` operations on WIDE elements. Their outputs must all live until backward comes by. */
static Tensor *chain(Tape *t, Tensor *x, int length) {
    for (int i = 0; i < length; i++) x = tape_scale(t, x, i & 1 ? (real)0.5 : 2);
    return tape_sum(t, x, ALL_AXES);
}

/* The links of a chain, and one after another their sum: when backward has come through the sums, the
 * gradients of all links are alive, and lie where the sums and their gradients were. */
static Tensor *chain_and_sums(Tape *t, Tensor *x, int length) {
    enum { LONGEST = 100 };
    Tensor *link[LONGEST], *sum = NULL;
    for (int i = 0; i < length; i++) link[i] = x = tape_scale(t, x, 1);
    for (int i = 0; i < length; i++) sum = sum ? tape_add(t, sum, link[i]) : link[i];
    return tape_sum(t, sum, ALL_AXES);
}

/* ---- Sums of gradients ---- */

/* d/dx (x·x + x) = 2x + 1: three uses of x, two of them in one operation. */
TEST(many_uses_are_summed) {
    Tape *t = tape_new();
    real data[3] = {1, -2, 0.5}, grad[3] = {0};
    Tensor *x = tape_leaf(t, SHAPE(3), data, grad);
    tape_backward(t, tape_sum(t, tape_add(t, tape_mul(t, x, x), x), ALL_AXES));
    for (int i = 0; i < 3; i++) CHECK(grad[i] == 2 * data[i] + 1, "found %g", (double)grad[i]);
    tape_free(t);
}

/* The same of a tensor that the tape made: c = 2x, then c + c·c, and c = c + c + 1 over and over. */
TEST(intermediates_are_summed) {
    Tape *t = tape_new();
    real data[WIDE], grad[WIDE] = {0};
    for (int i = 0; i < WIDE; i++) data[i] = (real)i / 64;
    Tensor *x = tape_leaf(t, SHAPE(WIDE), data, grad), *c = tape_scale(t, x, 2);
    tape_backward(t, tape_sum(t, tape_add(t, c, tape_mul(t, c, c)), ALL_AXES));
    for (int i = 0; i < WIDE; i++) CHECK(grad[i] == 2 + 8 * data[i], "found %g", (double)grad[i]);

    tape_reset(t);
    memset(grad, 0, sizeof grad);
    c = x = tape_leaf(t, SHAPE(WIDE), data, grad);
    for (int i = 0; i < 10; i++) c = tape_add(t, tape_add(t, c, c), tape_constant(t, SCALAR));
    tape_backward(t, tape_sum(t, c, ALL_AXES));
    for (int i = 0; i < WIDE; i++) CHECK(grad[i] == 1024, "found %g", (double)grad[i]);
    tape_free(t);
}

/* From a tensor in the middle: what was recorded after it has no part. */
TEST(backward_may_start_in_the_middle) {
    Tape *t = tape_new();
    real data[1] = {3}, grad[1] = {0};
    Tensor *y = tape_square(t, tape_leaf(t, SHAPE(1), data, grad));
    tape_exp(t, y);
    tape_backward(t, y);
    CHECK(grad[0] == 6, "found %g", (double)grad[0]);
    tape_free(t);
}

TEST(constants_and_unused_leaves_get_none) {
    Tape *t = tape_new();
    real a[2] = {1, 2}, da[2] = {0}, b[2] = {5, 6}, unused[2] = {7, 8}, dunused[2] = {9, 9};
    Tensor *fixed = tape_leaf(t, SHAPE(2), b, NULL), *one = tape_constant(t, SHAPE(2));
    one->data[0] = one->data[1] = 1;
    tape_exp(t, tape_leaf(t, SHAPE(2), unused, dunused));
    Tensor *free_of_leaves = tape_exp(t, one);
    Tensor *y = tape_mul(t, tape_mul(t, tape_leaf(t, SHAPE(2), a, da), fixed), free_of_leaves);
    CHECK(!tensor_wants_grad(fixed) && !tensor_wants_grad(one) && !tensor_wants_grad(free_of_leaves) &&
          tensor_wants_grad(y));
    tape_backward(t, tape_sum(t, y, ALL_AXES));
    CHECK(!fixed->grad && !one->grad && !free_of_leaves->grad);
    CHECK_NEAR(da[0], 5 * exp(1.0), 16 * REAL_EPSILON * 16);
    CHECK(dunused[0] == 9 && dunused[1] == 9);
    tape_free(t);
}

/* ---- What an operation is told ---- */

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
            x->grad[j] = x->grad_state == GRAD_FRESH ? n->out->grad[j] : x->grad[j] + n->out->grad[j];
    }
}

static const Op op_probe = {"probe", probe_forward, probe_backward, .stores_fresh = true};

/* The first to reach a gradient may store, the next must add; neither may where the tensor is passed twice. A
 * leaf is never fresh. Memory is full of NaN from the step before, so whoever reads it shows. */
TEST(fresh_gradients) {
    Tape *t = tape_new();
    real data[WIDE], grad[WIDE];
    for (int i = 0; i < WIDE; i++) data[i] = 1, grad[i] = 0;
    Error e = {0};
    CHECK(tape_reserve(t, 1 << 20, &e), "%s", e.text);
    memset(t->memory->region[0].base, 0xFF, t->memory->region[0].bytes);
    Tensor *x = tape_leaf(t, SHAPE(WIDE), data, grad), *c = tape_exp(t, x);
    Tensor *twice = tape_record(tape_node(t, &op_probe, SHAPE(WIDE), INPUTS(c, c)));
    Tensor *again = tape_record(tape_node(t, &op_probe, SHAPE(WIDE), INPUTS(c)));
    Tensor *first = tape_record(tape_node(t, &op_probe, SHAPE(WIDE), INPUTS(c)));
    Tensor *leaf = tape_record(tape_node(t, &op_probe, SHAPE(WIDE), INPUTS(x)));
    tape_backward(t, tape_sum(t, tape_add(t, tape_add(t, twice, again), tape_add(t, first, leaf)), ALL_AXES));
    CHECK(told.calls == 5);
    CHECK(!told.fresh[0], "leaf");
    CHECK(told.fresh[1], "first");
    CHECK(!told.fresh[2], "again");
    CHECK(!told.fresh[3] && !told.fresh[4], "twice");
    for (int i = 0; i < WIDE; i++) CHECK_NEAR(grad[i], 4 * exp(1.0) + 1, 64 * REAL_EPSILON);

    tape_reset(t);
    told.calls = 0;
    c = tape_exp(t, tape_leaf(t, SHAPE(WIDE), data, grad));
    twice = tape_record(tape_node(t, &op_probe, SHAPE(WIDE), INPUTS(c, c)));
    tape_backward(t, tape_sum(t, twice, ALL_AXES));
    CHECK(told.calls == 2 && !told.fresh[0] && !told.fresh[1], "passed twice");
    for (int i = 0; i < WIDE; i++) CHECK_NEAR(grad[i], 6 * exp(1.0) + 1, 64 * REAL_EPSILON);
    tape_free(t);
}

/* Gradients through views and residuals are summed with others, whether these come before or after; also with another part
 * of the same operation's. */
TEST(gradients_through_views_are_summed) {
    Tape *t = tape_new();
    real data[WIDE], grad[WIDE] = {0};
    for (int i = 0; i < WIDE; i++) data[i] = (real)i / WIDE;
    for (int other_use_first = 0; other_use_first < 2; other_use_first++) {
        tape_reset(t);
        memset(grad, 0, sizeof grad);
        Tensor *twice = tape_scale(t, tape_leaf(t, SHAPE(WIDE), data, grad), 2), *squared = NULL,
               *flat = NULL;
        if (other_use_first) squared = tape_square(t, twice);
        flat = tape_reshape(t, twice, SHAPE(16, WIDE / 16));
        if (!other_use_first) squared = tape_square(t, twice);
        Tensor *y = tape_mul(t, flat, tape_reshape(t, squared, SHAPE(16, WIDE / 16)));
        tape_backward(t, tape_sum(t, y, ALL_AXES));
        for (int i = 0; i < WIDE; i++) CHECK_NEAR(grad[i], 24 * data[i] * data[i], 24 * 4 * REAL_EPSILON);
    }

    /* y = c + c W, W the unit matrix: dc is 2 dy. */
    tape_reset(t);
    memset(grad, 0, sizeof grad);
    Tensor *c = tape_scale(t, tape_leaf(t, SHAPE(16, 16), data, grad), 2),
           *unit = tape_constant(t, SHAPE(16, 16));
    for (int i = 0; i < 16; i++) unit->data[17 * i] = 1;
    tape_backward(t, tape_sum(t, tape_linear(t, c, unit, NULL, ACT_NONE, c), ALL_AXES));
    for (int i = 0; i < WIDE; i++) CHECK(grad[i] == 4, "found %g", (double)grad[i]);
    tape_free(t);
}

typedef struct Seen {
    long index[8];
    bool backward[8];
    int calls;
} Seen;

static void observe(void *context, const Node *n, bool backward, double seconds) {
    Seen *s = context;
    CHECK(seconds >= 0);
    s->index[s->calls] = n->index, s->backward[s->calls++] = backward;
}

TEST(an_observer_sees_every_run) {
    Tape *t = tape_new();
    Seen seen = {.calls = 0};
    real data[4] = {1, 2, 3, 4}, grad[4] = {0};
    t->observer = observe, t->observer_context = &seen;
    Tensor *x = tape_leaf(t, SHAPE(2, 2), data, grad), *flipped = tape_transpose(t, x, 0, 1);
    tape_backward(t, tape_sum(t, tape_exp(t, flipped), ALL_AXES));
    const long want[] = {1, 2, 2, 1, 0}; /* the view has no forward */
    CHECK(seen.calls == 5, "%d calls", seen.calls);
    for (int i = 0; i < 5; i++) CHECK(seen.index[i] == want[i] && seen.backward[i] == (i >= 2), "call %d", i);
    tape_free(t);
}

TEST(operations_keep_their_signature) {
    static const char *const first = "first", *const second = "second";
    Tape *t = tape_new();
    Tensor *a = tape_neg(t, tape_constant(t, SHAPE(2)));
    t->recorder = first;
    Tensor *b = tape_reshape(t, tape_neg(t, a), SHAPE(1, 2));
    t->recorder = second;
    Tensor *c = tape_neg(t, b);
    CHECK(!a->maker->recorder && b->maker->recorder == first && b->maker->previous->recorder == first);
    CHECK(c->maker->recorder == second);
    tape_reset(t);
    CHECK(!tape_neg(t, tape_constant(t, SHAPE(2)))->maker->recorder, "a signature outlives the step");
    tape_free(t);
}

/* ---- Memory ---- */

/* Backward uses the memory of what nobody needs any more: hardly a gradient finds no room there. With `keep`
 * they all take their own. */
TEST(memory_is_used_again) {
    enum { LENGTH = 40 };
    const size_t array = WIDE * sizeof(real);
    static Tensor *(*const graph[2])(Tape *, Tensor *, int) = {chain, chain_and_sums};
    static const size_t outputs[2] = {LENGTH, 2 * LENGTH - 1}, want[2] = {1, LENGTH};
    Tape *t = tape_new();
    real data[WIDE], grad[WIDE];
    for (int i = 0; i < WIDE; i++) data[i] = (real)i;
    for (int g = 0; g < 2; g++) {
        size_t peak[2];
        for (int keep = 0; keep < 2; keep++) {
            tape_reset(t);
            tape_forget_peak(t);
            t->keep = keep;
            memset(grad, 0, sizeof grad);
            tape_backward(t, graph[g](t, tape_leaf(t, SHAPE(WIDE), data, grad), LENGTH));
            for (int i = 0; i < WIDE; i++) CHECK(grad[i] == (real)want[g], "found %g", (double)grad[i]);
            peak[keep] = tape_peak(t);
        }
        CHECK(peak[0] <= (outputs[g] + 3) * array, "%zu bytes, %zu an array", peak[0], array);
        CHECK(peak[1] >= 2 * outputs[g] * array, "%zu bytes, %zu an array", peak[1], array);
    }
    tape_free(t);
}

static void scratch_probe(Node *n) {
    for (long i = 0; i < 10 * WIDE; i++) n->scratch[i] = (real)i;
    if (n->out->grad)
        probe_backward(n);
    else
        probe_forward(n);
}

static long ten_arrays(const Node *n, bool backward) {
    (void)n, (void)backward;
    return 10 * WIDE;
}

static const Op op_scratch = {"scratch", scratch_probe, scratch_probe, .scratch = ten_arrays,
                              .stores_fresh = true};

/* Scratch memory is lent for one run: fifty operations that want ten arrays of it make do with ten. */
TEST(scratch_memory_is_lent) {
    Tape *t = tape_new();
    real data[WIDE] = {0}, grad[WIDE] = {0};
    Tensor *x = tape_leaf(t, SHAPE(WIDE), data, grad);
    for (int i = 0; i < 50; i++) {
        Node *n = tape_node(t, &op_scratch, SHAPE(WIDE), INPUTS(x));
        x = tape_record(n);
        CHECK(!n->scratch);
    }
    CHECK(tape_peak(t) == 60 * WIDE * sizeof(real), "%zu bytes", tape_peak(t));
    tape_backward(t, tape_sum(t, x, ALL_AXES));
    CHECK(tape_peak(t) == 62 * WIDE * sizeof(real), "%zu bytes", tape_peak(t));
    for (int i = 0; i < WIDE; i++) CHECK(grad[i] == 1, "found %g", (double)grad[i]);
    tape_free(t);
}

/* Doubles in the place of dy what it hands on. */
static void spoil_backward(Node *n) {
    long count = shape_count(n->out->shape);
    real *twice = n->scratch ? n->scratch : n->out->grad;
    for (long i = 0; i < count; i++) twice[i] = 2 * n->out->grad[i];
    for (long i = 0; i < count; i++) n->in[0]->grad[i] = twice[i];
}

static long spoil_scratch(const Node *n, bool backward) {
    return backward && n->tape->keep ? WIDE : 0;
}

static const Op op_spoil = {"spoil", probe_forward, spoil_backward, .scratch = spoil_scratch,
                            .stores_fresh = true};

/* A backward that works in the place of the output's gradient takes no memory for it; with `keep` it has scratch
 * memory, and the gradient stays as it was. */
TEST(backward_may_spoil_the_gradient) {
    Tape *t = tape_new();
    real data[WIDE] = {0}, grad[WIDE];
    size_t peak[2];
    for (int keep = 0; keep < 2; keep++) {
        tape_reset(t);
        tape_forget_peak(t);
        t->keep = keep;
        Tensor *y = NULL, *x = tape_leaf(t, SHAPE(WIDE), data, grad);
        for (int i = 0; i < 3; i++) y = tape_record(tape_node(t, &op_spoil, SHAPE(WIDE), INPUTS(y ? y : x)));
        tape_backward(t, tape_sum(t, y, ALL_AXES));
        for (int i = 0; i < WIDE; i++) CHECK(grad[i] == 8, "found %g", (double)grad[i]);
        for (int i = 0; i < WIDE && keep; i++) CHECK(y->grad[i] == 1, "found %g", (double)y->grad[i]);
        peak[keep] = tape_peak(t);
    }
    CHECK(peak[0] == 5 * WIDE * sizeof(real) && peak[1] == 7 * WIDE * sizeof(real), "%zu, %zu", peak[0],
          peak[1]);
    tape_free(t);
}

/* With `keep` every value and gradient on the way can be looked at after backward. */
TEST(keep_keeps_everything) {
    Tape *t = tape_new();
    t->keep = true;
    real data[WIDE], grad[WIDE] = {0};
    for (int i = 0; i < WIDE; i++) data[i] = (real)i / WIDE;
    Tensor *a = tape_scale(t, tape_leaf(t, SHAPE(WIDE), data, grad), 3), *other = tape_scale(t, a, 2);
    Tensor *b = tape_reshape(t, a, SHAPE(2, WIDE / 2)), *c = tape_square(t, b), *d = tape_scale(t, c, 5);
    tape_backward(t, tape_add(t, tape_sum(t, d, ALL_AXES), tape_sum(t, other, ALL_AXES)));
    for (int i = 0; i < WIDE; i++) {
        real x = data[i];
        CHECK(d->grad[i] == 1 && c->grad[i] == 5);
        CHECK_NEAR(a->data[i], 3 * x, 4 * REAL_EPSILON);
        CHECK_NEAR(c->data[i], 9 * x * x, 40 * REAL_EPSILON);
        CHECK_NEAR(b->grad[i], 30 * x, 120 * REAL_EPSILON);
        CHECK_NEAR(a->grad[i], 30 * x + 2, 120 * REAL_EPSILON);
        CHECK_NEAR(grad[i], 90 * x + 6, 400 * REAL_EPSILON);
    }
    tape_free(t);
}

/* With `keep` backward may run again, from another tensor: what it found on the way the first time does not
 * count, what leaves got does. */
TEST(kept_tapes_run_backward_again) {
    Tape *t = tape_new();
    t->keep = true;
    real data[WIDE], grad[WIDE] = {0};
    for (int i = 0; i < WIDE; i++) data[i] = (real)i / WIDE;
    Tensor *a = tape_scale(t, tape_leaf(t, SHAPE(WIDE), data, grad), 2), *b = tape_square(t, a);
    tape_backward(t, tape_sum(t, b, ALL_AXES));
    for (int i = 0; i < WIDE; i++) CHECK_NEAR(grad[i], 8 * data[i], 32 * REAL_EPSILON);
    tape_backward(t, tape_sum(t, tape_add(t, a, b), ALL_AXES));
    for (int i = 0; i < WIDE; i++) {
        CHECK_NEAR(a->grad[i], 4 * data[i] + 1, 32 * REAL_EPSILON);
        CHECK_NEAR(grad[i], 16 * data[i] + 2, 64 * REAL_EPSILON);
    }
    tape_free(t);
}

/* A loss, being small, can be read after backward without `keep`. */
TEST(scalars_stay) {
    Tape *t = tape_new();
    real data[WIDE] = {0}, grad[WIDE];
    Tensor *loss = tape_sum(t, tape_exp(t, tape_square(t, tape_leaf(t, SHAPE(WIDE), data, grad))), ALL_AXES);
    tape_backward(t, loss);
    CHECK(loss->data[0] == WIDE && loss->grad[0] == 1, "found %g", (double)loss->data[0]);
    tape_free(t);
}

/* A graph with shared tensors, views, copies, scratch memory, saved arrays and dead ends. */
static Tensor *mixed(Tape *t, Tensor *x, Tensor *w) {
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

static Tensor *mixed_step(Tape *t, Matrices *m) {
    Tensor *x = tape_leaf(t, SHAPE(24, 24), m->x, m->dx), *w = tape_leaf(t, SHAPE(24, 24), m->w, m->dw);
    Tensor *loss = mixed(t, x, w);
    tape_backward(t, loss);
    return loss;
}

/* Planning asks for exactly what the real run takes, and computes nothing. With that much reserved the run
 * needs no second region; its results are those of a tape that grew as it went, bit for bit. */
TEST(a_plan_is_exact) {
    static Matrices grown, planned;
    fill_matrices(&grown);
    fill_matrices(&planned);
    Tape *t = tape_new();
    mixed_step(t, &grown);
    tape_free(t);

    t = tape_new();
    tape_plan(t);
    heap.made = 0;
    mixed_step(t, &planned);
    size_t peak = tape_peak(t);
    for (int i = 0; i < 24 * 24; i++) CHECK(planned.dx[i] == 0 && planned.dw[i] == 0, "planning computed");
    CHECK(peak > 24 * 24 * 8 * sizeof(real), "%zu", peak);
    CHECK(!t->memory->regions, "planning took memory");
    Error e = {0};
    CHECK(!tape_failed(t, &e), "%s", e.text);

    CHECK(tape_reserve(t, peak, &e), "%s", e.text);
    tape_forget_peak(t);
    mixed_step(t, &planned);
    CHECK(tape_peak(t) == peak, "planned %zu, took %zu", peak, tape_peak(t));
    CHECK(t->memory->regions == 1);
    CHECK(memcmp(&planned, &grown, sizeof planned) == 0, "results differ");
    tape_free(t);
}

/* From the second step on, the same shapes ask for no memory at all, and give the same bits although memory
 * is full of the last step's. */
TEST(a_steady_step_allocates_nothing) {
    static Matrices first, next;
    Tape *t = tape_new();
    fill_matrices(&first);
    heap.made = 0;
    mixed_step(t, &first);
    const char *under = getenv("UNDER"); /* valgrind, which keeps malloc to itself */
    CHECK(heap.made > 1 || !COUNTS_MALLOC || (under && *under), "the count does not work");
    size_t peak = tape_peak(t);
    tape_reset(t);
    fill_matrices(&next);
    for (int step = 0; step < 20; step++) {
        fill_matrices(&next);
        heap.made = 0;
        mixed_step(t, &next);
        tape_reset(t);
        CHECK(heap.made == 0, "step %d: %ld requests", step, heap.made);
        CHECK(memcmp(&next, &first, sizeof next) == 0, "step %d: another result", step);
    }
    CHECK(tape_peak(t) == peak && t->memory->regions == 1, "peak %zu, then %zu", peak, tape_peak(t));
    tape_free(t);
}

/* Constants are zero although memory is not. */
TEST(constants_are_zero) {
    Tape *t = tape_new();
    Error e = {0};
    CHECK(tape_reserve(t, 1 << 20, &e), "%s", e.text);
    memset(t->memory->region[0].base, 0xFF, t->memory->region[0].bytes);
    for (long n = 1; n < 2000; n = 2 * n + 1) {
        Tensor *x = tape_constant(t, SHAPE(n));
        for (long i = 0; i < n; i++) CHECK(x->data[i] == 0);
    }
    tape_free(t);
}

/* ---- Depth ---- */

enum { DEPTH = 100000 };

static void *deep_graph(void *sum) {
    Tape *t = tape_new();
    real data[WIDE], grad[WIDE] = {0};
    for (int i = 0; i < WIDE; i++) data[i] = (real)i;
    tape_backward(t, chain(t, tape_leaf(t, SHAPE(32), data, grad), DEPTH));
    CHECK(t->nodes == DEPTH + 1);
    for (int i = 0; i < 32; i++) *(double *)sum += (double)grad[i];
    tape_free(t);
    return NULL;
}

/* On a stack of 1 MB, where anything that recursed would not return. */
TEST(deep_graphs_need_no_stack) {
    pthread_attr_t small;
    pthread_t thread;
    double sum = 0;
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 1 << 20) == 0);
    if (pthread_create(&thread, &small, deep_graph, &sum))
        CHECK(false, "no thread");
    else
        pthread_join(thread, NULL);
    CHECK(sum == 32, "found %g", sum);
}

/* ---- Running out of memory ---- */

/* A leaf of 2⁴² elements costs nothing, being one number repeated; its exponential has no room anywhere. The
 * tape goes on over shapes, backward included, and says why; after reset it works again. */
TEST(what_is_too_large_becomes_a_plan) {
    if (LONG_MAX == 0x7fffffff) return; /* every shape that a long can count has room in memory */
    Tape *t = tape_new();
    real one = 1, grad[1] = {0};
    Tensor *x = tape_leaf(t, SHAPE(1L << 21, 1L << 21), &one, grad);
    x->stride[0] = x->stride[1] = 0;
    Error e = {0};
    CHECK(!tape_failed(t, &e));
    Tensor *y = tape_exp(t, x);
    CHECK(t->planning && !y->data && tape_failed(t, &e));
    CHECK(e.status == STATUS_NO_MEMORY && strncmp(e.text, "memory: ", 8) == 0 && !strchr(e.text, '\n'), "%s",
          e.text);
    Tensor *loss = tape_sum(t, tape_matmul(t, y, tape_transpose(t, y, 0, 1)), ALL_AXES);
    CHECK(shape_equal(loss->shape, SCALAR));
    tape_backward(t, loss);
    CHECK(grad[0] == 0);
    CHECK(!tape_first_non_finite(t));

    tape_reset(t);
    e = (Error){0};
    CHECK(!tape_failed(t, &e) && !t->planning);
    tape_backward(t, tape_sum(t, tape_exp(t, tape_leaf(t, SHAPE(1), &one, grad)), ALL_AXES));
    CHECK_NEAR(grad[0], exp(1.0), 16 * REAL_EPSILON);

    CHECK(!tape_reserve(t, SIZE_MAX / 4 * 3, &e) && e.status == STATUS_NO_MEMORY, "%s", e.text);
    tape_free(t);
}

/* Memory is refused at each request in turn, in forward and in backward: always reported, never a crash, and
 * the tape works again once there is memory. */
TEST(running_out_is_reported_wherever_it_happens) {
    enum { LARGE = 1 << 18 }; /* elements: two of them fill the first region */
    static real data[LARGE], grad[LARGE];
    for (int i = 0; i < LARGE; i++) data[i] = 1;
    for (int refused = 0; refused < 6; refused++) {
        Tape *t = tape_new();
        Tensor *y = tape_leaf(t, SHAPE(LARGE), data, grad);
        for (int i = 0; i < 5; i++) {
            heap.no_pages = i >= refused;
            y = tape_scale(t, y, 2);
        }
        heap.no_pages = true; /* refused = 5: only backward is left to fail, with less memory than it wants */
        Tensor *loss = tape_sum(t, tape_concat(t, 0, INPUTS(y, y, y)), ALL_AXES);
        tape_backward(t, loss);
        heap.no_pages = false;
        Error e = {0};
        CHECK(tape_failed(t, &e) && e.status == STATUS_NO_MEMORY && *e.text, "refused from %d on", refused);

        tape_reset(t);
        e = (Error){0};
        memset(grad, 0, sizeof grad);
        tape_backward(t, chain(t, tape_leaf(t, SHAPE(LARGE), data, grad), 4));
        CHECK(!tape_failed(t, &e), "%s", e.text);
        for (int i = 0; i < LARGE; i++)
            if (grad[i] != 1) {
                CHECK(false, "gradient %d is %g", i, (double)grad[i]);
                break;
            }
        tape_free(t);
    }
}

/* ---- Views, evaluation, looking for NaN ---- */

/* Views share memory, also views of views; their gradients come home through them. */
TEST(views_share_memory) {
    Tape *t = tape_new();
    real data[24], grad[24] = {0}, dy[4] = {1, 2, 3, 4};
    for (int i = 0; i < 24; i++) data[i] = (real)i;
    Tensor *x = tape_leaf(t, SHAPE(2, 3, 4), data, grad);
    Tensor *turned = tape_transpose(t, tape_transpose(t, x, 0, 2), 1, 2); /* [4,2,3]: turned[i][j][k] is x[j][k][i] */
    Tensor *part = tape_slice(t, tape_slice(t, turned, 2, 1, 2), 0, 1, 3); /* [2,2,1]: x[j][1][1 + i] */
    Tensor *back = tape_transpose(t, part, 0, 1);                          /* [2,2,1]: x[i][1][1 + j] */
    CHECK(back->data == data + 5 && back->stride[0] == 12 && back->stride[1] == 1);
    data[5] = 50;
    Tensor *y = tape_scale(t, back, 10);
    const real want[4] = {500, 60, 170, 180};
    for (int i = 0; i < 4; i++) CHECK(y->data[i] == want[i], "found %g", (double)y->data[i]);
    tape_backward_from(t, y, dy);
    for (int i = 0; i < 24; i++) {
        real g = i == 5 ? 10 : i == 6 ? 20 : i == 17 ? 30 : i == 18 ? 40 : 0;
        CHECK(grad[i] == g, "grad %d is %g", i, (double)grad[i]);
    }
    CHECK(tape_reshape(t, x, SHAPE(6, 4))->data == data, "a reshape of contiguous memory copied");
    CHECK(tape_reshape(t, turned, SHAPE(24))->data != data, "a reshape of strided memory did not copy");
    tape_free(t);
}

/* Evaluation: nothing needs a gradient, nothing that backward would want is kept, values are the same. */
TEST(no_grad_needs_no_gradient) {
    static Matrices m;
    fill_matrices(&m);
    Tape *t = tape_new();
    Tensor *x = tape_leaf(t, SHAPE(24, 24), m.x, m.dx), *w = tape_leaf(t, SHAPE(24, 24), m.w, m.dw);
    real with = mixed(t, x, w)->data[0];
    tape_reset(t);
    t->no_grad = true;
    x = tape_leaf(t, SHAPE(24, 24), m.x, m.dx), w = tape_leaf(t, SHAPE(24, 24), m.w, m.dw);
    Tensor *loss = mixed(t, x, w);
    CHECK(!tensor_wants_grad(loss) && loss->data[0] == with);
    for (const Node *n = t->last; n; n = n->previous) CHECK(!tensor_wants_grad(n->out), "%s", n->op->name);
    EXPECT_BUG("backward: the output depends on nothing that needs a gradient", tape_backward(t, loss));
    tape_free(t);
}

TEST(the_first_non_finite_is_found) {
    Tape *t = tape_new();
    real data[4] = {1, 2, -1, 3};
    Tensor *x = tape_leaf(t, SHAPE(2, 2), data, NULL);
    Tensor *fine = tape_exp(t, x);
    CHECK(!tape_first_non_finite(t));
    Tensor *bad = tape_log(t, tape_transpose(t, x, 0, 1));
    tape_mul(t, fine, tape_transpose(t, bad, 0, 1));
    CHECK(tape_first_non_finite(t) == bad->maker);
    tape_free(t);
}

/* ---- Bugs ---- */

static Op op_forward_only = {"forward_only", probe_forward, .stores_fresh = true};

TEST(mistakes_stop_with_a_message) {
    Tape *t = tape_new();
    real data[6] = {0}, grad[6];
    Tensor *x = tape_leaf(t, SHAPE(2, 3), data, grad), *y = tape_exp(t, x);
    EXPECT_BUG("backward: the loss is [2,3], want one element", tape_backward(t, y));
    EXPECT_BUG("backward: the output is a leaf", tape_backward_from(t, x, data));
    EXPECT_BUG("backward: the output depends on nothing that needs a gradient",
               tape_backward(t, tape_sum(t, tape_constant(t, SHAPE(3)), 0)));
    EXPECT_BUG("forward_only: has no backward, but its output needs a gradient",
               tape_backward_from(t, tape_record(tape_node(t, &op_forward_only, SHAPE(6), INPUTS(x))), data));
    EXPECT_BUG("exp: 9 inputs, want at most 8",
               tape_node(t, &op_exp, SCALAR, INPUTS(x, x, x, x, x, x, x, x, x)));
    EXPECT_BUG("shape [1073741824,1073741824,8]: too many elements",
               tape_constant(t, SHAPE(1L << 30, 1L << 30, 8)));
    EXPECT_BUG("shape [-1]: too many elements", tape_constant(t, SHAPE(-1)));
    EXPECT_BUG("backward: it has run already, want tape_reset before it runs again", {
        Tensor *loss = tape_sum(t, y, ALL_AXES);
        tape_backward(t, loss);
        tape_backward(t, loss);
    });
    tape_free(t);
}

/* Numbers on either side of a guarded array are seen, of its data and of its gradient. */
TEST(guards_are_looked_at) {
    real data[3] = {1, 2, 3}, grad[3] = {0}, dy[3] = {1, 1, 1};
    Tape *t = tape_new();
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
    tape_free(t);
}

RUN_TESTS
