/* One mistake for all cases of an operation: what explains a gradient in most of them, not in each what fits it there. */
#ifndef GRADCHECK_AGREEMENT_H
#define GRADCHECK_AGREEMENT_H

#include "check/gradcheck/report.h"

/* Chooses, for each wrong gradient of the operation that all `count` reports are of, between its explanations in all cases, and
 * makes the reports say what was chosen, where it fits, and nothing where it does not. */
void gradcheck_agree(CaseReport *r, long count);

#endif
