/* How large the terms are that a result is made of, as the double build of an operation shows it, in three ways of which
 * the largest counts, beside the result F itself:
 *
 *     Σ_k |F(z_k (1 + δ)) - F| / δ       how F answers to each input, the upstream gradient among them: Σ |terms| for a
 *                                        sum, 2 Σ |a b| for a matrix product, |x y| for y = e^x
 *     |F rounded up, down, … - F| / ε    how it answers to its own roundings, for terms that cancel whatever the inputs
 *                                        are: it is run again with other directions of rounding (ε: of a double)
 *     |F(saved, z (1 + δ)) - F| / δ      how backward answers when inputs and what forward saved disagree, as they do in
 *                                        their last digits */
#ifndef GRADING_TERM_SIZES_H
#define GRADING_TERM_SIZES_H

#include "check/grading/ulp_case.h"

typedef struct TermSizes {
    double *of[ULP_RESULTS]; /* of each result's elements, in the case's arena */
} TermSizes;

/* Of the results `base` of the case, which stays at its point. Leaves the pool with one thread: the
 * direction of rounding is a thread's own. */
TermSizes term_sizes(UlpCase *s, const UlpResults *base);

#endif
