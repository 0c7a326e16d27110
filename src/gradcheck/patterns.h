/* The patterns of diagnosis.h: what they look at, and what they share. Internal to the diagnosis. */
#ifndef GRADCHECK_PATTERNS_H
#define GRADCHECK_PATTERNS_H

#include "gradcheck/check_entries.h"

/* The accused gradient and what is known about it. Matrices are [cotangents][coordinates]. */
typedef struct Suspect {
    CheckRun *run;
    const Entries *all, *e;
    const PointInput *in;
    Arena *arena;
    Shape shape; /* of the coordinates: an axis along which memory repeats has size 1 */
    Shape y_shape;
    real *y; /* the output at the point */
    double *analytic, *numeric;
    double *expected; /* what the gradient would be if the pattern at hand were the mistake */
    double *scale;    /* of each cotangent: its largest entry */
    double tolerance; /* up to which numbers are equal */
    char *reason;     /* REPORT_TEXT bytes for the explanation */
} Suspect;

/* An axis of a shape: element i lies at index (i / inner) % n along it. */
typedef struct AlongAxis {
    int axis;
    long n, inner;
} AlongAxis;

/* How elements of the shape lie along the axis. */
AlongAxis pattern_along(Shape s, int axis);
long pattern_index_along(const AlongAxis *a, long i);

/* Sets the explanation; returns true. */
bool pattern_say(Suspect *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True if two entries for cotangent q are the same number, to the tolerance of the check. */
bool pattern_near(const Suspect *s, long q, double a, double b);

/* True if `expected` is the analytic gradient, entry by entry, wherever there is a derivative. */
bool pattern_fits(const Suspect *s);

/* The same for expected = numeric, each entry times the factor of its coordinate; and for expected = numeric,
 * moved: coordinate j has what belongs to from[j]. */
bool pattern_fits_factors(Suspect *s, const double *factor);
bool pattern_fits_moved(Suspect *s, const long *from);

/* Numbers beside the coordinates: the values of the run's input `which`, or for which = inputs the output,
 * where they have the coordinates' shape or broadcast to it. False: they do not. */
bool pattern_values_beside(const Suspect *s, int which, double *v, const char **name);

/* The same beside the elements of another shape. */
bool pattern_values_over(const Suspect *s, Shape over, int which, double *v, const char **name);

/* True if the gradient is that of input `input` at another point. */
bool pattern_fits_at(Suspect *s, CheckPoint *other, int input);

/* The patterns. Each returns true, having said why, if it explains the gradient. */
bool pattern_not_a_number(Suspect *s);
bool pattern_missing(Suspect *s);
bool pattern_in_steps(Suspect *s);
bool pattern_strides(Suspect *s);
bool pattern_constant_factor(Suspect *s);
bool pattern_constant_factor_of_some(Suspect *s);
bool pattern_transposed(Suspect *s);
bool pattern_jacobian(Suspect *s);
bool pattern_of_another_input(Suspect *s);
bool pattern_upstream_ignored(Suspect *s);
bool pattern_broadcast_sum(Suspect *s);
bool pattern_one_use(Suspect *s);
bool pattern_one_argument(Suspect *s);
bool pattern_use_left_out(Suspect *s);
bool pattern_factor_of_values(Suspect *s);
bool pattern_factor_of_lines(Suspect *s);
bool pattern_term(Suspect *s);
bool pattern_shifted(Suspect *s);
bool pattern_place(Suspect *s);
bool pattern_upstream_shifted(Suspect *s);
bool pattern_output_place(Suspect *s);
bool pattern_term_but_for_one(Suspect *s);
bool pattern_slope(Suspect *s);
bool pattern_operand_transposed(Suspect *s);
bool pattern_operand_reversed(Suspect *s);
bool pattern_misplaced(Suspect *s);
bool pattern_input_for_saved(Suspect *s);
bool pattern_factor_at_outputs(Suspect *s);
bool pattern_wrong_axis(Suspect *s);
bool pattern_single_precision(Suspect *s);
bool pattern_nearly_right(Suspect *s);

#endif
