/* A parameter of a model proved by differences of the loss.
 *
 * A model has too many elements for a difference each. So a parameter w moves in two ways at once:
 *
 *     w_i = w₀_i + u (s - 1) v_i + u (e_i - 1)        s, e_i = 1: the model as it is
 *
 * along a random direction v through all its elements, no element of which can be wrong by much without
 * showing in dL/ds = u Σ_i v_i dL/dw_i; and along some elements alone: that with the largest gradient and
 * others at random. u is the size of w's elements. s and the e_i that move are inputs like those of any
 * operation, and checked as such (gradcheck.h). */
#ifndef GRADING_MODEL_DIFFERENCES_H
#define GRADING_MODEL_DIFFERENCES_H

#include "check/gradcheck/gradcheck.h"
#include "check/grading/model_pass.h"

enum { MOST_SAMPLES = 1000 };

/* Checks the i-th parameter, with up to `samples` elements alone, that of the largest dw among them. The
 * report has the parts ds, the direction's, and dw, in the units of dL/dw. The weights are as before, the
 * gradients spoilt. */
void model_differences(ModelPass *p, int i, const double *dw, long samples, uint64_t seed, const char *model,
                       CaseReport *report);

#endif
