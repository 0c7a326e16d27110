/* Where something could be added in a backward, or stand in a term's place: what each addition would change in the gradient, and
 * what is at hand there. What has to be added is then found without any further run (repair_fit.h), as backward is linear in it. */
#ifndef GRADING_REPAIR_SITES_H
#define GRADING_REPAIR_SITES_H

#include "grading/repair_run.h"

/* Most times that a place runs, and weighted sums of all gradients that stand for them. */
enum { SITE_RUNS = 256, SITE_SUMS = 4 };

/* Most of the fields that change with what is added, as in a recursion, and runs of a site that has such. */
enum { SITE_FEEDS = 8, FEED_RUNS = 80 };

typedef struct Site {
    RepairTrial trial; /* its edit, piece and target */
    long runs;         /* of the piece; 0: it cannot be used */
    long fields;       /* 1 + values of the pool: what the edit stands around goes first */
    uint64_t readable; /* of these; the others may not be there */
    int reads;         /* while that is tried: the one that is read; 0: all */

    /* Of each field, over the runs: 1: in proportion to the cotangent; 0: the same with any; -1: neither, or always 0. */
    int grade[1 + REPAIR_READS];
    /* The fields that change; by how much in run i if 1 is added in run k: [., i, k]. */
    int feeds, feed_field[SITE_FEEDS];
    double feed[SITE_FEEDS][FEED_RUNS][FEED_RUNS];

    /* By how much the sums are short, how well that is known, and what 1 that is added in one run changes. */
    double need[SITE_SUMS], allowed[SITE_SUMS];
    double response[SITE_SUMS][SITE_RUNS];
    double record[SITE_RUNS * (1 + REPAIR_READS)]; /* [runs, fields] */
} Site;

/* Fills in what becomes known of `count` sites, which are in memory that all processes share. */
void sites_measure(const TrialPlace *p, Site *site, long count, int at_once);

#endif
