/* Writes a text while its tokens are chosen. A byte is written once its character of UTF-8 is
 * complete and it cannot belong to the stop text. Bytes that are not UTF-8 are written
 * unchanged. */
#pragma once

#include "text/tokenizer.h"
#include <stdio.h>

enum { MAX_STOP = 512 };

/* Begins as (Stream){tokenizer, stop, out}. */
typedef struct Stream {
    const Tokenizer *tokenizer;
    const char *stop; /* the text ends before it, wherever tokens begin and end; NULL: it goes on */
    FILE *out;        /* NULL: nowhere */
    size_t count;
    /* [count] bytes that may still belong to the stop text or to an incomplete character. */
    char held[MAX_STOP + UTF8_MAX + TOKEN_BYTES + 1];
} Stream;

/* Takes a token. False: the stop text is complete. */
bool stream_take(Stream *s, int32_t id);

/* Ends the text: writes bytes that began the stop text, and drops a character that is not
 * complete. */
void stream_end(Stream *s);
