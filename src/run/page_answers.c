/* Answers on a page: a line for each step, with wrong tokens marked. */
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
    if (mistakes + missing) fprintf(out, " <bdi class=\"faint\">%ld wrong</bdi>", mistakes + missing);
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
