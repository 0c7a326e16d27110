/* Which tokens may come next. A model gives every token of its vocabulary a score, also those that
 * are no text: begin, padding, and [UNK]. Label smoothing even teaches that each of them is
 * possible. Decoding never chooses one, nor one whose bytes cannot continue the UTF-8 of the text,
 * nor an end inside a character. A text that has an end is one line: no other token of it ends a
 * line. */
#pragma once

#include "base/real.h"
#include "text/tokenizer.h"

typedef struct NextTokens {
    const Tokenizer *tokenizer; /* NULL: every other id is a token of the text */
    int32_t begin_id, end_id,
        pad_id; /* NO_PAD: none. The end may come next, even if it is begin, too */
} NextTokens;

/* Gives a score of -INFINITY to each of the `count` tokens that may not follow the text ids[0 …
 * n). */
void next_tokens_hide(const NextTokens *t, const int32_t *ids, long n, long count, real *scores);
