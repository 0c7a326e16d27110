/* Judges what a student wrote beside a check case (case_files.h): the output, and the gradient of each input.
 *
 * The reference is computed anew from the inputs and the upstream gradient in the directory, by the built-in operation,
 * and its gradient there is proved by differences like any other (gradcheck.h). A file may be off by what rounding in
 * its own precision explains (case_reference.h). On a kink a gradient may be anything between the one-sided
 * derivatives.
 *
 * Each part that is wrong, is missing or cannot be read has a verdict of its own; the others are judged all the same. */
#ifndef GRADING_VERIFY_FILES_H
#define GRADING_VERIFY_FILES_H

#include "base/error.h"
#include "gradcheck/gradcheck.h"
#include <stdio.h>

/* Fills the report, and prints on `notes` a line for each .npy file that is none of the case's. False if the directory
 * cannot be judged at all; the report's trouble says so as well: STATUS_NO_INPUT (no such directory, no case.json) or
 * STATUS_BAD_DATA (case.json is damaged, or names no case). */
bool grading_verify_directory(const char *directory, CaseReport *report, FILE *notes, Error *e);

#endif
