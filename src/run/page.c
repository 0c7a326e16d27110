#include "run/page.h"
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

void page_shorten(char *text) {
    char *end, shorter[32];
    double value = strtod(text, &end);
    snprintf(shorter, sizeof shorter, "%.6g", value);
    if (end != text && !*end && strlen(shorter) < strlen(text) && strtod(shorter, NULL) == value)
        strcpy(text, shorter);
}

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
    fputs("<section>\n<h2>Training</h2>\n<div class=\"curves\">\n", out);
    for (int i = 0; i < p->curve_count; i++) {
        element("<figure>\n<figcaption>", p->curves[i].title, "</figcaption>\n", out);
        picture_svg(&p->curves[i], out);
        fputs("</figure>\n", out);
    }
    fputs("</div>\n</section>\n", out);
}

static void about(const Page *p, FILE *out) {
    fputs("<section>\n", out);
    if (p->fact_count) fputs("<h2>The model</h2>\n", out);
    if (p->fact_count) facts(p->facts, p->fact_count, "facts", out);
    if (p->choice_count) fputs("<h2>Options</h2>\n", out);
    if (p->choice_count) facts(p->choices, p->choice_count, "facts", out);
    if (p->command) element("<p>Command that repeats this run:</p>\n<pre>", p->command, "</pre>\n", out);
    fputs("</section>\n", out);
}

/* ---- Answers: a line for each step, with wrong tokens marked ---- */

/* A newline is shown as an arrow and also breaks the line. */
static void token(const Page *p, int32_t id, FILE *out) {
    element(strcmp(p->token[id], "\n") == 0 ? "↵" : "", p->token[id], "", out);
}

static void tokens(const Page *p, const int32_t *ids, long count, FILE *out) {
    for (long i = 0; i < count; i++) token(p, ids[i], out);
}

/* A wrong token. Blanks get a visible character, on which a mark shows. */
static void wrong(const Page *p, int32_t id, FILE *out) {
    Label l = label_of(p->token[id], LABEL_MOST, true);
    fputs("<mark>", out);
    label_markup(out, &l);
    fputs("</mark>", out);
}

static void answer(const Page *p, const PageSample *s, long step, const PageAnswer *a, FILE *out) {
    long mistakes = 0;
    if (step < 0)
        fputs("<tr><th scope=\"row\">answer<td>", out);
    else
        fprintf(out, "<tr><th scope=\"row\">step %ld<td>", step);
    for (long i = 0; i < a->count; i++) {
        bool right = !s->wanted || (i < s->wanted_count && a->tokens[i] == s->wanted[i]);
        mistakes += !right;
        (right ? token : wrong)(p, a->tokens[i], out);
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
        fprintf(out, "<div><h3>%s</h3>\n<table class=\"answers\">\n", s->title);
        element("<tr><th scope=\"row\">", s->about, "<td>", out);
        tokens(p, s->given, s->given_count, out);
        if (s->wanted) {
            fputs("\n<tr><th scope=\"row\">target<td>", out);
            tokens(p, s->wanted, s->wanted_count, out);
        }
        fputs("\n", out);
        for (int f = 0; f < p->frame_count; f++)
            answer(p, s, p->frames[f].step, &p->frames[f].answer[i], out);
        fputs("</table></div>\n", out);
    }
    fputs("</div>\n</section>\n", out);
}

static Label label(const Page *p, int32_t id) {
    enum { LABEL_COLUMNS = 6 };
    return label_of(p->token[id], LABEL_COLUMNS, true);
}

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
        Label l = label(p, b->answer.tokens[at]);
        fprintf(out, "<li%s><span><small>%.2f</small>", first ? "" : " class=\"best\"", b->probability[at]);
        label_markup(out, &l);
        fputs("</span>", out);
        branches(p, same, at + 1, out);
        fputs("</li>\n", out);
        set &= ~same;
    }
    fputs("</ul>", out);
}

