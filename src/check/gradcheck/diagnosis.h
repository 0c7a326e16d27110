/* The mistake that a wrong gradient looks like.
 *
 * A pattern is a hypothesis about how the analytic gradient was made from the right one: its sign flipped,
 * its transpose, only the last of several uses. It is named only if it predicts every entry, for every
 * cotangent. */
#ifndef GRADCHECK_DIAGNOSIS_H
#define GRADCHECK_DIAGNOSIS_H

#include "check/gradcheck/check_gradients.h"

/* Sets the explanations of input k's report, and by the first of them its pattern and reason. The runs are at
 * the point, and stay there. */
void gradcheck_diagnose(const Gradients *g, int k, uint64_t seed, InputReport *report);

/* Makes one of the explanations the report's pattern and reason; NULL: none is known. */
void gradcheck_explain_by(InputReport *report, const Explanation *x);

#endif
