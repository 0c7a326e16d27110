/* Answers on a page: a line for each step, with wrong tokens marked. */
#include "run/page_parts.h"
#include <string.h>

/* A newline is shown as an arrow and also breaks the line. */
static void token(const Page *p, int32_t id, FILE *out) {
    const char *text = p->token[id];
    if (strcmp(text, "\n") == 0) fputs("↵", out);
    markup_text(out, text);
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

static void answer(const Page *p, const PageSample *s, const PageAnswer *a, FILE *out) {
    long mistakes = 0;
    if (a->step < 0)
        fputs("<tr><th scope=\"row\">answer<td>", out);
    else
        fprintf(out, "<tr><th scope=\"row\">step %ld<td>", a->step);
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

void page_samples(const Page *p, FILE *out) {
    fputs("<section>\n<h2>Answers</h2>\n<p>Wrong tokens are marked, missing tokens as _.</p>\n<div "
          "class=\"samples\">\n",
          out);
    for (int i = 0; i < p->sample_count; i++) {
        const PageSample *s = &p->samples[i];
        fprintf(out, "<div><h3>%s</h3>\n<table class=\"answers\">\n<tr><th scope=\"row\">", s->title);
        markup_text(out, s->about);
        fputs("<td>", out);
        tokens(p, s->given, s->given_count, out);
        if (s->wanted) {
            fputs("\n<tr><th scope=\"row\">target<td>", out);
            tokens(p, s->wanted, s->wanted_count, out);
        }
        fputs("\n", out);
        for (long k = 0; k < s->answers; k++) answer(p, s, &s->answer[k], out);
        fputs("</table></div>\n", out);
    }
    fputs("</div>\n</section>\n", out);
}
