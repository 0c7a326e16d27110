/* The mistake that a wrong gradient looks like.
 *
 * A pattern is a hypothesis about how the analytic gradient was made from the right one: its sign flipped,
 * its transpose, only the last of several uses. It is named only if it predicts every entry, for every
 * cotangent. */
#ifndef GRADCHECK_DIAGNOSIS_H
#define GRADCHECK_DIAGNOSIS_H

#include "check/gradcheck/check_gradients.h"

/* Explains the wrong and the inconclusive gradients that check_gradients found: each wrong one gets its map, its numbers, and
 * the explanations that fit; the first gives its pattern and reason. The runs are still at the same point, and have run
 * forward. */
void gradcheck_diagnose(const Gradients *g, CaseReport *report);

/* ---- A failing case in full (counterexample.c): its inputs, the upstream gradient, and the gradient and the Jacobian beside the
 * right ones ---- */

/* Writes the case of input k into the report, unless its elements are a sample or the report has a case that is as small;
 * `how` names the changes of the case; "": none. Returns whether it has. */
bool counterexample_write(const Gradients *g, int k, const char *how, InputReport *report);

/* Makes *to of a case by changing a size: the steps change 12 down to 2, each to 1 and to 2; *how names both. Returns false
 * if the step changes nothing. */
enum { SMALLER_CASES = 22 };
bool counterexample_shrink(const CheckCase *c, int step, CheckCase *to, char how[REPORT_WORD]);

#endif
