/* The run of a suspect at other values of its inputs, for patterns that try them. */
#ifndef GRADCHECK_OTHER_POINT_H
#define GRADCHECK_OTHER_POINT_H

#include "check/gradcheck/patterns.h"

/* Whether points can be made of this one by giving an input other values, its entries are few enough to be looked at again,
 * and runs are left: what is known to be wrong must not run out of time because of what else could be said. */
bool point_may_change(const Suspect *s);

/* Gives input k of the point, a copy of the run's, these values (NULL: `all` everywhere); false if the input may not hold
 * them, takes no gradient, or has them already. */
bool point_change(const Suspect *s, CheckPoint *p, int k, const real *value, double all);

/* Moves the run to the values of `changed`, laid out plainly at *there, and returns what point_back wants to move it back. */
size_t point_go(Suspect *s, const CheckPoint *changed, CheckPoint *there);
void point_back(Suspect *s, CheckPoint *given, size_t used);

/* All entries of the suspect's input at the point where the run is, by backward and by differences. */
Entries point_entries(Suspect *s);

/* False if a gradient (NULL: the analytic one for the first cotangent) cannot be that of the input where the run is, by what
 * one difference along one direction shows. */
bool point_may_have(Suspect *s, int input, const real *gradient);

/* Whether the output stays what it is where all of the input have the same added, or are multiplied by the same. */
bool point_keeps_output(Suspect *s, bool ratios);

#endif
