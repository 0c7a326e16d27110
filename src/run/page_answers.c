/* Answers on a page: a line for each step, with wrong tokens marked; and a tree of those of a beam search. */
#include "run/run_page.h"

bool page_is_of_text(const Page *p) {
    return frames_list(p->frames, LIST_SOURCE).count == 0;
}

/* Wrong tokens. Blanks get a visible character, on which a mark shows. */
static void wrong(const Page *p, List piece, FILE *out) {
    fputs("<mark>", out);
    page_label(p->token, piece, LABEL_MOST, out);
    fputs("</mark>", out);
}

/* A piece is wrong if one of its tokens is. */
static void answer(const Page *p, List wanted, long step, List ids, FILE *out) {
    long mistakes = 0;
    bool judged = wanted.count > 0;
    if (step < 0)
        fputs("<tr><th scope=\"row\">answer<td>", out);
    else
        fprintf(out, "<tr><th scope=\"row\">step %ld<td>", step);
    for (long i = 0, n; i < ids.count; i += n) {
        long before = mistakes;
        n = page_piece(p->token, list_from(ids, i));
        for (long k = i; k < i + n; k++)
            mistakes += judged && (k >= wanted.count || ids.id[k] != wanted.id[k]);
        if (mistakes > before)
            wrong(p, (List){ids.id + i, n}, out);
        else
            page_text(p->token, (List){ids.id + i, n}, out);
    }
    long missing = wanted.count > ids.count ? wanted.count - ids.count : 0;
    for (long i = 0; i < missing; i++) fputs("<mark>_</mark>", out);
    if (mistakes + missing) fprintf(out, " <span class=\"faint\">%ld wrong</span>", mistakes + missing);
    fputs("\n", out);
}

static void sample(const Page *p, int i, FILE *out) {
    const Frames *f = p->frames;
    List given = frames_list(f, LIST_GIVEN + i), wanted = frames_list(f, LIST_WANTED + i);
    const char *title = "An answer", *row = "source";
    if (page_is_of_text(p)) {
        title = wanted.count ? "Next-token predictions" : "Generated text";
        row = wanted.count ? "input" : "prompt";
    }
    fprintf(out, "<div><h3>%s</h3>\n<table class=\"answers\">\n<tr><th scope=\"row\">%s<td>", title, row);
    page_text(p->token, given, out);
    if (wanted.count) fputs("\n<tr><th scope=\"row\">target<td>", out);
    page_text(p->token, wanted, out);
    fputs("\n", out);
    for (int k = 0; k < f->count; k++)
        answer(p, wanted, f->step[k], frames_list(f, frames_answer(k, i)), out);
    fputs("</table></div>\n", out);
}

void page_answers(const Page *p, FILE *out) {
    int samples = frames_lists(p->frames, LIST_GIVEN, SAMPLES);
    if (samples == 0) return;
    fputs("<section>\n<h2>Answers</h2>\n<p>Wrong tokens are marked, missing tokens as _.</p>\n"
          "<div class=\"samples\">\n",
          out);
    for (int i = 0; i < samples; i++) sample(p, i, out);
    fputs("</div>\n</section>\n", out);
}

/* Lists the tokens at place `at` of the beams of a set, a bit each, and below each token what follows it. */
static void branches(const Page *p, unsigned set, long at, FILE *out) {
    enum { COLUMNS = 6 };
    const Frames *f = p->frames;
    fputs("<ul>\n", out);
    for (int first = 0; first < BEAMS; first++) {
        List beam = frames_list(f, LIST_BEAM + first);
        unsigned same = 0;
        if (!(set >> first & 1) || at >= beam.count) continue;
        for (int i = first; i < BEAMS; i++) {
            List other = frames_list(f, LIST_BEAM + i);
            if (set >> i & 1 && at < other.count && other.id[at] == beam.id[at]) same |= 1u << i;
        }
        fprintf(out, "<li%s><span><small>%.2f</small>", first ? "" : " class=\"best\"",
                f->probability[first * f->width + at]);
        page_label(p->token, (List){beam.id + at, 1}, COLUMNS, out);
        fputs("</span>", out);
        branches(p, same, at + 1, out);
        fputs("</li>\n", out);
        set &= ~same;
    }
    fputs("</ul>", out);
}

void page_beams(const Page *p, FILE *out) {
    if (frames_list(p->frames, LIST_BEAM).count == 0) return;
    fputs("<section>\n<h2>Beam search</h2>\n<p>The best answers to <code>", out);
    page_text(p->token, frames_list(p->frames, LIST_SEARCHED), out);
    fputs("</code> as a tree of their common beginnings, with the probability of each token after those "
          "before it.</p>\n"
          "<div class=\"beams\">\n",
          out);
    branches(p, (1u << BEAMS) - 1, 0, out);
    fputs("</div>\n</section>\n", out);
}
