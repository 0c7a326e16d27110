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

#endif
