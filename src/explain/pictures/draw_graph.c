/* Graphs on a terminal: one line a step, after the lanes of the values that are still to be read. */
#include "explain/pictures/draw.h"

/* A mark in a lane. */
typedef enum Mark { EMPTY, ACROSS, PASSES, CROSSED, FROM_LEFT, FROM_RIGHT, ENDS, STEP } Mark;
static const char *const ascii[] = {" ", "-", "|", "+", "|", "|", "'", "o"};
static const char *const lines[] = {" ", "─", "│", "┼", "├", "┤", "┘", "●"};

/* The value in this lane when step i runs, or -1. */
static int holder(const Lanes *l, int lane, int i) {
    for (int v = i - 1; v >= 0; v--)
        if (l->lane[v] == lane) return l->last[v] >= i ? v : -1;
    return -1;
}

/* The first and last lane that step i joins: its own and those that it reads. */
static void span(const Graph *g, const Lanes *l, int i, int *first, int *last) {
    *first = *last = l->lane[i];
    for (int k = 0; k < g->steps[i].count; k++) {
        int lane = l->lane[g->steps[i].reads[k]];
        if (lane < *first) *first = lane;
        if (lane > *last) *last = lane;
    }
}

static Mark mark_of(const Graph *g, const Lanes *l, int lane, int i, bool inside) {
    int value = holder(l, lane, i);
    if (lane == l->lane[i]) return STEP;
    if (value < 0) return inside ? ACROSS : EMPTY;
    if (!graph_reads(&g->steps[i], value)) return inside ? CROSSED : PASSES;
    if (l->last[value] == i) return ENDS; /* to the right: the step itself takes the first such lane */
    return lane < l->lane[i] ? FROM_LEFT : FROM_RIGHT;
}

void draw_graph(const Graph *g, const Terminal *t) {
    Lanes l = graph_lanes(g);
    const char *const *marks = t->unicode ? lines : ascii;
    int shown = l.count < t->width / 4 ? l.count : t->width / 4; /* leaves room for the label */
    for (int i = 0; i < g->count; i++) {
        int first, last;
        span(g, &l, i, &first, &last);
        for (int lane = 0; lane < shown; lane++) {
            bool inside = lane >= first && lane <= last;
            fputs(marks[mark_of(g, &l, lane, i, inside)], t->out);
            fputs(marks[inside && lane < last ? ACROSS : EMPTY], t->out);
        }
        Label label = label_of(g->steps[i].label, t->width - 2 * shown, t->unicode);
        label_write(t->out, &label);
        fputc('\n', t->out);
    }
}
