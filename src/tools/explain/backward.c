#include "explain/backward.h"
#include "ops/ops.h"
#include <math.h>
#include <string.h>

static const Derivation derivations[] = {
#include "explain/derivations.inc"
};

const Derivation *backward_derivation(const Op *op) {
    for (size_t i = 0; i < sizeof derivations / sizeof *derivations; i++)
        if (strcmp(derivations[i].op, op->name) == 0) return &derivations[i];
    return NULL;
}

const char *backward_input(const Node *n, int i, char out[BACKWARD_INPUT]) {
    static const char type[] = "Tensor *", array[] = "Tensor *const ";
    const OpEntry *op = ops_find(n->op->name);
    const char *at = op ? strstr(op->arguments, type) : NULL;
    char name[8] = "";
    if (at && strncmp(at, array, strlen(array)) == 0) {
        sscanf(at + strlen(array), "%7[A-Za-z]", name);
        snprintf(out, BACKWARD_INPUT, "%s_%d", name, i + 1);
        return out;
    }
    while (at && i-- > 0) at = strstr(at + 1, type);
    if (!at || sscanf(at, "Tensor *%7[A-Za-z]", out) != 1) *out = 0;
    return out;
}

static real *reals(Arena *a, long count) {
    return arena_alloc(a, (size_t)count * sizeof(real));
}

/* Runs a node's forward, or its backward, with scratch memory of its own. */
static void run(Node *n, bool backward) {
    void (*direction)(Node *) = backward ? n->op->backward : n->op->forward;
    Arena arena = {0};
    if (!direction) return;
    if (n->op->scratch) n->scratch = reals(&arena, n->op->scratch(n, backward));
    direction(n);
    arena_free(&arena);
    n->scratch = NULL;
}

/* Whether there is an input i, and it is not an earlier input passed again. */
static bool is_first(const Node *n, int i) {
    for (int j = 0; j < i; j++)
        if (n->in[j] == n->in[i]) return false;
    return n->in[i] != NULL;
}

bool backward_reaches(const Node *n, int i) {
    return is_first(n, i) && tensor_wants_grad(n->in[i]);
}

/* ---- One backward alone ---- */

/* The gradients of a node's tensors, replaced by memory that only its backward writes to. */
typedef struct Alone {
    real *dy, *dx[MAX_INPUTS], *old_dy, *old_dx[MAX_INPUTS];
    GradState old_state[MAX_INPUTS];
} Alone;

static Alone alone_begin(Arena *arena, Node *n, bool all) {
    Alone a = {.dy = reals(arena, shape_count(n->out->shape)), .old_dy = n->out->grad};
    n->out->grad = a.dy;
    for (int i = 0; i < n->inputs; i++) {
        if (!is_first(n, i) || !(all || tensor_wants_grad(n->in[i]))) continue;
        Tensor *x = n->in[i];
        a.old_dx[i] = x->grad;
        a.old_state[i] = x->grad_state;
        x->grad = a.dx[i] = reals(arena, shape_count(x->shape));
        x->grad_state = GRAD_SUM;
    }
    return a;
}

static void alone_end(const Alone *a, Node *n) {
    n->out->grad = a->old_dy;
    for (int i = 0; i < n->inputs; i++) {
        if (!a->dx[i]) continue;
        n->in[i]->grad = a->old_dx[i];
        n->in[i]->grad_state = a->old_state[i];
    }
}

real *backward_part(Arena *arena, Node *n, int i) {
    Alone a = alone_begin(arena, n, false);
    memcpy(a.dy, a.old_dy, (size_t)shape_count(n->out->shape) * sizeof(real));
    run(n, true);
    alone_end(&a, n);
    return a.dx[i];
}

/* Backward is linear in dy: the slope of y[at] is what it adds for a dy of 1 there and 0 elsewhere.
 */
BackwardTerm *backward_terms(Arena *arena, Node *n, int i, long cell, long *count) {
    long outputs = shape_count(n->out->shape);
    BackwardTerm *term = arena_alloc(arena, (size_t)outputs * sizeof *term);
    Alone a = alone_begin(arena, n, false);
    *count = 0;
    for (long at = 0; at < outputs; at++) {
        for (int j = 0; j < n->inputs; j++)
            if (a.dx[j]) memset(a.dx[j], 0, (size_t)shape_count(n->in[j]->shape) * sizeof(real));
        memset(a.dy, 0,
               (size_t)outputs * sizeof(real)); /* backward may have used it as scratch memory */
        a.dy[at] = 1;
        run(n, true);
        real slope = a.dx[i][cell];
        if (slope != 0) term[(*count)++] = (BackwardTerm){at, a.old_dy[at], slope};
    }
    alone_end(&a, n);
    return term;
}

/* ---- One cell of forward ---- */

/* The terms of operand i, and their sum. */
static ForwardTerm *terms_of(Arena *arena, const Node *n, int i, const real *slope, long *count,
                             double *sum) {
    const Tensor *x = n->in[i];
    long elements = shape_count(x->shape);
    real *values = reals(arena, elements);
    ForwardTerm *term = arena_alloc(arena, (size_t)elements * sizeof *term);
    tensor_copy_out(x, values);
    for (long k = 0; k < elements; k++) {
        if (slope[k] == 0) continue;
        term[(*count)++] = (ForwardTerm){i, k, values[k], slope[k]};
        *sum += (double)values[k] * (double)slope[k];
    }
    return term;
}

