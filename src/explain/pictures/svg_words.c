/* Bars, and arcs between the words of a line, as SVG. */
#include "explain/pictures/draw.h"
#include <math.h>

enum { WIDTH = 440, BAR_LABEL = 20, BAR = 22, VALUE = 60, GAP = 16, MARGIN = 12 };
#define LEAST_WEIGHT 0.02 /* an arc that is lighter is not drawn */

static double bars_left(const BarChart *b) {
    int most = 1;
    for (long i = 0; i < b->count; i++) {
        int one = label_of(b->labels[i], BAR_LABEL, true).columns;
        if (one > most) most = one;
    }
    return most * SVG_LETTER + 10;
}

Size svg_bars_size(const BarChart *b) {
    return (Size){WIDTH, (double)b->count * BAR + (b->value_name ? SVG_LINE : 0) + 8};
}

void svg_bars(const BarChart *b, FILE *out) {
    double left = bars_left(b), room = WIDTH - left - VALUE, most = bars_most(b);
    for (long i = 0; i < b->count; i++) {
        Label label = label_of(b->labels[i], BAR_LABEL, true);
        double y = (double)i * BAR + 4, share = b->values[i] / most,
               length = share > 0 && isfinite(share) ? share * room : 0;
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", left - 6, y + 13);
        label_markup(out, &label);
        fprintf(out,
                "</text>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n"
                "<text x=\"%.1f\" y=\"%.1f\">%.4g</text>\n",
                left, y, length, BAR - 6, colours[0].svg, left + length + 5, y + 13, b->values[i]);
    }
    if (!b->value_name) return;
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", left, (double)b->count * BAR + SVG_LINE);
    markup_text(out, b->value_name);
    fputs("</text>\n", out);
}

/* ---- Arcs ---- */

/* The middle of word i, in pixels. */
static double word_middle(const Arcs *a, long i) {
    double at = MARGIN;
    for (long k = 0;; k++) {
        double width = label_of(a->labels[k], LABEL_MOST, true).columns * SVG_LETTER;
        if (k == i) return at + width / 2;
        at += width + GAP;
    }
}

/* How high the highest arc rises: a quarter of what it spans. */
static double arcs_height(const Arcs *a) {
    double widest = 0;
    for (long i = 0; i < a->count; i++)
        for (long j = 0; j < a->count; j++)
            if (a->weights[i * a->count + j] >= LEAST_WEIGHT)
                widest = fmax(widest, fabs(word_middle(a, i) - word_middle(a, j)));
    return widest / 4 + 2 * MARGIN;
}

Size svg_arcs_size(const Arcs *a) {
    double last = label_of(a->labels[a->count - 1], LABEL_MOST, true).columns * SVG_LETTER / 2.;
    return (Size){word_middle(a, a->count - 1) + last + MARGIN, 2 * arcs_height(a) + 2 * SVG_LINE};
}

static void arc(const Arcs *a, long i, long j, double line, FILE *out) {
    double weight = a->weights[i * a->count + j], from = word_middle(a, i), to = word_middle(a, j);
    if (!(weight >= LEAST_WEIGHT)) return;
    double y = j < i ? line + 5 : line - SVG_TEXT, rise = (to - from) / 2;
    fprintf(out, "<path stroke-width=\"%.2f\" stroke-opacity=\"%.2f\" d=\"", 1 + 4 * weight,
            0.15 + 0.85 * weight);
    if (i == j)
        fprintf(out, "M%.1f %.1fa5 5 0 1 1 8 0\"/>\n", from - 4, y);
    else
        fprintf(out, "M%.1f %.1fA%.1f %.1f 0 0 1 %.1f %.1f\"/>\n", from, y, fabs(rise), fabs(rise) / 2, to,
                y);
}

void svg_arcs(const Arcs *a, FILE *out) {
    double line = arcs_height(a) + SVG_LINE;
    fputs("<g class=\"shade\" fill=\"none\" stroke=\"#1f77d0\">\n", out);
    for (long i = 0; i < a->count; i++)
        for (long j = 0; j < a->count; j++) arc(a, i, j, line, out);
    fputs("</g>\n", out);
    for (long i = 0; i < a->count; i++) {
        Label label = label_of(a->labels[i], LABEL_MOST, true);
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", word_middle(a, i), line);
        label_markup(out, &label);
        fputs("</text>\n", out);
    }
}
