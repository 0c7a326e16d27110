/* additive_attention: attention whose scores are a small network of query and key (Bahdanau et al.,
 * arXiv:1409.0473). Section 3.2.1 compares it with the dot product.
 *
 *     q: [n_q, d]   k, v: [n_k, d]   w: [d]      y: [n_q, d]
 *     d = h d_k; head a owns columns a·d_k … (a+1)·d_k - 1
 *
 * For every sequence and every head, over the queries i and the keys j that i may attend to, as in
 * attention.c:
 *
 *     (1) u_ijc = tanh(q_ic + k_jc)      (2) s_ij = Σ_c w_c u_ijc
 *     (3) p_ij = e^s_ij / Σ_j' e^s_ij'   (4) y_ic = Σ_j p_ij v_jc
 *
 * With q = W x and k = U x, as a model projects them, s is Bahdanau's wᵀ tanh(W x_i + U x_j). A query
 * without keys has output 0 and gradient 0.
 *
 * Backward, with dp, ds and da for the gradients of p, s and of the sum inside the tanh:
 *
 *     (4) dp_ij = Σ_c dy_ic v_jc                          dv_jc += Σ_i p_ij dy_ic
 *     (3) ds_ij = p_ij (dp_ij - Σ_j' p_ij' dp_ij')        (softmax.c)
 *     (2) dw_c += Σ_ij ds_ij u_ijc
 *     (1) da_ijc = ds_ij w_c (1 - u_ijc²)                 dq_ic += Σ_j da_ijc      dk_jc += Σ_i da_ijc
 *
 * Forward keeps p, [h, n_q, longest keys]; backward recomputes u, which is d_k times as large. A task is
 * one head of one sequence. Tasks write different rows and columns, except of dw: each task has a dw of
 * its own, and these are summed in the order of tasks.
 *
 * Numerical note: the largest s of a row is subtracted before e^s; |s| is at most Σ |w_c|. 1 - u² would
 * cancel near u = 1 and is computed as 4e/(1 + e)² with e = e^(-2|q + k|). */
#include "base/pool.h"
#include "kernels/rows.h"
#include "ops/arguments.h"
#include "ops/ops.h"
#include <math.h>
#include <string.h>

enum { Q, K, V, W };

typedef struct Attr {
    int heads;
    long d_k;
    bool causal;
    const Sequences *queries, *keys;
    real *p; /* [heads, n_q, longest keys] */
} Attr;

/* exercise: begin */
/* One head of one sequence: a task. */
typedef struct Head {
    long rows, keys; /* queries, and keys that are not padding */
    long column;
    long first_query, first_key;
    real *p; /* [rows, longest keys] */
} Head;

static Head head_of(const Attr *a, long task) {
    long s = task / a->heads, head = task % a->heads, i = a->queries->start[s];
    return (Head){.rows = a->queries->rows[s],
                  .keys = a->keys->length[s],
                  .column = head * a->d_k,
                  .first_query = i,
                  .first_key = a->keys->start[s],
                  .p = a->p + (head * a->queries->total_rows + i) * a->keys->longest};
}

/* The head's columns of a row of x, and of its gradient. */
static real *data_row(const Tensor *x, long row, long column) {
    return x->data + row * x->stride[0] + column;
}

static real *grad_row(const Tensor *x, long row, long column) {
    return x->grad ? x->grad + row * x->shape.size[1] + column : NULL;
}

/* How many keys query i attends to: the first ones of its sequence. */
static long seen(const Attr *a, const Head *h, long i) {
    return a->causal && i + 1 < h->keys ? i + 1 : h->keys;
}

/* Formula (1) for one pair of query and key. */
static void inner(long d_k, const real *q, const real *k, real *restrict u) {
    for (long c = 0; c < d_k; c++) u[c] = vm_tanh(q[c] + k[c]);
}

