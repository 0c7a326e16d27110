/* A series of values in fixed memory: when it is full, each two neighbours are replaced by their mean. */
#ifndef RUN_HISTORY_H
#define RUN_HISTORY_H

enum { HISTORY_ROOM = 512 };

/* Initially {0}. Each point is the mean of `merged` values, the last perhaps of fewer. */
typedef struct History {
    long count, merged, last; /* points; values in a full point, 0: 1; values in the last point */
    double x[HISTORY_ROOM], y[HISTORY_ROOM];
} History;

/* Adds y at x; x must not decrease. */
void history_add(History *h, double x, double y);

#endif
