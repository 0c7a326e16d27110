/* A batch of random tokens for a model that has no task: for comparing models and proving their gradients. */
#ifndef GRADING_RANDOM_BATCH_H
#define GRADING_RANDOM_BATCH_H

#include "check/grading/batch_file.h"

/* The first n random tokens of the key's stream, none of them padding. */
void batch_random_tokens(const ModelConfig *c, uint64_t key, long n, int32_t *ids);

/* `rows` rows of up to S source tokens (none for a language model) and T target tokens. Row 0 is as long
 * as it gets; where the model knows padding the others have random lengths, at least 1. The caller frees
 * it; NULL: STATUS_NO_MEMORY. */
PaddedBatch *batch_random(const ModelConfig *c, long rows, long S, long T, uint64_t seed, Error *e);

#endif
