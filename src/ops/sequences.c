#include "ops/sequences.h"
#include "base/error.h"

void sequences_check(const char *op, const char *what, const Sequences *s) {
    for (long i = 0; i < s->count; i++)
        if (s->start[i] < 0 || s->rows[i] < 0 || s->rows[i] > s->longest || s->length[i] < 0 ||
            s->length[i] > s->rows[i] || s->start[i] > s->total_rows - s->rows[i])
            error_bug("%s: sequence %ld of the %s has rows [%ld,%ld), %ld of them real, want them in "
                      "[0,%ld), at most %ld",
                      op, i, what, (long)s->start[i], (long)s->start[i] + s->rows[i], (long)s->length[i],
                      s->total_rows, s->longest);
}
