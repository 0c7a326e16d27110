/* A line of characters that shows how a number went. */
#ifndef PICTURES_SPARKLINE_H
#define PICTURES_SPARKLINE_H

#include <stdbool.h>

enum { SPARKLINE_MOST = 64, SPARKLINE_TEXT = 3 * SPARKLINE_MOST + 1 };

/* Writes `columns` characters, fewer where there are fewer values, each as high as the mean of its share of the [count]
 * values; those that are not finite are left out. ASCII without `unicode`. Returns out. */
const char *sparkline(char out[SPARKLINE_TEXT], const double *values, long count, int columns, bool unicode);

#endif
