/* Attention on a page: a table for each head, whose cells are coloured, and numbered where it is enlarged. */
#include "run/page.h"
#include "run/run_page.h"

enum { LABEL_COLUMNS = 6 };

/* Columns of the longest label. */
static int widest(const Page *p, List ids) {
    int most = 1;
    for (long n; ids.count > 0; ids = list_from(ids, n)) {
        n = page_piece(p->token, ids);
        int columns = page_label(p->token, (List){ids.id, n}, LABEL_COLUMNS, NULL);
        if (columns > most) most = columns;
    }
    return most;
}

/* A cell that names the rows or columns of the first piece, as `span` says. Returns their number. */
static long head_cell(const Page *p, List ids, const char *span, FILE *out) {
    long n = page_piece(p->token, ids);
    fputs("<th", out);
    if (n > 1) fprintf(out, " %s=%ld", span, n);
    fputs("><span>", out);
    page_label(p->token, (List){ids.id, n}, LABEL_COLUMNS, out);
    fputs("</span>", out);
    return n;
}

static void cell(int weight, FILE *out) {
    if (weight == 0)
        fputs("<td>.00", out);
    else if (weight < 100)
        fprintf(out, "<td style=--w:.%02d>.%02d", weight, weight);
    else
        fputs("<td style=--w:1>1.0", out);
}

/* The table of one head. Returns the place after its weights. */
static const uint8_t *map(const Page *p, const Group *g, const uint8_t *weight, FILE *out) {
    fputs("<tr><th>", out);
    for (long j = 0; j < g->columns.count;) j += head_cell(p, list_from(g->columns, j), "colspan", out);
    for (long i = 0, named = 0; i < g->rows.count; i++) {
        fputs("\n<tr>", out);
        if (i == named) named += head_cell(p, list_from(g->rows, i), "rowspan", out);
        for (long j = frames_row_weights(g, i); j-- > 0;) cell(*weight++, out);
    }
    return weight;
}

/* The maps of a group. Returns the place after their weights. */
static const uint8_t *maps_of(const Page *p, const Group *g, const uint8_t *weight, FILE *out) {
    enum { ACROSS = 4 };
    int row = widest(p, g->rows), column = widest(p, g->columns);
    bool turned = column > 2;
    /* A letter of a label is 0.42 cells wide. */
    fprintf(out, "<h4>%s</h4>\n<div class=\"heads%s\" style=\"--heads:%d;--across:%g;--down:%g\">\n", g->name,
            turned ? " turned" : "", g->heads < ACROSS ? g->heads : ACROSS,
            (double)g->columns.count + 0.42 * row + 0.3,
            (double)g->rows.count + (turned ? 0.42 * column + 0.3 : 1));
    for (int i = 0; i < g->layers * g->heads; i++) {
        char title[64];
        snprintf(title, sizeof title, "layer %d, head %d", 1 + i / g->heads, 1 + i % g->heads);
        fprintf(out, "<figure class=\"head\" tabindex=\"0\"><div><table><caption>%s, %s</caption>", g->name,
                title);
        weight = map(p, g, weight, out);
        fprintf(out, "</table></div><figcaption>%s</figcaption></figure>\n", title);
    }
    fputs("</div>\n", out);
    return weight;
}

static void example_title(const Page *p, int example, FILE *out) {
    page_line(p->token, frames_list(p->frames, (page_is_of_text(p) ? LIST_TARGET : LIST_SOURCE) + example),
              out);
}

/* Hidden until the script runs. */
static void controls(const Page *p, int examples, FILE *out) {
    int last = p->frames->count - 1;
    fprintf(out,
            "<div class=\"controls\" id=\"controls\" hidden>\n"
            "<label>Step <input type=\"range\" id=\"step\" min=\"0\" max=\"%d\" value=\"%d\"></label>\n"
            "<output id=\"said\" for=\"step\">step %ld</output>\n"
            "<label>Example <select id=\"choose\">\n",
            last, last, (long)p->frames->step[last]);
    for (int i = 0; i < examples; i++) {
        fprintf(out, "<option value=\"%d\">", i);
        example_title(p, i, out);
        fputs("</option>\n", out);
    }
    fputs("</select></label>\n</div>\n", out);
}

void page_maps(const Page *p, FILE *out) {
    const Frames *f = p->frames;
    int examples = frames_lists(f, LIST_TARGET, EXAMPLES);
    if (examples == 0 || f->count == 0) return;
    const uint8_t *weight = f->weight + (f->count - 1) * f->weights;
    fputs("<section class=\"maps\">\n<h2>Attention</h2>\n"
          "<p>Each row is a query, each column a key; a stronger colour is a larger weight. The weights of a "
          "row sum to 1.</p>\n"
          "<p class=\"screen faint\">Point at a map, or focus it, to enlarge it and to see its "
          "weights.</p>\n",
          out);
    if (f->count > 1) controls(p, examples, out);
    for (int i = 0; i < examples; i++) {
        Group group[GROUPS];
        int groups = frames_groups(f, i, group);
        long whole = frames_list(f, LIST_TARGET + i).count, shown = group[groups - 1].rows.count;
        fputs("<div class=\"example\">\n<h3>", out);
        example_title(p, i, out);
        fputs("</h3>\n", out);
        if (shown < whole)
            fprintf(out, "<p class=\"faint\">The first %ld of %ld tokens.</p>\n", shown, whole);
        for (int g = 0; g < groups; g++) weight = maps_of(p, &group[g], weight, out);
        fputs("</div>\n", out);
    }
    fputs("</section>\n", out);
}

/* JSON, in the order of the tables' cells. Browsers do not run a script element of this type. */
void page_data(const Page *p, FILE *out) {
    const Frames *f = p->frames;
    int examples = frames_lists(f, LIST_TARGET, EXAMPLES);
    if (examples == 0 || f->count < 2) return;
    const uint8_t *weight = f->weight;
    fputs("<script type=\"application/json\" id=\"data\">\n[", out);
    for (int k = 0; k < f->count; k++) {
        fprintf(out, "%s{\"step\":%ld,\"weights\":[", k ? ",\n" : "", (long)f->step[k]);
        for (int i = 0; i < examples; i++) {
            fputs(i ? ",[" : "[", out);
            for (long n = (long)frames_example_weights(f, i), j = 0; j < n; j++)
                fprintf(out, j ? ",%d" : "%d", *weight++);
            fputs("]", out);
        }
        fputs("]}", out);
    }
    fputs("]\n</script>\n", out);
    page_script(out);
}
