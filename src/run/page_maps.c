/* Attention maps on a page: a small one for each head, and, while it is pointed at or focused, a large one
 * with its weights as numbers. */
#include "run/page_parts.h"
#include <math.h>
#include <string.h>

/* In units of a drawing: the side of a cell, a column of text, and margins. */
enum { CELL = 10, LETTER = 5, SPACE = 5, SHADES = 16, LABEL_COLUMNS = 6, ACROSS = 4 };

typedef struct Frame {
    int left, top, width, height;
    bool upright; /* labels of columns are rotated */
} Frame;

Label page_label(const Page *p, int32_t token) {
    return label_of(p->token[token], LABEL_COLUMNS, true);
}

static int widest(const Page *p, const int32_t *tokens, long count) {
    int most = 1;
    for (long i = 0; i < count; i++) {
        int columns = page_label(p, tokens[i]).columns;
        if (columns > most) most = columns;
    }
    return most;
}

static Frame frame_of(const Page *p, const PageGroup *g) {
    int row = widest(p, g->row_tokens, g->rows), column = widest(p, g->column_tokens, g->columns);
    Frame f = {.left = SPACE + row * LETTER, .upright = column > 2};
    f.top = SPACE + (f.upright ? column * LETTER : CELL - 2);
    f.width = f.left + (int)g->columns * CELL + 2;
    f.height = f.top + (int)g->rows * CELL + 2;
    return f;
}

const char *page_weight_text(char out[WEIGHT_TEXT], uint16_t weight) {
    int hundredths = (int)lround(100.0 * weight / WEIGHT_ONE);
    char digits[] = {'.', (char)('0' + hundredths / 10), (char)('0' + hundredths % 10), 0};
    return strcpy(out, hundredths < 100 ? digits : "1.0");
}

long page_row_best(const PageGroup *g, long row, const uint16_t *weights) {
    long best = 0;
    for (long j = 1; j < page_row_weights(g, row); j++)
        if (weights[j] > weights[best]) best = j;
    return best;
}

/* ---- The axes, once for all heads of a group ---- */

static void axes(const Page *p, const PageGroup *g, const Frame *f, const char *id, FILE *out) {
    fprintf(out,
            "<svg width=\"0\" height=\"0\" aria-hidden=\"true\"><defs><g id=\"%s\" fill=\"currentColor\" "
            "font-family=\"ui-monospace, monospace\" font-size=\"8\">\n",
            id);
    for (long i = 0; i < g->rows; i++) {
        Label l = page_label(p, g->row_tokens[i]);
        fprintf(out, "<text text-anchor=\"end\" x=\"%d\" y=\"%ld\">", f->left - 3, f->top + i * CELL + 8);
        label_markup(out, &l);
        fputs("</text>", out);
    }
    for (long j = 0; j < g->columns; j++) {
        Label l = page_label(p, g->column_tokens[j]);
        long x = f->left + j * CELL + (f->upright ? 8 : CELL / 2), y = f->top - 3;
        if (f->upright)
            fprintf(out, "<text transform=\"rotate(-90 %ld %ld)\" x=\"%ld\" y=\"%ld\">", x, y, x, y);
        else
            fprintf(out, "<text text-anchor=\"middle\" x=\"%ld\" y=\"%ld\">", x, y);
        label_markup(out, &l);
        fputs("</text>", out);
    }
    fprintf(out,
            "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%ld\" height=\"%ld\"/>\n</g></defs></svg>\n",
            f->left, f->top, g->columns * CELL, g->rows * CELL);
}

/* ---- One head ---- */

static int shade_of(uint16_t weight) {
    return (int)lround((double)weight / WEIGHT_ONE * SHADES);
}

/* A path for each shade, made of runs of cells. */
static void shades(const PageGroup *g, const uint16_t *weights, FILE *out) {
    for (int shade = 1; shade <= SHADES; shade++) {
        const uint16_t *row = weights;
        fprintf(out, "<path stroke-opacity=\"%.3g\" d=\"", (double)shade / SHADES);
        for (long i = 0; i < g->rows; row += page_row_weights(g, i++))
            for (long j = 0, end; j < page_row_weights(g, i); j = end) {
                for (end = j + 1; end < page_row_weights(g, i); end++)
                    if (shade_of(row[end]) != shade_of(row[j])) break;
                if (shade_of(row[j]) == shade) fprintf(out, "M%ld %ld.5h%ld", j, i, end - j);
            }
        fputs("\"/>", out);
    }
}

/* The largest weight of each row, in words. */
static void describe(const Page *p, const PageGroup *g, const uint16_t *weights, FILE *out) {
    char number[WEIGHT_TEXT];
    for (long i = 0; i < g->rows; weights += page_row_weights(g, i++)) {
        long best = page_row_best(g, i, weights);
        Label from = page_label(p, g->row_tokens[i]), to = page_label(p, g->column_tokens[best]);
        fputs(i ? ", " : "", out);
        label_markup(out, &from);
        fputs(" to ", out);
        label_markup(out, &to);
        fprintf(out, " %s", page_weight_text(number, weights[best]));
    }
}

