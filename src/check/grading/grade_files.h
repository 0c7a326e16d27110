/* Students' C files, graded: one with all that is found about it, or a folder of them with a line and
 * report files for each. */
#ifndef GRADING_GRADE_FILES_H
#define GRADING_GRADE_FILES_H

#include "check/grading/check_student.h"
#include "check/grading/gradcheck_show.h"

typedef struct Grading {
    CheckPlan plan;   /* seeds and limits; empty */
    StudentFile file; /* what it is judged by; for a folder without source */
    ShowOptions
        show; /* for a folder its graders' files are folders, made if need be: DIR/NAME.xml, DIR/NAME.json */
    bool strict; /* what its own cases hardly test is inconclusive */
} Grading;

/* False: STATUS_NO or STATUS_INCONCLUSIVE by what was found; STATUS_BAD_DATA where the cases cannot be used,
 * STATUS_NO_INPUT, STATUS_CANNOT_CREATE. */
bool grade_file(Grading *g, Error *e);
bool grade_folder(Grading *g, const char *path, Error *e);

/* Writes graders' files in which all has failed that the plan has, or the run as a whole where it has
 * nothing, for this reason: what stands there until something is judged. */
bool grade_unjudged(const CheckPlan *p, const ShowOptions *how, const char *why, Error *e);

#endif
