#include "run/footprint.h"
#include "base/pool.h"
#include "base/system.h"

enum {
    KB = 1024,
    THREAD_BYTES = 64 * KB,  /* stack, and strips that kernels/gemm.c packs */
    PANEL_BYTES = 600 * KB,  /* panels of the calling thread; small models touch few of them */
    USUAL_BYTES = 3072 * KB, /* of a new process, if the system does not report it */
};

size_t footprint_bytes(size_t more) {
    size_t resident = system_resident();
    return (resident ? resident : USUAL_BYTES) + more + PANEL_BYTES + (size_t)pool_threads() * THREAD_BYTES;
}
