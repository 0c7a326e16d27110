/* What the sequence tasks ask for: each writes the answer to x, n tokens, into y, n tokens that do not
 * overlap x. */
#ifndef TASKS_ANSWERS_H
#define TASKS_ANSWERS_H

#include <stdint.h>

/* y = x; x backwards; x in ascending order: n tokens each. */
void task_copy_answer(const int32_t *x, long n, int32_t *y);
void task_reverse_answer(const int32_t *x, long n, int32_t *y);
void task_sort_answer(const int32_t *x, long n, int32_t *y);

#endif
