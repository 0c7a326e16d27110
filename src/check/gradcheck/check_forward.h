/* A forward against the reference's. */
#ifndef GRADCHECK_CHECK_FORWARD_H
#define GRADCHECK_CHECK_FORWARD_H

#include "check/gradcheck/check_run.h"
#include "check/gradcheck/report.h"

/* Compares the outputs of two runs at the same values, as gradients are compared: relative to each element,
 * but for what rounding leaves of larger ones. The text says how they differ, "" if they do not. False: their
 * shapes differ. */
bool check_forward(CheckRun *run, CheckRun *reference, Arena *arena, char text[REPORT_TEXT]);

#endif
