/* What gradcheck found, for programs. A check is a CaseReport; its parts are the gradients of
 * its inputs (or the arrays of a folder, or a model's parameters). */
#ifndef GRADING_GRADCHECK_REPORT_H
#define GRADING_GRADCHECK_REPORT_H

#include "base/error.h"
#include "check/gradcheck/gradcheck_text.h"

/* One JSON object a line for each part of report `at` of `count`; a case without parts has one with
 * "part": null. The member "contrast" tells how a wrong gradient differs between cases. "file" is written
 * unless `file` is NULL. */
void gradcheck_json_report(FILE *out, const char *file, const CaseReport *all, long count, long at);

/* Files for graders, from all reports at once: JUnit XML, and Gradescope's results.json, of their parts
 * (grade_parts.h). `notes` concern them all. */
bool junit_write(const char *path, const CaseReport *r, long count, double seconds, const char *notes,
                 Error *e);
bool gradescope_write(const char *path, const CaseReport *r, long count, double seconds, const char *notes,
                      Error *e);

#endif
