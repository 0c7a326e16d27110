/* Reports as graders count them: tests that pass or fail, and what each is worth. */
#ifndef GRADING_GRADE_PARTS_H
#define GRADING_GRADE_PARTS_H

#include "check/gradcheck/report.h"

typedef struct Part {
    const char *op;
    char name[3 * REPORT_NAME];
    Verdict verdict;
    double score, points;
    char *text; /* for the student */
} Part;

/* The parts of reports of which those of an operation follow each other. A case that was planned has a
 * part for each gradient that it wants, one for its output where that was to be another's, and a share in
 * the operation's properties, all of them worth the same: each property is a part, in which the shares are
 * dealt out evenly, and scores those of the cases in which it holds, as far as their gradients are right.
 * So what all is worth does not depend on what is judged. Ends the program where memory does. To be freed. */
Part *grade_parts(const CaseReport *r, long count, long *parts);
void grade_parts_free(Part *part, long parts);

/* The points of all parts, and what they are worth. */
double grade_points(const CaseReport *r, long count, double *of);

#endif
