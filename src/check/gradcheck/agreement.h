/* What the cases of an operation say together. */
#ifndef GRADCHECK_AGREEMENT_H
#define GRADCHECK_AGREEMENT_H

#include "check/gradcheck/report.h"

/* Whether a case's gradients are all 0, and nothing promises that: its verdict depends on the other cases. Not of a model's
 * parts: values of a port, and parameters that a batch may not use. */
bool gradcheck_is_vacuous(const CaseReport *r);

/* Chooses the explanation that fits most cases, for each wrong gradient of the operation of these `count` reports. A
 * report that it does not fit loses its own. A vacuous case is untested if another proves a gradient of its inputs, and
 * otherwise inconclusive. */
void gradcheck_agree(CaseReport *r, long count);

#endif
