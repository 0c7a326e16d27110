#include "run/score_show.h"
#include "base/terminal.h"
#include "run/progress.h"
#include <math.h>
#include <string.h>

typedef struct ScoreShow {
    Progress bar;
    const Tokenizer *tokenizer;
    bool colour;
    int32_t id[UTF8_MAX]; /* [ids] tokens of a character that is not complete, and their loss */
    long ids;
    double nats, line_nats, line_characters;
    bool begun; /* the line has a token */
} ScoreShow;

static const double darkest = 8; /* nats of the darkest shade, also on the page of a run */

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
    if (s->colour)
        printf("\033[30;48;5;%dm%s\033[0m", ramp[(int)(place * (SHADES - 1))], text);
    else
        printf(judged ? "%s{%.2f}" : "%s", text, s->nats);
}

static void end_line(ScoreShow *s) {
    double loss = s->line_nats / s->line_characters;
    bool comparable = s->line_characters > 0;
    if (s->begun) printf(comparable ? "  %.3f\n" : "\n", loss);
    s->line_nats = s->line_characters = 0;
    s->begun = false;
}

static void take_token(void *show, int32_t id, double nats) {
    ScoreShow *s = show;
    char text[UTF8_MAX * TOKEN_BYTES + 1], shown[3 * sizeof text];
    s->nats = s->ids ? s->nats + nats : nats;
    s->begun = true;
    s->id[s->ids++] = id;
    if (tokenizer_unfinished(s->tokenizer, s->id, s->ids, NULL) && s->ids < UTF8_MAX) return;
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

static void take_pair(void *show, const char *source, const char *target, const char *answer,
                      bool exact) {
    (void)show;
    if (exact) return;
    utf8_print(stdout, source, strlen(source));
    fputs(" -> ", stdout);
    utf8_print(stdout, answer, strlen(answer) - utf8_unfinished(answer, strlen(answer)));
    fputs("   need ", stdout);
    utf8_print(stdout, target, strlen(target));
    putchar('\n');
}

static void show_progress(void *show, long rows, long all) {
    ScoreShow *s = show;
    s->bar.total = all;
    progress_show_late(&s->bar, rows);
}

bool score_show(Tape *t, const SavedRun *r, char *const *file, int files, bool show, Error *e) {
    Score all = {0};
    ScoreShow s = {.tokenizer = r->tokenizer, .colour = show && terminal_of(stdout).colour};
    ScoreListener listener = {.judged = show_progress, .context = &s};
    if (show) listener = (ScoreListener){.token = take_token, .pair = take_pair, .context = &s};
    for (int i = 0; i < files; i++) {
        s.bar = progress_start("score", "rows/s", 0, false);
        bool ok = score_file(t, r, file[i], &listener, &all, e);
        progress_clear(&s.bar);
        if (!ok) return false;
        end_line(&s);
    }
    score_print(&all, r, stdout);
    return true;
}
