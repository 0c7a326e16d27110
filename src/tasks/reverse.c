/* reverse: say the sequence backwards. Answer token i is source token n-1-i: the place depends on the length,
 * which the model must read off the encoder's states. */
#include "tasks/answers.h"

void task_reverse_answer(const int32_t *x, long n, int32_t *y) {
    for (long i = 0; i < n; i++) y[i] = x[n - 1 - i];
}
