/* A process that runs an operation's check case on a tape. It is a child of this program, so a job and its result are sent as
 * they lie in memory. */
#ifndef CHECK_TAPE_PROGRAM_H
#define CHECK_TAPE_PROGRAM_H

#include "check/student_program.h"

/* A JobRunner; `where` is a Program. */
JobRunner tape_program_run;

/* In the program: serves jobs for a case until the judge ends. */
_Noreturn void tape_program_serve(const CheckCase *c);

#endif
