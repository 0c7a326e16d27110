/* The change of a student's source that makes its wrong gradients right: of many edits that are tried the likeliest one that the
 * checker then passes in all cases. */
#ifndef GRADING_REPAIR_H
#define GRADING_REPAIR_H

#include "grading/check_cases.h"

/* Looks for it where reports of an operation, which are all of its cases', have a wrong gradient; they then say it. `folder` is
 * for what is compiled. */
void repair_find(const CheckPlan *p, const char *source, const char *folder, const char *headers,
                 CaseReport *report, long count);

#endif
