/* Operations that move elements, and matrix products, values and gradients, against naive loops in double. */
#include "base/pool.h"
#include "expect_bug.h"
#include "ops_helpers.h"

/* ---- Shapes ---- */

/* y is made of x's elements: element i is x's element from(i), and its gradient goes there. */
static void check_moved(const char *what, Tape *t, Tensor *x, Tensor *y, Shape want,
                        long (*from)(const void *context, long i), const void *context) {
    double dx[128];
    int failures = test_failures;
    CHECK(shape_equal(y->shape, want), "%s, want %s", shape_text(y->shape), shape_text(want));
    const real *dy = backward_from(t, y, 9);
    for (long i = 0; i < shape_count(x->shape); i++) dx[i] = GRAD_BEFORE;
    for (long i = 0; i < shape_count(want); i++) {
        long source = from(context, i);
        CHECK(value(y, i) == value(x, source), "element %ld", i);
        dx[source] += (double)dy[i];
    }
    for (long i = 0; i < shape_count(x->shape); i++) CHECK_CLOSE(x->grad[i], dx[i], 4);
    CHECK(test_failures == failures, "%s", what);
}

static long same_place(const void *context, long i) {
    return (void)context, i;
}

TEST(reshapes) {
    static const Shape to[] = {DIMS(24), DIMS(4, 6), DIMS(4, 3, 2), DIMS(1, 24, 1), DIMS(2, 2, 2, 3)};
    Tape *t = new_tape();
    for (size_t s = 0; s < sizeof to / sizeof *to; s++)
        for (Layout layout = PLAIN; layout < LAYOUTS; layout++) {
            tape_reset(t);
            Tensor *x = random_leaf(t, SHAPE(2, 3, 4), layout, 1, -1, 1), *y = tape_reshape(t, x, to[s]);
            CHECK((y->data == x->data) == (layout == PLAIN), "a view of what is contiguous, else a copy");
            check_moved(layout_name[layout], t, x, y, to[s], same_place, NULL);
        }
    tape_free(t);
}

typedef struct Order {
    Shape from, to;
    const int *order;
} Order;

static long permuted_place(const void *context, long i) {
    const Order *o = context;
    long index[MAX_RANK], own[MAX_RANK];
    unravel(o->to, i, index);
    for (int axis = 0; axis < o->to.rank; axis++) own[o->order[axis]] = index[axis];
    return ravel(o->from, own);
}

TEST(permutations) {
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int swapped[][2] = {{0, 0},   {1, 2},   {0, 1},
                                     {-1, -1}, {-1, -1}, {0, 2}}; /* -1: no one swap */
    Tape *t = new_tape();
    for (int p = 0; p < 6; p++)
        for (Layout layout = PLAIN; layout < LAYOUTS; layout++)
            for (int transpose = 0; transpose < 2; transpose++) {
                if (transpose && swapped[p][0] < 0) continue;
                Order o = {SHAPE(2, 3, 4), {.rank = 3}, orders[p]};
                for (int axis = 0; axis < 3; axis++) o.to.size[axis] = o.from.size[orders[p][axis]];
                tape_reset(t);
                Tensor *x = random_leaf(t, o.from, layout, 1, -1, 1);
                Tensor *y = transpose ? tape_transpose(t, x, swapped[p][0], swapped[p][1] - 3)
                                      : tape_permute(t, x, orders[p]);
                check_moved(layout_name[layout], t, x, y, o.to, permuted_place, &o);
            }
    tape_free(t);
}

typedef struct Part {
    Shape from, to;
    int axis;
    long start;
} Part;

static long sliced_place(const void *context, long i) {
    const Part *p = context;
    long index[MAX_RANK];
    unravel(p->to, i, index);
    index[p->axis] += p->start;
    return ravel(p->from, index);
}

TEST(slices) {
    Tape *t = new_tape();
    for (int axis = 0; axis < 3; axis++)
        for (Layout layout = PLAIN; layout < LAYOUTS; layout++)
            for (long start = 0; start <= axis + 2; start++)
                for (long stop = start; stop <= axis + 2; stop++) {
                    Part p = {SHAPE(2, 3, 4), SHAPE(2, 3, 4), axis, start};
                    p.to.size[axis] = stop - start;
                    tape_reset(t);
                    Tensor *x = random_leaf(t, p.from, layout, 1, -1, 1);
                    Tensor *y = tape_slice(t, x, layout == TURNED ? axis - 3 : axis, start, stop);
                    check_moved(layout_name[layout], t, x, y, p.to, sliced_place, &p);
                }
    tape_free(t);
}

