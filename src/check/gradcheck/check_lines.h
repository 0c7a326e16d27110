/* The function around a point, seen along lines through it: each moves one coordinate of an input. Differences of the outputs
 * at falling steps become derivatives (numeric_derivative.h), one for each cotangent.
 *
 * Lines know nothing of each other, and what all of them need next is run at once (check_batch.h). */
#ifndef GRADCHECK_CHECK_LINES_H
#define GRADCHECK_CHECK_LINES_H

#include "check/gradcheck/check_batch.h"
#include "check/gradcheck/check_entry.h"
#include "check/gradcheck/check_noise.h"
#include "check/gradcheck/numeric_derivative.h"

typedef struct Line {
    long coordinate;
    real *x, at; /* where the coordinate lies in memory, and its value */
    bool wanted; /* its next sweep; the caller says so */

    Sweep *sweep;   /* the newest, one a cotangent */
    bool crossed;   /* it ended on the other side of a kink */
    bool still;     /* at its last step no output moved */
    bool both_move; /* at a step so far there were outputs that moved on either side */
    bool constant;  /* as lines_look_far found it */

    double step; /* at hand, while the sweep goes on */
    bool under_way;
    uint64_t before; /* branches taken at the last step on one side */
    long run;        /* of the batch: the first of its own */
} Line;

typedef struct Lines {
    CheckRun *run;
    const Entries *e;
    Noise noise;   /* of the outputs */
    double *blur;  /* of each cotangent: the noise of its sum over the outputs */
    bool *nowhere; /* of each cotangent: among its outputs at the point is one that is no finite number */
    Line *line;
    long count, room; /* lines at hand */

    CheckBatch batch;
    double *slope; /* of each output: its difference quotient at the line at hand */
} Lines;

/* Memory, and what the output is and how noisy where the lines of all coordinates meet. */
void lines_open(Lines *l, CheckRun *run, const Entries *e, Arena *arena);

/* Takes up the lines from coordinate `first` on, as many as there is room for; all are wanted. */
void lines_set(Lines *l, long first);

/* The coordinate's first step, a power of two near |x| / 8. */
double line_first_step(const Line *line);

/* Central differences of every line that is wanted, at steps that fall from this part of its first step, as long as all
 * branches are those taken at the point. */
void lines_sweep_both_sides(Lines *l, double part);

/* Differences on one side, side = ±1. The branches taken there may differ from those at the point, which then lies on the
 * boundary. */
void lines_sweep_one_side(Lines *l, double part, int side);

/* Which of the lines that are wanted are constant: the output stays the same however far the coordinate goes. Then its
 * derivative is 0. */
void lines_look_far(Lines *l);

#endif
