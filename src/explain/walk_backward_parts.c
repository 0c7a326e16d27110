/* The parts of a gradient: which operations add to it, and how much. */
#include "explain/walk_backward.h"

long walk_backward_parts(const Backward *b, const Tensor *x, long at, long *visited) {
    long parts = 0;
    *visited = 0;
    for (long i = b->count - 1; i >= 0; i--)
        for (int k = 0; k < b->node[i]->inputs; k++) {
            if (b->node[i]->in[k] != x || !walk_backward_reached(b->node[i]) ||
                !backward_reaches(b->node[i], k))
                continue;
            parts++;
            *visited += i >= at;
        }
    return parts;
}

real *walk_backward_part(const Backward *b, long i, int k) {
    long count = shape_count(b->node[i]->in[k]->shape);
    real *part = arena_alloc(&b->w->arena, ((size_t)count + 1) * sizeof *part);
    backward_part(b->node[i], k, part);
    return part;
}

BackwardTerm *walk_backward_terms(const Backward *b, long i, int k, long cell, long *count) {
    enum { MOST = 1 << 14 };
    long most = shape_count(b->node[i]->out->shape);
    if (cell < 0 || most > MOST) return NULL;
    BackwardTerm *term = arena_alloc(&b->w->arena, ((size_t)most + 1) * sizeof *term);
    *count = backward_terms(b->node[i], k, cell, term);
    return term;
}
