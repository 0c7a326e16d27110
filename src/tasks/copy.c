/* copy: answer token i is source token i. Cross-attention must find the source token at the decoder's own
 * position. */
#include "tasks/answers.h"
#include <string.h>

void task_copy_answer(const int32_t *x, long n, int32_t *y) {
    memcpy(y, x, (size_t)n * sizeof *y);
}
