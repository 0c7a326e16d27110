/* The clock that every duration here is measured with. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Seconds since some moment of the past, on a clock that only goes forward. */
double clock_seconds(void);

#endif
