/* Text on its way out while its tokens come. A byte leaves once it cannot belong to the stop text,
 * and not before its character of UTF-8 is complete; bytes that are no UTF-8 leave as they are. */
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
    char held[MAX_STOP + UTF8_MAX + TOKEN_BYTES +
              1]; /* [count] may yet belong to the stop text or to a character */
} Stream;

/* Takes a token. False: the stop text is complete. */
bool stream_take(Stream *s, int32_t id);

/* Ends the text: bytes that began the stop text leave. A character that is not complete is left
 * out. */
void stream_end(Stream *s);
