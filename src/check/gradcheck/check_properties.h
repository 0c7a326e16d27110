/* The checks of properties.def. */
#ifndef GRADCHECK_CHECK_PROPERTIES_H
#define GRADCHECK_CHECK_PROPERTIES_H

#include "check/gradcheck/check_run.h"
#include "check/gradcheck/report.h"

/* Checks all properties but the first, and reports how they are broken; the last needs a fresh program. */
void check_properties(CheckRun *run, const CheckOptions *how, Arena *arena, CaseReport *report);

#endif
