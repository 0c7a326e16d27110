#include "run/chat_show.h"
#include "base/interrupt.h"
#include "base/options.h"
#include "base/terminal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MARK = SPEAKER + 16 };

/* The label before a line on a terminal, or "". */
static void write_mark(char out[MARK], FILE *to, const char *label, int colour, bool typed) {
    bool coloured = terminal_of(to).colour;
    *out = 0;
    if (typed && coloured) snprintf(out, MARK, "\033[1;%dm%s\033[0m ", colour, label);
    if (typed && !coloured) snprintf(out, MARK, "%s ", label);
}

static bool take_label(char out[SPEAKER], const char *option, const char *given,
                       const char *of_text, Error *e) {
    const char *label = given ? given : of_text;
    if (!label) label = "";
    if (strlen(label) >= SPEAKER || strchr(label, '\n'))
        return error_set(e, STATUS_USAGE, "--%s: found \"%s\", need a label below %d bytes", option,
                         ESCAPED(label), SPEAKER);
    if (!*label)
        return error_set(e, STATUS_USAGE,
                         "--chat: the run's text has no conversations, need --user and --bot");
    strcpy(out, label);
    return true;
}

/* Answers a line; the error of a line that cannot be read is shown, and the next is answered. */
static bool answer_line(Chat *c, const char *line, size_t bytes, const char *mark, Error *e) {
    char *answer = NULL;
    if (chat_answer(c, line, bytes, &answer, e)) {
        printf("%s%s\n", mark, answer);
        free(answer);
        return true;
    }
    if (e->status != STATUS_BAD_DATA) return false;
    fprintf(stderr, "generate: %s\n", e->text);
    *e = (Error){0};
    return true;
}

/* The user's line, without its end. False: stdin ends, or a signal has arrived. */
static bool read_line(const char *mark, char **line, size_t *capacity, size_t *bytes) {
    if (interrupt_signal()) return false;
    fputs(mark, stderr);
    ssize_t count = getline(line, capacity, stdin);
    while (count > 0 && strchr("\r\n", (*line)[count - 1])) count--;
    *bytes = (size_t)count;
    return count >= 0;
}

/* Answers line after line to the end of stdin, or to a signal. */
static bool converse(Chat *c, Error *e) {
    enum { GREEN = 32, CYAN = 36 };
    char user[MARK], bot[MARK], where[64], *line = NULL;
    bool typed = isatty(STDIN_FILENO), ok = true;
    size_t capacity = 0, bytes;
    long number = 0;
    write_mark(user, stderr, c->speakers.user, GREEN, typed);
    write_mark(bot, stdout, c->speakers.bot, CYAN, typed);
    c->where = where;
    if (typed) fputs("an empty line begins another conversation; Ctrl-D ends\n", stderr);
    while (ok && stdout_flush() && read_line(user, &line, &capacity, &bytes)) {
        snprintf(where, sizeof where, "stdin: line %ld", ++number);
        if (bytes > 0)
            ok = answer_line(c, line, bytes, bot, e);
        else
            chat_forget(c);
    }
    free(line);
    if (typed) putc('\n', stderr);
    if (!ok || feof(stdin) || interrupt_signal()) return ok;
    return error_set(e, STATUS_IO, "stdin: reading failed: %s", strerror(errno));
}

bool chat_show(Tape *tape, const SavedRun *run, const ChatOptions *o, Error *e) {
    Chat c = {.tape = tape, .model = run->model, .sampler = o->sampler};
    long max = run->model->config.max_length / 2;
    c.max_answer = o->max_answer && o->max_answer < max ? o->max_answer : max;
    c.sampler.tokenizer = run->tokenizer;
    if (!config_is_lm(&run->model->config) || run->lines)
        return error_set(e, STATUS_USAGE,
                         "--chat: found a run of another task, need one of a text");
    if (!take_label(c.speakers.user, "user", o->user, run->user, e) ||
        !take_label(c.speakers.bot, "bot", o->bot, run->bot, e))
        return false;
    interrupt_heed_reading();
    bool ok = converse(&c, e);
    chat_forget(&c);
    return ok;
}
