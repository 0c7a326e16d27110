/* embedding: a row of a table for every token, scaled, plus a row for its position. Sections 3.4
 * and 3.5.
 *
 *     E: [V, d]           ids: n token ids in [0, V)      y: [n, d]
 *     P: [M, d] or none   at: n positions in [0, M)
 *
 *   | y_i = s E_{ids_i} + P_{at_i}             when P
 *   | y_i = s E_{ids_i}                        when no P
 *
 * Backward. A row of the table gets the gradients of all tokens that used it:
 *
 *   | dE_v += s Σ_{i: ids_i = v} dy_i
 *   | dP_m += Σ_{i: at_i = m} dy_i               when P
 *
 * Each chunk of work owns some columns of the tables. So no two threads write the same element, and
 * every element sums its tokens in order.
 *
 * ids and at are the caller's and must live until backward has run. */
#include "ops/arguments.h"
#include "ops/ops.h"
#include "ops/row_loop.h"

enum { E, P };

typedef struct Attr {
    long n, d;
    const int32_t *ids, *at;
    real s;
} Attr;

/* exercise: begin */
static void forward_rows(Node *n, long begin, long end) {
    const Attr *a = n->attr;
    long d = a->d;
    for (long i = begin; i < end; i++) {
        const real *e = n->in[E]->data + a->ids[i] * d;
        const real *p = n->in[P] ? n->in[P]->data + a->at[i] * d : NULL;
        real *y = n->out->data + i * d;
        for (long j = 0; j < d; j++) y[j] = p ? a->s * e[j] + p[j] : a->s * e[j];
    }
}

static void forward(Node *n) {
    const Attr *a = n->attr;
    row_loop(n, a->n, a->d, forward_rows);
}

/* Columns of a chunk: a cache line of them. */
enum { COLUMNS = 64 / sizeof(float) };

/* Adds to blocks [begin, end) of COLUMNS columns of both tables. */
static void backward_columns(Node *n, long begin, long end) {
    const Attr *a = n->attr;
    long d = a->d, last = end * COLUMNS < d ? end * COLUMNS : d;
    for (int table = E; table <= P; table++) {
        if (!n->in[table] || !n->in[table]->grad) continue;
        const int32_t *row = table == E ? a->ids : a->at;
        real s = table == E ? a->s : 1;
        for (long i = 0; i < a->n; i++) {
            const real *dy = n->out->grad + i * d;
            real *to = n->in[table]->grad + row[i] * d;
            for (long j = begin * COLUMNS; j < last; j++) to[j] += s * dy[j];
        }
    }
}

static void backward(Node *n) {
    const Attr *a = n->attr;
    row_loop(n, chunks_of(a->d, COLUMNS), a->n * COLUMNS, backward_columns);
}

static void arguments(const Node *n, FILE *out) {
    const Attr *a = n->attr;
    print_ids(out, "ids", a->ids, a->n);
    fprintf(out, ", ");
    print_number(out, "s", (double)a->s);
    if (!n->in[P]) return;
    fprintf(out, ", ");
    print_ids(out, "at", a->at, a->n);
}
/* exercise: end */

static const int32_t some_ids[] = {2, 0, 2, 3, 2}, some_positions[] = {0, 1, 2, 0, 1};

BUILD_CASE(tokens, tape_embedding(t, x[0], 5, some_ids, 1, NULL, NULL))
BUILD_CASE(scaled_with_positions, tape_embedding(t, x[0], 5, some_ids, 2.5, x[1], some_positions))
BUILD_CASE(one_table, tape_embedding(t, x[0], 5, some_ids, 3, x[0], some_positions))
BUILD_CASE(no_tokens, tape_embedding(t, x[0], 0, some_ids, 1, NULL, NULL))

static const CheckCase cases[] = {
    {"repeated and unused rows", tokens, {{"E", DIMS(4, 3)}}},
    {"scaled, with positions", scaled_with_positions, {{"E", DIMS(4, 3)}, {"P", DIMS(3, 3)}}},
    {"fixed positions",
     scaled_with_positions,
     {{"E", DIMS(4, 3)}, {"P", DIMS(3, 3), .constant = true}}},
    {"one table for both", one_table, {{"E", DIMS(4, 3)}}},
    {"strided",
     scaled_with_positions,
     {{"E", DIMS(4, 3), .layout = TRANSPOSED}, {"P", DIMS(3, 3), .layout = STEPPED}}},
    {"no tokens", no_tokens, {{"E", DIMS(4, 3)}}},
};

const Op op_embedding = {"embedding", forward, backward, .arguments = arguments, CASES(cases)};

static void check_rows(const char *what, const Tensor *table, long n, const int32_t *row) {
    for (long i = 0; i < n; i++)
        if (row[i] < 0 || row[i] >= table->shape.size[0])
            error_bug("embedding: %s %ld is %ld, want it in [0,%ld)", what, i, (long)row[i],
                      table->shape.size[0]);
}

Tensor *tape_embedding(Tape *t, Tensor *table, long count, const int32_t *ids, double s,
                       Tensor *positions, const int32_t *at) {
    op_want("embedding", t, INPUTS(table));
    if (table->shape.rank != 2)
        error_bug("embedding: E is %s, want [V,d]", shape_text(table->shape));
    long d = table->shape.size[1];
    if (count < 0) error_bug("embedding: %ld tokens, want at least 0", count);
    if (count) WANT(ids);
    if (positions && (positions->shape.rank != 2 || positions->shape.size[1] != d))
        error_bug("embedding: P is %s, want [*,%ld]", shape_text(positions->shape), d);
    check_rows("token", table, count, ids);
    if (positions) check_rows("position", positions, count, at);
    table = tape_contiguous(t, table);
    if (positions) positions = tape_contiguous(t, positions);
    Node *n = tape_node(t, &op_embedding, SHAPE(count, d), INPUTS(table, positions));
    *(Attr *)node_attr(n, sizeof(Attr)) = (Attr){count, d, ids, at, (real)s};
    return tape_forward(n);
}
