/* attention: scaled dot-product attention in h heads, over sequences of different lengths. Sections
 * 3.2.1, 3.2.2.
 *
 *     q: [n_q, d]   k, v: [n_k, d]      y: [n_q, d]
 *     d = h d_k; head a owns columns a·d_k … (a+1)·d_k - 1
 *
 * For every sequence and every head, over the queries i and the keys j that i may attend to:
 *
 *   | (1) s_ij = 1/√d_k Σ_c q_ic k_jc
 *   | (2) p_ij = e^s_ij / Σ_j' e^s_ij'
 *   | (3) y_ic = Σ_j p_ij v_jc
 *
 * A key is masked if it is padding (beyond its sequence's length) or, with `causal`, if it comes
 * after the query (j > i). A query whose keys are all masked has output 0 and gradient 0.
 *
 * With slopes b_a, head a subtracts b_a · distance from s_ij (ALiBi). This is a constant, so the
 * derivatives do not contain it. The distance of query i and key j is |i + n_k - n_q - j|: the last
 * query stands at the last key. The causal mask compares i and j themselves; decoding, whose only
 * query is the newest token, sets no mask.
 *
 * The operands may be columns of one matrix, the output of one projection: if k and v are NULL, q
 * holds q|k|v, [n, 3d]; if only v is NULL, k holds k|v, [n_k, 2d].
 *
 * Backward, with dp and ds for the gradients of p and s:
 *
 *   | (3) dp_ij = Σ_c dy_ic v_jc            dv_jc += Σ_i p_ij dy_ic
 *   | (2) ds_ij = p_ij (dp_ij - Σ_j' p_ij' dp_ij')
 *               = p_ij (dp_ij - D_i)        with D_i = Σ_j' p_ij' Σ_c dy_ic v_j'c = Σ_c dy_ic y_ic
 *   | (1) dq_ic += 1/√d_k Σ_j ds_ij k_jc    dk_jc += 1/√d_k Σ_i ds_ij q_ic
 *
 * Forward keeps for backward its inputs q, k and v, its output y, and two numbers for each query of
 * a head: the maximum M_i = max_j s_ij and 1/Σ_j e^(s_ij - M_i). It does not keep p: [n_q, n_k] for
 * each head would be the largest array of a Transformer. Backward recomputes p from what is kept,
 * with the same bits (Dao et al., arXiv:2205.14135; Rabe & Staats, arXiv:2112.05682).
 *
 * Both directions work on blocks of queries. With `causal`, a block skips the keys after its last
 * query and masks the other later keys. The caller's sequences must live until backward has run. */
#include "base/pool.h"
#include "kernels/product.h"
#include "kernels/rows.h"
#include "ops/arguments.h"
#include "ops/ops.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Queries of a block. Small blocks compute fewer masked scores on the diagonal; large ones pack k
 * less often. */
enum { BLOCK = 32 };

enum { Y = PART_END }; /* the output; the operands are PART_Q, PART_K and PART_V */

typedef struct Attr {
    int heads;
    long d_k;
    HeadColumns columns;
    Reach reach;
    real scale;
    real *max, *inverse; /* [heads, n_q]: M_i and 1/Σ_j e^(s_ij - M_i) */
    long ld_p;           /* distance between rows of p in scratch memory */
    long block_size;     /* reals of one thread's scratch memory: p and ds */
} Attr;

/* exercise: begin */
#include "ops/attention_row.h"

/* Rows and columns of q, k, v or y. */
typedef struct Operand {
    Matrix data, grad; /* grad.at is NULL where no gradient is needed */
    bool adds;         /* backward adds to grad; otherwise it stores */
} Operand;

/* Queries of one head of one sequence, and the keys that the last of them attends to. */
typedef struct Part {
    long first;      /* the index of the first query */
    long rows, keys; /* the number of queries and of keys */
    long offset;     /* query i stands at key i + offset, for the distance */
    real slope;
    Operand q, k, v, y;
    real *max, *inverse;
} Part;

/* The columns of one head, `rows` rows from `row` on. If k or v is NULL, its columns follow those
 * of the operand before it, in the same matrix. */
