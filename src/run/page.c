#include "run/page.h"
#include "run/page_tokens.h"
#include <stdlib.h>
#include <string.h>

/* The lines of page.css and page.js, which make converts to C strings. */
static const char *const style[] = {
#include "run/page.css.inc"
    NULL,
};
static const char *const script[] = {
#include "run/page.js.inc"
    NULL,
};

static void lines(const char *const *line, FILE *out) {
    for (; *line; line++) fputs(*line, out);
}

/* Writes the text between the two pieces of HTML. */
static void element(const char *begin, const char *text, const char *end, FILE *out) {
    fputs(begin, out);
    markup_text(out, text);
    fputs(end, out);
}

/* The content security policy forbids the browser to load anything. */
static void head(const Page *p, FILE *out) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n",
          out);
    element("<title>", p->title, "</title>\n<style>\n", out);
    lines(style, out);
    element("</style>\n</head>\n<body>\n<main>\n<h1>", p->title, "</h1>\n", out);
    element("<p class=\"faint\">", p->status, "</p>\n", out);
}

static void facts(const PageFact *fact, int count, const char *class, FILE *out) {
    fprintf(out, "<dl class=\"%s\">\n", class);
    for (int i = 0; i < count; i++) {
        element("<div><dt>", fact[i].name, "</dt><dd>", out);
        element("", fact[i].value, "</dd></div>\n", out);
    }
    fputs("</dl>\n", out);
}

static void curves(const Page *p, FILE *out) {
    fputs("<section>\n<h2>Training</h2>\n", out);
    if (p->curves_note) element("<p class=\"faint\">", p->curves_note, "</p>\n", out);
    fputs("<div class=\"curves\">\n", out);
    for (int i = 0; i < p->curve_count; i++) {
        element("<figure>\n<figcaption>", p->curves[i].title, "</figcaption>\n", out);
        picture_svg(&p->curves[i], out);
        fputs("</figure>\n", out);
    }
    fputs("</div>\n</section>\n", out);
}

static void table(const PageTable *t, FILE *out) {
    element("<section>\n<h2>", t->title, "</h2>\n<div class=\"table\">\n<table>\n<tr>", out);
    for (int k = 0; k < t->columns; k++) element("<th scope=\"col\">", t->head[k], "", out);
    for (int i = 0; i < t->rows; i++) {
        element("\n<tr><th scope=\"row\">", t->cell[i * t->stride], "", out);
        for (int k = 1; k < t->columns; k++) element("<td>", t->cell[i * t->stride + k], "", out);
    }
    fputs("\n</table>\n</div>\n</section>\n", out);
}

static void about(const Page *p, FILE *out) {
    fputs("<section>\n", out);
    if (p->option_count) fputs("<h2>Options</h2>\n", out);
    if (p->option_count) facts(p->options, p->option_count, "facts", out);
    if (p->command) element("<p>Command that repeats this run:</p>\n<pre>", p->command, "</pre>\n", out);
    fputs("</section>\n", out);
}

/* ---- Answers: a line for each step, with wrong tokens marked ---- */

/* Wrong tokens. Blanks get a visible character, on which a mark shows. */
static void wrong(const Page *p, const int32_t *ids, long n, FILE *out) {
    fputs("<mark>", out);
    page_label(p->token, ids, n, LABEL_MOST, out);
    fputs("</mark>", out);
}

/* A piece is wrong if one of its tokens is. */
static void answer(const Page *p, const PageSample *s, long step, const PageAnswer *a, FILE *out) {
    long mistakes = 0;
    if (step < 0)
        fputs("<tr><th scope=\"row\">answer<td>", out);
    else
        fprintf(out, "<tr><th scope=\"row\">step %ld<td>", step);
    for (long i = 0, n; i < a->count; i += n) {
        long before = mistakes;
        n = page_piece(p->token, a->tokens + i, a->count - i);
        for (long k = i; k < i + n; k++)
            mistakes += s->wanted && (k >= s->wanted_count || a->tokens[k] != s->wanted[k]);
        if (mistakes > before)
            wrong(p, a->tokens + i, n, out);
        else
            page_text(p->token, a->tokens + i, n, out);
    }
    long missing = s->wanted && s->wanted_count > a->count ? s->wanted_count - a->count : 0;
    for (long i = 0; i < missing; i++) fputs("<mark>_</mark>", out);
    if (mistakes + missing) fprintf(out, " <span class=\"faint\">%ld wrong</span>", mistakes + missing);
    fputs("\n", out);
}

