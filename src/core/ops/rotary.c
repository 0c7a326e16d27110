/* rotary: rotates every head of queries and keys by angles proportional to the position, so that
 * the score of a query and a key depends on their distance (Su et al., arXiv:2104.09864). It can
 * first normalise each head, as rms_norm.c does without a gain (Henry et al., arXiv:2010.04245):
 * scores then stay within ±√d_k.
 *
 *     x: [n, w], in each row `heads` heads of width d_k; the columns after them are copied
 *     y: as x
 *     turns: row p, [d_k], holds cos φ_0 … cos φ_m-1, sin φ_0 … sin φ_m-1; or none: no turn
 *     at: [n] the row of turns for each row of x, or none: row i for row i
 *
 *   | x̂_j = r x_j      r = 1/√(1/d_k Σ_j x_j² + ε), ε = 1e-5      when normalise
 *   | x̂ = x                                                       when no normalise
 *
 * With m = d_k/2 the pair (j, j + m) rotates by φ_j = p 10000^(-j/m), where p is the row's
 * position:
 *
 *   | y_j = x̂_j cos φ_j - x̂_j+m sin φ_j        when turns
 *   | y_j+m = x̂_j sin φ_j + x̂_j+m cos φ_j      when turns
 *   | y = x̂                                    when no turns
 *
 * In short y = R x̂.
 *
 * Backward. The inverse rotation is Rᵀ, and the rest as in rms_norm.c:
 *
 *   | dx̂ = Rᵀ dy                              when turns
 *   | dx̂ = dy                                 when no turns
 *   | s = 1/d_k Σ_j dx̂_j x̂_j                  when normalise
 *   | dx_j += r (dx̂_j - x̂_j s)                when normalise
 *   | dx_j += dx̂_j                            when no normalise
 *
 * A rotation keeps scalar products: s = 1/d_k Σ_j dy_j y_j, and as x̂ = Rᵀ y
 *
 *     dx += r Rᵀ (dy - s y)
 *
 * Forward keeps r of each head if it normalises. */
#include "kernels/rows.h"
#include "ops/arguments.h"
#include "ops/ops.h"
#include "ops/row_loop.h"
#include <math.h>
#include <string.h>

#define EPSILON ((real)1e-5)

typedef struct Attr {
    long n, w, heads, d_k;
    const int32_t *at;
    const real *turns;
    real *r; /* [n, heads]; NULL: not normalised */
} Attr;

/* exercise: begin */
/* Stores ROW_LANES elements, or fewer if only `count` are left; `add`: adds to them. */
static inline void store(real *out, Lanes v, long count, bool add) {
    if (add) v = lanes_add(v, lanes_load_some(out, count));
    if (count >= ROW_LANES)
        lanes_store(out, v);
    else
        lanes_store_part(out, v, count);
}

/* out = r R x, or with y out = r Rᵀ (x - s y), of one head of row i; `add`: added to out. */
static inline void turn_head(const Attr *a, long i, const real *x, const real *y, real r, real s,
                             real *out, bool add) {
    if (!a->turns) {
        for (long j = 0; j < a->d_k; j++) {
            real v = r * (y ? x[j] - s * y[j] : x[j]);
            out[j] = add ? out[j] + v : v;
        }
        return;
    }
    const real *turn = a->turns + (a->at ? a->at[i] : i) * a->d_k;
    Lanes factor = lanes_of(r), share = lanes_of(s);
    long m = a->d_k / 2;
    for (long j = 0; j < m; j += ROW_LANES) {
        long count = m - j;
        Lanes u = lanes_load_some(x + j, count), v = lanes_load_some(x + j + m, count);
        if (y) {
            u = lanes_sub(u, lanes_mul(share, lanes_load_some(y + j, count)));
            v = lanes_sub(v, lanes_mul(share, lanes_load_some(y + j + m, count)));
        }
        u = lanes_mul(u, factor);
        v = lanes_mul(v, factor);
        Lanes c = lanes_load_some(turn + j, count);     /* cos φ */
        Lanes d = lanes_load_some(turn + j + m, count); /* sin φ */
        Lanes uc = lanes_mul(u, c), ud = lanes_mul(u, d), vc = lanes_mul(v, c),
              vd = lanes_mul(v, d);
        store(out + j, y ? lanes_add(uc, vd) : lanes_sub(uc, vd), count, add);
        store(out + j + m, y ? lanes_sub(vc, ud) : lanes_add(ud, vc), count, add);
    }
}

static void forward_rows(Node *n, long begin, long end) {
    const Attr *a = n->attr;
    long d_k = a->d_k, turned = a->heads * d_k;
    for (long i = begin; i < end; i++) {
        const real *x = n->in[0]->data + i * a->w;
        real *y = n->out->data + i * a->w, r = 1;
        for (long h = 0; h < a->heads; h++) {
            const real *head = x + h * d_k;
            if (a->r)
                a->r[i * a->heads + h] = r =
                    1 / (real)sqrt(row_dot(head, head, d_k) / (real)d_k + EPSILON);
            turn_head(a, i, head, NULL, r, 0, y + h * d_k, false);
        }
        memcpy(y + turned, x + turned, (size_t)(a->w - turned) * sizeof(real));
    }
}

