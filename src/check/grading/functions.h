/* Functions of a program in another language: their cases, and the process that serves them (PROTOCOL.md). */
#ifndef GRADING_FUNCTIONS_H
#define GRADING_FUNCTIONS_H

#include "check/grading/check_cases.h"

/* Sets the plan's program to a command, split at blanks, or to two open descriptors, "FROM,TO". */
bool functions_use(CheckPlan *p, const char *command, Error *e);

/* Adds the cases of p->like that functions can take: the operation alone, on its inputs in their order. */
void functions_add_like(CheckPlan *p);

/* Starts the program and adds the cases that it lists, or those of p->like. A program that cannot be started is an item with
 * this trouble. */
bool functions_add_cases(CheckPlan *p, const char *name, Error *e);

/* The program for one more case, ready for the item's line. NULL: no process. */
Child *functions_start(const CheckPlan *p, const ChildLimits *limits);

/* The line that names an item's case. To be freed. */
char *functions_line(const CheckItem *item);

/* Takes the first line and its arrays. Adds the cases to the plan unless it is NULL. */
bool functions_hello(Child *c, CheckPlan *p, const char *name, ChildEnd *end, Error *e);

/* ---- Python (python_file.c) ---- */

/* Adds the cases at which a Python file is judged, and sets the program to its interpreter: cases in Python, those of the
 * operation that it is like, those of a teacher's C file that are in the plan, or the file's own. The file and what serves it
 * are copied to f->folder. */
bool functions_add_file(CheckPlan *p, const StudentFile *f, Error *e);

/* Prints an operation of this project as an exercise in Python. False: as template_print. */
bool functions_template(const char *name, const char *headers, FILE *out, Error *e);

#endif
