/* The entries of an input's gradient: pairs (cotangent, coordinate of the input), each with the
 * analytic and the numeric derivative and their verdict. All entries of a coordinate come from
 * the same evaluations of the output at x ± h. */
#pragma once

#include "check/gradcheck/check_run.h"
#include "check/gradcheck/report.h"

/* From best to worst. */
typedef enum EntryState {
    ENTRY_PROVED,  /* agrees within the tolerance */
    ENTRY_FLAT,    /* too small beside the output to be seen in its digits */
    ENTRY_KINK,    /* there is no derivative, and the gradient lies between the one-sided ones */
    ENTRY_UNCLEAR, /* the numeric derivative is not finite, or its error is too large */
    ENTRY_WRONG,
} EntryState;

typedef struct Entry {
    double analytic, numeric;
    double estimate; /* of the error of numeric */
    double step;     /* at which numeric was found */
    bool on_kink;
    double below, above; /* on a kink: the one-sided derivatives */
    /* |analytic - numeric| relative to the larger of the two; where numeric is not good to nine
     * digits, to the largest derivative for the same cotangent. 0 where both are too small to
     * have digits. */
    double error;
    EntryState state;
} Entry;

/* Relative error up to which a gradient is right. */
#define CHECK_TOLERANCE (sizeof(real) == sizeof(double) ? 1e-6 : 1e-2)

/* The same where the numeric derivative is known: SWEEP_TRUST times its error is at most a tenth
 * of this. */
#define CHECK_SHARP (sizeof(real) == sizeof(double) ? 1e-9 : 1e-2)

/* The same for a forward that rounds to fewer digits. */
#define CHECK_COARSE 1e-3

/* All entries of one input. */
typedef struct Entries {
    int input;
    /* The elements that are coordinates; NULL: all, in their order. */
    const long *place;
    /* NULL, or the direction in which all stored elements move: then there is one coordinate,
     * the distance along it. */
    const real *direction;
    long cotangents, outputs, coordinates;
    bool whole; /* cotangent 0 is random, cotangent 1 + i is 1 at output i: the whole Jacobian */
    const real *cotangent; /* [cotangents][outputs] */
    Entry *entry;          /* [cotangents][coordinates] */
    EntryState *state;     /* [coordinates]: of all entries of a coordinate together */
    Doubt *doubt;          /* [coordinates] */
    /* All derivatives are 0, because the output moves in steps and rests between them. */
    bool in_steps;
    double rounded; /* what rounding may leave of an entry that is 0 */
    /* By what part of the largest derivative rounding may change an entry, because it changes the
     * output of the judged forward so, and the differences are another forward's. */
    double rounding;
    /* How far each output jumps (check_digits); NULL: the outputs have the digits of a real. */
    const double *steps;
    const double *noise; /* of each output, as it shows around the point; NULL: its last digits */
} Entries;

/* The element of the input that is coordinate j. */
static inline long check_entries_element(const Entries *e, long j) {
    return e->place ? e->place[j] : j;
}

/* Differentiates the run's output with respect to one input and judges every entry (rules.def), in
 * about `runs` runs. The caller sets the analytic values. Coordinates that cannot be judged in so
 * many runs leave the sample: *e has fewer afterwards. The arena holds their places. */
void check_entries(CheckRun *run, Entries *e, long runs, Arena *arena);

/* Checks the shares of all ties at a point with kinks; all[k] has the whole Jacobian of input k.
 * Returns true if the shares of a tie are wrong: then *input is one of its inputs, its elements
 * are ENTRY_WRONG, and the text says how. */
bool check_ties(CheckRun *run, Entries *all, Arena *arena, int *input, char *text, size_t size);

/* Whether every output of the last forward is a number. */
bool check_smooth_outputs(const CheckRun *run);

/* Excuses wrong coordinates at ties of three and more whose entries lie between the slopes nearby; at
 * a point that the checker has added (doubted) also those of no smooth function, and in a case of its
 * own (added) what overflows. */
void check_smooth_excuse(CheckRun *differences, Entries *e, bool doubted, bool added);
