/* Functions of a program in another language: their cases, and the process that serves them (PROTOCOL.md). */
#ifndef GRADING_FUNCTIONS_H
#define GRADING_FUNCTIONS_H

#include "check/grading/plan.h"
#include "check/student_program.h"

/* Sets the plan's program to a command, split at blanks, or to two open descriptors, "FROM,TO". */
bool functions_use(Plan *p, const char *command, Error *e);

/* Adds the cases of p->like that functions can take: the operation alone, on its inputs in their order. */
void functions_add_like(Plan *p);

/* Starts the program and adds the cases that it lists, or those of p->like. A program that cannot be started is an item with
 * this trouble. */
void functions_add_cases(Plan *p, const char *name);

/* A process of the program. NULL: there is none. */
Child *functions_start(const Plan *p, const ChildLimits *limits);

/* Takes the first line and its arrays: the cases. False: program->end or the error says why. */
bool functions_hello(Program *program, Plan *heard, const char *name, Error *e);

/* The line that names an item's case. To be freed. */
char *functions_line(const PlanItem *item);

#endif
