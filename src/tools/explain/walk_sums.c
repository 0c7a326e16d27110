/* Sums of the walk: each number by the operation's own backward, run alone. */
#include "explain/walk_records.h"
#include <math.h>
#include <string.h>

static real *reals(Arena *a, long count) {
    return arena_alloc(a, (size_t)count * sizeof(real));
}

/* Runs a node's forward, or its backward, with scratch memory from the arena. */
static void run(Arena *arena, Node *n, bool backward) {
    void (*direction)(Node *) = backward ? n->op->backward : n->op->forward;
    if (!direction) return;
    if (n->op->scratch) n->scratch = reals(arena, n->op->scratch(n, backward));
    direction(n);
    n->scratch = NULL;
}

/* Whether there is an input i, and it is not an earlier input passed again. */
static bool is_first(const Node *n, int i) {
    for (int j = 0; j < i; j++)
        if (n->in[j] == n->in[i]) return false;
    return n->in[i] != NULL;
}

bool record_adds(const Node *n, int i) {
    return is_first(n, i) && tensor_wants_grad(n->in[i]);
}

/* Runs the node's backward for this gradient of its output, and returns in dx what it adds to that
 * of each input that wants one, or with `all` of each input. */
static void run_alone(Arena *arena, Node *n, bool all, const real *dy, real *dx[MAX_INPUTS]) {
    Tensor *y = n->out, before[MAX_INPUTS];
    long count = shape_count(y->shape);
    real *arrived = y->grad;
    y->grad = memcpy(reals(arena, count), dy, (size_t)count * sizeof *dy);
    for (int i = 0; i < n->inputs; i++) {
        dx[i] = NULL;
        if (!is_first(n, i) || !(all || tensor_wants_grad(n->in[i]))) continue;
        before[i] = *n->in[i];
        n->in[i]->grad = dx[i] = reals(arena, shape_count(n->in[i]->shape));
        n->in[i]->grad_state = GRAD_SUM;
    }
    run(arena, n, true);
    y->grad = arrived;
    for (int i = 0; i < n->inputs; i++)
        if (dx[i]) *n->in[i] = before[i];
}

real *record_part(Arena *arena, Node *n, int i) {
    real *dx[MAX_INPUTS];
    run_alone(arena, n, false, n->out->grad, dx);
    return dx[i];
}

long record_parts(const Records *r, const Tensor *x, long at, long *visited) {
    long parts = 0;
    *visited = 0;
    for (long i = r->count - 1; i >= 0; i--) {
        const Node *n = r->of[i].node;
        for (int k = 0; k < n->inputs; k++) {
            if (!record_reached(n) || n->in[k] != x || !record_adds(n, k)) continue;
            parts++;
            *visited += i >= at;
        }
    }
    return parts;
}

/* ---- A cell of the output ---- */

/* The smallest set of these operands, a bit each, whose sums add up to y; 0: none. */
static unsigned operands_of(const Node *n, unsigned all, const double *sum, double y) {
    unsigned best = 0;
    int fewest = MAX_INPUTS + 1;
    for (unsigned set = 1; set < 1u << n->inputs; set++) {
        double total = 0, size = fabs(y);
        int members = 0;
        if (set & ~all) continue;
        for (int i = 0; i < n->inputs; i++) {
            if (!(set >> i & 1)) continue;
            members++;
            total += sum[i];
            size += fabs(sum[i]);
        }
        if (members >= fewest || !(fabs(total - y) <= 1e4 * (double)REAL_EPSILON * size)) continue;
        best = set;
        fewest = members;
    }
    return best;
}

static Sum sum_of_output(Arena *arena, Node *n, long cell) {
    long outputs = shape_count(n->out->shape), kept = 0, capacity = 1;
    real *y = reals(arena, outputs), *unit = reals(arena, outputs), *slope[MAX_INPUTS];
    double sum[MAX_INPUTS] = {0};
    unsigned all = 0;
    tensor_copy_out(n->out, y);
    unit[cell] = 1;
    run_alone(arena, n, true, unit, slope);
    for (int i = 0; i < n->inputs; i++)
        if (slope[i]) capacity += shape_count(n->in[i]->shape);
    Sum s = {.value = (double)y[cell], .rest = (double)y[cell]};
    s.term = arena_alloc(arena, (size_t)capacity * sizeof *s.term);
    for (int i = 0; i < n->inputs; i++) {
        if (!slope[i]) continue;
        long count = shape_count(n->in[i]->shape);
        real *x = reals(arena, count);
        tensor_copy_out(n->in[i], x);
        for (long k = 0; k < count; k++) {
            if (slope[i][k] == 0) continue;
            s.term[s.count++] = (Term){i, k, (double)x[k], (double)slope[i][k]};
            sum[i] += (double)x[k] * (double)slope[i][k];
        }
        all |= 1u << i;
    }
    unsigned set = isfinite(y[cell]) ? operands_of(n, all, sum, (double)y[cell]) : 0;
    for (long k = 0; k < s.count; k++)
        if (set >> s.term[k].operand & 1) s.term[kept++] = s.term[k];
    for (int i = 0; i < n->inputs; i++)
        if (set >> i & 1) s.rest -= sum[i];
    s.count = kept;
    return s;
}

