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

/* ---- All cases of an operation: one mistake (agreement.c) ---- */

/* Chooses for each wrong gradient of an operation, of which all `count` reports are, the explanation that
 * fits most cases. A report that it does not fit loses its own. */
void gradcheck_agree(CaseReport *r, long count);

/* ---- A failing case in full: its inputs, the upstream gradient, and the gradient and the Jacobian beside the right ones
 * (smallest_case.c) ---- */

/* Writes the case of input k into the report, where it has few enough numbers; `how` says what was changed in
 * it, "" if nothing was. */
void smallest_case_write(const Gradients *g, int k, const char *how, InputReport *report);

/* How many numbers the point and its output have. */
long smallest_case_size(const Gradients *g);

/* Makes *to of a case by giving all axes of one size another: products and broadcasts still fit. The sizes
 * are those of step number `step`, from the smallest case on; *how names them. False: there is no such step,
 * or it changes nothing. */
bool smallest_case_resize(const CheckCase *c, int step, CheckCase *to, char how[REPORT_WORD], bool *last);

#endif