static void forward(Node *n) {
    const Attr *a = n->attr;
    row_loop(n, a->n, a->w, forward_rows);
}

static void backward_rows(Node *n, long begin, long end) {
    const Attr *a = n->attr;
    bool add = tensor_grad_adds(n->in[0]);
    long d_k = a->d_k, turned = a->heads * d_k;
    for (long i = begin; i < end; i++) {
        const real *y = n->out->data + i * a->w, *dy = n->out->grad + i * a->w;
        real *dx = n->in[0]->grad + i * a->w;
        for (long h = 0; h < a->heads; h++) {
            const real *y_h = y + h * d_k, *dy_h = dy + h * d_k;
            real r = a->r ? a->r[i * a->heads + h] : 1,
                 s = a->r ? row_dot(dy_h, y_h, d_k) / (real)d_k : 0;
            turn_head(a, i, dy_h, y_h, r, s, dx + h * d_k, add);
        }
        for (long j = turned; j < a->w; j++) dx[j] = add ? dx[j] + dy[j] : dy[j];
    }
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    row_loop(n, a->n, a->w, backward_rows);
}

static void arguments(const Node *n, FILE *out) {
    const Attr *a = n->attr;
    fprintf(out, "\"heads\": %ld, \"d_k\": %ld, \"normalise\": %s, \"turns\": %s, ", a->heads,
            a->d_k, a->r ? "true" : "false", a->turns ? "true" : "false");
    print_ids(out, "at", a->at, a->at ? a->n : 0);
}
/* exercise: end */

/* Turns of the first positions, for the cases' narrow heads. */
enum { CASE_POSITIONS = 8 };
static const real *case_turns(long d_k) {
    static real turns[CASE_POSITIONS * 48];
    for (long p = 0; p < CASE_POSITIONS; p++)
        for (long j = 0; j < d_k / 2; j++) {
            double angle = (double)p * pow(10000, -2.0 * (double)j / (double)d_k);
            turns[p * d_k + j] = (real)cos(angle);
            turns[p * d_k + d_k / 2 + j] = (real)sin(angle);
        }
    return turns;
}

static const int32_t case_at[] = {0, 1, 2, 7, 3, 3};

BUILD_CASE(turned, tape_rotary(t, x[0], 2, 4, case_at, case_turns(4), false))
BUILD_CASE(normalised, tape_rotary(t, x[0], 2, 4, case_at, case_turns(4), true))
BUILD_CASE(in_order, tape_rotary(t, x[0], 1, 4, NULL, case_turns(4), true))
BUILD_CASE(normal, tape_rotary(t, x[0], 2, 3, NULL, NULL, true))
BUILD_CASE(wide, tape_rotary(t, x[0], 1, 38, case_at, case_turns(38), true))

static const CheckCase cases[] = {
    {"queries and keys", turned, {{"x", DIMS(6, 8)}}},
    {"with values", turned, {{"x", DIMS(6, 12)}}},
    {"normalised", normalised, {{"x", DIMS(6, 8)}}},
    {"normalised, with values", normalised, {{"x", DIMS(6, 12)}}},
    {"in order", in_order, {{"x", DIMS(6, 7)}}},
    {"no turn", normal, {{"x", DIMS(6, 7)}}},
    {"wide", wide, {{"x", DIMS(3, 40)}}},
    {"strided", normalised, {{"x", DIMS(6, 12), .layout = TRANSPOSED}}},
    {"no rows", turned, {{"x", DIMS(0, 8)}}},
};

const Op op_rotary = {"rotary",    forward, backward, .stores_fresh = true, .arguments = arguments,
                      CASES(cases)};

Tensor *tape_rotary(Tape *t, Tensor *x, long heads, long d_k, const int32_t *at, const real *turns,
                    bool normalise) {
    op_want("rotary", t, INPUTS(x));
    Shape s = x->shape;
    if (s.rank != 2 || s.size[1] < heads * d_k)
        error_bug("rotary: x is %s, want [n,w], w >= %ld", shape_text(s), heads * d_k);
    if (heads < 1 || d_k < 1 || (turns && d_k % 2))
        error_bug("rotary: %ld heads of width %ld, want at least 1 of an even width", heads, d_k);
    x = tape_contiguous(t, x);
    Node *n = tape_node(t, &op_rotary, s, INPUTS(x));
    Attr *a = node_attr(n, sizeof *a);
    *a = (Attr){
        .n = s.size[0], .w = s.size[1], .heads = heads, .d_k = d_k, .at = at, .turns = turns};
    if (normalise) a->r = node_array(n, a->n * heads);
    return tape_forward(n);
}
