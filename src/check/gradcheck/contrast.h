/* What is right in some cases of an operation and wrong in others: then what these do not have in common is to blame. */
#ifndef GRADCHECK_CONTRAST_H
#define GRADCHECK_CONTRAST_H

#include "check/gradcheck/report.h"

typedef enum GradientFinding {
    FOUND_NOTHING, /* as where it is 0 all over */
    FOUND_RIGHT,
    FOUND_WRONG,
} GradientFinding;

/* What a case says about the gradient of this name. */
GradientFinding gradcheck_finding(const CaseReport *r, const char *name);

/* Compares the cases among `count` reports that are of the same operation as `at` by what became of the gradient that is `in`
 * there. Of cases that the checker added one counts, where no pattern explains the gradient: size 1 for an axis.
 * False: there is nothing to say, as where the gradient is not wrong here, or in all, or where it is right it is 0 all over. */
bool gradcheck_contrast(const CaseReport *r, long count, const CaseReport *at, const InputReport *in,
                        char text[REPORT_TEXT]);

/* "; dx and dy are right, …": gradients of a case that are right there, and in no case of the operation wrong. "" where none is. */
void gradcheck_right_beside(const CaseReport *r, long count, const CaseReport *at, char text[REPORT_TEXT]);

#endif
