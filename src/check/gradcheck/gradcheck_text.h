/* The findings about a case, as text for people. */
#ifndef GRADCHECK_GRADCHECK_TEXT_H
#define GRADCHECK_GRADCHECK_TEXT_H

#include "check/gradcheck/gradcheck.h"
#include <stdio.h>

/* The whole check of an operation, for a test program of one's own: checks all its cases, prints a line for
 * each gradient and explains what is wrong. Returns the gravest verdict; PASS is 0, so it may be the
 * program's status. */
Verdict gradcheck_op(const Op *op, FILE *out);

/* The same for any function of tensors that is made of tape operations, at the inputs of a table that ends with {0}:
 *
 *     static Tensor *loss(Tape *t, Tensor **x) {
 *         return tape_sum(t, tape_square(t, tape_sub(t, tape_matmul(t, x[0], x[1]), x[2])), ALL_AXES);
 *     }
 *
 *     int main(void) {
 *         const CheckInput in[] = {{"A", DIMS(4, 3)}, {"x", DIMS(3, 1)}, {"b", DIMS(4, 1)}, {0}};
 *         return gradcheck_function("least squares", loss, in, stdout);
 *     }
 */
Verdict gradcheck_function(const char *name, Tensor *(*f)(Tape *t, Tensor **x), const CheckInput *in,
                           FILE *out);

/* One line for each gradient of the case, below a heading. */
void gradcheck_heading(FILE *out);
void gradcheck_rows(FILE *out, const CaseReport *r);

/* Explains why the case failed or is inconclusive, and names the kinks of one that passed. In lines of at most 80
 * columns. */
void gradcheck_explain(FILE *out, const CaseReport *r);

/* The same for all cases, below a table. A case that is wrong like an earlier one takes a line. */
void gradcheck_explain_all(FILE *out, const CaseReport *r, long count);

/* Print a number in a column, or "-" for none; and remarks on elements, which end the line. */
void gradcheck_number(FILE *out, int width, double x, bool any);
void gradcheck_remarks(FILE *out, long kinks, long flat, bool moved, bool untested);

#endif