static void numbers(const Page *p, const PageGroup *g, const uint16_t *weights, FILE *out) {
    char number[WEIGHT_TEXT];
    fputs("<table><tr><th>", out);
    for (long j = 0; j < g->columns; j++) {
        Label l = page_label(p, g->column_tokens[j]);
        fputs("<th>", out);
        label_markup(out, &l);
    }
    for (long i = 0; i < g->rows; weights += page_row_weights(g, i++)) {
        Label l = page_label(p, g->row_tokens[i]);
        fputs("\n<tr><th>", out);
        label_markup(out, &l);
        for (long j = 0; j < page_row_weights(g, i); j++)
            fprintf(out, "<td>%s", page_weight_text(number, weights[j]));
    }
    fputs("</table>\n", out);
}

typedef struct Place {
    const char *axes; /* the element with the axes */
    char map[64];     /* the element with the shades */
    char name[96];    /* "Encoder, layer 1, head 2" */
    char caption[40];
} Place;

static void figure(const Page *p, const PageGroup *g, const Frame *f, const Place *at,
                   const uint16_t *weights, FILE *out) {
    fprintf(out,
            "<figure class=\"head\" tabindex=\"0\"><svg role=\"img\" viewBox=\"0 0 %d "
            "%d\"><title>%s</title><desc>",
            f->width, f->height, at->name);
    describe(p, g, weights, out);
    fprintf(
        out,
        "</desc><use href=\"#%s\"/><g id=\"%s\" class=\"shade\" transform=\"translate(%d %d) scale(%d)\">",
        at->axes, at->map, f->left, f->top, CELL);
    shades(g, weights, out);
    fprintf(out,
            "</g></svg><figcaption>%s</figcaption>\n<div class=\"large\"><p>%s: weights</p>"
            "<svg aria-hidden=\"true\" viewBox=\"0 0 %d %d\"><use href=\"#%s\"/><use href=\"#%s\"/></svg>\n",
            at->caption, at->name, f->width, f->height, at->axes, at->map);
    numbers(p, g, weights, out);
    fputs("</div></figure>\n", out);
}

/* ---- All of it ---- */

static const uint16_t *group(const Page *p, int example, int which, const uint16_t *weights, FILE *out) {
    const PageGroup *g = &p->examples[example].group[which];
    Frame f = frame_of(p, g);
    char id[32];
    snprintf(id, sizeof id, "axes-%d-%d", example, which);
    fprintf(out, "<h4>%s</h4>\n", g->name);
    axes(p, g, &f, id, out);
    fprintf(out, "<div class=\"heads\" style=\"--across: %d\">\n", g->heads < ACROSS ? g->heads : ACROSS);
    for (int layer = 0; layer < g->layers; layer++)
        for (int head = 0; head < g->heads; head++) {
            Place at = {.axes = id};
            snprintf(at.map, sizeof at.map, "map-%d-%d-%d-%d", example, which, layer, head);
            snprintf(at.name, sizeof at.name, "%s, layer %d, head %d", g->name, layer + 1, head + 1);
            snprintf(at.caption, sizeof at.caption, "layer %d, head %d", layer + 1, head + 1);
            figure(p, g, &f, &at, weights, out);
            weights += page_map_weights(g);
        }
    fputs("</div>\n", out);
    return weights;
}

/* Hidden until the script runs. */
static void controls(const Page *p, FILE *out) {
    fprintf(out,
            "<div class=\"controls\" id=\"controls\" hidden>\n<label>Step <input type=\"range\" id=\"step\" "
            "min=\"0\" "
            "max=\"%d\" value=\"%d\"></label>\n<output id=\"said\" for=\"step\">step %ld</output>\n"
            "<label>Example <select id=\"choose\">\n",
            p->frame_count - 1, p->frame_count - 1, p->frames[p->frame_count - 1].step);
    for (int i = 0; i < p->example_count; i++) {
        fprintf(out, "<option value=\"%d\">", i);
        markup_text(out, p->examples[i].title);
        fputs("</option>\n", out);
    }
    fputs("</select></label>\n</div>\n", out);
}

void page_maps(const Page *p, FILE *out) {
    const PageFrame *last = &p->frames[p->frame_count - 1];
    fputs("<section class=\"maps\">\n<h2>Attention</h2>\n"
          "<p>Each row is a query, each column a key; a stronger colour is a larger weight. The weights of a "
          "row "
          "sum to 1.</p>\n"
          "<p class=\"screen faint\">Point at a map, or focus it, to enlarge it and to see its "
          "weights.</p>\n",
          out);
    if (p->frame_count > 1) controls(p, out);
    for (int i = 0; i < p->example_count; i++) {
        const uint16_t *weights = last->weights[i];
        fputs("<div class=\"example\">\n<h3>", out);
        markup_text(out, p->examples[i].title);
        fputs("</h3>\n", out);
        for (int g = 0; g < p->examples[i].groups; g++) weights = group(p, i, g, weights, out);
        fputs("</div>\n", out);
    }
    fputs("</section>\n", out);
}
