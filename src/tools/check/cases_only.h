/* Included before a teacher's file when its check cases are compiled for the process that runs a
 * student's code: an operation defined with `Op` keeps its cases and loses its functions, so that
 * the solution is not in that process. The functions are static as a rule, and the compiler drops
 * those that nothing refers to. */
#pragma once

#include "autograd/op.h"
#include <stddef.h>

/* In place of a pointer to a function: whether there is one. */
typedef union OpFunction {
    bool exists;
    void (*function)(void);
} OpFunction;

typedef struct OpCases {
    const char *name;
    OpFunction forward, backward, scratch;
    bool view, stores_fresh;
    OpFunction branches, flops, arguments;
    const CheckCase *cases;
    int n_cases;
} OpCases;

_Static_assert(sizeof(OpCases) == sizeof(Op) && offsetof(OpCases, cases) == offsetof(Op, cases) &&
                   offsetof(OpCases, view) == offsetof(Op, view),
               "OpCases has the layout of Op");

#define Op OpCases
