/* What a student's own cases leave untested. */
#ifndef GRADING_COVERAGE_H
#define GRADING_COVERAGE_H

#include "gradcheck/gradcheck.h"
#include "grading/check_cases.h"

/* For each operation of the plan whose cases hardly test it a report `coverage`, which says what is missing, to the sink: as
 * passed, or with `strict` as inconclusive. report[i] is item i's. */
void coverage_report(const CheckPlan *p, const CaseReport *report, bool strict,
                     void (*sink)(void *context, const CaseReport *r), void *context);

#endif
