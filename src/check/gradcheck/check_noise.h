/* The rounding of the outputs of a run, and steps of a forward that rounds to fewer digits than a real has. */
#ifndef GRADCHECK_CHECK_NOISE_H
#define GRADCHECK_CHECK_NOISE_H

#include "check/gradcheck/check_run.h"

/* How much rounding changes each output of a run. */
typedef struct Noise {
    real *here;     /* the outputs at the point */
    double *change; /* of each output: the largest change that rounding explains */
    double floor;   /* the same for an output of 0, which has no last digit: it may be the difference of equal
                          numbers, or the logarithm of a rounded 1 */
    uint64_t branches; /* taken at the point */
} Noise;

/* Rounding changes the last digit of an output, or as much as changes of the inputs' last digits do: these
 * are measured. input: the only one that is changed; -1: all. An output that does not move (the logarithm of
 * 1 + something small moves in steps of the 1's last digit) gets larger changes until it does: its first move
 * shows the size of its steps. */
void check_noise(Noise *n, CheckRun *run, int input, Arena *arena);

/* Whether forward rounds to fewer digits than a real has, as where a number on the way is kept in float. It moves in steps
 * then: on both sides of a point by another amount, however small the move. Returns the largest step of each output at this
 * point and, in *digits, about how many digits the outputs have; NULL: they have all. */
const double *check_steps(CheckRun *run, int input, int *digits, Arena *arena);

#endif
