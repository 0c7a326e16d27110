/* A curve as one line of characters. */
#ifndef PICTURES_SPARKLINE_H
#define PICTURES_SPARKLINE_H

#include <stdbool.h>

enum { SPARKLINE_MOST = 64, SPARKLINE_TEXT = 3 * SPARKLINE_MOST + 1 };

/* Writes `columns` characters, or as many as there are values if these are fewer. The height of each is
 * the mean of its share of the [count] values; values that are not finite are left out. ASCII without
 * `unicode`. Returns out. */
const char *sparkline(char out[SPARKLINE_TEXT], const double *values, long count, int columns, bool unicode);

#endif
