/* A wrong gradient as a matrix beside the right one, and what explains the difference.
 *
 * M is the matrix of backward's answers to upstream gradients, J the numeric Jacobian. Where all of J
 * is known, row i is that of output i; else each row belongs to a random upstream gradient.
 * patterns.def lists the explanations, of three families:
 *
 *     compare_factors.c   M = s J, with s constant, known, or one number in each group of entries
 *     compare_moves.c     M is J with rows or columns moved, or with another operand
 *     compare_terms.c     M - J is constant or known in each group, or a few numbers
 *
 * compare_places.c says where M is wrong, compare_not_finite.c which numbers say nothing. */
#pragma once

#include "check/gradcheck/check_gradients.h"

/* An entry without a derivative, or that is 0 on both sides; an entry that is right; another. */
typedef enum CompareKind { COMPARE_NONE, COMPARE_RIGHT, COMPARE_WRONG } CompareKind;

typedef struct Comparison {
    const Gradients *g;
    const Entries *e;
    const CheckPoint *point;
    const PointInput *in;
    Arena *arena;
    long elements, rows, entries; /* entries: of a matrix, [rows][elements] */
    bool whole;                   /* row i belongs to output i */
    Shape shape;   /* of the elements: an axis along which memory repeats has size 1 */
    Shape y_shape; /* of the outputs; outputs of one shape are stacked, others flat */
    int stacked;   /* 1: the first axis of y_shape is that of several outputs */
    real *y;       /* the outputs at the point */
    const Entry *entry;
    CompareKind *kind;
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

/* Whether entry `at` has a derivative; whether two numbers are the same there, to the tolerance. */
bool compare_counts(const Comparison *m, long at);
bool compare_near(const Comparison *m, long at, double a, double b);

/* Whether `expected` is the gradient found wherever there is a derivative. */
bool compare_fits(const Comparison *m);

/* The index of element i of a shape along an axis. */
long compare_index(Shape s, int axis, long i);

/* The name of an output: "y[1,2]", or "y1[0,2]" of the second of several. */
const char *compare_output_text(const Comparison *m, char text[INDEX_TEXT], long i);

/* Groups of the entries: those of a group have the same indices along some axes of the elements and
 * of the outputs, which are sets of bits. of[at] is the group of an entry. */
typedef struct Groups {
    long count, *of;
} Groups;
Groups compare_groups(const Comparison *m, unsigned axes, unsigned y_axes);

/* All axes of a shape; "axis 1" or "axes 0 and 2" of a set of them. */
static inline unsigned compare_all_axes(Shape s) {
    return (1u << s.rank) - 1;
}
void compare_axes_text(char text[REPORT_WORD], unsigned axes);

/* The values of an input or of the outputs beside the entries: axis i of the array lies along axis
 * along[i] of the elements or, from the elements' rank on, of the outputs; -1: it has size 1. */
typedef struct Values {
    int which; /* an input; the number of inputs: the outputs */
    const char *name;
    Shape shape;
    const real *value;
    int along[MAX_RANK];
    bool of_elements, of_outputs; /* they differ between elements, between outputs */
} Values;
double compare_value(const Comparison *m, const Values *v, long at);

/* All arrays that lie beside the elements, or beside all entries, in each way that their sizes
 * allow. */
typedef struct ValuesList {
    Values *v;
    long count, capacity;
} ValuesList;
ValuesList compare_values(const Comparison *m, bool beside_outputs);

/* Writes a number, as "2.64575 = √7" if it is a root or a quotient. */
void compare_number_text(char text[REPORT_WORD], double k);

/* Known numbers. Each line includes those above. */
typedef enum CompareNeeds {
    SAMPLE, /* the gradient of some elements */
    ALL,    /* of all elements */
    ROWS,   /* the whole Jacobian */
} CompareNeeds;

/* Writes which elements are wrong, for which outputs; without a rule it
 * lists some (compare_places.c). Returns whether a rule of all elements or outputs holds. */
bool compare_map(const Comparison *m, char text[REPORT_TEXT]);

/* Writes where the wrong elements are, by the same rules of indices, or lists some. */
void compare_where(const Comparison *m, char text[REPORT_TEXT / 2]);

/* Whether all wrong entries are 0 in a matrix. */
bool compare_are_zero(const Comparison *m, const double *matrix);

/* Each explanation, compare_NAME, returns true and gives the reason if it explains the gradient. */
#define PATTERN(constant, name)
#define TRIED(constant, name, function, needs, sure) bool compare_##function(Comparison *m);
#include "check/gradcheck/patterns.def"
