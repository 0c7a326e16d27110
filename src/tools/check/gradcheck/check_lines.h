/* The function along lines through a point. Each line moves one element of an input, or all of
 * them in a direction. The lines are independent, and their next runs are done together.
 * Differences of the outputs at steps that halve give a derivative for each cotangent: a central
 * one and, where the caller asks for them, one from above and one from below
 * (numeric_derivative.h). */
#pragma once

#include "check/gradcheck/entries.h"
#include "check/gradcheck/numeric_derivative.h"

enum { MIDDLE, ABOVE, BELOW, SIDES };

/* A side of a line on which the output moves in steps: it is as at the point up to `inside`, and
 * changes by `change` at `outside`. */
typedef struct Edge {
    double inside, outside, change;
} Edge;

typedef struct Line {
    long coordinate;
    long element; /* the coordinate's place in the input */
    double at;    /* and its value */
    bool wanted;  /* set by the caller: the next sweep includes this line */
    bool skipped; /* by a sweep, for lack of runs */

    /* Lines that move different outputs form a group, and share their runs. */
    struct Line *next; /* in the group; NULL: none */
    bool follows;      /* the line is not the first of its group */

    Sweep *sweep;  /* [SIDES][cotangents], the newest */
    bool *moves;   /* [outputs]: a step of the line has moved it; none in a group adds to these */
    bool crossed;  /* the last step ended on the other side of a kink */
    bool looked;   /* lines_look_far has */
    bool constant; /* set by lines_look_far and lines_find_steps */

    bool under_way;
    double step;
    double to[2]; /* places of the next two runs */
    long run;     /* the first of the two */
    uint64_t before[2];
    Edge edge[2];
} Line;

typedef struct Lines {
    CheckRun *run;
    const Entries *e;
    Noise noise;   /* of the outputs */
    bool *moved;   /* [outputs]: by the lines of a group */
    bool *nowhere; /* of each cotangent: one of its outputs at the point is not finite */
    Line *line;    /* of each coordinate */
    long count;
    long at_once;  /* runs that are done together */
    long end;      /* of the runs, as CheckRun counts them */
    int sides;     /* MIDDLE + 1 or SIDES: derivatives of the sweep under way */
    double *slope; /* of each output: its difference quotient */
} Lines;

#define EACH_LINE(l, name) for (Line *name = (l)->line; name < (l)->line + (l)->count; name++)

/* Allocates memory in the arena, and measures the outputs and their noise at the point. Sweeps take
 * about `runs` runs in all. */
void lines_open(Lines *l, CheckRun *run, const Entries *e, long runs, Arena *arena);

static inline Sweep *line_sweep(const Lines *l, const Line *line, int side, long q) {
    return &line->sweep[side * l->e->cotangents + q];
}

/* Takes differences of every wanted line, one step of each at a time, from `part` of the first step
 * on. Central steps that take other branches than the point do not count. One-sided steps may: then
 * the point lies on the boundary. */
void lines_sweep(Lines *l, double part, int sides);

/* Finds the wanted lines along which the output is the same at any distance. Their derivative is
 * 0. */
void lines_look_far(Lines *l);

/* Finds the wanted lines, flat at the point, along which the output moves in steps and rests
 * between them. Their derivative is 0. */
void lines_find_steps(Lines *l);