/* Three parts of sizes 2, 0 and 3 along each axis in turn. */
TEST(concatenations) {
    static const long sizes[] = {2, 0, 3};
    Tape *t = new_tape();
    for (int axis = 0; axis < 3; axis++)
        for (Layout layout = PLAIN; layout < LAYOUTS; layout++) {
            Tensor *x[3];
            Shape all = SHAPE(2, 3, 4);
            tape_reset(t);
            for (int p = 0; p < 3; p++) {
                Shape s = all;
                s.size[axis] = sizes[p];
                x[p] = random_leaf(t, s, (Layout)(((int)layout + p) % LAYOUTS), (uint64_t)p, -1, 1);
            }
            all.size[axis] = 5;
            Tensor *y = tape_concat(t, axis - 3, 3, x);
            CHECK(shape_equal(y->shape, all), "%s", shape_text(y->shape));
            const real *dy = backward_from(t, y, 9);
            for (long i = 0; i < shape_count(all); i++) {
                long index[MAX_RANK];
                unravel(all, i, index);
                int p = index[axis] < 2 ? 0 : 2;
                if (p) index[axis] -= 2;
                long source = ravel(x[p]->shape, index);
                CHECK(value(y, i) == value(x[p], source), "axis %d, element %ld", axis, i);
                CHECK(x[p]->grad[source] == GRAD_BEFORE + dy[i], "axis %d, element %ld", axis, i);
            }
        }
    tape_free(t);
}

/* ---- Products ---- */

static void check_matmul(Tape *t, Shape sa, Shape sb, Layout layout_a, Layout layout_b) {
    double da[128], db[128];
    tape_reset(t);
    Tensor *a = random_leaf(t, sa, layout_a, 1, -1, 1), *b = random_leaf(t, sb, layout_b, 2, -1, 1);
    Tensor *y = tape_matmul(t, a, b);
    long m = sa.size[sa.rank - 2], k = sa.size[sa.rank - 1], n = sb.size[sb.rank - 1];
    Shape places_a = sa, places_b = sb, places = y->shape;
    places_a.rank -= 2, places_b.rank -= 2, places.rank -= 2;
    CHECK(shape_equal(places, shape_broadcast("test", places_a, places_b)) &&
              y->shape.size[places.rank] == m && y->shape.size[places.rank + 1] == n,
          "%s", shape_text(y->shape));
    const real *dy = backward_from(t, y, 3);
    for (int i = 0; i < 128; i++) da[i] = db[i] = GRAD_BEFORE;
    for (long place = 0; place < shape_count(places); place++) {
        long pa = broadcast_index(places_a, places, place) * m * k;
        long pb = broadcast_index(places_b, places, place) * k * n;
        for (long i = 0; i < m; i++)
            for (long j = 0; j < n; j++) {
                double want = 0, up = (double)dy[(place * m + i) * n + j];
                for (long p = 0; p < k; p++) {
                    double va = value(a, pa + i * k + p), vb = value(b, pb + p * n + j);
                    want += va * vb;
                    da[pa + i * k + p] += up * vb;
                    db[pb + p * n + j] += up * va;
                }
                CHECK_CLOSE(y->data[(place * m + i) * n + j], want, 16);
            }
    }
    for (long i = 0; i < shape_count(sa); i++) CHECK_CLOSE(a->grad[i], da[i], 64);
    for (long i = 0; i < shape_count(sb); i++) CHECK_CLOSE(b->grad[i], db[i], 64);
}

TEST(matrix_products) {
    static const Shape of[][2] = {
        {DIMS(3, 4), DIMS(4, 2)},       {DIMS(2, 3, 4), DIMS(2, 4, 5)}, {DIMS(2, 1, 3, 4), DIMS(3, 4, 2)},
        {DIMS(3, 2, 4), DIMS(4, 3)},    {DIMS(2, 4), DIMS(2, 3, 4, 2)}, {DIMS(1, 4), DIMS(4, 1)},
        {DIMS(4, 1), DIMS(1, 3)},       {DIMS(1, 1), DIMS(1, 1)},       {DIMS(0, 4), DIMS(4, 2)},
        {DIMS(3, 4), DIMS(4, 0)},       {DIMS(3, 0), DIMS(0, 2)},       {DIMS(0, 3, 4), DIMS(4, 2)},
        {DIMS(2, 3, 4), DIMS(1, 4, 1)},
    };
    Tape *t = new_tape();
    for (size_t s = 0; s < sizeof of / sizeof *of; s++)
        for (int layouts = 0; layouts < LAYOUTS * LAYOUTS; layouts++) {
            int failures = test_failures;
            check_matmul(t, of[s][0], of[s][1], (Layout)(layouts / LAYOUTS), (Layout)(layouts % LAYOUTS));
            CHECK(test_failures == failures, "%s by %s, a %s, b %s", shape_text(of[s][0]),
                  shape_text(of[s][1]), layout_name[layouts / LAYOUTS], layout_name[layouts % LAYOUTS]);
        }
    tape_free(t);
}

/* A matrix that is used in many products gets the sum over them, made in their order, whatever the threads: the
 * bits are those of one product after another. */
