/* The commands of ./gradcheck, and the grading of students' files: one with a full report, or a
 * directory of them with a row and report files each. */
#pragma once

#include "check/directories.h"
#include "check/grading/gradcheck_show.h"
#include "check/grading/student_file.h"

typedef struct Grading {
    Plan plan;                          /* seeds and limits; no items */
    bool confined;                      /* grades only where all can be confined */
    char notes[COMPILE_WARNINGS + 256]; /* for report files: what is not confined, and warnings */
    StudentFile file;                   /* what files are judged by, without a source */
    ShowOptions show; /* for a directory of files --gradescope names one too: DIR/NAME.c.json */
} Grading;

/* False: STATUS_NO or STATUS_INCONCLUSIVE by the verdicts; STATUS_BAD_DATA: the teacher's files are
 * unusable; STATUS_NO_INPUT; STATUS_CANNOT_CREATE. */
bool grade_file(Grading *g, const char *path, Error *e);
bool grade_folder(Grading *g, const char *path, Error *e);

/* ---- One file of a run, for grade_file and grade_folder ---- */

enum { GRADE_PATH = TEMPORARY_PATH + 24 };

/* Makes the run's temporary directory, with a copy of the project's headers. */
bool grade_open(Grading *g, char folder[TEMPORARY_PATH], Error *e);
void grade_close(Grading *g, const char *folder);

/* Adds what is given besides the file. */
bool grade_add_given(Grading *g, Error *e);

/* The directory of file `number` in that of the run. */
const char *grade_own_path(char own[GRADE_PATH], const char *folder, long number);

/* Judges the file in that directory, and shows its reports. `shown` names it in messages. */
bool grade_in(Grading *g, const char *folder, long number, const char *path, const char *shown,
              Show *show, Error *e);

/* Whether the path is that of a Python file; NULL is none. */
bool grade_is_python(const char *path);

/* Whether the machine lacks something, and the file is not at fault; the verdict on a file that is
 * not judged for this reason. */
bool grade_is_lack(Status s);
Verdict grade_verdict_on(const Error *why);

/* A report with this verdict for each item of the plan, or one that stands for the run. To be
 * freed. */
CaseReport *grade_reports(const Plan *p, Verdict verdict, const char *why, long *count);

/* Writes report files in which all tests of the plan have this verdict for the given reason; if the
 * plan is empty, one test that stands for the run. They stay until something is judged. */
bool grade_unjudged(const Plan *p, const ShowOptions *how, Verdict verdict, const char *why,
                    Error *e);

/* The commands parse their arguments, of which argv[0] is the name of the program or of the
 * command, and run; e gets the result of the program. */
void grading_command_check(int argc, char **argv,
                           Error *e); /* checks operations: all, one, or those of C files */
void grading_command_model(int argc, char **argv, Error *e); /* checks a whole model */
