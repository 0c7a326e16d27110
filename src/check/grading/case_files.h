/* A check case as files, for gradients in another language.
 *
 *     DIR/case.json     operation, case, formula, arguments and the files that are wanted
 *     DIR/x.npy …       the inputs
 *     DIR/y.npy         the output
 *     DIR/dy.npy        the upstream gradient dL/dy
 *     DIR/dx.npy …      the gradients dL/dx, by the student
 *
 * Arrays in files are contiguous. A tensor that is passed twice is one file with one gradient. */
#ifndef GRADING_CASE_FILES_H
#define GRADING_CASE_FILES_H

#include "check/gradcheck/check_entries.h"
#include "formats/array.h"
#include "ops/ops.h"

enum { CASE_FILE = 80 }; /* bytes of a file name in DIR */

/* A case at a point. Must not move between case_open and case_close. */
typedef struct CaseFiles {
    const OpEntry *entry;
    const CheckCase *c;
    uint64_t seed;
    Arena arena;
    CheckPoint drawn, point; /* in the layout of the case, and contiguous */
    CheckRun run;            /* at `point`; case_open runs forward */
    long outputs;
    real *dy; /* [outputs] */
} CaseFiles;

/* The case of that name, or the only case whose name contains it. NULL selects the first. Returns NULL
 * with STATUS_USAGE if there is none or more than one. */
const CheckCase *case_find(const OpEntry *entry, const char *name, Error *e);

/* Draws the point. `single` rounds all numbers to single precision. */
void case_open(CaseFiles *f, const OpEntry *entry, const CheckCase *c, uint64_t seed, bool single);
void case_close(CaseFiles *f);

/* Whether input k has a file of its own. */
bool case_has_file(const CaseFiles *f, int k);

/* Writes case.json, inputs, y and dy to the directory, which is created if necessary. STATUS_CANNOT_CREATE
 * if it is not empty, unless `force`. */
bool case_write(CaseFiles *f, const char *directory, bool single, bool force, Error *e);

/* Prints a summary and the next steps. */
void case_instruct(const CaseFiles *f, const char *directory, bool single, FILE *out);

/* The right values of the arrays of a case in files, and how far rounding may move an element (rounding.h).
 * All inputs change by ±u of themselves at random, several times, and the case runs again; u is the distance
 * from 1 to the next number in the precision of the file. The largest change of an element, moved_i, shows
 * the size of its terms:
 *
 *     |found_i - need_i| ≤ 16 (moved_i + u max_j |need_j|) */

typedef enum Precision { SINGLE, DOUBLE, PRECISIONS } Precision; /* of an array's file */

/* One array: the output or the gradient of an input. Arrays have `count` elements, in the order of the
 * shape. */
typedef struct ReferencePart {
    int input;              /* -1: the output */
    char name[REPORT_NAME]; /* y, dx */
    Shape shape;
    long count;
    double *need;
    double largest; /* finite |need_i| */
    double *moved[PRECISIONS];
    /* How far the reference itself is from the numeric derivative, where that is too small to be seen and
     * the reference perhaps no more than what rounding left of terms that cancel. */
    double *flat;

    /* The entries of a gradient. Their analytic values are the built-in operation's. Cotangent 0 is dy; the
     * rows after it are the Jacobian's. The states tell what differences prove. */
    Entries entries;
} ReferencePart;

typedef struct Reference {
    CaseFiles *files;
    ReferencePart part[REPORT_INPUTS]; /* the output first */
    int parts;
} Reference;

/* Names and shapes alone. */
void reference_list(Reference *r, CaseFiles *files);

/* All else, at the point and the upstream gradient that `files` has now. Memory is its arena's. */
void reference_compute(Reference *r);

/* The right value of an element. On a kink every value between the one-sided derivatives is right: returns the
 * one nearest to `found`. */
double reference_need(const ReferencePart *p, long i, double found);

/* How far off an element may be. */
double reference_allowed(const ReferencePart *p, long i, Precision precision);

#endif
