/* A point at which a check case is evaluated: the values of its inputs, and where they lie in memory.
 *
 * Every input lies in a block of its own, with guards around it and, where it is stepped, gaps between its
 * elements. Guards and gaps of values hold NaN, which a wrong read carries into the result. Guards of
 * gradients hold a number, so that a wrong write is detected. */
#ifndef GRADCHECK_CHECK_POINT_H
#define GRADCHECK_CHECK_POINT_H

#include "autograd/check_case.h"
#include "base/arena.h"

typedef struct PointInput {
    const char *name;
    Shape shape;
    long count;    /* elements of the shape */
    long stored;   /* elements in memory: element i of the shape is the one at i % stored */
    int same_as;   /* index of the earlier input whose tensor this is; -1: it has its own */
    bool constant; /* takes no gradient */
    real *value;   /* contiguous in shape */
    Tensor tensor; /* what the operation gets; tensor.grad is NULL for a constant */
    real *block;   /* guard, values with gaps, guard */
    long block_count;
    real *grad_block; /* guard, gradient, guard */
} PointInput;

/* Memory shared with another process, allocated from its start. */
typedef struct CheckMemory {
    char *at;
    size_t used, size;
} CheckMemory;

typedef struct CheckPoint {
    CheckMemory *memory; /* where the blocks lie; NULL: in the arena */
    int inputs;
    PointInput in[CHECK_INPUTS];
    Tensor *x[CHECK_INPUTS]; /* as build wants them */
} CheckPoint;

/* POINT_ENDS: each input with a range has an element at either end of it; an input of one element lies at the upper end.
 * POINT_OTHER_ENDS: that element lies at the lower end. */
typedef enum PointKind { POINT_DRAWN, POINT_ENDS, POINT_OTHER_ENDS } PointKind;

/* Draws the point number `attempt` of an operation's case for this seed and lays it out as the case says. Allocates from
 * the arena, and the blocks from `memory` unless it is NULL; it is a bug if they do not fit. Returns false if no input has
 * a range for that kind of point. */
bool point_draw(CheckPoint *p, Arena *arena, CheckMemory *memory, const char *op, const CheckCase *c,
                uint64_t seed, PointKind kind, int attempt);

/* Copies a point. Both have the same blocks of memory. */
void point_copy(CheckPoint *to, const CheckPoint *from);

/* Lays out the same values anew. The layout is not REPEATED, which would need equal slices. */
void point_lay_out(CheckPoint *to, Arena *arena, const CheckPoint *from, CheckLayout layout);

/* Resets the tensors to their state before any tape used them, and fills every gradient with `fill`. NaN: the gradients
 * are fresh, and may hold anything. */
void point_ready(CheckPoint *p, real fill);

/* Whether input i takes a gradient of its own. */
bool point_has_gradient(const CheckPoint *p, int i);

/* Returns stored element i, changed by the part `relative` of itself, up or down at random. */
real point_jittered(const PointInput *in, long i, real relative, uint64_t key);

/* Change every value of an input that has its own tensor in this way; restore the values drawn. */
void point_jitter(CheckPoint *p, int input, real relative, uint64_t key);
void point_restore(CheckPoint *p, int input);

/* Returns the place in memory of element i of the shape. */
real *point_element(const PointInput *in, long i);

/* Restores all memory of the inputs to its state after layout. */
void point_reset_memory(CheckPoint *p);

/* Names the memory that has changed since layout ("input x", "memory beside the gradient of x") in text.
 * NULL: none. Gradients themselves may change. */
enum { DAMAGE_TEXT = 128 };
const char *point_damage(const CheckPoint *p, char text[DAMAGE_TEXT]);

#endif
