#include "run/page_content.h"

long page_row_weights(const PageGroup *g, long row) {
    return g->causal && row + 1 < g->columns ? row + 1 : g->columns;
}

long page_map_weights(const PageGroup *g) {
    long sum = 0;
    for (long i = 0; i < g->rows; i++) sum += page_row_weights(g, i);
    return sum;
}

long page_weights(const PageExample *x) {
    long sum = 0;
    for (int i = 0; i < x->groups; i++)
        sum += (long)x->group[i].layers * x->group[i].heads * page_map_weights(&x->group[i]);
    return sum;
}
