/* All operations. Each line of ops.def declares the function that records the operation, tape_NAME,
 * and its description, op_NAME. src/core/ops/NAME.c begins with shapes, formula and derivation. Its
 * comments `exercise: begin` and `exercise: end` enclose the parts that `gradcheck --template NAME`
 * leaves out. */
#pragma once

#include "autograd/check_case.h"
#include "autograd/op.h"
#include "kernels/gemm.h"
#include "ops/heads.h"
#include "ops/sequences.h"
#include <limits.h>

/* The axis of a reduction over all axes, to a scalar. */
enum { ALL_AXES = INT_MIN };

#define OP(name, arguments, formula, section)                                                      \
    extern const Op op_##name;                                                                     \
    Tensor *tape_##name arguments;
#include "ops/ops.def"
#undef OP

typedef struct OpEntry {
    const Op *op;
    const char *arguments, *formula, *section;
} OpEntry;

/* All operations, in the order of ops.def. */
extern const OpEntry ops_all[];
extern const int ops_count;

/* The entry of that name, or NULL. */
const OpEntry *ops_find(const char *name);