static Operand columns_of(const Node *n, int operand, long head, long row, long rows) {
    const Attr *a = n->attr;
    int input = operand;
    while (operand != Y && !n->in[input]) input--;
    const Tensor *x = operand == Y ? n->out : n->in[input];
    long ld = x->shape.size[1], at = row * ld;
    if (operand == Y)
        at += head * a->d_k;
    else
        at += heads_head_column(a->columns, (AttentionPart)operand, head) -
              heads_column(a->columns, (AttentionPart)input);
    return (Operand){.data = {x->data + at, rows, a->d_k, ld},
                     .grad = {x->grad ? x->grad + at : NULL, rows, a->d_k, ld},
                     .adds = tensor_grad_adds(x)};
}

/* One head of one sequence: one chunk of the pool. Its k and v include padding. */
static Part head_of(const Node *n, long chunk) {
    const Attr *a = n->attr;
    const Sequences *queries = a->reach.queries, *keys = a->reach.keys;
    long s = chunk / a->heads, head = chunk % a->heads;
    long i = queries->start[s], rows = queries->rows[s], row = head * queries->total_rows + i;
    long j = keys->start[s], all = keys->rows[s];
    return (Part){.rows = rows,
                  .keys = keys->length[s],
                  .offset = keys->length[s] - queries->length[s],
                  .slope = a->reach.slopes ? a->reach.slopes[head] / a->scale : 0,
                  .q = columns_of(n, PART_Q, head, i, rows),
                  .k = columns_of(n, PART_K, head, j, all),
                  .v = columns_of(n, PART_V, head, j, all),
                  .y = columns_of(n, Y, head, i, rows),
                  .max = a->max + row,
                  .inverse = a->inverse + row};
}

/* Query i of a part attends to the first keys of its sequence. Returns how many. */
static long seen(const Attr *a, const Part *h, long i) {
    long last = h->first + i + 1;
    return a->reach.causal && last < h->keys ? last : h->keys;
}

static Operand operand_rows(Operand x, long first, long count) {
    return (Operand){matrix_rows(x.data, first, count), matrix_rows(x.grad, first, count), x.adds};
}

/* A block: queries [first, end) of a head. */
static Part block_of(const Attr *a, const Part *h, long first, long end) {
    Part b = *h;
    b.first = first;
    b.rows = end - first;
    b.keys = seen(a, h, end - 1);
    b.q = operand_rows(h->q, first, b.rows);
    b.y = operand_rows(h->y, first, b.rows);
    b.k = operand_rows(h->k, 0, b.keys);
    b.v = operand_rows(h->v, 0, b.keys);
    b.max += first;
    b.inverse += first;
    return b;
}

/* Whether rows [first, end) of a matrix, as far as they exist, hold finite numbers only. */
static bool finite_rows(Matrix x, long first, long end) {
    Lanes zero = lanes_of(0), sum = zero; /* NaN if any number is not finite */
    if (end > x.rows) end = x.rows;
    for (long i = first; i < end; i++)
        for (long c = 0; c < x.columns; c += ROW_LANES)
            sum = lanes_add(sum,
                            lanes_mul(lanes_load_some(x.at + i * x.ld + c, x.columns - c), zero));
    return lanes_sum(sum) == 0;
}

/* The first query of the block that ends before query `end`. A causal block multiplies masked
 * elements by 0, which makes NaN of an infinity. So if one of `count` matrices holds such a number
 * in these rows, the block is a single query, which multiplies no masked element. */
static long block_start(const Attr *a, long end, const Matrix *multiplied, int count) {
    long first = (end - 1) / BLOCK * BLOCK;
    if (!a->reach.causal) return first;
    for (int i = 0; i < count; i++)
        if (!finite_rows(multiplied[i], first, first + BLOCK)) return end - 1;
    return first;
}

/* Subtracts from the scores of query i, which are not scaled yet, the slope times its distance from
 * each key. */
static void subtract_distances(const Attr *a, const Part *b, long i, real *s) {
    long at = b->first + i + b->offset, visible = seen(a, b, i);
    for (long j = 0; j < visible; j++) s[j] -= b->slope * (real)labs(at - j);
}

/* Memory for the scores of a block, then its probabilities. */
static Matrix scores_of(const Node *n, const Part *b) {
    const Attr *a = n->attr;
    return (Matrix){n->scratch + pool_thread_index() * a->block_size, b->rows, b->keys, a->ld_p};
}

