/* The parameter store: all weights of a model and their gradients, in one allocation.
 *
 *     values of those that learn | values of frozen ones | gradients
 *
 * Gradients, `size` reals, are in the order of the values. Matrices come first, then vectors: an
 * optimizer decays one range, and its step is one pass. Frozen parameters have no gradient, no
 * moments and no decay. Each tensor begins on a cache line. The gaps between tensors are 0 and stay
 * 0. */
#pragma once

#include "autograd/tensor.h"
#include "base/error.h"
#include <stdint.h>

/* The initial values of a tensor. */
typedef struct Init {
    enum { INIT_CONSTANT, INIT_NORMAL, INIT_UNIFORM } how;
    double
        scale; /* the constant; standard deviation of a normal, bound of a uniform distribution */
} Init;

enum { PARAMETER_NAME = 64, PARAMETER_PARTS = 2 };

typedef struct Parameter {
    char name[PARAMETER_NAME]; /* as in a weight file */
    Shape shape;
    long offset; /* in each part of the store */
    Init init;
    bool frozen;
    Tensor *part
        [PARAMETER_PARTS]; /* leaves that modules use: the tensor, or its upper and lower rows */
} Parameter;

typedef struct Parameters {
    Parameter *entry;
    int count, capacity;
    long elements; /* of all tensors: the number of parameters */
    long size;     /* reals of those that learn, gaps included */
    long decayed;  /* reals of the matrices among them, which come first */
    bool training; /* has gradients */
    real *value, *grad;
    real *packed; /* the matrices once more, for decoding: kv_cache.h; NULL: not yet */
    size_t packed_bytes;
    long decodings;
} Parameters;

/* Registers a tensor; parameters_allocate gives its leaf memory. parameters_add_split registers a
 * tensor with two leaves: `upper` has its first `rows` rows, `lower` has the others. */
bool parameters_add(Parameters *p, const char *name, Shape shape, Init init, Tensor *leaf,
                    Error *e);
bool parameters_add_split(Parameters *p, const char *name, Shape shape, Init init, Tensor *upper,
                          long rows, Tensor *lower, Error *e);

/* Freezes the parameters whose names do not match the fnmatch pattern. Called before
 * parameters_allocate. STATUS_USAGE: no name matches, and nothing would learn. */
bool parameters_train_only(Parameters *p, const char *pattern, Error *e);

/* Allocates the values of all registered tensors, and with `training` their gradients. */
bool parameters_allocate(Parameters *p, bool training, Error *e);
void parameters_free(Parameters *p);

/* The bytes that parameters_allocate takes, and the bytes of the gradients among them. One moment
 * of an optimizer takes as many bytes as the gradients. */
size_t parameters_bytes(const Parameters *p, bool training);
size_t parameters_gradient_bytes(const Parameters *p);

/* Draws initial values. Each is a function of the seed, the tensor's index and the element's
 * index. */
void parameters_init(Parameters *p, uint64_t seed);

/* Stops with a bug that names `caller` if the store has no gradients. */
void parameters_want_grad(const Parameters *p, const char *caller);

/* Discards all gradients: the next backward stores instead of adding. */
void parameters_clear_grad(Parameters *p);

/* Sets the gradients to 0 that backward has not reached since parameters_clear_grad. Afterwards all
 * gradients are valid. */
void parameters_zero_unreached(Parameters *p);

/* The entry of that name, or NULL. */
Parameter *parameters_find(const Parameters *p, const char *name);
