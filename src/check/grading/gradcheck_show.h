/* Reports shown as they come: a table first, what needs words below it, then the totals and the files for
 * graders; or JSON lines, from the first wrong case of an operation on when all of it is there.
 *
 *     Show show;
 *     show_start(&show, &how);
 *     … show_report(&show, &report) for each …
 *     return show_finish(&show, e); */
#ifndef GRADING_GRADCHECK_SHOW_H
#define GRADING_GRADCHECK_SHOW_H

#include "check/grading/gradcheck_report.h"

typedef struct ShowOptions {
    bool json;                      /* JSON lines alone */
    bool curve;                     /* the curves that reports have */
    bool overview;                  /* one line an operation, whose reports follow each other */
    bool apart;                     /* the caller prints table and totals */
    const char *junit, *gradescope; /* files to write; NULL: none */
    const char *notes;              /* for these, on all reports; NULL: none */
    const char *file;               /* what JSON lines name beside each case; NULL: nothing */
} ShowOptions;

/* How reports are shown: options of every command that makes them. */
/* clang-format off */
#define SHOW_OPTIONS(show) \
    {"json", .help = "print JSON lines, one for each gradient", .flag = &(show).json}, \
    {"junit", "FILE", NULL, "write a JUnit XML report", "none", .text = &(show).junit}, \
    {"gradescope", "FILE", NULL, "write a results.json for Gradescope", "none", .text = &(show).gradescope}
/* clang-format on */

/* Counted over many reports. */
typedef struct CheckTotals {
    long operations, cases, gradients, elements;
    long passed, failed, inconclusive; /* cases */
    long kinks, flat;                  /* elements */
    double worst;                      /* relative error among what passed */
    char worst_at[2 * REPORT_NAME + 2];
    char last_op[REPORT_NAME];
} CheckTotals;

/* The gravest verdict among them. */
Verdict totals_verdict(const CheckTotals *t);

typedef struct Show {
    const ShowOptions *how;
    CaseReport *report; /* all of them */
    long count, capacity;
    long printed;           /* as JSON lines */
    CheckTotals totals, op; /* of all, and of the operation at hand, the last op.cases reports */
    double start;
} Show;

/* Begins a report in the ways that the options ask for. */
void show_start(Show *show, const ShowOptions *how);

/* `show` is a Show: as plan_run wants it. */
void show_report(void *show, const CaseReport *r);

/* Writes the files for graders alone. What failed because it is not judged yet goes there first: so no old
 * file stays where a run cannot be finished. */
bool show_write(const ShowOptions *how, const CaseReport *r, long count, double seconds, Error *e);

/* Prints what needs words, for those who print the totals themselves. */
void show_explanations(const Show *show);

/* Forgets the reports. */
void show_free(Show *show);

/* Says how it ended, and forgets the reports. False: STATUS_NO if a case failed, STATUS_INCONCLUSIVE if
 * none did but one could not be proved; or a file could not be written. */
bool show_finish(Show *show, Error *e);

#endif
