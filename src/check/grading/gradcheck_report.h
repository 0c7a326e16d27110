/* Reports for other programs. A CaseReport has a part for each gradient: of an input, of an array in a
 * file, of a parameter of a model. */
#ifndef GRADING_GRADCHECK_REPORT_H
#define GRADING_GRADCHECK_REPORT_H

#include "base/error.h"
#include "check/gradcheck/gradcheck_text.h"

/* Prints a line of JSON for each part of report `at` of `count`, or one with "part": null if it has none.
 * "contrast" says how a wrong gradient differs between cases. "file" is left out if `file` is NULL. */
void gradcheck_json_report(FILE *out, const char *file, const CaseReport *all, long count, long at);

/* Writes all reports as JUnit XML or as Gradescope's results.json, with one test for each part
 * (grade_parts.h). The notes apply to all of them. */
bool junit_write(const char *path, const CaseReport *r, long count, double seconds, const char *notes,
                 Error *e);
bool gradescope_write(const char *path, const CaseReport *r, long count, double seconds, const char *notes,
                      Error *e);

#endif
