/* The sizes of the processor's caches. They determine how work is cut into blocks, never what it computes. */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

/* Bytes of a core's data cache of level 1 or 2, as the system reports it, or a common size if the report
 * is missing or implausible. The same in every call. */
long cache_bytes(int level);

#endif
