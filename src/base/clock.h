/* The clock for durations. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/* Seconds since an arbitrary moment; never goes back. */
double clock_seconds(void);

#endif
