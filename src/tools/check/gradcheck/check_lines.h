/* The function along lines through a point. Each line moves one coordinate of an input.
 * Differences of the outputs at decreasing steps give one derivative for each cotangent
 * (numeric_derivative.h).
 *
 * Lines are independent. The next runs of all lines are done together. */
#pragma once

#include "check/gradcheck/entries.h"
#include "check/gradcheck/numeric_derivative.h"

typedef struct Line {
    long coordinate;
    long element; /* the coordinate's place in the input */
    real at;      /* and its value */
    bool wanted;  /* set by the caller: the next sweep includes this line */

    Sweep *sweep; /* the newest, one a cotangent */
    Sweep *right; /* room for another, which check_entries.c keeps */
    /* Of each output, for a coarse forward: it has moved in this sweep; NULL: any may have. */
    bool *moves;
    bool crossed;  /* it ended on the other side of a kink */
    bool constant; /* set by lines_look_far */
    double inside, outside,
        change; /* where the output is as at the point, where it is not, and its change far away */
    int steps;  /* sides on which it changes by a jump */

    double step; /* current step of the sweep */
    bool under_way;
    uint64_t before; /* branches taken at the last step on one side */
    long run;        /* the line's first run of those done together */
} Line;

typedef struct Lines {
    CheckRun *run;
    const Entries *e;
    Noise noise;   /* of the outputs */
    double *blur;  /* of each cotangent: the noise of its sum over the outputs */
    bool *nowhere; /* of each cotangent: one of its outputs at the point is not finite */
    Line *line;
    long count, room; /* current lines */

    double *slope; /* of each output: its difference quotient on the current line */
} Lines;

/* Allocates memory in the arena, and measures the outputs and their noise at the point. */
void lines_open(Lines *l, CheckRun *run, const Entries *e, Arena *arena);

/* Sets the current lines: those from coordinate `first` on, as many as there is room for. All
 * are wanted. */
void lines_set(Lines *l, long first);

/* Takes differences of every wanted line, one step of each at a time: central ones (side 0), or
 * on one side (±1). Steps start at `part` of the first step. Central steps that take other
 * branches than the point do not count. On one side the branches may differ from those at the
 * point, which then lies on the boundary. */
void lines_sweep(Lines *l, double part, int side);

/* Finds the wanted lines along which the output is constant at any distance. Their derivative is
 * 0. */
void lines_look_far(Lines *l);

/* Finds the wanted lines, flat at the point, along which the output moves in steps and rests
 * between them: `constant` is set, because the derivative is 0. */
void lines_find_steps(Lines *l);
