/* The memory of the whole process. */
#ifndef RUN_FOOTPRINT_H
#define RUN_FOOTPRINT_H

#include <stddef.h>

/* Peak bytes of this process after it allocates `more` bytes and uses all its threads: current use (code,
 * libraries, the task's data), the threads' own memory, and `more`. */
size_t footprint_bytes(size_t more);

#endif