static void samples(const Page *p, FILE *out) {
    fputs("<section>\n<h2>Answers</h2>\n<p>Wrong tokens are marked, missing tokens as _.</p>\n"
          "<div class=\"samples\">\n",
          out);
    for (int i = 0; i < p->sample_count; i++) {
        const PageSample *s = &p->samples[i];
        fprintf(out, "<div><h3>%s</h3>\n<table class=\"answers\">\n<tr><th scope=\"row\">%s<td>",
                !p->text    ? "An answer"
                : s->wanted ? "Next-token predictions"
                            : "Generated text",
                !p->text    ? "source"
                : s->wanted ? "input"
                            : "prompt");
        page_text(p->token, s->given, s->given_count, out);
        if (s->wanted) {
            fputs("\n<tr><th scope=\"row\">target<td>", out);
            page_text(p->token, s->wanted, s->wanted_count, out);
        }
        fputs("\n", out);
        for (int f = 0; f < p->frame_count; f++)
            answer(p, s, p->frames[f].step, &p->frames[f].answer[i], out);
        fputs("</table></div>\n", out);
    }
    fputs("</div>\n</section>\n", out);
}

enum { LABEL_COLUMNS = 6 };

/* Lists the tokens at place `at` of the hypotheses of a set, a bit each, and below each token what follows it. */
static void branches(const Page *p, unsigned set, long at, FILE *out) {
    fputs("<ul>\n", out);
    for (int first = 0; first < p->beam_count; first++) {
        const PageBeam *b = &p->beams[first];
        unsigned same = 0;
        if (!(set >> first & 1) || at >= b->answer.count) continue;
        for (int i = first; i < p->beam_count; i++)
            if (set >> i & 1 && at < p->beams[i].answer.count &&
                p->beams[i].answer.tokens[at] == b->answer.tokens[at])
                same |= 1u << i;
        fprintf(out, "<li%s><span><small>%.2f</small>", first ? "" : " class=\"best\"", b->probability[at]);
        page_label(p->token, b->answer.tokens + at, 1, LABEL_COLUMNS, out);
        fputs("</span>", out);
        branches(p, same, at + 1, out);
        fputs("</li>\n", out);
        set &= ~same;
    }
    fputs("</ul>", out);
}

static void beams(const Page *p, FILE *out) {
    fputs("<section>\n<h2>Beam search</h2>\n<p>The best answers to <code>", out);
    page_text(p->token, p->searched.given, p->searched.given_count, out);
    fputs("</code> as a tree of their common beginnings, with the probability of each token after those "
          "before it.</p>\n"
          "<div class=\"beams\">\n",
          out);
    branches(p, (1u << p->beam_count) - 1, 0, out);
    fputs("</div>\n</section>\n", out);
}

/* ---- Attention: a table for each head, whose cells are coloured, and numbered where it is enlarged ---- */

long page_row_weights(const PageGroup *g, long row) {
    return g->causal && row + 1 < g->columns ? row + 1 : g->columns;
}

long page_weights(const PageExample *x) {
    long sum = 0;
    for (int i = 0; i < x->groups; i++)
        for (long row = 0; row < x->group[i].rows; row++)
            sum += page_row_weights(&x->group[i], row) * x->group[i].layers * x->group[i].heads;
    return sum;
}

long page_group_size(const PageGroup *g) {
    return g->layers * g->heads * g->rows * g->columns;
}

/* Columns of the longest label. */
static int widest(const Page *p, const int32_t *ids, long count) {
    int most = 1;
    for (long i = 0, n; i < count; i += n) {
        n = page_piece(p->token, ids + i, count - i);
        int columns = page_label(p->token, ids + i, n, LABEL_COLUMNS, NULL);
        if (columns > most) most = columns;
    }
    return most;
}

/* A cell that names n rows or columns, as `span` says. */
static void head_cell(const Page *p, const int32_t *ids, long n, const char *span, FILE *out) {
    fputs("<th", out);
    if (n > 1) fprintf(out, " %s=%ld", span, n);
    fputs("><span>", out);
    page_label(p->token, ids, n, LABEL_COLUMNS, out);
    fputs("</span>", out);
}

/* The table of one head, of weights [rows, columns]. */
static void map(const Page *p, const PageGroup *g, const uint8_t *weights, FILE *out) {
    fputs("<tr><th>", out);
    for (long j = 0, n; j < g->columns; j += n) {
        n = page_piece(p->token, g->column_tokens + j, g->columns - j);
        head_cell(p, g->column_tokens + j, n, "colspan", out);
    }
    for (long i = 0, named = 0; i < g->rows; i++, weights += g->columns) {
        fputs("\n<tr>", out);
        if (i == named) {
            long n = page_piece(p->token, g->row_tokens + i, g->rows - i);
            head_cell(p, g->row_tokens + i, n, "rowspan", out);
            named += n;
        }
        for (long j = 0; j < page_row_weights(g, i); j++)
            if (weights[j] == 0)
                fputs("<td>.00", out);
            else if (weights[j] < 100)
                fprintf(out, "<td style=--w:.%02d>.%02d", weights[j], weights[j]);
            else
                fputs("<td style=--w:1>1.0", out);
    }
}

