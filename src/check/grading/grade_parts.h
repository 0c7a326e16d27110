/* Reports divided into the tests of a grader, with their points. */
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

/* The tests of reports in which those of an operation are adjacent. A planned case has a test for each
 * gradient that it wants, one for its output if that is compared, and a share in each property of the
 * operation. Its points are divided evenly among gradients, output and all properties together. A property
 * counts in the cases in which it holds, in proportion to their right gradients. A case without elements or slope
 * scores only where the operation's other cases are right. The points of all tests do not depend on the results. To
 * be freed; ends the program if memory runs out. */
Part *grade_parts(const CaseReport *r, long count, long *parts);
void grade_parts_free(Part *part, long parts);

/* The points scored in all tests; *of gets the points that they are worth. */
double grade_points(const CaseReport *r, long count, double *of);

#endif
