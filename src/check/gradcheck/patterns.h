/* The patterns of diagnosis.h: what they look at, and what they share. Internal to the diagnosis. */
#ifndef GRADCHECK_PATTERNS_H
#define GRADCHECK_PATTERNS_H

#include "check/gradcheck/check_entries.h"

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
    Explanation said; /* of the pattern at hand */
    int turn;         /* how often the pattern at hand has explained the gradient already */
    bool more;        /* it may have another explanation, at its next turn */
} Suspect;

/* An axis of a shape: element i lies at index (i / inner) % n along it. */
typedef struct AlongAxis {
    int axis;
    long n, inner;
} AlongAxis;

/* How elements of the shape lie along the axis. */
AlongAxis pattern_along(Shape s, int axis);
long pattern_index_along(const AlongAxis *a, long i);

/* How many axes a set has, of which bit p stands for axis p; and of each of `n` places in a shape the number of its indices along
 * those axes, among *count. */
int pattern_axes_in(unsigned set);
long *pattern_numbers_along(Arena *arena, Shape shape, unsigned axes, long n, long *count);

/* "0 to 3, 5": the numbers of a set of which there may be n. */
void pattern_numbers_text(const bool *set, long n, char *text, size_t size);

/* True if every entry of the Jacobian is known: the matrices have a row for each output, behind that of the first cotangent. */
bool pattern_has_jacobian(const Suspect *s);

/* Sets the explanation, whose form is that of its words without their numbers; returns true. */
bool pattern_say(Suspect *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Texts have one form if they are the same but for indices and numbers in them, those of axes apart. */
uint64_t pattern_form(const char *text);

/* True if two numbers are the same as entry `at` of the matrices, to the tolerance of the check. */
bool pattern_near(const Suspect *s, long at, double a, double b);

/* True if `expected` is the analytic gradient, entry by entry, wherever there is a derivative. */
bool pattern_fits(const Suspect *s);

/* The same for expected = numeric, each entry times the factor of its coordinate; and for expected = numeric,
 * moved: coordinate j has what belongs to from[j]. */
bool pattern_fits_factors(Suspect *s, const double *factor);
bool pattern_fits_moved(Suspect *s, const long *from);

/* Numbers beside the coordinates: the values of the run's input `which`, or for which = inputs the output,
 * where they have the coordinates' shape, broadcast to it, or are one for each index of its first axes. False: they do not. */
bool pattern_values_beside(const Suspect *s, int which, double *v, const char **name);

/* The same beside the elements of another shape. */
bool pattern_values_over(const Suspect *s, Shape over, int which, double *v, const char **name);

/* True if the gradient is that of input `input` at another point. */
bool pattern_fits_at(Suspect *s, CheckPoint *other, int input);

/* A factor as a function of an input that is a single number, in words. */
bool pattern_name_factor(const Suspect *s, double k, char *text, size_t size);

/* Each pattern, pattern_NAME, returns true, having said why, if it explains the gradient. */
#define PATTERN(name, function, of_a_sample, how) bool pattern_##function(Suspect *s);
#include "check/gradcheck/patterns.def"
#undef PATTERN

#endif
