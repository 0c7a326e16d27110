/* The trials of a search: what is tried, in which order, and which of those that pass is the likeliest. */
#ifndef GRADING_REPAIR_CANDIDATES_H
#define GRADING_REPAIR_CANDIDATES_H

#include "grading/repair_sites.h"
#include "grading/repair_trials.h"

typedef struct Candidates {
    const Edits *edits;
    const bool *left_out; /* as edited_source.h has it */
    unsigned wrong;       /* bits of the inputs whose gradients are wrong somewhere */
    TrialResult *trial;   /* from malloc */
    long trials;
    Site *site; /* in memory that all processes share */
    long sites;
} Candidates;

/* Takes the place of what is there: each edit with each single value. */
void candidates_simple(Candidates *s);

/* Each statement under each condition; beside it what is set to 0, or has a factor. */
void candidates_guards(Candidates *s);

/* The same with products of as many values, as a term, in a term's place, times it, or added behind a statement: those that give
 * what is missing at the place where the sites were measured. The more values, the more products, of which by chance some fit. */
void candidates_find_sites(Candidates *s);
bool candidates_measure(Candidates *s, const TrialPlace *p,
                        int at_once); /* false: most of them could not be */
void candidates_products(Candidates *s, const CheckPlan *p, int degree,
                         double until); /* in the place of what is there */

/* Whether what is added in a copied loop has its variable in it; true of any other trial. What has not is the same in all its runs:
 * a term many times, and no sum. */
bool candidates_is_of_loop(const Edits *all, const RepairTrial *t);

void candidates_free(Candidates *s);

/* The likeliest first: what mends most gradients, with the least change. */
void candidates_sort(Candidates *s);

#endif
