/* Which elements of an array are wrong, in the words of an array: "rows 0 to 3 right, rows 4 and 5 WRONG". */
#ifndef GRADCHECK_WRONG_MAP_H
#define GRADCHECK_WRONG_MAP_H

#include "check/gradcheck/patterns.h"

/* A set of elements of a shape. `idle` elements are 0 and have to be: they say nothing. */
typedef struct WrongSet {
    const char *name; /* of the array */
    Shape shape;
    const bool *wrong, *idle;
    long count; /* all elements */
} WrongSet;

/* "rows 4 and 5", "column 0", "x[1,2]": the wrong elements, and the right ones by the same rule. False: no
 * rule of indices tells them apart. */
bool wrong_map_rule(const WrongSet *set, Arena *arena, char *wrong, char *right, size_t size);

/* The map of the suspect's elements, or of the outputs for which they are wrong, or of the elements for one
 * output; without a rule some of the elements. True if a rule holds. */
bool wrong_map(const Suspect *s, char *text, size_t size);

#endif
