#include "explain/backward.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Derivation derivations[] = {
#include "explain/derivations.inc"
};

const Derivation *backward_derivation(const Op *op) {
    for (size_t i = 0; i < sizeof derivations / sizeof *derivations; i++)
        if (strcmp(derivations[i].op, op->name) == 0) return &derivations[i];
    return NULL;
}

static void *room(long count, size_t size) {
    void *memory = calloc((size_t)count + 1, size);
    if (!memory) error_no_memory("%ld elements for a step of backward", count);
    return memory;
}

/* Runs a node's forward, or its backward, with scratch memory of its own. */
static void run(Node *n, bool backward) {
    void (*direction)(Node *) = backward ? n->op->backward : n->op->forward;
    long scratch = n->op->scratch ? n->op->scratch(n, backward) : 0;
    if (!direction) return;
    n->scratch = scratch ? room(scratch, sizeof(real)) : NULL;
    direction(n);
    free(n->scratch);
    n->scratch = NULL;
}

bool backward_reaches(const Node *n, int i) {
    for (int j = 0; j < i; j++)
        if (n->in[j] == n->in[i]) return false;
    return n->in[i] && tensor_wants_grad(n->in[i]);
}

/* ---- One backward alone ---- */

/* The gradients of a node's tensors, replaced by memory that only its backward writes to. */
typedef struct Alone {
    Node *n;
    real *dy, *dx[MAX_INPUTS], *old_dy, *old_dx[MAX_INPUTS];
    GradState old_state[MAX_INPUTS];
} Alone;

static Alone alone_begin(Node *n) {
    Alone a = {.n = n, .dy = room(shape_count(n->out->shape), sizeof(real)), .old_dy = n->out->grad};
    n->out->grad = a.dy;
    for (int i = 0; i < n->inputs; i++) {
        if (!backward_reaches(n, i)) continue;
        Tensor *x = n->in[i];
        a.old_dx[i] = x->grad, a.old_state[i] = x->grad_state;
        x->grad = a.dx[i] = room(shape_count(x->shape), sizeof(real));
        x->grad_state = GRAD_SUM;
    }
    return a;
}

static void alone_end(Alone *a) {
    a->n->out->grad = a->old_dy;
    free(a->dy);
    for (int i = 0; i < a->n->inputs; i++) {
        if (!a->dx[i]) continue;
        a->n->in[i]->grad = a->old_dx[i], a->n->in[i]->grad_state = a->old_state[i];
        free(a->dx[i]);
    }
}

void backward_part(Node *n, int i, real *out) {
    Alone a = alone_begin(n);
    memcpy(a.dy, a.old_dy, (size_t)shape_count(n->out->shape) * sizeof(real));
    run(n, true);
    memcpy(out, a.dx[i], (size_t)shape_count(n->in[i]->shape) * sizeof(real));
    alone_end(&a);
}

/* Backward is linear in dy: the slope of y[at] is what it adds for a dy of 1 there and 0 elsewhere. */
long backward_terms(Node *n, int i, long cell, BackwardTerm *out) {
    Alone a = alone_begin(n);
    long found = 0;
    size_t dy_bytes = (size_t)shape_count(n->out->shape) * sizeof(real);
    for (long at = 0; at < shape_count(n->out->shape); at++) {
        for (int j = 0; j < n->inputs; j++)
            if (a.dx[j]) memset(a.dx[j], 0, (size_t)shape_count(n->in[j]->shape) * sizeof(real));
        memset(a.dy, 0, dy_bytes); /* backward may have used it as scratch memory */
        a.dy[at] = 1;
        run(n, true);
        real slope = a.dx[i][cell];
        if (slope != 0) out[found++] = (BackwardTerm){at, a.old_dy[at], slope};
    }
    alone_end(&a);
    return found;
}

/* backward_end of a cell of y, which other operations read. */
static const Node *end_behind(const Tensor *y, long cell) {
    const Node *end = NULL;
    for (Node *n = y->maker->tape->last; n != y->maker && !end; n = n->previous)
        for (int i = 0; i < n->inputs && !end; i++)
            if (n->in[i] == y && n->out->grad_state >= GRAD_FRESH) end = backward_end(n, i, cell);
    return end;
}

const Node *backward_end(Node *n, int i, long cell) {
    BackwardTerm *term = room(shape_count(n->out->shape), sizeof *term);
    long terms = backward_terms(n, i, cell, term);
    const Node *end = terms || n->op->view ? NULL : n; /* a view of other cells ends no way */
    bool zero = true;
    for (long k = 0; k < terms; k++) zero = zero && term[k].dy == 0;
    for (long k = 0; zero && k < terms && (!end || strcmp(end->op->name, "masked_fill") == 0); k++)
        end = end_behind(n->out, term[k].at);
    free(term);
    return end;
}

/* ---- Differences ---- */

/* The loss after the operations behind `from` have run again; NULL: all. */
static real loss_after(const Tape *t, const Node *from) {
    long count = from ? t->nodes - from->index - 1 : t->nodes;
    Node **later = room(count, sizeof *later), *n = t->last;
    for (long i = count; i > 0; n = n->previous) later[--i] = n;
    for (long i = 0; i < count; i++) run(later[i], false);
    free(later);
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
    for (int i = 0; i < HALVINGS && !sweep_settled(&s, 64 * (double)REAL_EPSILON); i++, step /= 2) {
        real up = *x = at + (real)step, above = loss_after(n->tape, n);
        real down = *x = at - (real)step, below = loss_after(n->tape, n);
        double width = (double)(up - down);
        sweep_add(&s, step, (double)(above - below) / width, 4 * (double)REAL_EPSILON * loss / width);
    }
    *x = at;
    loss_after(n->tape, n);
    return s;
}