static void group(const Page *p, const PageGroup *g, const uint8_t *weights, FILE *out) {
    enum { ACROSS = 4 };
    int row = widest(p, g->row_tokens, g->rows), column = widest(p, g->column_tokens, g->columns);
    bool turned = column > 2;
    /* A letter of a label is 0.42 cells wide. */
    fprintf(out, "<h4>%s</h4>\n<div class=\"heads%s\" style=\"--heads:%d;--across:%g;--down:%g\">\n", g->name,
            turned ? " turned" : "", g->heads < ACROSS ? g->heads : ACROSS,
            (double)g->columns + 0.42 * row + 0.3, (double)g->rows + (turned ? 0.42 * column + 0.3 : 1));
    for (int layer = 1; layer <= g->layers; layer++)
        for (int head = 1; head <= g->heads; head++, weights += g->rows * g->columns) {
            fprintf(out,
                    "<figure class=\"head\" tabindex=\"0\"><div><table><caption>%s, layer %d, head "
                    "%d</caption>",
                    g->name, layer, head);
            map(p, g, weights, out);
            fprintf(out, "</table></div><figcaption>layer %d, head %d</figcaption></figure>\n", layer, head);
        }
    fputs("</div>\n", out);
}

static void example_title(const Page *p, const PageExample *x, FILE *out) {
    page_line(p->token, x->n ? x->source : x->target, x->n ? x->n : x->whole, out);
}

/* Hidden until the script runs. */
static void controls(const Page *p, FILE *out) {
    int last = p->frame_count - 1;
    fprintf(out,
            "<div class=\"controls\" id=\"controls\" hidden>\n"
            "<label>Step <input type=\"range\" id=\"step\" min=\"0\" max=\"%d\" value=\"%d\"></label>\n"
            "<output id=\"said\" for=\"step\">step %ld</output>\n"
            "<label>Example <select id=\"choose\">\n",
            last, last, p->frames[last].step);
    for (int i = 0; i < p->example_count; i++) {
        fprintf(out, "<option value=\"%d\">", i);
        example_title(p, &p->examples[i], out);
        fputs("</option>\n", out);
    }
    fputs("</select></label>\n</div>\n", out);
}

static void maps(const Page *p, FILE *out) {
    fputs("<section class=\"maps\">\n<h2>Attention</h2>\n"
          "<p>Each row is a query, each column a key; a stronger colour is a larger weight. The weights of a "
          "row sum to 1.</p>\n"
          "<p class=\"screen faint\">Point at a map, or focus it, to enlarge it and to see its "
          "weights.</p>\n",
          out);
    if (p->frame_count > 1) controls(p, out);
    for (int i = 0; i < p->example_count; i++) {
        const PageExample *x = &p->examples[i];
        fputs("<div class=\"example\">\n<h3>", out);
        example_title(p, x, out);
        fputs("</h3>\n", out);
        if (x->m < x->whole)
            fprintf(out, "<p class=\"faint\">The first %ld of %ld tokens.</p>\n", x->m, x->whole);
        for (int g = 0; g < x->groups; g++)
            group(p, &x->group[g], p->frames[p->frame_count - 1].weights[i][g], out);
        fputs("</div>\n", out);
    }
    fputs("</section>\n", out);
}

/* Prints the weights of a group's cells, with commas between them; *first: this is the first of a list. */
static void cells(const PageGroup *g, const uint8_t *weights, bool *first, FILE *out) {
    for (int map = 0; map < g->layers * g->heads; map++)
        for (long i = 0; i < g->rows; i++, weights += g->columns)
            for (long j = 0; j < page_row_weights(g, i); j++, *first = false)
                fprintf(out, *first ? "%d" : ",%d", weights[j]);
}

/* The weights of all frames as JSON, in the order of the tables' cells, for page.js. Browsers do not run a
 * script element of this type. */
static void data(const Page *p, FILE *out) {
    fputs("<script type=\"application/json\" id=\"data\">\n[", out);
    for (int f = 0; f < p->frame_count; f++) {
        fprintf(out, "%s{\"step\":%ld,\"weights\":[", f ? ",\n" : "", p->frames[f].step);
        for (int i = 0; i < p->example_count; i++) {
            const PageExample *x = &p->examples[i];
            bool first = true;
            fputs(i ? ",[" : "[", out);
            for (int g = 0; g < x->groups; g++) cells(&x->group[g], p->frames[f].weights[i][g], &first, out);
            fputs("]", out);
        }
        fputs("]}", out);
    }
    fputs("]\n</script>\n", out);
}

static void write_page(const void *page, FILE *out) {
    const Page *p = page;
    head(p, out);
    if (p->figure_count) facts(p->figures, p->figure_count, "figures", out);
    if (p->curve_count) curves(p, out);
    if (p->table) table(p->table, out);
    if (p->sample_count) samples(p, out);
    if (p->beam_count) beams(p, out);
    if (p->example_count) maps(p, out);
    about(p, out);
    fputs("</main>\n", out);
    if (p->example_count && p->frame_count > 1) {
        data(p, out);
        fputs("<script>\n", out);
        lines(script, out);
        fputs("</script>\n", out);
    }
    fputs("</body>\n</html>\n", out);
}

bool page_write(const Page *p, const char *path, Error *e) {
    return picture_file(path, write_page, p, e);
}
