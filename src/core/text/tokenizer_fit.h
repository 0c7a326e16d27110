/* The tokens that fit a text, and the time that a model has for it. */
#pragma once

#include "text/tokenizer.h"

/* Chooses *kind, where it is NULL, between char and bpe, and *size of bpe, where it is 0, for a
 * model that reads `tokens` tokens of these texts in training (0: as many as they have). Reads the
 * first 16 MB. STATUS_NO_MEMORY, STATUS_BAD_DATA: a text is not UTF-8. */
bool tokenizer_fit(const Passage *training, long passages, double tokens,
                   const TokenizerKind **kind, long *size, Error *e);
