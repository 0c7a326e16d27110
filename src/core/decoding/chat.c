#include "decoding/chat.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void chat_forget(Chat *c) {
    free(c->text);
    c->text = NULL;
}

/* What was said, the user's line, and the label before the answer. NULL: no memory. */
static char *prompt_of(const Chat *c, const char *line, size_t bytes) {
    const char *before = c->text ? c->text : "";
    size_t size = strlen(before) + bytes + 2 * SPEAKER + 3;
    char *text = malloc(size);
    if (text)
        snprintf(text, size, "%s%s %.*s\n%s", before, c->speakers.user, (int)bytes, line,
                 c->speakers.bot);
    return text;
}

/* Finds the newest lines of the prompt that leave enough of the context for an answer. ids has
 * memory for all tokens. */
static bool fit(const Chat *c, const char **prompt, size_t line, int32_t *ids, long *n, Error *e) {
    long max = c->model->config.max_length - c->max_answer;
    const char *last = *prompt + strlen(*prompt) - line;
    for (;;) {
        if (!tokenizer_encode(c->sampler.tokenizer, c->where, *prompt, strlen(*prompt), ids, n, e))
            return false;
        if (*n <= max) return true;
        if (*prompt == last) break;
        *prompt = strchr(*prompt, '\n') + 1;
    }
    return error_set(e, STATUS_BAD_DATA, "%s: found %ld tokens, need at most %ld", c->where, *n,
                     max);
}

/* Ends the answer with its line. */
static bool goes_on(void *chat, long sequence, int32_t id) {
    char text[TOKEN_BYTES + 1];
    (void)sequence;
    tokenizer_decode(((Chat *)chat)->sampler.tokenizer, &id, 1, text);
    return !strchr(text, '\n');
}

/* Writes the tokens of the answer after the prompt ids[0 … n), and a token that is no text. */
static bool decode(Chat *c, int32_t *ids, long n, char **answer, Error *e) {
    const Tokenizer *k = c->sampler.tokenizer;
    for (long i = 0; i < c->max_answer; i++) ids[n + i] = -1;
    if (!decode_continue(c->tape, c->model, &c->sampler, ids, n, c->max_answer, goes_on, c, e))
        return false;
    long count = 0;
    while (count < c->max_answer && ids[n + count] >= 0) count++;
    char *text = malloc((size_t)(count * TOKEN_BYTES) + 1);
    if (!text) return error_set(e, STATUS_NO_MEMORY, "memory: an answer of %ld tokens", count);
    size_t bytes = tokenizer_decode(k, ids + n, count, text);
    text[bytes - utf8_unfinished(text, bytes)] = 0;
    text[strcspn(text, "\n")] = 0;
    *answer = text;
    return true;
}

/* Adds the answer to what was said. */
static bool keep(Chat *c, const char *prompt, const char *answer, Error *e) {
    size_t size = strlen(prompt) + strlen(answer) + 2;
    char *text = malloc(size);
    if (!text) return error_set(e, STATUS_NO_MEMORY, "memory: what was said");
    snprintf(text, size, "%s%s\n", prompt, answer);
    chat_forget(c);
    c->text = text;
    return true;
}

bool chat_answer(Chat *c, const char *line, size_t bytes, char **answer, Error *e) {
    char *prompt = prompt_of(c, line, bytes), *text = NULL;
    if (!prompt) return error_set(e, STATUS_NO_MEMORY, "memory: %zu bytes", bytes);
    const char *from = prompt;
    size_t length = strlen(prompt), before = c->text ? strlen(c->text) : 0;
    int32_t *ids = calloc(length + (size_t)c->max_answer + 1, sizeof *ids);
    long n = 0;
    bool ok = ids || error_set(e, STATUS_NO_MEMORY, "memory: %zu tokens", length);
    ok = ok && fit(c, &from, length - before, ids, &n, e);
    ok = ok && decode(c, ids, n, &text, e) && keep(c, from, text, e);
    if (ok) {
        char *words = text + strspn(text, " ");
        memmove(text, words, strlen(words) + 1);
        *answer = text;
    } else {
        free(text);
    }
    free(ids);
    free(prompt);
    return ok;
}