/* ---- A cell of a gradient ---- */

/* The end of the way of a cell of y through other operations that read it. */
static const Node *end_behind(const Tensor *y, long cell) {
    for (Node *n = y->maker->tape->last; n != y->maker; n = n->previous)
        for (int i = 0; i < n->inputs; i++) {
            if (n->in[i] != y || !record_reached(n)) continue;
            Arena arena = {0};
            const Node *end = record_sum(&arena, n, i, cell).end;
            arena_free(&arena);
            if (end) return end;
        }
    return NULL;
}

/* A mask is named only if it hides all of the way. */
static const Node *end_of(const Node *n, const Sum *s) {
    const Node *end = s->count || n->op->view ? NULL : n; /* a view of other cells ends no way */
    for (long k = 0; k < s->count; k++)
        if (s->term[k].value != 0) return NULL;
    for (long k = 0; k < s->count; k++) {
        bool is_mask = !end || strcmp(end->op->name, "masked_fill") == 0;
        if (is_mask) end = end_behind(n->out, s->term[k].element);
    }
    return end;
}

/* Backward is linear in dy: the slope of y[k] is what it adds for a dy of 1 there and 0 elsewhere.
 */
static Sum sum_of_gradient(Arena *arena, Node *n, int i, long cell) {
    long outputs = shape_count(n->out->shape);
    const real *dy = n->out->grad;
    Sum s = {.term = arena_alloc(arena, (size_t)(outputs + 1) * sizeof *s.term)};
    real *dx[MAX_INPUTS];
    Arena each = {0};
    run_alone(&each, n, false, dy, dx);
    s.value = (double)dx[i][cell];
    for (long k = 0; k < outputs; k++) {
        arena_reset(&each);
        real *unit = reals(&each, outputs);
        unit[k] = 1;
        run_alone(&each, n, false, unit, dx);
        if (dx[i][cell] == 0) continue;
        s.term[s.count++] = (Term){-1, k, (double)dy[k], (double)dx[i][cell]};
    }
    arena_free(&each);
    s.end = end_of(n, &s);
    return s;
}

Sum record_sum(Arena *arena, Node *n, int operand, long cell) {
    return operand < 0 ? sum_of_output(arena, n, cell) : sum_of_gradient(arena, n, operand, cell);
}

const char *record_zero(const Records *r, const Node *end, const Tensor *x, long cell) {
    if (x == &r->model->positions) return "positions";
    bool is_hidden = tensor_contiguous(x) && isinf(x->data[cell]);
    return is_hidden ? "hidden" : end->op->name;
}

/* ---- Differences ---- */

/* Runs the operations behind `from` again, up to n; NULL: all. */
static void run_up_to(Arena *arena, Node *n, const Node *from) {
    if (n == from) return;
    run_up_to(arena, n->previous, from);
    arena_reset(arena);
    run(arena, n, false);
}

static real loss_after(Arena *arena, const Tape *t, const Node *from) {
    run_up_to(arena, t->last, from);
    return *t->last->out->data;
}

real record_loss(const Records *r, const Tensor *x, long offset, real value) {
    Arena arena = {0};
    real was = x->data[offset];
    x->data[offset] = value;
    real loss = loss_after(&arena, r->tape, x->maker);
    x->data[offset] = was;
    loss_after(&arena, r->tape, x->maker);
    arena_free(&arena);
    return loss;
}

Sweep record_difference(Node *n, long cell) {
    enum { HALVINGS = 24 };
    Sweep s;
    Arena arena = {0};
    real *x = n->out->data + cell, at = *x;
    double step = 0.125 * fmax(1, fabs((double)at)), loss = fabs((double)*n->tape->last->out->data);
    sweep_start(&s, CENTRAL);
    for (int i = 0; i < HALVINGS; i++) {
        if (sweep_settled(&s, 64 * (double)REAL_EPSILON)) break;
        real up = *x = at + (real)step, above = loss_after(&arena, n->tape, n);
        real down = *x = at - (real)step, below = loss_after(&arena, n->tape, n);
        double width = (double)(up - down);
        sweep_add(&s, step, (double)(above - below) / width,
                  4 * (double)REAL_EPSILON * loss / width);
        step /= 2;
    }
    *x = at;
    loss_after(&arena, n->tape, n);
    arena_free(&arena);
    return s;
}