static void forward_head(void *context, long chunk) {
    Node *n = context;
    const Attr *a = n->attr;
    Part h = head_of(n, chunk);
    for (long end = h.rows, first; end > 0; end = first) {
        first = block_start(a, end, &h.v.data, 1);
        Part b = block_of(a, &h, first, end);
        Matrix p = scores_of(n, &b);
        product_nt(b.q.data, b.k.data, p, false); /* (1) */
        for (long i = 0; i < b.rows; i++) {       /* (2) */
            real *row = p.at + i * p.ld;
            if (b.slope != 0) subtract_distances(a, &b, i, row);
            softmax_row(row, lanes_whole(b.keys), seen(a, &b, i), a->scale, &b.max[i],
                        &b.inverse[i]);
        }
        product_nn(p, b.v.data, b.y.data, false); /* (3) */
    }
}

static void forward(Node *n) {
    const Attr *a = n->attr;
    pool_for(a->reach.queries->count * a->heads, forward_head, n);
}

/* Sets rows of a fresh gradient that no query reaches to 0: padding, and keys after the last
 * query. */
static void clear_unreached(Operand x, long reached) {
    if (!x.grad.at || x.adds) return;
    for (long j = reached; j < x.grad.rows; j++)
        memset(x.grad.at + j * x.grad.ld, 0, (size_t)x.grad.columns * sizeof(real));
}

static void backward_head(void *context, long chunk) {
    Node *n = context;
    const Attr *a = n->attr;
    Part h = head_of(n, chunk);
    long reached = h.rows ? seen(a, &h, h.rows - 1) : 0;
    clear_unreached(h.k, reached);
    clear_unreached(h.v, reached);
    /* From the last block to the first: the last one has every key, so that its products store all
     * rows of fresh gradients, and the others add. */
    for (long end = h.rows, first; end > 0; end = first) {
        bool again = end < h.rows;
        first = block_start(a, end, (Matrix[]){h.q.data, h.k.data, h.v.data, h.y.grad}, 4);
        Part b = block_of(a, &h, first, end);
        Matrix p = scores_of(n, &b), ds = p; /* ds: first dp, then ds */
        ds.at += p.rows * p.ld;
        product_nt(b.q.data, b.k.data, p, false);  /* (1) again */
        product_nt(b.y.grad, b.v.data, ds, false); /* (3): dp */
        for (long i = 0; i < b.rows; i++) {        /* (2): p again, and ds */
            real *p_row = p.at + i * p.ld, *ds_row = ds.at + i * ds.ld;
            real D = row_dot(b.y.grad.at + i * b.y.grad.ld, b.y.data.at + i * b.y.data.ld, a->d_k);
            if (b.slope != 0) subtract_distances(a, &b, i, p_row);
            softmax_backward_row(p_row, ds_row, lanes_whole(b.keys), seen(a, &b, i), a->scale,
                                 b.max[i], b.inverse[i], D);
        }
        if (b.v.grad.at) product_tn(p, b.y.grad, b.v.grad, again || b.v.adds);  /* (3) */
        if (b.k.grad.at) product_tn(ds, b.q.data, b.k.grad, again || b.k.adds); /* (1) */
        if (b.q.grad.at) product_nn(ds, b.k.data, b.q.grad, b.q.adds);
    }
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    pool_for(a->reach.queries->count * a->heads, backward_head, n);
}

static long scratch(const Node *n, bool backward) {
    (void)backward;
    return pool_threads() * ((const Attr *)n->attr)->block_size;
}

/* Two products, over all pairs of a query and a key that it attends to. */
static double flops(const Node *n) {
    const Attr *a = n->attr;
    double pairs = 0;
    for (long s = 0; s < a->reach.queries->count; s++) {
        Part h = {.keys = a->reach.keys->length[s]};
        for (long i = 0; i < a->reach.queries->rows[s]; i++) pairs += (double)seen(a, &h, i);
    }
    return 2 * 2 * pairs * (double)(a->heads * a->d_k);
}

static void arguments(const Node *n, FILE *out) {
    const Attr *a = n->attr;
    fprintf(out, "\"heads\": %d, ", a->heads);
    print_sequences(out, "queries", a->reach.queries);
    fprintf(out, ", ");
    print_sequences(out, "keys", a->reach.keys);
    fprintf(out, ", \"causal\": %s", a->reach.causal ? "true" : "false");
    if (!a->reach.slopes) return;
    fprintf(out, ", \"slopes\": [%.9g", (double)a->reach.slopes[0]);
    for (int i = 1; i < a->heads; i++) fprintf(out, ", %.9g", (double)a->reach.slopes[i]);
    fprintf(out, "]");
}
/* exercise: end */

