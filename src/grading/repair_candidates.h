/* The trials of a search: what is tried, in which order, and which of those that pass is the likeliest. */
#ifndef GRADING_REPAIR_CANDIDATES_H
#define GRADING_REPAIR_CANDIDATES_H

#include "grading/repair_trials.h"

typedef struct Candidates {
    const Edits *edits;
    const bool *left_out; /* as edited_source.h has it */
    unsigned wrong;       /* bits of the inputs whose gradients are wrong somewhere */
    TrialResult *trial;   /* from malloc */
    long trials;
} Candidates;

/* Takes the place of what is there: each edit with each single value; then products as terms of sums; then products added
 * behind statements. The later ones are many, and need more to be believed: by chance they fit least. */
void candidates_simple(Candidates *s);
void candidates_terms(Candidates *s);
void candidates_statements(Candidates *s);

/* The likeliest first: what mends most gradients, with the least change. */
void candidates_sort(Candidates *s);

#endif
