#include "run/score_show.h"
#include "base/file.h"
#include "base/terminal.h"
#include "run/page.h"
#include "run/watch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ScoreShow {
    const Tokenizer *tokenizer;
    FILE *text;   /* NULL: none */
    Costs *costs; /* of the page; NULL: none */
    bool colour;
    int32_t id[UTF8_MAX]; /* [ids] tokens of a character that is not complete, and their loss */
    long ids;
    double nats, line_nats, line_characters;
    bool begun; /* the line has a token */
} ScoreShow;

static const double darkest = 8; /* nats of the darkest shade, which the page states */

/* Writes the characters as they are shown: a line feed as an arrow. Returns whether there is
 * one. */
static bool show_characters(const char *text, char *out) {
    bool ends_line = false;
    uint32_t symbol;
    for (size_t bytes; *text; text += bytes) {
        bytes = utf8_symbol(text, strnlen(text, UTF8_MAX), &symbol);
        bool plain = symbol < NO_UTF8 && !utf8_drives_terminal(symbol);
        ends_line |= *text == '\n';
        const char *instead = *text == '\n' ? "↵" : "\xEF\xBF\xBD";
        int shown = plain ? (int)bytes : (int)strlen(instead);
        out += sprintf(out, "%.*s", shown, plain ? text : instead);
    }
    *out = 0;
    return ends_line;
}

static void show_piece(const ScoreShow *s, const char *text) {
    static const int ramp[] = {255, 224, 217, 210, 203, 196};
    enum { SHADES = sizeof ramp / sizeof *ramp };
    bool judged = !isnan(s->nats); /* the first token is not */
    double place = judged ? fmin(s->nats / darkest, 1) : 0;
    if (s->text && s->colour)
        fprintf(s->text, "\033[30;48;5;%dm%s\033[0m", ramp[(int)(place * (SHADES - 1))], text);
    else if (s->text)
        fprintf(s->text, judged ? "%s{%.2f}" : "%s", text, s->nats);
}

static void end_line(ScoreShow *s) {
    double loss = s->line_nats / s->line_characters;
    bool comparable = s->line_characters > 0;
    if (s->text && s->begun) fprintf(s->text, comparable ? "  %.3f\n" : "\n", loss);
    s->line_nats = s->line_characters = 0;
    s->begun = false;
}

static void take_token(void *show, int32_t id, double nats) {
    ScoreShow *s = show;
    char text[UTF8_MAX * TOKEN_BYTES + 1], shown[3 * sizeof text];
    if (s->costs) costs_add(s->costs, id, nats);
    if (!s->text) return;
    s->nats = s->ids ? s->nats + nats : nats;
    s->begun = true;
    s->id[s->ids++] = id;
    if (tokenizer_state(s->tokenizer, s->id, s->ids) && s->ids < UTF8_MAX) return;
    size_t bytes = tokenizer_decode(s->tokenizer, s->id, s->ids, text);
    bool ends_line = show_characters(text, shown);
    if (!isnan(s->nats)) {
        s->line_nats += s->nats;
        s->line_characters += (double)utf8_count(text, bytes);
    }
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
static bool score_all(Tape *t, const SavedRun *r, const ScoreOptions *o, char *const *more,
                      int files, Costs *costs, FILE *page, Error *e) {
    Score all = {0};
    ScoreShow s = {r->tokenizer, o->show ? stdout : NULL, costs};
    ScoreListener listener = {take_token, take_pair, &s}, *l = o->show || costs ? &listener : NULL;
    s.colour = o->show && terminal_of(stdout).colour;
    if (!score_file(t, r, o->file, l, &all, e)) return false;
    end_line(&s);
    for (int i = 0; i < files; i++) {
        if (!score_file(t, r, more[i], l, &all, e)) return false;
        end_line(&s);
    }
    score_print(&all, config_is_lm(&r->model->config), stdout);
    if (page) score_print(&all, true, page);
    return true;
}

/* Refuses a page without tokens, and one in the place of a text. */
static bool check_page(const SavedRun *r, const ScoreOptions *o, char *const *more, int files,
                       Error *e) {
    uint64_t page = file_identity(o->page);
    if (!config_is_lm(&r->model->config))
        return error_set(e, STATUS_USAGE, "--html: found a model of answers, need one of texts");
    for (int i = -1; i < files; i++)
        if (page && file_identity(i < 0 ? o->file : more[i]) == page)
            return error_set(e, STATUS_USAGE,
                             "--html: found %s, need another file than those of --score",
                             ESCAPED(o->page));
    return true;
}

bool score_show(Tape *t, const SavedRun *r, const ScoreOptions *o, char *const *more, int files,
                Error *e) {
    char *line = NULL, *score = NULL;
    size_t line_bytes, score_bytes;
    Costs costs;
    if (!o->page) return score_all(t, r, o, more, files, NULL, NULL, e);
    if (!check_page(r, o, more, files, e)) return false;
    FILE *out = open_memstream(&line, &line_bytes), *said = open_memstream(&score, &score_bytes);
    if (!out || !said) error_no_memory("the page of %s", o->file);
    costs_open(&costs, r->tokenizer);
    bool ok = score_all(t, r, o, more, files, &costs, said, e);
    fclose(said);
    fputs("{\"event\": \"costs\", \"step\": 0", out);
    record_text(out, "score", score);
    costs_write(&costs, out);
    fputs("}\n", out);
    fclose(out);
    ok = ok && page_write(&(PageRecord){o->file, NULL, line}, 1, o->page, e);
    free(line);
    free(score);
    return ok;
}
