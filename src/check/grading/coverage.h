/* What a student's own cases leave untested, with what was added to them. */
#ifndef GRADING_COVERAGE_H
#define GRADING_COVERAGE_H

#include "check/gradcheck/gradcheck.h"

/* What there is among the cases of an operation so far. */
typedef struct Coverage {
    char op[REPORT_NAME]; /* "": no case yet */
    bool runs, elements, smooth, slope, one, sizes;
    Shape first;
    bool any;
} Coverage;

/* Looks at one more report of the operation. */
void coverage_look(Coverage *c, const CaseReport *r);

/* If the cases hardly test it, a report `coverage` that says what is missing: passed, or with `strict`
 * inconclusive. Begins anew. */
bool coverage_says(Coverage *c, bool strict, CaseReport *r);

#endif
