/* A student's check cases, as the process tells them that has loaded them: everything but what is code. */
#ifndef GRADING_STUDENT_CASE_H
#define GRADING_STUDENT_CASE_H

#include "autograd/check_case.h"
#include "base/arena.h"

/* In a job (check/gradcheck/child.h): sends the cases. */
void student_send_cases(const CheckCase *cases, int count);

/* The case that stands at *at, which moves behind it; names and values are the arena's, `build` is NULL.
 * False: there is none before `end`, or none that can be one. */
bool student_take_case(const char **at, const char *end, CheckCase *c, Arena *arena);

#endif
