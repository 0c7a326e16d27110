/* Judges the cases of an operation together. */
#ifndef GRADCHECK_AGREEMENT_H
#define GRADCHECK_AGREEMENT_H

#include "check/gradcheck/report.h"

/* Whether the verdict depends on the other cases: gradients are 0, and nothing promises that. */
bool gradcheck_is_open(const CaseReport *r);

/* Chooses the explanation that fits most cases, for each wrong gradient of the operation of these `count` reports. A
 * report that it does not fit loses its own. A case whose gradients are all 0 is untested if another proves a gradient of
 * its inputs, and otherwise inconclusive. */
void gradcheck_agree(CaseReport *r, long count);

#endif
