/* A wrong gradient as a matrix beside the right one, and what explains the difference.
 *
 * Row q of `yours` is backward's answer to upstream gradient q, and row q of `right` the numeric
 * one. Where the whole Jacobian J is known, row 0 is random and row 1 + i belongs to output i
 * alone. M, the matrix of the answers, is explained by one of three families, over groups of
 * elements or of outputs:
 *
 *     compare_factors.c   M = s J, with s constant or known in each group
 *     compare_moves.c     M is J with rows or columns moved
 *     compare_terms.c     M - J is constant, known, or one product in each group
 *
 * compare_places.c says where M is wrong, compare_not_finite.c which numbers are none. */
#pragma once

#include "check/gradcheck/check_gradients.h"

typedef struct Comparison {
    const Gradients *g;
    const Entries *e;
    const CheckPoint *point;
    const PointInput *in;
    Arena *arena;
    long elements, rows, entries; /* entries: of a matrix, [rows][elements] */
    long outputs;
    Shape shape; /* of the elements: an axis along which memory repeats has size 1 */
    Shape y_shape;
    real *y; /* the output at the point */
    double *yours, *right;
    double *expected; /* the gradient that the explanation at hand predicts */
    double *scale;    /* of each row: its largest right entry */
    double tolerance; /* relative, of equal numbers */
    char *reason;     /* of REPORT_TEXT */
    double factor;    /* of a gradient that is a multiple of the right one */
} Comparison;

/* Compares the gradient of input k at the point of its run. */
Comparison compare_input(const Gradients *g, int k);

/* Sets the reason; returns true. */
bool compare_say(Comparison *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether entry `at` has a derivative; whether two numbers are the same there, to the tolerance;
 * whether the number found there is another than the right one. */
bool compare_counts(const Comparison *m, long at);
bool compare_near(const Comparison *m, long at, double a, double b);
bool compare_is_wrong(const Comparison *m, long at);

/* Whether `expected` is the gradient found wherever there is a derivative. */
bool compare_fits(const Comparison *m);

/* The index of element i of a shape along an axis, and the element with index `to` there. */
long compare_index(Shape s, int axis, long i);
long compare_at_index(Shape s, int axis, long i, long to);

/* Groups of the elements of a shape: those of a group have the same indices along `axes`, a set of
 * bits. of[i] is the group of element i. */
typedef struct Groups {
    unsigned axes;
    long count, *of;
} Groups;
Groups compare_groups(const Comparison *m, Shape s, unsigned axes);

/* All axes of a shape; "axis 1" or "axes 0 and 2" of a set of them. */
static inline unsigned compare_all_axes(Shape s) {
    return (1u << s.rank) - 1;
}
void compare_axes_text(char text[REPORT_WORD], unsigned axes);

/* Sets v to the values of input `which`, or for which = inputs of the output, beside the elements
 * of a shape that they broadcast to. False: they do not. */
bool compare_values_over(const Comparison *m, Shape over, int which, double *v, const char **name);

/* Writes a number, as "2.64575 = √7" if it is a root or a quotient. */
void compare_number_text(char text[REPORT_WORD], double k);

/* Known numbers. Each line includes those above. */
typedef enum CompareNeeds {
    SAMPLE, /* the gradient of some elements */
    ALL,    /* of all elements */
    ROWS,   /* the whole Jacobian */
} CompareNeeds;

/* Returns what is known of the numbers of a gradient. */
CompareNeeds compare_known(const Comparison *m);

/* ---- Which elements of an array are wrong, in the words of an array (compare_places.c) ---- */

/* A set of elements of a shape. `idle` elements are rightly 0 and prove nothing. */
typedef struct WrongSet {
    const char *name; /* of the array */
    Shape shape;
    bool *wrong, *idle;
    long count; /* all elements */
} WrongSet;
WrongSet compare_new_set(const Comparison *m, const char *name, Shape shape);

/* Writes "rows 4 and 5", "column 0", "x[1,2]": the wrong elements, and the right ones by the same
 * rule. False: no rule of indices tells them apart. */
bool compare_set_rule(const Comparison *m, const WrongSet *set, char wrong[REPORT_TEXT / 2],
                      char right[REPORT_TEXT / 2]);

/* Writes the rule of the wrong elements, of the outputs for which they are wrong, or of the
 * elements for one output; without a rule it lists some elements. True if a rule of all elements or
 * outputs holds. */
bool compare_map(const Comparison *m, char text[REPORT_TEXT]);

/* Whether words name one element, row, column or index. */
bool compare_is_one(const char *words);

/* Each explanation, compare_NAME, returns true and gives the reason if it explains the gradient. */
#define PATTERN(constant, name)
#define TRIED(constant, name, function, needs, sure) bool compare_##function(Comparison *m);
#include "check/gradcheck/patterns.def"
