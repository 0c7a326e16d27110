/* The patterns of the diagnosis, and what they share. */
#pragma once

#include "check/gradcheck/check_gradients.h"

/* The accused gradient and what is known about it. Matrices are [rows][n]. */
typedef struct Suspect {
    const Gradients *g;
    const Entries *e;
    const CheckPoint *point;
    const PointInput *in;
    Arena *arena;
    long n, rows, entries; /* coordinates, cotangents, and their product */
    long outputs;
    Shape shape; /* of the coordinates: an axis along which memory repeats has size 1 */
    Shape y_shape;
    real *y; /* the output at the point */
    double *analytic, *numeric;
    double *expected; /* the gradient that the pattern at hand predicts */
    double *scale;    /* of each cotangent: its largest entry */
    double tolerance; /* relative, of equal numbers */
    char *reason;     /* of REPORT_TEXT */
} Suspect;

/* The gradient of input k, with the run at its point. */
Suspect pattern_suspect(const Gradients *g, int k);

/* The index of element i of a shape along an axis, and the element that differs from it by index `to` there. */
long pattern_index(Shape s, int axis, long i);
long pattern_at_index(Shape s, int axis, long i, long to);

/* Whether entry `at` has a derivative, and the number found is another. */
bool pattern_is_wrong(const Suspect *s, long at);

/* Sets the reason; returns true. */
bool pattern_say(Suspect *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* True if two numbers are the same as entry `at` of the matrices, to the tolerance. */
bool pattern_near(const Suspect *s, long at, double a, double b);

/* True if `expected` is the analytic gradient wherever there is a derivative. */
bool pattern_fits(const Suspect *s);

/* The values of input `which`, or for which = inputs the output's, beside the elements of a shape that they
 * broadcast to. False: they do not. */
bool pattern_values_over(const Suspect *s, Shape over, int which, double *v, const char **name);

/* Known numbers. Each line includes those above. */
typedef enum PatternNeeds {
    SAMPLE, /* the gradient of some elements */
    ALL,    /* of all elements */
    ROWS,   /* for each output alone: row 1 + i, which is of the Jacobian in `numeric` */
} PatternNeeds;

/* Returns the most that is known of the numbers of a suspect. */
PatternNeeds pattern_known(const Suspect *s);

/* ---- Which elements of an array are wrong, in the words of an array (wrong_map.c) ---- */

/* A set of elements of a shape. `idle` elements are rightly 0 and prove nothing. */
typedef struct WrongSet {
    const char *name; /* of the array */
    Shape shape;
    bool *wrong, *idle;
    long count; /* all elements */
} WrongSet;

/* The elements that are wrong for output `which`; for any output; or the outputs for which any element is. */
enum { WRONG_ELEMENTS = -1, WRONG_OUTPUTS = -2 };
WrongSet wrong_map_set(const Suspect *s, long which);

/* "rows 4 and 5", "column 0", "x[1,2]": the wrong elements, and the right ones by the same rule. False: no
 * rule of indices tells them apart. */
bool wrong_map_rule(const WrongSet *set, Arena *arena, char *wrong, char *right, size_t size);

/* Writes the rule of the wrong elements, of the outputs for which they are wrong, or of the elements for one output;
 * without a rule it lists some elements. True if a rule of all elements or outputs holds. */
bool wrong_map(const Suspect *s, char *text, size_t size);

/* Each pattern, pattern_NAME, returns true and gives the reason if it explains the gradient. */
#define PATTERN(constant, name)
#define TRIED(constant, name, function, needs, sure) bool pattern_##function(Suspect *s);
#include "check/gradcheck/patterns.def"
