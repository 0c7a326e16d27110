/* The tokens that may come next. A model scores every token of its vocabulary, also those that are
 * not text: begin, padding. Label smoothing even teaches that each of them is possible.
 * Decoding never chooses one of them. It never chooses a token whose bytes cannot continue the
 * text's UTF-8, nor an end inside a character. A text with an end is one line: its only token that
 * ends a line is the end. */
#pragma once

#include "base/real.h"
#include "text/tokenizer.h"

typedef struct NextTokens {
    const Tokenizer *tokenizer; /* NULL: every other id is a token of the text */
    int32_t begin_id, end_id,
        pad_id; /* NO_PAD: none. The end may come next, even if it is begin, too */
} NextTokens;

/* Sets the score to -INFINITY of each of the `count` tokens that may not follow the text ids[0 …
 * n). */
void next_tokens_hide(const NextTokens *t, const int32_t *ids, long n, long count, real *scores);
