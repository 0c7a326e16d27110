/* The memory of a process, all in all: as the system counts it, not only the arrays that are the point of it. */
#ifndef REPORT_FOOTPRINT_H
#define REPORT_FOOTPRINT_H

#include <stddef.h>

/* Bytes that this process will take at its peak if it goes on to take `more` bytes of arrays and to work with all of
 * its threads: what it holds already (code, libraries, the task's data), what each thread needs of its own, and those
 * arrays. */
size_t footprint_bytes(size_t more);

#endif
