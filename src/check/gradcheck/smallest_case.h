/* A failing case in full: its inputs, the upstream gradient, and the gradient and the Jacobian beside the
 * right ones. */
#ifndef GRADCHECK_SMALLEST_CASE_H
#define GRADCHECK_SMALLEST_CASE_H

#include "check/gradcheck/check_gradients.h"

/* Writes the case of input k into the report, where it has few enough numbers; `how` says what was changed in
 * it, "" if nothing was. */
void smallest_case_write(const Gradients *g, int k, const char *how, InputReport *report);

/* How many numbers the point and its output have. */
long smallest_case_size(const Gradients *g);

/* Makes *to of a case by giving all axes of one size another: products and broadcasts still fit. The sizes
 * are those of step number `step`, from the smallest case on; *how names them. False: there is no such step,
 * or it changes nothing. */
bool smallest_case_resize(const CheckCase *c, int step, CheckCase *to, char how[REPORT_WORD], bool *last);

#endif
