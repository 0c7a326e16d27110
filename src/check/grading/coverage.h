/* Aspects of an operation that its cases leave untested. */
#ifndef GRADING_COVERAGE_H
#define GRADING_COVERAGE_H

#include "check/gradcheck/gradcheck.h"

/* The aspects that the cases of an operation have covered so far. */
typedef struct Coverage {
    char op[REPORT_NAME]; /* "": no case yet */
    bool runs, elements, smooth, slope, one, sizes;
    Shape first;
    bool any;
} Coverage;

/* Adds the aspects that a report of the operation covers. */
void coverage_look(Coverage *c, const CaseReport *r);

/* If aspects are untested, fills a report `coverage` that lists them: passed, or inconclusive if `strict`.
 * Starts anew. */
bool coverage_says(Coverage *c, bool strict, CaseReport *r);

#endif
