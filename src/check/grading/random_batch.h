/* Batches of random tokens, for models without a task. */
#ifndef GRADING_RANDOM_BATCH_H
#define GRADING_RANDOM_BATCH_H

#include "check/grading/batch_file.h"

/* The first n random tokens of the key's stream; none is padding. */
void batch_random_tokens(const ModelConfig *c, uint64_t key, long n, int32_t *ids);

/* Up to S source tokens (0 for a language model) and T target tokens in each row. Row 0 has full length;
 * if the model has padding, the others have random lengths of at least 1. To be freed; NULL:
 * STATUS_NO_MEMORY. */
PaddedBatch *batch_random(const ModelConfig *c, long rows, long S, long T, uint64_t seed, Error *e);

#endif
