/* How far float kernels are from their double twins, on the terminal: a line an operation. */
#ifndef GRADING_ULP_TABLE_H
#define GRADING_ULP_TABLE_H

#include "gradcheck/gradcheck.h"
#include <stdio.h>

enum { ULP_PARTS = 16 };

/* Over all cases of an operation: the worst error of each part, in ulps. */
typedef struct UlpRow {
    char op[REPORT_NAME];
    long cases, elements;
    Verdict verdict;
    int parts;
    struct {
        char name[REPORT_NAME];
        double worst;
    } part[ULP_PARTS];
} UlpRow;

/* Over all operations. */
typedef struct UlpTotals {
    long operations, cases, results, elements; /* sweeps do not count */
    long passed, failed;                       /* cases, and sweeps */
    double worst;
    char worst_at[3 * REPORT_NAME];
} UlpTotals;

/* The line above the table of operations. */
void ulp_table_heading(FILE *out);
void ulp_row_add(UlpRow *row, const CaseReport *r);
void ulp_table_row(FILE *out, const UlpRow *row);

/* Sweeps of functions over every `every`-th float, below the table. */
void ulp_sweep_heading(FILE *out, long every);
void ulp_sweep_row(FILE *out, const CaseReport *r);

/* Counts one more case, or function of the sweep. */
void ulp_totals_add(UlpTotals *t, const CaseReport *r, bool sweep);
void ulp_table_summary(FILE *out, const UlpTotals *t, int bound, double seconds);

#endif