static void add_to(long d_k, real factor, const real *x, real *sum) {
    for (long c = 0; c < d_k; c++) sum[c] += factor * x[c];
}

/* Turns the scores of one query, [visible], into probabilities. */
static void softmax_row(real *p, long visible) {
    real m = -INFINITY, sum = 0;
    for (long j = 0; j < visible; j++) m = p[j] > m ? p[j] : m;
    for (long j = 0; j < visible; j++) sum += p[j] = vm_exp(p[j] - m);
    for (long j = 0; j < visible; j++) p[j] /= sum;
}

static long tasks_of(const Attr *a) {
    return a->queries->count * a->heads;
}

static void forward_head(void *context, long task) {
    const Node *n = context;
    const Attr *a = n->attr;
    Head h = head_of(a, task);
    const real *w = n->in[W]->data + h.column;
    real *u = n->scratch + pool_thread_index() * a->d_k;
    for (long i = 0; i < h.rows; i++) {
        const real *q = data_row(n->in[Q], h.first_query + i, h.column);
        real *p = h.p + i * a->keys->longest, *y = data_row(n->out, h.first_query + i, h.column);
        long visible = seen(a, &h, i);
        for (long j = 0; j < visible; j++) { /* (1), (2) */
            inner(a->d_k, q, data_row(n->in[K], h.first_key + j, h.column), u);
            p[j] = row_dot(w, u, a->d_k);
        }
        softmax_row(p, visible); /* (3) */
        memset(y, 0, (size_t)a->d_k * sizeof *y);
        for (long j = 0; j < visible; j++) /* (4) */
            add_to(a->d_k, p[j], data_row(n->in[V], h.first_key + j, h.column), y);
    }
}

static void forward(Node *n) {
    pool_for(tasks_of(n->attr), forward_head, n);
}

/* 1 - tanh²(a), accurate near tanh = ±1 too. */
static inline real slope(real a) {
    real e = vm_exp(-2 * (a < 0 ? -a : a));
    return 4 * e / ((1 + e) * (1 + e));
}

/* Adds the gradients of one pair of query and key to dw, and to dq and dk unless NULL; u is scratch,
 * [d_k]. */
static void backward_pair(long d_k, const real *q, const real *k, const real *w, real ds, real *restrict u,
                          real *dq, real *dk, real *dw) {
    inner(d_k, q, k, u);
    add_to(d_k, ds, u, dw);
    for (long c = 0; c < d_k; c++) u[c] = w[c] * slope(q[c] + k[c]);
    if (dq) add_to(d_k, ds, u, dq);
    if (dk) add_to(d_k, ds, u, dk);
}

/* Backward's scratch memory: dw of each task, [d_k], then for each thread dp, [longest keys], and u,
 * [d_k]. */
static real *thread_scratch(const Node *n, const Attr *a) {
    return n->scratch + tasks_of(a) * a->d_k + pool_thread_index() * (a->keys->longest + a->d_k);
}

static void backward_head(void *context, long task) {
    Node *n = context;
    const Attr *a = n->attr;
    const Tensor *key = n->in[K], *value = n->in[V];
    Head h = head_of(a, task);
    long d_k = a->d_k;
    const real *w = n->in[W]->data + h.column;
    real *dw = n->scratch + task * d_k, *dp = thread_scratch(n, a), *u = dp + a->keys->longest;
    memset(dw, 0, (size_t)d_k * sizeof *dw);
    for (long i = 0; i < h.rows; i++) {
        long query = h.first_query + i, visible = seen(a, &h, i);
        const real *p = h.p + i * a->keys->longest, *q = data_row(n->in[Q], query, h.column);
        const real *dy = grad_row(n->out, query, h.column);
        real *dq = grad_row(n->in[Q], query, h.column), mean = 0;
        for (long j = 0; j < visible; j++) { /* (4) */
            dp[j] = row_dot(dy, data_row(value, h.first_key + j, h.column), d_k);
            mean += p[j] * dp[j];
            if (value->grad) add_to(d_k, p[j], dy, grad_row(value, h.first_key + j, h.column));
        }
        for (long j = 0; j < visible; j++) { /* (3), (2), (1) */
            long row = h.first_key + j;
            backward_pair(d_k, q, data_row(key, row, h.column), w, p[j] * (dp[j] - mean), u, dq,
                          grad_row(key, row, h.column), dw);
        }
    }
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    pool_for(tasks_of(a), backward_head, n);
    real *dw = n->in[W]->grad;
    for (long task = 0; dw && task < tasks_of(a); task++)
        for (long c = 0; c < a->d_k; c++) dw[task % a->heads * a->d_k + c] += n->scratch[task * a->d_k + c];
}