/* first rows, rows, tokens: padding where a sequence has fewer tokens than rows */
typedef const int32_t Ints[];
static const Sequences packed = {3, (Ints){0, 3, 4}, (Ints){3, 1, 2}, (Ints){3, 1, 2}, 6, 3};
static const Sequences padded = {3, (Ints){0, 3, 6}, (Ints){3, 3, 3}, (Ints){3, 1, 0}, 9, 3};
static const Sequences memory = {3, (Ints){0, 2, 6}, (Ints){2, 4, 1}, (Ints){2, 4, 1}, 7, 4};
static const Sequences longer = {1,         (Ints){0}, (Ints){BLOCK + 6}, (Ints){BLOCK + 6},
                                 BLOCK + 6, BLOCK + 6};
static const Sequences shorter = {3, (Ints){0, 2, 3}, (Ints){2, 1, 0}, (Ints){2, 1, 0}, 3, 2};
static const Sequences none = {0};
static const real slopes[] = {(real)0.25, (real)1.5};

BUILD_CASE(plain, tape_attention(t, x[0], x[1], x[2], 2, &(Reach){&packed, &packed, false}))
BUILD_CASE(causal, tape_attention(t, x[0], x[1], x[2], 2, &(Reach){&packed, &packed, true}))
BUILD_CASE(fused_causal, tape_attention(t, x[0], NULL, NULL, 2, &(Reach){&packed, &packed, true}))
BUILD_CASE(with_padding, tape_attention(t, x[0], NULL, NULL, 1, &(Reach){&padded, &padded, false}))
BUILD_CASE(with_padding_causal,
           tape_attention(t, x[0], NULL, NULL, 2, &(Reach){&padded, &padded, true}))
BUILD_CASE(cross, tape_attention(t, x[0], x[1], NULL, 2, &(Reach){&packed, &memory, false}))
BUILD_CASE(few_queries, tape_attention(t, x[0], x[1], NULL, 2, &(Reach){&shorter, &memory, true}))
BUILD_CASE(two_blocks, tape_attention(t, x[0], x[1], x[2], 1, &(Reach){&longer, &longer, true}))
BUILD_CASE(falling,
           tape_attention(t, x[0], NULL, NULL, 2, &(Reach){&padded, &padded, true, slopes}))
BUILD_CASE(falling_open,
           tape_attention(t, x[0], x[1], NULL, 2, &(Reach){&packed, &memory, false, slopes}))
BUILD_CASE(nothing, tape_attention(t, x[0], NULL, NULL, 2, &(Reach){&none, &none, false}))

static const CheckCase cases[] = {
    {"plain", plain, {{"q", DIMS(6, 4)}, {"k", DIMS(6, 4)}, {"v", DIMS(6, 4)}}},
    {"causal", causal, {{"q", DIMS(6, 4)}, {"k", DIMS(6, 4)}, {"v", DIMS(6, 4)}}},
    {"strided",
     causal,
     {{"q", DIMS(6, 4), .layout = TRANSPOSED},
      {"k", DIMS(6, 4), .layout = STEPPED},
      {"v", DIMS(6, 4)}}},
    {"one tensor thrice", causal, {{"q", DIMS(6, 4)}, {"q", .same_as = 1}, {"q", .same_as = 1}}},
    {"one matrix", fused_causal, {{"qkv", DIMS(6, 12)}}},
    {"padding, one sequence empty", with_padding, {{"qkv", DIMS(9, 6)}}},
    {"padding and causal", with_padding_causal, {{"qkv", DIMS(9, 12)}}},
    {"cross", cross, {{"q", DIMS(6, 4)}, {"kv", DIMS(7, 8)}}},
    {"cross, memory fixed", cross, {{"q", DIMS(6, 4)}, {"kv", DIMS(7, 8), .constant = true}}},
    {"cross, queries fixed", cross, {{"q", DIMS(6, 4), .constant = true}, {"kv", DIMS(7, 8)}}},
    {"fewer queries than keys", few_queries, {{"q", DIMS(3, 4)}, {"kv", DIMS(7, 8)}}},
    {"extreme logits",
     plain,
     {{"q", DIMS(6, 4), -100, 100}, {"k", DIMS(6, 4), -100, 100}, {"v", DIMS(6, 4)}},
     .flat = true},
    {"more than a block",
     two_blocks,
     {{"q", DIMS(BLOCK + 6, 2)}, {"k", DIMS(BLOCK + 6, 2)}, {"v", DIMS(BLOCK + 6, 2)}}},
    {"slopes", falling, {{"qkv", DIMS(9, 12)}}},
    {"slopes, other keys", falling_open, {{"q", DIMS(6, 4)}, {"kv", DIMS(7, 8)}}},
    {"no tokens", nothing, {{"qkv", DIMS(0, 12)}}},
};