/* The smallest set of operands, a bit each, whose sums add up to y; 0: none. */
static unsigned operands_of(int inputs, const double *sum, const bool *is_there, double y) {
    unsigned best = 0;
    int fewest = MAX_INPUTS + 1;
    for (unsigned set = 1; set < 1u << inputs; set++) {
        double total = 0, size = fabs(y);
        int members = 0;
        for (int i = 0; i < inputs; i++) {
            if (!(set >> i & 1)) continue;
            members += is_there[i] ? 1 : MAX_INPUTS;
            total += sum[i];
            size += fabs(sum[i]);
        }
        if (members < fewest && fabs(total - y) <= 1e4 * (double)REAL_EPSILON * size) {
            best = set;
            fewest = members;
        }
    }
    return best;
}

ForwardSum forward_sum(Arena *arena, Node *n, long cell) {
    Alone a = alone_begin(arena, n, true);
    ForwardTerm *term[MAX_INPUTS];
    double sum[MAX_INPUTS] = {0};
    long count[MAX_INPUTS] = {0}, all = 0;
    bool is_there[MAX_INPUTS] = {false};
    real *all_y = reals(arena, shape_count(n->out->shape));
    tensor_copy_out(n->out, all_y);
    real y = all_y[cell];
    a.dy[cell] = 1;
    run(n, true);
    alone_end(&a, n);
    for (int i = 0; i < n->inputs; i++) {
        if (!a.dx[i]) continue;
        term[i] = terms_of(arena, n, i, a.dx[i], &count[i], &sum[i]);
        is_there[i] = true;
    }
    unsigned set = isfinite(y) ? operands_of(n->inputs, sum, is_there, (double)y) : 0;
    for (int i = 0; i < n->inputs; i++) all += set >> i & 1 ? count[i] : 0;
    ForwardSum s = {arena_alloc(arena, (size_t)(all + 1) * sizeof *s.term), 0, y, y};
    for (int i = 0; i < n->inputs; i++) {
        if (!(set >> i & 1)) continue;
        memcpy(s.term + s.count, term[i], (size_t)count[i] * sizeof *s.term);
        s.count += count[i];
        s.rest -= (real)sum[i];
    }
    return s;
}

/* backward_end of a cell of y, which other operations read. */
static const Node *end_behind(const Tensor *y, long cell) {
    for (Node *n = y->maker->tape->last; n != y->maker; n = n->previous) {
        for (int i = 0; i < n->inputs; i++) {
            if (n->in[i] != y || n->out->grad_state < GRAD_FRESH) continue;
            const Node *end = backward_end(n, i, cell);
            if (end) return end;
        }
    }
    return NULL;
}

const Node *backward_end(Node *n, int i, long cell) {
    Arena arena = {0};
    long terms;
    const BackwardTerm *term = backward_terms(&arena, n, i, cell, &terms);
    const Node *end = terms || n->op->view ? NULL : n; /* a view of other cells ends no way */
    bool zero = true;
    for (long k = 0; k < terms; k++) zero = zero && term[k].dy == 0;
    for (long k = 0; k < terms; k++) {
        bool is_mask = !end || strcmp(end->op->name, "masked_fill") == 0;
        if (zero && is_mask) end = end_behind(n->out, term[k].at);
    }
    arena_free(&arena);
    return end;
}

/* ---- Differences ---- */

/* Runs the operations behind `from` again, up to n; NULL: all. */
static void run_up_to(Node *n, const Node *from) {
    if (n == from) return;
    run_up_to(n->previous, from);
    run(n, false);
}

static real loss_after(const Tape *t, const Node *from) {
    run_up_to(t->last, from);
    return *t->last->out->data;
}

real backward_loss(const Tape *t, const Tensor *x, long offset, real value) {
    real was = x->data[offset];
    x->data[offset] = value;
    real loss = loss_after(t, x->maker);
    x->data[offset] = was;
    loss_after(t, x->maker);
    return loss;
}

Sweep backward_difference(Node *n, long cell) {
    enum { HALVINGS = 24 };
    Sweep s;
    real *x = n->out->data + cell, at = *x;
    double step = 0.125 * fmax(1, fabs((double)at)), loss = fabs((double)*n->tape->last->out->data);
    sweep_start(&s, CENTRAL);
    for (int i = 0; i < HALVINGS; i++) {
        if (sweep_settled(&s, 64 * (double)REAL_EPSILON)) break;
        real up = *x = at + (real)step, above = loss_after(n->tape, n);
        real down = *x = at - (real)step, below = loss_after(n->tape, n);
        double width = (double)(up - down);
        sweep_add(&s, step, (double)(above - below) / width,
                  4 * (double)REAL_EPSILON * loss / width);
        step /= 2;
    }
    *x = at;
    loss_after(n->tape, n);
    return s;
}
