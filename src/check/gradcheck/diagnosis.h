/* The mistake that a wrong gradient looks like.
 *
 * A pattern is a hypothesis about how the analytic gradient was made from the right one: its sign flipped,
 * its transpose, only the last of several uses. It is named only if it predicts every entry, for every
 * cotangent. */
#ifndef GRADCHECK_DIAGNOSIS_H
#define GRADCHECK_DIAGNOSIS_H

#include "check/gradcheck/check_gradients.h"

/* Sets the explanations of input k's report; the first gives its pattern and reason. The runs stay at their point. */
void gradcheck_diagnose(const Gradients *g, int k, InputReport *report);

/* "forward gives nan at y[1], where x[1] = 0". False: every output is finite. */
bool gradcheck_forward_text(const Gradients *g, int k, char text[REPORT_TEXT]);

/* Sets the report's pattern and reason to those of an explanation; NULL: to none. */
void gradcheck_explain_by(InputReport *report, const Explanation *x);

/* ---- All cases of an operation (agreement.c) ---- */

/* Whether a case's gradients are all 0, and nothing promises that: its verdict depends on the other cases. Not of a model's
 * parts: values of a port, and parameters that a batch may not use. */
bool gradcheck_is_vacuous(const CaseReport *r);

/* Chooses the explanation that fits most cases, for each wrong gradient of the operation of these `count` reports. A
 * report that it does not fit loses its own. A vacuous case is untested if another proves a gradient of its inputs, and
 * otherwise inconclusive. */
void gradcheck_agree(CaseReport *r, long count);

/* ---- A failing case in full: its inputs, the upstream gradient, and the gradient and the Jacobian beside the right ones
 * (smallest_case.c) ---- */

/* Writes the case of input k into the report, unless its elements are a sample or the report has a case that is as small;
 * `how` names the changes of the case; "": none. Returns whether it has. */
bool smallest_case_write(const Gradients *g, int k, const char *how, InputReport *report);

/* Makes *to of a case by giving all axes of one size another: products and broadcasts still fit. The steps change
 * sizes 12 down to 2, each to 1 and to 2; *how names both. Returns false if the step changes nothing. */
enum { SMALLER_CASES = 22 };
bool smallest_case_resize(const CheckCase *c, int step, CheckCase *to, char how[REPORT_WORD]);

#endif
