/* The shape of an array: the number of its axes and the size along each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { MAX_RANK = 6 };

typedef struct Shape {
    int rank; /* 0 is a scalar: one element */
    long size[MAX_RANK];
} Shape;

/* A brace initialiser, for static tables: DIMS(2, 3) is { 2, { 2, 3 } }. More than MAX_RANK sizes
 * do not compile. */
#define DIMS(...)                                                                                  \
    {                                                                                              \
        (int)(COUNT_OF(__VA_ARGS__) +                                                              \
              0 * sizeof(char[COUNT_OF(__VA_ARGS__) <= MAX_RANK ? 1 : -1])),                       \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define COUNT_OF(...) (sizeof((long[]){__VA_ARGS__}) / sizeof(long))
#define SHAPE(...)    ((Shape)DIMS(__VA_ARGS__))
#define SCALAR        ((Shape){0})

/* Number of elements; 1 for a scalar, 0 when an axis has size 0. A rank out of range and an
 * overflow are bugs: sizes from outside are checked with shape_fits before a shape is made of them.
 */
long shape_count(Shape s);

/* True if no size is negative and the element count times element_size fits in a long; then *count
 * is the element count. Files have arrays of more than MAX_RANK axes. */
bool shape_fits(int rank, const long *size, size_t element_size, long *count);

/* Inline: a call would copy the shapes, which costs more than the work. */
static inline bool shape_equal(Shape a, Shape b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; i++)
        if (a.size[i] != b.size[i]) return false;
    return true;
}

/* Converts an axis to [0, rank); negative axes count from the end. Out of range is a bug in op's
 * name. */
int shape_axis(const char *op, Shape s, int axis);

/* The shape to which a and b broadcast: aligned at the last axis, with sizes equal or 1. Otherwise
 * a bug in op's name. */
Shape shape_broadcast(const char *op, Shape a, Shape b);

/* "[2,3]", for messages: in one of four static buffers of the calling thread. */
const char *shape_text(Shape s);
