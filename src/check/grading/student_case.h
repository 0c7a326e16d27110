/* Check cases in the form in which a student's process sends them: everything except code. */
#ifndef GRADING_STUDENT_CASE_H
#define GRADING_STUDENT_CASE_H

#include "autograd/check_case.h"
#include "base/arena.h"

/* Sends the cases from a job (child.h). */
void student_send_cases(const CheckCase *cases, int count);

/* Reads the case at *at and advances *at. Names and values belong to the arena; `build` is NULL. False: no
 * valid case before `end`. */
bool student_take_case(const char **at, const char *end, CheckCase *c, Arena *arena);

#endif
