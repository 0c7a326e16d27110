/* The gradient of a parameter checked by differences of the loss.
 *
 * A model has too many elements to move each alone. A parameter w moves in two ways at once:
 *
 *     w_i = w₀_i + u (s - 1) v_i + u (e_i - 1)        s = e_i = 1 is the model itself
 *
 * along a random direction v through all elements, where a large error of any element shows in dL/ds = u
 * Σ_i v_i dL/dw_i; and along single elements: the one with the largest gradient and others at random. u is
 * the size of w's elements. s and the e_i are inputs of an operation, checked like any other
 * (gradcheck.h). */
#ifndef GRADING_MODEL_DIFFERENCES_H
#define GRADING_MODEL_DIFFERENCES_H

#include "check/gradcheck/gradcheck.h"
#include "check/grading/model_pass.h"

enum { MOST_SAMPLES = 1000 };

/* Checks parameter i and up to `samples` single elements. The report has the parts ds and dw, in units of
 * dL/dw. Restores the weights; overwrites the gradients. */
void model_differences(ModelPass *p, int i, const double *dw, long samples, uint64_t seed, const char *model,
                       CaseReport *report);

#endif
