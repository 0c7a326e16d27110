/* An entry: the analytic and the numeric derivative for one coordinate of the input and one cotangent, and
 * their verdict. */
#ifndef GRADCHECK_CHECK_ENTRY_H
#define GRADCHECK_CHECK_ENTRY_H

#include "base/real.h"
#include "check/gradcheck/report.h"
#include <stdbool.h>

/* From best to worst. */
typedef enum EntryState {
    ENTRY_PROVED,  /* agrees within the tolerance */
    ENTRY_FLAT,    /* agrees, but so small beside the output that a double does not show it */
    ENTRY_KINK,    /* there is no derivative, and the gradient lies between the one-sided ones */
    ENTRY_UNCLEAR, /* agrees within the numeric error, which is too large to prove anything */
    ENTRY_WRONG,
} EntryState;

typedef struct Entry {
    double analytic, numeric;
    double estimate;     /* of the error of numeric */
    double rounding;     /* the part of it that the last digits of the output explain */
    double step;         /* at which numeric was found */
    double below, above; /* on a kink: the one-sided derivatives */
    /* |analytic - numeric| relative to the larger of the two; where numeric is not good to nine digits, to
     * the largest derivative for the same cotangent. 0 where both are too small to have digits. */
    double error;
    bool in_steps; /* the output moves in steps of its own, and rests between them: nothing is proved */
    EntryState state;
} Entry;

/* Relative error up to which a gradient is right. */
#define CHECK_TOLERANCE (sizeof(real) == sizeof(double) ? 1e-6 : 1e-2)

/* The same where the numeric derivative is known ten times better than that. */
#define CHECK_SHARP (sizeof(real) == sizeof(double) ? 1e-9 : 1e-2)

/* All of one input. */
typedef struct Entries {
    int input;
    /* Which elements the coordinates are; NULL: all of them, in their order. */
    const long *place;
    /* NULL, or for each input of the point the direction in which its elements move: then there is one
     * coordinate, the distance along it. NULL for an input that rests. */
    const real *const *direction;
    long cotangents, outputs, coordinates;
    bool whole;            /* cotangent 0 is random, cotangent 1 + i is 1 at output i: the whole Jacobian */
    const real *cotangent; /* [cotangents][outputs] */
    /* [cotangents][coordinates]; the diagnosis also wants the Jacobian's rows, [1 + outputs] of them where it
     * is whole: those beyond `cotangents` have a numeric value alone. */
    Entry *entry;
    EntryState *state; /* [coordinates]: what all entries of a coordinate say together */
    Doubt *doubt;      /* [coordinates] */
    double tolerance;  /* up to which the diagnosis takes numbers for equal; 0: CHECK_TOLERANCE */
} Entries;

/* The element of the input that is coordinate j. */
long check_entries_element(const Entries *e, long j);

/* Sets the entry's state and error. scale: the largest derivative for the same cotangent; floor: what
 * rounding may hide in an output of 0. */
void check_entry_judge(Entry *e, double scale, double floor);

/* Wrong, but within the tolerance for what is known less well. */
bool check_entry_small_error(const Entry *e);

/* Whether it says that the gradient is right. */
bool check_entry_confirms(const Entry *e);

/* Whether a result from smaller steps replaces the known one: it does if it confirms the gradient, is more
 * certain, or contradicts the known one. A result that is only less certain excuses nothing. */
bool check_entry_more_credible(const Entry *found, const Entry *known);

#endif
