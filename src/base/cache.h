/* The sizes of the processor's caches: for how work is cut into blocks, never for what it computes. */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

/* Bytes of a core's own data cache of level 1 or 2: what the system says where that can be true, and what
 * most processors have at least where not. The same in every call. */
long cache_bytes(int level);

#endif
