/* The float kernels judged by their double twins: every operation at all its check cases, from the same
 * inputs and the same upstream gradient, rounded to float for both.
 *
 * The error of a result is counted in ulps: units in the last place of a float of that size. Of what size? A
 * result that is the difference of large terms cannot have more correct digits than these leave it: of the
 * size of its terms, which the double twin shows (term_sizes.h).
 *
 * How many ulps may there be? An ulp of that size is at least what all roundings of the twin together
 * amount to if they go the same way by a whole unit. To the nearest they go by half a unit, but a float
 * kernel sums in another order, with other vectors: 2 ulps at most. Functions like exp and tanh are within
 * 2 ulps (ulp_sweep.h), and at most two follow each other (softmax's exp, then a logarithm): 4 ulps.
 * Constants such as 1/√d_k are rounded to float, by half an ulp each, and act on y and once more on dx: 2
 * ulps. That makes 8. */
#ifndef GRADING_ULPS_H
#define GRADING_ULPS_H

#include "check/gradcheck/gradcheck.h"
#include "formats/safetensors.h"

enum { ULPS = 8 };

/* Runs all cases of all operations that are built in (op: of one), and the sweeps of ulp_sweep.h over
 * every `every`-th float, and writes the results. For the float build. */
bool ulps_write(const char *path, const char *op, uint64_t seed, long every, Error *e);

/* Has the float twin do that, and reads what it has written. For the double build. Errors are those of
 * twin_run. */
bool ulps_ask_twin(Safetensors *results, const char *op, uint64_t seed, long every, Error *e);

/* Judges what the float twin has written for a case of an operation, which is the operation's i-th. The
 * parts are y and the gradients; the error of each is in ulps. */
void ulps_judge(const char *op, const CheckCase *c, int i, uint64_t seed, const Safetensors *twin,
                CaseReport *report);

/* The same for the sweep number i, whose part y has its place in `analytic` and the ulps allowed in
 * `estimate`; false where there is none. */
bool ulps_judge_sweep(int i, const Safetensors *twin, CaseReport *report);

#endif
