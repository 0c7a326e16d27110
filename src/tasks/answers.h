/* The answers of the sequence tasks: each function writes n tokens to y, which does not overlap x. */
#ifndef TASKS_ANSWERS_H
#define TASKS_ANSWERS_H

#include <stdint.h>

/* y = x; x in reverse order; x in ascending order. */
void task_copy_answer(const int32_t *x, long n, int32_t *y);
void task_reverse_answer(const int32_t *x, long n, int32_t *y);
void task_sort_answer(const int32_t *x, long n, int32_t *y);

#endif
