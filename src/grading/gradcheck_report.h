/* What gradcheck found, for people and for machines. A check is a CaseReport; its parts are the gradients of
 * its inputs (or the arrays of a folder, or a model's parameters). */
#ifndef GRADING_GRADCHECK_REPORT_H
#define GRADING_GRADCHECK_REPORT_H

#include "base/error.h"
#include "gradcheck/gradcheck_text.h"

/* Counted over many reports. */
typedef struct CheckTotals {
    long operations, cases, gradients, elements;
    long passed, failed, inconclusive; /* cases */
    long kinks, flat;                  /* elements */
    double worst;                      /* relative error among what passed */
    char worst_at[2 * REPORT_NAME + 2];
    char last_op[REPORT_NAME];
} CheckTotals;

/* Counts one more case. */
void totals_add(CheckTotals *t, const CaseReport *r);

/* Done, no, or inconclusive: what the program exits with. */
Status totals_status(const CheckTotals *t);

/* One line an operation, from the totals of its reports. */
void table_overview_heading(FILE *out);
void table_overview_row(FILE *out, const char *op, const CheckTotals *t);

/* The last lines: counts, and a line of its own where something is inconclusive. */
void table_summary(FILE *out, const CheckTotals *t, double seconds);

/* One JSON object a line for each part; a case without parts has one with "part": null. `file` is said where it is not
 * NULL: of many. */
void gradcheck_json_report(FILE *out, const char *file, const CaseReport *r);

/* Files for graders, from all reports at once: JUnit XML, and Gradescope's results.json. A case's points are shared out
 * evenly among its parts. `notes` concern them all. */
bool junit_write(const char *path, const CaseReport *r, long count, double seconds, const char *notes,
                 Error *e);
bool gradescope_write(const char *path, const CaseReport *r, long count, double seconds, const char *notes,
                      Error *e);

/* The points of what passed, and what all is worth. */
double gradcheck_points(const CaseReport *r, long count, double *of);

#endif
