/* sort: the symbols in ascending order. The place of an answer token in the source depends on all symbols. */
#include "tasks/answers.h"
#include <stdlib.h>
#include <string.h>

static int by_id(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

void task_sort_answer(const int32_t *x, long n, int32_t *y) {
    memcpy(y, x, (size_t)n * sizeof *y);
    qsort(y, (size_t)n, sizeof *y, by_id);
}
