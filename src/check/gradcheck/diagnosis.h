/* What a wrong gradient looks like: the mistake that explains all its errors at once, where one does.
 *
 * A pattern is a hypothesis about how the analytic gradient was made from the right one (its sign flipped,
 * its transpose, only the last of several uses …). It is named only if it predicts every entry, for every
 * cotangent. */
#ifndef GRADCHECK_DIAGNOSIS_H
#define GRADCHECK_DIAGNOSIS_H

#include "check/gradcheck/check_entries.h"

/* Explains the errors of input k, whose entries are all[k] (all other inputs' may help to understand them):
 * sets the report's explanations, and by the best of them its pattern and reason. `run` must be at the point; it is left
 * there. */
void gradcheck_diagnose(CheckRun *run, const Entries *all, int k, Arena *arena, InputReport *report);

/* Makes one of the explanations the report's pattern and reason; NULL: none is known. */
void gradcheck_explain_by(InputReport *report, const Explanation *x);

#endif