static long scratch(const Node *n, bool backward) {
    const Attr *a = n->attr;
    return backward ? tasks_of(a) * a->d_k + pool_threads() * (a->keys->longest + a->d_k)
                    : pool_threads() * a->d_k;
}

/* Two products, with w and with v, over all pairs of a query and a key that it attends to. */
static double flops(const Node *n) {
    const Attr *a = n->attr;
    double pairs = 0;
    for (long task = 0; task < tasks_of(a); task++) {
        Head h = head_of(a, task);
        for (long i = 0; i < h.rows; i++) pairs += (double)seen(a, &h, i);
    }
    return 2 * 2 * pairs * (double)a->d_k;
}

static void arguments(const Node *n, FILE *out) {
    const Attr *a = n->attr;
    fprintf(out, "\"heads\": %d, ", a->heads);
    print_sequences(out, "queries", a->queries);
    fprintf(out, ", ");
    print_sequences(out, "keys", a->keys);
    fprintf(out, ", \"causal\": %s", a->causal ? "true" : "false");
}
/* exercise: end */

/* Three sequences of 3, 1 and 2 tokens, packed; the same in a padded layout of 3 rows each, where the
 * third has no token at all; and sources for them. */
static const int32_t packed_start[] = {0, 3, 4}, packed_length[] = {3, 1, 2};
static const int32_t padded_start[] = {0, 3, 6}, padded_rows[] = {3, 3, 3}, padded_length[] = {3, 1, 0};
static const int32_t memory_start[] = {0, 2, 6}, memory_length[] = {2, 4, 1};
static const Sequences packed = {3, packed_start, packed_length, packed_length, 6, 3};
static const Sequences padded = {3, padded_start, padded_rows, padded_length, 9, 3};
static const Sequences memory = {3, memory_start, memory_length, memory_length, 7, 4};
static const Sequences none = {0};

BUILD_CASE(plain, tape_additive_attention(t, x[0], x[1], x[2], x[3], 2, &packed, &packed, false))
BUILD_CASE(causal, tape_additive_attention(t, x[0], x[1], x[2], x[3], 2, &packed, &packed, true))
BUILD_CASE(with_padding, tape_additive_attention(t, x[0], x[1], x[2], x[3], 1, &padded, &padded, false))
BUILD_CASE(cross, tape_additive_attention(t, x[0], x[1], x[2], x[3], 2, &packed, &memory, false))
BUILD_CASE(nothing, tape_additive_attention(t, x[0], x[1], x[2], x[3], 2, &none, &none, false))

