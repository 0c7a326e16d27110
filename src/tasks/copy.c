/* copy: say the sequence again. Every answer token is the source token at its own position, so
 * cross-attention has to find "as far in as I am now" and pass it on. */
#include "tasks/answers.h"
#include <string.h>

void task_copy_answer(const int32_t *x, long n, int32_t *y) {
    memcpy(y, x, (size_t)n * sizeof *y);
}
