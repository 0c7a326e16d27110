/* A point at which a check case is evaluated: the values of its inputs, and how they lie in
 * memory there. */
#pragma once

#include "autograd/check_case.h"
#include "base/arena.h"

typedef struct PointInput {
    const char *name;
    Shape shape;
    long count;    /* elements of the shape */
    long stored;   /* elements in memory: element i of the shape is the one at i % stored */
    int same_as;   /* index of the earlier input whose tensor this is; -1: it has its own */
    bool constant; /* takes no gradient */
    CheckLayout layout;
    real *value; /* contiguous in shape */
} PointInput;

typedef struct CheckPoint {
    int inputs;
    PointInput in[CHECK_INPUTS];
} CheckPoint;

/* POINT_ENDS: each input with a range has an element at either end of it; an input of one
 * element lies at the upper end. POINT_OTHER_ENDS: that element lies at the lower end. */
typedef enum PointKind { POINT_DRAWN, POINT_ENDS, POINT_OTHER_ENDS } PointKind;

/* Draws the point number `attempt` of an operation's case for this seed. Allocates from the
 * arena. Returns false if no input has a range for that kind of point. */
bool point_draw(CheckPoint *p, Arena *arena, const char *op, const CheckCase *c, uint64_t seed,
                PointKind kind, int attempt);

/* The same values in another layout, which is not REPEATED: that would need equal slices. */
CheckPoint point_lay_out(const CheckPoint *from, CheckLayout layout);

/* Whether input i takes a gradient of its own. */
bool point_has_gradient(const CheckPoint *p, int i);

/* Numbers of the gradients of the inputs before this one. */
long point_gradients_before(const CheckPoint *p, int input);

/* Returns stored element i, changed by the part `relative` of itself, up or down at random. */
real point_jittered(const PointInput *in, long i, real relative, uint64_t key);

/* A point nearby, at which every value of each input is changed so, input k with the key `key` +
 * k. */
CheckPoint point_nearby(const CheckPoint *p, Arena *arena, real relative, uint64_t key);
