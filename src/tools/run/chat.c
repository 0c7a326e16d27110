#include "run/chat.h"
#include "base/interrupt.h"
#include "base/options.h"
#include "base/terminal.h"
#include "text/speakers.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MARK = SPEAKER + 16 };

typedef struct Chat {
    Tape *tape;
    const SavedRun *run;
    Sampler sampler;
    long max_answer;
    Speakers label;
    char mark[2][MARK]; /* on a terminal before the user's lines and the answers */
    char *said;         /* lines that still fit into the context */
} Chat;

/* ---- An answer ---- */

/* Encodes the newest lines that leave enough of the context for an answer, at least the last two.
 * ids has memory for all. */
static bool encode(const Chat *c, const char **text, const char *last, int32_t *ids, long *n,
                   Error *e) {
    long max = c->run->model->config.max_length - c->max_answer;
    for (;; *text = strchr(*text, '\n') + 1) {
        if (!tokenizer_encode(c->run->tokenizer, "stdin", *text, strlen(*text), ids, n, e))
            return false;
        if (*n <= max) return true;
        if (*text == last) break;
    }
    return error_set(e, STATUS_BAD_DATA, "stdin: found a line of %ld tokens, need at most %ld", *n,
                     max);
}

/* Ends the answer with its line. */
static bool goes_on(void *chat, long sequence, int32_t id) {
    char text[TOKEN_BYTES + 1];
    (void)sequence;
    tokenizer_decode(((Chat *)chat)->run->tokenizer, &id, 1, text);
    return !strchr(text, '\n');
}

/* Writes the line that follows the tokens ids[0 … n), which have memory for it, too. */
static bool decode(Chat *c, int32_t *ids, long n, char *line, Error *e) {
    long count = 0;
    for (long i = 0; i < c->max_answer; i++) ids[n + i] = NO_PAD;
    if (!decode_continue(c->tape, c->run->model, &c->sampler, ids, n, c->max_answer, goes_on, c, e))
        return false;
    while (count < c->max_answer && ids[n + count] != NO_PAD) count++;
    size_t bytes = tokenizer_decode(c->run->tokenizer, ids + n, count, line);
    line[bytes - utf8_unfinished(line, bytes)] = 0;
    line[strcspn(line, "\n")] = 0;
    return true;
}

/* Answers a line, and keeps both. */
static bool answer(Chat *c, const char *line, Error *e) {
    size_t before = strlen(c->said), answer_bytes = (size_t)c->max_answer * TOKEN_BYTES,
           bytes = before + strlen(line) + 2 * SPEAKER + answer_bytes + 4;
    char *text = realloc(c->said, bytes);
    if (text) c->said = text;
    int32_t *ids = calloc(bytes, sizeof *ids);
    const char *from = text;
    long n;
    bool ok = (text && ids) || error_set(e, STATUS_NO_MEMORY, "memory: a line of a conversation");
    if (ok) sprintf(text + before, "%s %s\n%s", c->label.user, line, c->label.bot);
    size_t length = ok ? strlen(text) : 0;
    ok = ok && encode(c, &from, text + before, ids, &n, e) && decode(c, ids, n, text + length, e);
    free(ids);
    if (ok) {
        printf("%s%s\n", c->mark[1], text + length + strspn(text + length, " "));
        strcat(text, "\n");
        memmove(text, from, strlen(from) + 1);
    } else if (text) {
        text[before] = 0;
    }
    return ok;
}

/* ---- The conversation ---- */

/* Reads the user's line. False: stdin ends, or a signal has arrived. */
static bool read_line(const Chat *c, char **line, size_t *capacity) {
    if (interrupt_signal() || !stdout_flush()) return false;
    fputs(c->mark[0], stderr);
    ssize_t bytes = getline(line, capacity, stdin);
    if (bytes >= 0) (*line)[strcspn(*line, "\r\n")] = 0;
    return bytes >= 0;
}

static bool converse(Chat *c, Error *e) {
    char *line = NULL;
    size_t capacity = 0;
    while (e->status == STATUS_DONE && read_line(c, &line, &capacity)) {
        if (!*line) *c->said = 0;
        if (!*line || answer(c, line, e) || e->status != STATUS_BAD_DATA) continue;
        fprintf(stderr, "generate: %s\n", e->text); /* the next line is answered */
        *e = (Error){0};
    }
    free(line);
    if (e->status != STATUS_DONE || feof(stdin) || interrupt_signal()) return false;
    return error_set(e, STATUS_IO, "stdin: reading failed: %s", strerror(errno));
}

/* Takes the label of a speaker, and what shows it on a terminal: in colour, if that has colours. */
static bool take_label(char label[SPEAKER], char mark[MARK], const char *option,
                       const char *of_text, FILE *out, int colour, Error *e) {
    const char *taken = option ? option : of_text;
    if (!taken || !*taken)
        return error_set(e, STATUS_USAGE,
                         "--chat: the run's text has no conversations, need --user and --bot");
    if (strlen(taken) >= SPEAKER || strchr(taken, '\n'))
        return error_set(e, STATUS_USAGE, "\"%s\": found a long label, need one below %d bytes",
                         ESCAPED(taken), SPEAKER);
    strcpy(label, taken);
    if (!isatty(STDIN_FILENO)) return true;
    if (terminal_of(out).colour)
        snprintf(mark, MARK, "\033[1;%dm%s\033[0m ", colour, taken);
    else
        snprintf(mark, MARK, "%s ", taken);
    return true;
}

bool chat(Tape *tape, const SavedRun *run, const ChatOptions *o, Error *e) {
    enum { GREEN = 32, CYAN = 36 };
    Chat c = {.tape = tape, .run = run, .sampler = o->sampler};
    c.max_answer = run->model->config.max_length / 2;
    c.sampler.tokenizer = run->tokenizer;
    if (o->max_answer && o->max_answer < c.max_answer) c.max_answer = o->max_answer;
    if (!config_is_lm(&run->model->config) || run->lines)
        return error_set(e, STATUS_USAGE,
                         "--chat: found a run of another task, need one of a text");
    if (!take_label(c.label.user, c.mark[0], o->user, run->user, stderr, GREEN, e) ||
        !take_label(c.label.bot, c.mark[1], o->bot, run->bot, stdout, CYAN, e))
        return false;
    c.said = calloc(1, 1);
    if (!c.said) return error_set(e, STATUS_NO_MEMORY, "memory: a conversation");
    if (*c.mark[0]) fputs("an empty line begins another conversation; Ctrl-D ends\n", stderr);
    interrupt_heed_reading();
    bool ok = converse(&c, e);
    if (*c.mark[0]) putc('\n', stderr);
    free(c.said);
    return ok;
}