static const CheckCase cases[] = {
    {"plain", plain, {{"q", DIMS(6, 4)}, {"k", DIMS(6, 4), -5, 5}, {"v", DIMS(6, 4)}, {"w", DIMS(4)}}},
    {"causal", causal, {{"q", DIMS(6, 4)}, {"k", DIMS(6, 4)}, {"v", DIMS(6, 4)}, {"w", DIMS(4)}}},
    {"strided",
     causal,
     {{"q", DIMS(6, 4), .layout = TRANSPOSED},
      {"k", DIMS(6, 4), .layout = STEPPED},
      {"v", DIMS(6, 4)},
      {"w", DIMS(4), .layout = STEPPED}}},
    {"one tensor thrice",
     causal,
     {{"q", DIMS(6, 4)}, {"q", .same_as = 1}, {"q", .same_as = 1}, {"w", DIMS(4)}}},
    {"padding, one sequence empty",
     with_padding,
     {{"q", DIMS(9, 2)}, {"k", DIMS(9, 2)}, {"v", DIMS(9, 2)}, {"w", DIMS(2)}}},
    {"cross", cross, {{"q", DIMS(6, 4)}, {"k", DIMS(7, 4)}, {"v", DIMS(7, 4)}, {"w", DIMS(4)}}},
    {"memory fixed",
     cross,
     {{"q", DIMS(6, 4)},
      {"k", DIMS(7, 4), .constant = true},
      {"v", DIMS(7, 4), .constant = true},
      {"w", DIMS(4)}}},
    {"queries and w fixed",
     cross,
     {{"q", DIMS(6, 4), .constant = true},
      {"k", DIMS(7, 4)},
      {"v", DIMS(7, 4)},
      {"w", DIMS(4), .constant = true}}},
    {"saturated",
     plain,
     {{"q", DIMS(6, 4), -100, 100}, {"k", DIMS(6, 4), -100, 100}, {"v", DIMS(6, 4)}, {"w", DIMS(4)}},
     .flat = true},
    {"nothing", nothing, {{"q", DIMS(0, 4)}, {"k", DIMS(0, 4)}, {"v", DIMS(0, 4)}, {"w", DIMS(4)}}},
};

const Op op_additive_attention = {"additive_attention", forward,        backward,
                                  .scratch = scratch,   .flops = flops, .arguments = arguments,
                                  CASES(cases)};

static void check_rows(const char *what, const Tensor *x, const Sequences *s, long d) {
    if (!shape_equal(x->shape, SHAPE(s->total_rows, d)))
        error_bug("additive_attention: %s is %s, want [%ld,%ld]", what, shape_text(x->shape), s->total_rows,
                  d);
}

/* Columns of a wider matrix need no copy. */
static Tensor *plain_rows(Tape *t, Tensor *x) {
    return x->stride[1] == 1 ? x : tape_contiguous(t, x);
}

Tensor *tape_additive_attention(Tape *t, Tensor *q, Tensor *k, Tensor *v, Tensor *w, int heads,
                                const Sequences *queries, const Sequences *keys, bool causal) {
    if (q->shape.rank != 2) error_bug("additive_attention: q is %s, want [n,d]", shape_text(q->shape));
    long d = q->shape.size[1];
    if (heads < 1 || d < 1 || d % heads)
        error_bug("additive_attention: %d heads, want a divisor of the width %ld", heads, d);
    if (queries->count != keys->count)
        error_bug("additive_attention: keys have %ld sequences, want %ld", keys->count, queries->count);
    if (!t->planning)
        sequences_check("additive_attention", "queries", queries),
            sequences_check("additive_attention", "keys", keys);
    check_rows("q", q, queries, d), check_rows("k", k, keys, d), check_rows("v", v, keys, d);
    if (!shape_equal(w->shape, SHAPE(d)))
        error_bug("additive_attention: w is %s, want [%ld]", shape_text(w->shape), d);
    q = plain_rows(t, q), k = plain_rows(t, k), v = plain_rows(t, v), w = tape_contiguous(t, w);
    Node *n = tape_node(t, &op_additive_attention, SHAPE(queries->total_rows, d), INPUTS(q, k, v, w));
    Attr *a = node_attr(n, sizeof *a);
    *a = (Attr){.heads = heads, .d_k = d / heads, .causal = causal, .queries = queries, .keys = keys};
    a->p = node_array(n, heads * queries->total_rows * keys->longest);
    return tape_record(n);
}
