#include "base/shape.h"
#include "base/error.h"
#include "base/real.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

static void check_rank(Shape s) {
    if (s.rank < 0 || s.rank > MAX_RANK)
        error_bug("shape of rank %d, want at most %d", s.rank, MAX_RANK);
}

long shape_count(Shape s) {
    long count;
    check_rank(s);
    if (!shape_fits(s.rank, s.size, sizeof(real), &count))
        error_bug("shape %s: too many elements", shape_text(s));
    return count;
}

bool shape_fits(int rank, const long *size, size_t element_size, long *count) {
    long n = 1;
    bool zero = false;
    for (int i = 0; i < rank; i++) {
        if (size[i] < 0) return false;
        zero |= size[i] == 0;
        /* A size of 0 elsewhere does not excuse an overflow: strides are products of the other
         * sizes. */
        if (size[i] && __builtin_mul_overflow(n, size[i], &n)) return false;
    }
    if (n > LONG_MAX / (long)element_size) return false;
    *count = zero ? 0 : n;
    return true;
}

int shape_axis(const char *op, Shape s, int axis) {
    int from_start = axis < 0 ? axis + s.rank : axis;
    if (from_start < 0 || from_start >= s.rank)
        error_bug("%s: axis %d of %s, want one in [%d,%d)", op, axis, shape_text(s), -s.rank,
                  s.rank);
    return from_start;
}

Shape shape_broadcast(const char *op, Shape a, Shape b) {
    check_rank(a);
    check_rank(b);
    Shape out = {.rank = a.rank > b.rank ? a.rank : b.rank};
    for (int i = 1; i <= out.rank; i++) {
        long p = i <= a.rank ? a.size[a.rank - i] : 1, q = i <= b.rank ? b.size[b.rank - i] : 1;
        if (p != q && p != 1 && q != 1)
            error_bug("%s: argument 2 is %s, want a shape that broadcasts with %s", op,
                      shape_text(b), shape_text(a));
        out.size[out.rank - i] = p == 1 ? q : p;
    }
    return out;
}

const char *shape_text(Shape s) {
    static _Thread_local char text[4][MAX_RANK * 21 + 3];
    static _Thread_local int next;
    char *p = text[next++ & 3], *start = p;
    *p++ = '[';
    for (int i = 0; i < s.rank && i < MAX_RANK; i++) p += sprintf(p, i ? ",%ld" : "%ld", s.size[i]);
    strcpy(p, "]");
    return start;
}
