/* Which elements of an array are wrong, in the words of an array. */
#ifndef GRADCHECK_WRONG_MAP_H
#define GRADCHECK_WRONG_MAP_H

#include "check/gradcheck/patterns.h"

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

#endif
