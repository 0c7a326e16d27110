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

#include "check/grading/expected.h"
#include "ops/ops.h"

enum { CASE_FILE = REPORT_NAME + 8 }; /* bytes of a file name in DIR */

/* In the order of their files. */
typedef enum CaseRole { CASE_INPUT, CASE_OUTPUT, CASE_UPSTREAM, CASE_GRADIENT } CaseRole;

typedef struct CaseArray {
    CaseRole role;
    int input;              /* -1: the output's */
    char name[REPORT_NAME]; /* of the file, without .npy: x, y, dy, dx */
    Shape shape;
    real *value;       /* NULL: a gradient, by the student */
    Expected expected; /* of y and gradients, by case_expect */
} CaseArray;

/* A case at a point. Must not move between case_open and case_close. */
typedef struct CaseFiles {
    const OpEntry *entry;
    const CheckCase *c;
    uint64_t seed;
    bool single; /* numbers and files are in single precision */
    Arena arena;
    CheckPoint drawn, point; /* in the layout of the case, and contiguous */
    CheckRun run;            /* at `point`; case_open runs forward */
    long outputs;
    real *dy;                              /* [outputs] */
    CaseArray array[2 * CHECK_INPUTS + 2]; /* of all files; in the order of CaseRole */
    int arrays;
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
bool case_write(CaseFiles *f, const char *directory, bool force, Error *e);

/* Prints a summary and the next steps. */
void case_instruct(const CaseFiles *f, const char *directory, FILE *out);

/* Computes what is expected of the output and the gradients at the inputs and the upstream gradient that f
 * has now. The entries in a gradient's proof have the built-in operation's gradient as their analytic
 * values: cotangent 0 is dy, the rows after it are the Jacobian's. */
void case_expect(CaseFiles *f);

#endif
