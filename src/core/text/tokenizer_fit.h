/* The tokens that fit a text, and the time that a model has for it. */
#pragma once

#include "text/tokenizer.h"

enum { FIT_SIZES = 5 };

/* Measurements of a text's tokens. */
typedef struct Fit {
    double characters; /* of the texts */
    double frequency;  /* nats a character by the frequency of each */
    /* Characters a token, on the last tenth, with 512, 1024, … 8192 tokens. */
    double per_token[FIT_SIZES];
} Fit;

/* Measures the first 16 MB of texts. STATUS_NO_MEMORY, STATUS_BAD_DATA: a text is not UTF-8. */
bool tokenizer_measure(const Passage *training, long passages, Fit *out, Error *e);

/* Chooses *kind, where it is NULL, between char and bpe, and *size of bpe, where it is 0, for a
 * model that reads `tokens` tokens of these texts in training (0: as many as they have). */
void tokenizer_fit(const Fit *f, double tokens, const TokenizerKind **kind, long *size);