TEST(shared_matrices_sum_their_gradients) {
    enum { PLACES = 16, SIZE = 96 };
    const Shape one = SHAPE(SIZE, SIZE), all = SHAPE(PLACES, SIZE, SIZE);
    Tape *t = new_tape();
    pool_set_threads(4);
    Tensor *a = random_leaf(t, all, PLAIN, 1, -1, 1), *b = random_leaf(t, one, PLAIN, 2, -1, 1);
    const real *dy = backward_from(t, tape_matmul(t, a, b), 3);
    Tape *each = new_tape();
    Tensor *b_alone = random_leaf(each, one, PLAIN, 2, -1, 1);
    for (int place = 0; place < PLACES; place++) {
        Tensor *y = tape_matmul(each, tape_leaf(each, one, a->data + place * SIZE * SIZE, NULL), b_alone);
        tape_backward_from(each, y, dy + place * SIZE * SIZE);
    }
    CHECK(memcmp(b->grad, b_alone->grad, SIZE * SIZE * sizeof(real)) == 0, "other bits");
    tape_free(each);
    tape_free(t);
}

/* Transposed operands are read where they lie; only what gemm cannot read is copied first. */
TEST(transposed_operands_are_not_copied) {
    Tape *t = new_tape();
    for (int layouts = 0; layouts < LAYOUTS * LAYOUTS; layouts++) {
        Layout of_a = (Layout)(layouts / LAYOUTS), of_b = (Layout)(layouts % LAYOUTS);
        tape_reset(t);
        Tensor *a = random_leaf(t, SHAPE(2, 3, 4), of_a, 1, -1, 1);
        Tensor *b = random_leaf(t, SHAPE(4, 5), of_b, 2, -1, 1);
        tape_matmul(t, a, b);
        int copies = (of_a == SPREAD) + (of_b == SPREAD || (of_a == TURNED && of_b == TURNED));
        CHECK(t->nodes == 1 + copies, "a %s, b %s: %ld nodes", layout_name[of_a], layout_name[of_b],
              t->nodes);
    }
    tape_free(t);
}

/* ---- Mistakes ---- */

TEST(mistakes_stop_with_a_message) {
    Tape *t = new_tape();
    Tensor *x = blank_leaf(t, SHAPE(2, 3), PLAIN), *y = blank_leaf(t, SHAPE(4, 3), PLAIN);
    Tensor *v = blank_leaf(t, SHAPE(3), PLAIN), *c = blank_leaf(t, SHAPE(5, 3, 2), PLAIN);
    Tensor *s = blank_leaf(t, SCALAR, PLAIN), *d = blank_leaf(t, SHAPE(4, 2, 3), PLAIN);
    EXPECT_BUG("reshape: x is [2,3], want as many elements as [7]", tape_reshape(t, x, SHAPE(7)));
    EXPECT_BUG("transpose: axis 2 of [2,3], want one in [-2,2)", tape_transpose(t, x, 0, 2));
    EXPECT_BUG("permute: axis -1 of [2,3] occurs twice, want each axis once",
               tape_permute(t, x, (int[]){1, -1}));
    EXPECT_BUG("permute: axis 2 of [2,3], want one in [-2,2)", tape_permute(t, x, (int[]){0, 2}));
    EXPECT_BUG("slice: [1,4) along axis 1 of [2,3], want a part of [0,3)", tape_slice(t, x, 1, 1, 4));
    EXPECT_BUG("slice: [2,1) along axis -1 of [2,3], want a part of [0,3)", tape_slice(t, x, -1, 2, 1));
    EXPECT_BUG("slice: [-1,1) along axis 0 of [2,3], want a part of [0,2)", tape_slice(t, x, 0, -1, 1));
    EXPECT_BUG("concat: argument 2 is [4,3], want [2,3] except along axis 1",
               tape_concat(t, -1, INPUTS(x, y)));
    EXPECT_BUG("concat: argument 2 is [3], want [2,3] except along axis 0", tape_concat(t, 0, INPUTS(x, v)));
    EXPECT_BUG("concat: 0 tensors, want 1 to 8", tape_concat(t, 0, 0, NULL));
    EXPECT_BUG("concat: 9 tensors, want 1 to 8", tape_concat(t, 0, INPUTS(x, x, x, x, x, x, x, x, x)));
    EXPECT_BUG("concat: axis 0 of [], want one in [0,0)", tape_concat(t, 0, INPUTS(s, s)));
    EXPECT_BUG("matmul: argument 2 is [4,3], want [3,*]", tape_matmul(t, x, y));
    EXPECT_BUG("matmul: argument 1 is [3], want [*,*]", tape_matmul(t, v, x));
    EXPECT_BUG("matmul: argument 2 is [3], want [3,*]", tape_matmul(t, x, v));
    EXPECT_BUG("matmul: argument 2 is [5,3,2], want […,2,*]", tape_matmul(t, c, c));
    EXPECT_BUG("matmul, leading axes: argument 2 is [5], want a shape that broadcasts with [4]",
               tape_matmul(t, d, c));
    tape_free(t);
}

RUN_TESTS
