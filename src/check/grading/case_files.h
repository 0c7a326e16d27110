/* A check case as files, for who writes gradients in another language.
 *
 *     DIR/case.json     which case, its formula and arguments, and what is to be written
 *     DIR/x.npy …       its inputs
 *     DIR/y.npy         its output
 *     DIR/dy.npy        the upstream gradient dL/dy
 *     DIR/dx.npy …      the gradients dL/dx, by the student
 *
 * In files all inputs are contiguous. A tensor that is passed twice is one file and has one gradient. */
#ifndef GRADING_CASE_FILES_H
#define GRADING_CASE_FILES_H

#include "check/gradcheck/check_run.h"
#include "formats/array.h"
#include "ops/ops.h"

enum { CASE_FILE = 80 }; /* the longest name of a file in DIR */

/* A case at a point. It must stay where it is from case_open to case_close. */
typedef struct CaseFiles {
    const OpEntry *entry;
    const CheckCase *c;
    uint64_t seed;
    Arena arena;
    CheckPoint drawn, point; /* as the case has it, and with contiguous inputs */
    CheckRun run;            /* at `point`; after case_open its forward has run */
    long outputs;
    real *dy; /* [outputs] */
} CaseFiles;

/* The case of an operation that `name` names: whole, or by a part that no other case has. NULL is the
 * first, which is a plain one. NULL with STATUS_USAGE: none, or several. */
const CheckCase *case_find(const OpEntry *entry, const char *name, Error *e);

/* Draws the point. `single`: all its numbers, dy's too, are rounded to single precision. */
void case_open(CaseFiles *f, const OpEntry *entry, const CheckCase *c, uint64_t seed, bool single);
void case_close(CaseFiles *f);

/* True if input k has a file of its own. */
bool case_has_file(const CaseFiles *f, int k);

/* Writes case.json, inputs, y and dy, in single precision or double, into a directory that is made if need
 * be. Where there are files already: STATUS_CANNOT_CREATE, or with `force` those of these names are
 * replaced. */
bool case_write(CaseFiles *f, const char *directory, bool single, bool force, Error *e);

/* Says what was written, and what is to be done. */
void case_instruct(const CaseFiles *f, const char *directory, bool single, FILE *out);

#endif