const Op op_attention = {"attention",
                         forward,
                         backward,
                         .scratch = scratch,
                         .stores_fresh = true,
                         .flops = flops,
                         .arguments = arguments,
                         CASES(cases)};

static void check_sequences(const char *what, const Sequences *s) {
    if (s->count < 0 || s->total_rows < 0 || (s->count && !(s->start && s->rows && s->length)))
        error_bug("attention: the %s are %ld sequences without start, rows or length", what,
                  s->count);
    for (long i = 0; i < s->count; i++)
        if (s->start[i] < 0 || s->rows[i] < 0 || s->rows[i] > s->longest || s->length[i] < 0 ||
            s->length[i] > s->rows[i] || s->start[i] > s->total_rows - s->rows[i])
            error_bug("attention: sequence %ld of the %s has rows [%ld,%ld), %ld of them real, "
                      "want them in "
                      "[0,%ld), at most %ld",
                      i, what, (long)s->start[i], (long)s->start[i] + s->rows[i],
                      (long)s->length[i], s->total_rows, s->longest);
}

static void check_rows(const char *what, const Tensor *x, const Sequences *s, long columns) {
    if (x->shape.rank != 2 || x->shape.size[0] != s->total_rows || x->shape.size[1] != columns)
        error_bug("attention: %s is %s, want [%ld,%ld]", what, shape_text(x->shape), s->total_rows,
                  columns);
}

Tensor *tape_attention(Tape *t, Tensor *q, Tensor *k, Tensor *v, int heads, const Reach *reach) {
    op_want("attention", t, INPUTS(q));
    WANT(reach);
    const Sequences *queries = reach->queries, *keys = reach->keys;
    WANT(queries);
    WANT(keys);
    if (v && !k) error_bug("attention: found v without k, want both, k or none");
    if (q->shape.rank != 2) error_bug("attention: q is %s, want [n,d]", shape_text(q->shape));
    long d = q->shape.size[1] / (k ? 1 : 3);
    if (heads < 1 || d % heads || d < 1)
        error_bug("attention: %d heads, want a divisor of the width %ld", heads, d);
    if (queries->count != keys->count)
        error_bug("attention: keys have %ld sequences, want %ld", keys->count, queries->count);
    check_sequences("queries", queries);
    check_sequences("keys", keys);
    check_rows("q", q, queries, k ? d : 3 * d);
    if (k) check_rows("k", k, keys, v ? d : 2 * d);
    if (v) check_rows("v", v, keys, d);
    q = tape_contiguous(t, q);
    if (k) k = tape_contiguous(t, k);
    if (v) v = tape_contiguous(t, v);
    Node *n = tape_node(t, &op_attention, SHAPE(queries->total_rows, d), INPUTS(q, k, v));
    Attr *a = node_attr(n, sizeof *a);
    *a = (Attr){.heads = heads,
                .d_k = d / heads,
                .columns = {heads, d / heads},
                .reach = *reach,
                .scale = (real)(1 / sqrt((double)d / heads))};
    a->max = node_array(n, heads * queries->total_rows);
    a->inverse = node_array(n, heads * queries->total_rows);
    /* Not a multiple of 32 reals: rows a power of two apart would share sets of the cache. */
    a->ld_p = lanes_whole(keys->longest);
    if (a->ld_p % 32 == 0) a->ld_p += 16;
    long rows = queries->longest < BLOCK ? queries->longest : BLOCK;
    a->block_size = 2 * rows * a->ld_p;
    return tape_forward(n);
}
