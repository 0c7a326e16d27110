#include "run/score_show.h"
#include "base/file.h"
#include "run/page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ScoreShow {
    const Tokenizer *tokenizer;
    FILE *text, *page; /* NULL: none */
    bool colour;
    int32_t id[UTF8_MAX]; /* [ids] tokens of a character that is not complete, and their loss */
    long ids;
    double nats, line_nats, line_characters; /* NAN: with [UNK] */
    bool begun;                              /* the line has a token */
} ScoreShow;

static const double darkest = 8; /* nats of the darkest shade, which the page states */

/* Writes the characters as they are shown: a line feed as an arrow. Returns whether there is one. */
static bool show_characters(const char *text, char *out) {
    bool ends_line = false;
    uint32_t symbol;
    for (size_t bytes; *text; text += bytes) {
        bytes = utf8_symbol(text, strnlen(text, UTF8_MAX), &symbol);
        bool plain = symbol < NO_UTF8 && !utf8_drives_terminal(symbol);
        ends_line |= *text == '\n';
        out += plain ? sprintf(out, "%.*s", (int)bytes, text)
                     : sprintf(out, *text == '\n' ? "↵" : "\xEF\xBF\xBD");
    }
    *out = 0;
    return ends_line;
}

static void show_piece(const ScoreShow *s, const char *text) {
    static const int ramp[] = {255, 224, 217, 210, 203, 196};
    enum { SHADES = sizeof ramp / sizeof *ramp };
    bool judged = !isnan(s->nats); /* the first token is not */
    double place = judged ? fmin(s->nats / darkest, 1) : 0;
    if (s->page && !judged) markup_text(s->page, text);
    if (s->page && judged) {
        fprintf(s->page, "<span style=\"--loss:%.2f\" title=\"%.2f\">", place, s->nats);
        markup_text(s->page, text);
        fputs("</span>", s->page);
    }
    if (s->text && s->colour)
        fprintf(s->text, "\033[30;48;5;%dm%s\033[0m", ramp[(int)(place * (SHADES - 1))], text);
    else if (s->text)
        fprintf(s->text, judged ? "%s{%.2f}" : "%s", text, s->nats);
}

static void end_line(ScoreShow *s) {
    double loss = s->line_nats / s->line_characters;
    bool comparable = s->line_characters > 0;
    if (s->text && s->begun) fprintf(s->text, comparable ? "  %.3f\n" : "\n", loss);
    if (s->page && s->begun) fprintf(s->page, comparable ? " <small>%.3f</small>\n" : "\n", loss);
    s->line_nats = s->line_characters = 0;
    s->begun = false;
}

static void take_token(void *show, int32_t id, double nats) {
    ScoreShow *s = show;
    char text[UTF8_MAX * TOKEN_BYTES + 1], shown[3 * sizeof text];
    s->nats = s->ids ? s->nats + nats : nats;
    s->begun = true;
    s->id[s->ids++] = id;
    if (tokenizer_state(s->tokenizer, s->id, s->ids) && s->ids < UTF8_MAX) return;
    size_t bytes = tokenizer_decode(s->tokenizer, s->id, s->ids, text);
    bool ends_line = show_characters(text, shown);
    double characters = id < s->tokenizer->unknown ? NAN : (double)utf8_count(text, bytes);
    if (!isnan(s->nats)) s->line_nats += s->nats, s->line_characters += characters;
    show_piece(s, shown);
    s->ids = 0;
    if (ends_line) end_line(s);
}

static void take_pair(void *show, const Pair *p, const char *answer, bool exact) {
    const ScoreShow *s = show;
    if (exact || !s->text) return;
    utf8_print(s->text, p->source.text, p->source.length);
    fputs(" -> ", s->text);
    utf8_print(s->text, answer, utf8_whole(answer, strlen(answer)));
    fputs("   need ", s->text);
    utf8_print(s->text, p->target.text, p->target.length);
    putc('\n', s->text);
}

/* Scores all files as one. */
static bool score_all(Tape *t, const SavedRun *r, const ScoreOptions *o, char *const *more, int files,
                      FILE *page, Error *e) {
    Score all = {0};
    ScoreShow s = {r->tokenizer, o->show ? stdout : NULL, page};
    ScoreListener listener = {take_token, take_pair, &s}, *l = o->show || page ? &listener : NULL;
    s.colour = o->show && terminal_of(stdout).colour;
    if (page) {
        page_begin(o->file,
                   "The darker a token, the higher its loss: white is 0, the darkest 8 nats or more. Behind "
                   "each line stands its loss in nats a character.",
                   page);
        fputs("<pre class=\"score\">", page);
    }
    bool ok = score_file(t, r, o->file, l, &all, e), text = config_is_lm(&r->model->config);
    end_line(&s);
    for (int i = 0; ok && i < files; i++, end_line(&s)) ok = score_file(t, r, more[i], l, &all, e);
    if (!ok) return false;
    score_print(&all, text, stdout);
    if (!page) return true;
    fputs("</pre>\n<p>", page);
    score_print(&all, text, page);
    fputs("</p>\n", page);
    page_end(page);
    return true;
}

/* Refuses a page without tokens, and one in the place of a text. */
static bool check_page(const SavedRun *r, const ScoreOptions *o, char *const *more, int files, Error *e) {
    uint64_t page = file_identity(o->page);
    if (!config_is_lm(&r->model->config))
        return error_set(e, STATUS_USAGE, "--html: found a model of answers, need one of texts");
    for (int i = -1; page && i < files; i++)
        if (file_identity(i < 0 ? o->file : more[i]) == page)
            return error_set(e, STATUS_USAGE, "--html: found %s, need another file than those of --score",
                             ESCAPED(o->page));
    return true;
}

bool score_show(Tape *t, const SavedRun *r, const ScoreOptions *o, char *const *more, int files, Error *e) {
    char *text = NULL;
    size_t size;
    if (!o->page) return score_all(t, r, o, more, files, NULL, e);
    if (!check_page(r, o, more, files, e)) return false;
    FILE *page = open_memstream(&text, &size);
    bool ok = page || error_set(e, STATUS_NO_MEMORY, "memory: the page");
    ok = ok && score_all(t, r, o, more, files, page, e);
    if (page && fclose(page) != 0 && ok) ok = error_set(e, STATUS_NO_MEMORY, "memory: the page");
    File *f = ok ? file_create(o->page, e) : NULL;
    if (f) file_write(f, text, size);
    free(text);
    return f && file_commit(f, e);
}
