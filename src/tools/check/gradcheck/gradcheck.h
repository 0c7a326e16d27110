/* Gradients proved by differences. The identity that is tested, for every input x, output y and
 * cotangent c:
 *
 *     backward's dx_j  =  Σ_i c_i ∂y_i/∂x_j
 *                      =  lim_{h→0} Σ_i c_i (y_i(x + h e_j) - y_i(x - h e_j)) / 2h
 *
 * Read in this order: check_case.h (inputs), check_point, job and tape_runner (an operation at a
 * point), check_run (many runs), numeric_derivative and check_lines (the limit), entries and
 * check_entries (the comparison), check_gradients (a case), check_digits, check_ties and
 * check_smooth (digits, kinks, added points), check_properties (what holds without a limit),
 * report and gradcheck (all of it); then comparison and compare_* (what a mistake looks like, and
 * where it is), counterexample (what is shown), agreement (all cases of an operation),
 * gradcheck_text.
 *
 * The two sides are compared entry by entry: every coordinate of every input, with random signed
 * cotangents and, where the case is small, with each one-hot cotangent too, which makes it the
 * whole Jacobian matrix.
 *
 * The numeric derivative knows its own error (numeric_derivative.h), so there are three
 * verdicts:
 *
 *     PASS          every entry agrees, and the numeric derivative is good enough to prove it
 *     FAIL          an entry differs by more than the tolerance and by more than the error of the
 * numeric derivative; or a property that holds exactly for every gradient is broken
 * (properties.def) INCONCLUSIVE  neither; the report has the reason
 *
 * src/tools/check/README.md has the figures, and the reasons for INCONCLUSIVE.
 *
 * In single precision the same checks run with a tolerance to match; proofs are for double. */
#pragma once

#include "check/gradcheck/job.h"
#include "check/gradcheck/report.h"
#include <stdio.h>

/* Relative error up to which a gradient passes. */
double gradcheck_tolerance(void);

/* Checks one case of an operation at the points that `seed` draws. */
void gradcheck_case(const char *op, const CheckCase *c, uint64_t seed, CaseReport *report);

/* Checks the case as the options say. */
void gradcheck_case_with(const char *op, const CheckCase *c, const CheckOptions *how,
                         CaseReport *report);

/* Updates the rest of a report from its broken properties. */
void gradcheck_conclude(CaseReport *r);

/* ---- The cases of an operation together (agreement.c) ---- */

/* Whether the verdict depends on the other cases: gradients are 0, and nothing promises that. */
bool gradcheck_is_open(const CaseReport *r);

/* Chooses the explanation that fits most cases, for each wrong gradient of the operation of
 * these `count` reports. A report that it does not fit loses its own. A case whose gradients are
 * all 0 is untested if another proves a gradient of its inputs, and otherwise inconclusive. */
void gradcheck_agree(CaseReport *r, long count);

/* ---- The findings about a case, as text for people (gradcheck_text.c) ---- */

/* The whole check of an operation, for a test program of one's own: checks all its cases, prints
 * a line for each gradient and explains what is wrong. Returns the gravest verdict; PASS is 0,
 * so it may be the program's status. */
Verdict gradcheck_op(const Op *op, FILE *out);

/* The same for any function of tensors that is made of tape operations, at the inputs of a table
 * that ends with {0}:
 *
 *     static Tensor *loss(Tape *t, Tensor **x) {
 *         return tape_sum(t, tape_square(t, tape_sub(t, tape_matmul(t, x[0], x[1]), x[2])),
 * ALL_AXES);
 *     }
 *
 *     int main(void) {
 *         const CheckInput in[] = {{"A", DIMS(4, 3)}, {"x", DIMS(3, 1)}, {"b", DIMS(4, 1)}, {0}};
 *         return gradcheck_function("least squares", loss, in, stdout);
 *     } */
Verdict gradcheck_function(const char *name, Tensor *(*f)(Tape *t, Tensor **x),
                           const CheckInput *in, FILE *out);

/* One line for each gradient of the case, below a heading. */
void gradcheck_heading(FILE *out);
void gradcheck_rows(FILE *out, const CaseReport *r);

/* Explains why the case failed or is inconclusive, and names the kinks of one that passed. In
 * lines of at most 80 columns. */
void gradcheck_explain(FILE *out, const CaseReport *r);

/* The same for all cases, below a table. A case that is wrong like an earlier one takes a line. */
void gradcheck_explain_all(FILE *out, const CaseReport *r, long count);

/* Print a number in a column, or "-" for none; and remarks on elements, which end the line. */
void gradcheck_number(FILE *out, int width, double x, bool any);
void gradcheck_remarks(FILE *out, long kinks, long flat, bool moved, bool untested);
