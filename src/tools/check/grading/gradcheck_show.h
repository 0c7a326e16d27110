/* Shows reports as they arrive: a table, then explanations, totals and report files; or lines of
 * JSON, those of an operation from its first wrong case on together.
 *
 *     Show show;
 *     show_begin(&show, &how);
 *     … show_report(&show, &report) for each …
 *     return show_finish(&show, e); */
#pragma once

#include "check/gradcheck/gradcheck.h"

typedef struct ShowOptions {
    bool json;              /* JSON lines alone */
    bool overview;          /* one row for each operation */
    bool apart;             /* the caller prints table and totals */
    bool own_cases;         /* of the file: an operation without elements is inconclusive */
    const char *reports;    /* path of a file for the lines of JSON, beside the text; NULL: none */
    const char *gradescope; /* path of Gradescope's results.json; NULL: none */
    const char *notes;      /* for that file; NULL: none */
    const char *gap;        /* what this machine does not confine; NULL: nothing */
} ShowOptions;

/* Options of all commands that show reports: rows of a struct with a ShowOptions. */
/* clang-format off */
#define SHOW_OPTIONS(structure, show) \
    {"json", .help = "print JSON lines, one for each gradient", \
     SETTING(FLAG, structure, show.json)}, \
    {"reports", "FILE", NULL, "write the lines of --json to a file", \
     SETTING(TEXT, structure, show.reports), "none"}, \
    {"gradescope", "FILE", NULL, "write a results.json for Gradescope", \
     SETTING(TEXT, structure, show.gradescope), "none"}
/* clang-format on */

/* Sums over reports. */
typedef struct CheckTotals {
    long operations, cases, gradients, elements;
    long passed, failed, inconclusive; /* cases */
    long kinks, flat;                  /* elements */
    double worst;                      /* relative error among what passed */
    char worst_at[2 * REPORT_NAME + 2];
    char last_op[REPORT_NAME];
} CheckTotals;

/* Adds a case. */
void show_add_to_totals(CheckTotals *t, const CaseReport *r);

typedef struct Show {
    const ShowOptions *how;
    CaseReport *report; /* all of them */
    long count, capacity;
    long settled;           /* printed and counted */
    long first;             /* of the current operation */
    CheckTotals totals, op; /* of what is settled: of all, and of the current operation */
    double start;
} Show;

/* Prints what is not confined, as a line or as a line of JSON. */
void show_gap(const ShowOptions *how, FILE *out);

/* Starts; prints the heading. */
void show_begin(Show *show, const ShowOptions *how);

/* Shows a report; `show` is a Show. */
void show_report(void *show, const CaseReport *r);

/* Ends the reports of an operation, as the first report of another one and show_finish do. */
void show_end_operation(Show *show);

/* Writes the report files (gradcheck_files.c): JSON lines, and Gradescope's results.json with a
 * test for each Part. */
bool show_write(const ShowOptions *how, const CaseReport *r, long count, double seconds, Error *e);

/* Frees the reports. */
void show_free(Show *show);

/* Prints the rest and frees the reports. False: STATUS_NO if a case failed, STATUS_INCONCLUSIVE if
 * a case is inconclusive and none failed, or a report file cannot be written. */
bool show_finish(Show *show, Error *e);

/* The verdict on all cases: false, as above, unless all passed. */
bool show_conclude(const CheckTotals *t, Error *e);

/* ---- Reports for other programs. A CaseReport has a part for each gradient: of an input, of an
 * array in a file, of a parameter of a model ---- */

/* Prints a line of JSON for each part of a report, or one with "part": null if it has none. "file"
 * is left out if `file` is NULL. */
void show_json(FILE *out, const char *file, const CaseReport *r);

/* A test of a grader, with its points. */
typedef struct Part {
    const char *op;
    char name[3 * REPORT_NAME];
    Verdict verdict;
    double score, points;
    char *text; /* for the student */
} Part;

/* The tests of reports in which those of an operation are adjacent. A planned case has a test for
 * each gradient that it wants, one for its output if that is compared, and one for its properties,
 * which share its points evenly. Properties have their points if all hold, in proportion to the
 * case's right gradients. A case without elements or slope scores only where the operation's other
 * cases are right. The points of all tests do not depend on the results. To be freed; ends the
 * program if memory runs out. */
Part *grade_parts(const CaseReport *r, long count, long *parts);
void grade_parts_free(Part *part, long parts);

/* The points scored in all tests; *of gets the points that they are worth. */
double grade_points(const CaseReport *r, long count, double *of);
