/* Graphs as SVG: an edge leads from each value down its lane to every step that reads it. */
#include "explain/pictures/draw.h"

enum { ROW = 24, LANE = 18, RADIUS = 5, MARGIN = 10 };

static double x_of(int lane) {
    return MARGIN + lane * LANE;
}

static double y_of(int step) {
    return MARGIN + step * ROW;
}

Size svg_graph_size(const Graph *g) {
    int longest = 0;
    for (int i = 0; i < g->count; i++) {
        int columns = label_of(g->steps[i].label, LABEL_MOST, true).columns;
        if (columns > longest) longest = columns;
    }
    return (Size){x_of(graph_lanes(g).count) + longest * SVG_LETTER + MARGIN, y_of(g->count)};
}

/* Goes down the lane of the value and bends into the lane of the step. */
static void edge(const Lanes *l, int value, int step, FILE *out) {
    double x = x_of(l->lane[value]), to = x_of(l->lane[step]), y = y_of(step), bend = to > x ? 8 : -8;
    fprintf(out, "<path stroke=\"%s\" d=\"M%.0f %.0f", colours[l->lane[value] % COLOURS].svg, x, y_of(value));
    if (x == to)
        fprintf(out, "V%.0f\"/>\n", y);
    else
        fprintf(out, "V%.0fQ%.0f %.0f %.0f %.0fH%.0f\"/>\n", y - 8, x, y, x + bend, y, to);
}

void svg_graph(const Graph *g, FILE *out) {
    Lanes l = graph_lanes(g);
    fputs("<g fill=\"none\" stroke-width=\"2\">\n", out);
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->steps[i].count; k++) edge(&l, g->steps[i].reads[k], i, out);
    fputs("</g>\n", out);
    for (int i = 0; i < g->count; i++) {
        fprintf(out, "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"%d\" fill=\"%s\"/>\n", x_of(l.lane[i]), y_of(i),
                RADIUS, colours[l.lane[i] % COLOURS].svg);
        svg_text(out, x_of(l.count), y_of(i) + 4, "", label_of(g->steps[i].label, LABEL_MOST, true));
    }
}
