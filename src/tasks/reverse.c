/* reverse: answer token i is source token n-1-i. The position depends on the length, which the model must
 * infer from the encoder's output. */
#include "tasks/answers.h"

void task_reverse_answer(const int32_t *x, long n, int32_t *y) {
    for (long i = 0; i < n; i++) y[i] = x[n - 1 - i];
}
