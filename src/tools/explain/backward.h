/* Backward, one operation at a time: what each node of a tape adds to the gradients of its inputs,
 * and why. The tape has `keep` set and its backward has run, so that n->out->grad is the gradient
 * that arrived at node n. */
#pragma once

#include "autograd/op.h"
#include "base/arena.h"
#include "check/gradcheck/numeric_derivative.h"

/* From the header comment of an operation's file. */
typedef struct Derivation {
    const char *op;
    const char *forward, *backward; /* formulas, a line each; a condition may follow a tab */
    const char *keeps;              /* "Forward keeps only y."; "": the comment does not say */
} Derivation;

/* NULL: an operation that is not of this project. */
const Derivation *backward_derivation(const Op *op);

/* The name of input i in its derivation, "W"; "": it has none. */
enum { BACKWARD_INPUT = 24 };
const char *backward_input(const Node *n, int i, char out[BACKWARD_INPUT]);

/* Whether input i takes a gradient, and is not an earlier input passed again. */
bool backward_reaches(const Node *n, int i);

/* The part that the node's backward adds to the gradient of input i, contiguous in its shape. */
real *backward_part(Arena *arena, Node *n, int i);

/* A term of one cell of that: dx[cell] is the sum of dy · slope over all terms, slope =
 * ∂y[at]/∂x[cell]. */
typedef struct BackwardTerm {
    long at; /* element of y, in row-major order */
    real dy, slope;
} BackwardTerm;

/* The terms that are not 0, and their number. */
BackwardTerm *backward_terms(Arena *arena, Node *n, int i, long cell, long *count);

/* One cell of a node's output as a sum of its operands' elements, each times its slope, the
 * derivative of the cell. Not every operation is such a sum of some of its operands: then it has no
 * terms. rest: value without the terms. */
typedef struct ForwardTerm {
    int operand;
    long element; /* in row-major order */
    real value, slope;
} ForwardTerm;
typedef struct ForwardSum {
    ForwardTerm *term;
    long count;
    real value, rest;
} ForwardSum;
ForwardSum forward_sum(Arena *arena, Node *n, long cell);

/* Finds why the gradient of a cell is 0: the first operation on its way to the loss whose output
 * does not depend on it. A mask is named only if it hides all of the way. NULL: the gradient is not
 * 0. */
const Node *backward_end(Node *n, int i, long cell);

/* The loss, the tape's last output, while one number of x, a node's output or a leaf, at `offset`
 * in its data has another value: the operations after x run again. */
real backward_loss(const Tape *t, const Tensor *x, long offset, real value);

/* The derivative of the loss, the tape's last output, with respect to one element of the node's
 * output: by differences, running the operations after it again. The node is no view. */
Sweep backward_difference(Node *n, long cell);
