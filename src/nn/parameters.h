/* The parameter store: all weights of a model and their gradients, in one allocation.
 *
 *     values | gradients        each `size` reals, in the same order
 *
 * Matrices come first, then vectors, so that what an optimizer decays is one range and a step is one pass.
 * Each tensor begins on a cache line; the gaps between them are 0 in every part and stay so. */
#ifndef NN_PARAMETERS_H
#define NN_PARAMETERS_H

#include "autograd/tensor.h"
#include "base/error.h"
#include <stdint.h>

/* How a tensor starts. */
typedef struct Init {
    enum { INIT_ZERO, INIT_ONE, INIT_NORMAL, INIT_UNIFORM } how;
    double scale; /* standard deviation, or the uniform's bound */
} Init;

enum { PARAMETER_NAME = 64, PARAMETER_PARTS = 2 };

typedef struct Parameter {
    char name[PARAMETER_NAME]; /* as in a weight file */
    Shape shape;
    long offset; /* in each part of the store */
    Init init;
    Tensor *part[PARAMETER_PARTS]; /* the leaves that modules use: the whole, or its upper and lower rows */
} Parameter;

typedef struct Parameters {
    Parameter *entry;
    int count, capacity;
    long elements; /* of all tensors: the number of parameters */
    long size;     /* of each part of the store, gaps included */
    long decayed;  /* the first so many elements are matrices */
    bool training; /* gradients exist */
    real *value, *grad;
} Parameters;

/* Registers a tensor; its leaf gets memory in parameters_allocate. With two leaves the first gets the first
 * `rows` rows of it and the second the others. */
bool parameters_add(Parameters *p, const char *name, Shape shape, Init init, Tensor *leaf, Error *e);
bool parameters_add_split(Parameters *p, const char *name, Shape shape, Init init, Tensor *upper, long rows,
                          Tensor *lower, Error *e);

/* Gives all registered tensors their memory: values alone, or gradients as well. */
bool parameters_allocate(Parameters *p, bool training, Error *e);
void parameters_free(Parameters *p);

/* Bytes that parameters_allocate takes. */
size_t parameters_bytes(const Parameters *p, bool training);

/* Starting values: a function of (seed, index of the tensor, element). */
void parameters_init(Parameters *p, uint64_t seed);

/* A bug of `caller`'s if the store has no gradients. */
void parameters_want_grad(const Parameters *p, const char *caller);

/* Marks all gradients as holding nothing: the next backward stores. */
void parameters_clear_grad(Parameters *p);

/* Sets to 0 the gradients that backward has not reached since parameters_clear_grad: then all hold their
 * sums. */
void parameters_settle_grad(Parameters *p);

/* The entry of that name, or NULL. */
Parameter *parameters_find(const Parameters *p, const char *name);

#endif
