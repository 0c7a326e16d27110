/* The joint findings of all cases of an operation: one mistake, and the cases that are right. */
#ifndef GRADCHECK_AGREEMENT_H
#define GRADCHECK_AGREEMENT_H

#include "check/gradcheck/report.h"

/* Chooses for each wrong gradient of an operation, of which all `count` reports are, the explanation that
 * fits most cases. A report that it does not fit loses its own. */
void gradcheck_agree(CaseReport *r, long count);

#endif