static void beams(const Page *p, FILE *out) {
    fputs("<section>\n<h2>Beam search</h2>\n<p>The best answers to <code>", out);
    tokens(p, p->searched->given, p->searched->given_count, out);
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

/* Columns of the longest label. */
static int widest(const Page *p, const int32_t *ids, long count) {
    int most = 1;
    for (long i = 0; i < count; i++) {
        int columns = label(p, ids[i]).columns;
        if (columns > most) most = columns;
    }
    return most;
}

static void head_cell(const Page *p, int32_t id, FILE *out) {
    Label l = label(p, id);
    fputs("<th><span>", out);
    label_markup(out, &l);
    fputs("</span>", out);
}

/* The table of one head. Returns the weights of the next. */
static const uint8_t *map(const Page *p, const PageGroup *g, const uint8_t *weights, FILE *out) {
    fputs("<tr><th>", out);
    for (long j = 0; j < g->columns; j++) head_cell(p, g->column_tokens[j], out);
    for (long i = 0; i < g->rows; i++) {
        fputs("\n<tr>", out);
        head_cell(p, g->row_tokens[i], out);
        for (long j = 0; j < page_row_weights(g, i); j++, weights++)
            if (*weights == 0)
                fputs("<td>.00", out);
            else if (*weights < 100)
                fprintf(out, "<td style=--w:.%02d>.%02d", *weights, *weights);
            else
                fputs("<td style=--w:1>1.0", out);
    }
    return weights;
}

static const uint8_t *group(const Page *p, const PageGroup *g, const uint8_t *weights, FILE *out) {
    enum { ACROSS = 4 };
    int row = widest(p, g->row_tokens, g->rows), column = widest(p, g->column_tokens, g->columns);
    bool turned = column > 2;
    /* A letter of a label is 0.42 cells wide. */
    fprintf(out, "<h4>%s</h4>\n<div class=\"heads%s\" style=\"--heads:%d;--across:%g;--down:%g\">\n", g->name,
            turned ? " turned" : "", g->heads < ACROSS ? g->heads : ACROSS,
            (double)g->columns + 0.42 * row + 0.3, (double)g->rows + (turned ? 0.42 * column + 0.3 : 1));
    for (int layer = 1; layer <= g->layers; layer++)
        for (int head = 1; head <= g->heads; head++) {
            fprintf(out,
                    "<figure class=\"head\" tabindex=\"0\"><div><table><caption>%s, layer %d, head "
                    "%d</caption>",
                    g->name, layer, head);
            weights = map(p, g, weights, out);
            fprintf(out, "</table></div><figcaption>layer %d, head %d</figcaption></figure>\n", layer, head);
        }
    fputs("</div>\n", out);
    return weights;
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
        element("", p->examples[i].title, "</option>\n", out);
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
        const uint8_t *weights = p->frames[p->frame_count - 1].weights[i];
        element("<div class=\"example\">\n<h3>", p->examples[i].title, "</h3>\n", out);
        for (int g = 0; g < p->examples[i].groups; g++)
            weights = group(p, &p->examples[i].group[g], weights, out);
        fputs("</div>\n", out);
    }
    fputs("</section>\n", out);
}

/* The weights of all frames as JSON, in the order of the tables' cells, for page.js. Browsers do not run a
 * script element of this type. */
static void data(const Page *p, FILE *out) {
    fputs("<script type=\"application/json\" id=\"data\">\n[", out);
    for (int f = 0; f < p->frame_count; f++) {
        fprintf(out, "%s{\"step\":%ld,\"weights\":[", f ? ",\n" : "", p->frames[f].step);
        for (int i = 0; i < p->example_count; i++) {
            long count = page_weights(&p->examples[i]);
            for (long w = 0; w < count; w++)
                fprintf(out, "%s%d", w ? "," : i ? ",[" : "[", p->frames[f].weights[i][w]);
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
