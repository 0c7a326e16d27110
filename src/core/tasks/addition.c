/* add: the sum of two decimal numbers, "478+64" -> "245": units first, as it is added on paper, so
 * that each digit of the answer depends on the digits of one place and a carry, and not on all
 * lower places. The number of digits of each number is uniform in 1 … max, and so is the number
 * among those of its digits. */
#include "base/random.h"
#include "tasks/written_task.h"
#include <stdio.h>

/* A number of 1 to `max` digits. */
static long number(uint64_t key, uint64_t position, long max) {
    long digits = 1 + random_below(key, position, max), low = 1, high = 10;
    for (long i = 1; i < digits; i++) {
        low *= 10;
        high *= 10;
    }
    if (digits == 1) low = 0;
    return low + random_below(key, position + 1, high - low);
}

static uint64_t draw(uint64_t key, long max, char *source, char *target) {
    long a = number(key, 0, max), b = number(key, 2, max), sum = a + b;
    sprintf(source, "%ld+%ld", a, b);
    do {
        *target++ = (char)('0' + sum % 10);
        sum /= 10;
    } while (sum);
    *target = 0;
    return (uint64_t)a << 32 | (uint64_t)b;
}

bool task_add_open(Task **out, const TaskKind *kind, const TaskOptions *o, Error *e) {
    Writing w = {draw, "0123456789+", o->digits, 2 * o->digits + 1, o->digits + 1};
    return task_written_open(out, kind, &w, o, e);
}
