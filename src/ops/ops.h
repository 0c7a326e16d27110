/* All operations: for each line of ops.def the function that records it, `Tensor *tape_NAME(Tape *t, …)`, and
 * its description, `op_NAME`. Shapes, formula and derivation stand at the top of src/ops/NAME.c. The comments
 * `exercise: begin` and `exercise: end` enclose the parts that `gradcheck --template NAME` leaves out. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "autograd/check_case.h"
#include "autograd/op.h"
#include "kernels/activation.h"
#include "ops/sequences.h"
#include <limits.h>

/* What a reduction takes in place of an axis to reduce all of them, to a scalar. */
enum { ALL_AXES = INT_MIN };

#define OP(name, arguments, formula, section)                                                                \
    extern const Op op_##name;                                                                               \
    Tensor *tape_##name arguments;
#include "ops/ops.def"
#undef OP

typedef struct OpEntry {
    const Op *op;
    const char *arguments, *formula, *section;
} OpEntry;

/* The registry, in the order of ops.def. */
extern const OpEntry ops_all[];
extern const int ops_count;

/* The entry of that name, or NULL. */
const OpEntry *ops_find(const char *name);

#endif
