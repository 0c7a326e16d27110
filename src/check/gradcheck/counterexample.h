/* A failing case in full: its inputs, the upstream gradient, and the gradient and the Jacobian beside the right ones. */
#ifndef GRADCHECK_COUNTEREXAMPLE_H
#define GRADCHECK_COUNTEREXAMPLE_H

#include "check/gradcheck/check_gradients.h"

/* Writes the case of input k into the report, unless its elements are a sample or the report has a case that is as small;
 * `how` names the changes of the case; "": none. Returns whether it has. */
bool counterexample_write(const Gradients *g, int k, const char *how, InputReport *report);

/* Makes *to of a case by changing a size: the steps change 12 down to 2, each to 1 and to 2; *how names both. Returns false
 * if the step changes nothing. */
enum { SMALLER_CASES = 22 };
bool counterexample_shrink(const CheckCase *c, int step, CheckCase *to, char how[REPORT_WORD]);

#endif
