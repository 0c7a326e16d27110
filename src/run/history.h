/* How a number went, in memory that does not grow: when it is full, neighbours become their mean. */
#ifndef REPORT_HISTORY_H
#define REPORT_HISTORY_H

enum { HISTORY_ROOM = 512 };

/* Starts as {0}. Points 0 … count - 1 are means of `merged` values each, the last one perhaps of fewer. */
typedef struct History {
    long count, merged, last; /* points; values in a whole one, 0 means 1; values in the last one */
    double x[HISTORY_ROOM], y[HISTORY_ROOM];
} History;

/* Adds y at x, which is not below those before. */
void history_add(History *h, double x, double y);

#endif
