/* A conversation with a language model, in the form of the text that it learned:
 *
 *     User: Who has the lamp?
 *     Bot: Anna has the lamp. */
#pragma once

#include "decoding/decode.h"
#include "text/speakers.h"

typedef struct Chat {
    Tape *tape;
    Model *model;
    Sampler sampler; /* its tokenizer is that of the model */
    Speakers speakers;
    long max_answer;   /* tokens */
    char *text;        /* what was said, as far as it fits into the context; NULL: nothing */
    const char *where; /* of the user's line, for messages */
} Chat;

/* Answers a line of the user: writes the answer into *answer, without its label and the end of the
 * line, and adds both to what was said; the caller frees it. The oldest lines are forgotten when
 * question and answer do not fit into the context with them. STATUS_BAD_DATA: the line alone does
 * not fit, or has no tokens. */
bool chat_answer(Chat *c, const char *line, size_t bytes, char **answer, Error *e);

/* Forgets what was said. */
void chat_forget(Chat *c);
