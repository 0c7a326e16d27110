#include "run/footprint.h"
#include "base/pool.h"
#include "base/system.h"

enum {
    KB = 1024,
    THREAD_BYTES = 64 * KB, /* stack, and strips that kernels/gemm.c packs */
    PANEL_BYTES =
        600 * KB, /* of the thread that calls it: its panels, most of which small models never touch */
    USUAL_BYTES = 3072 * KB, /* of a process at its start, where the system does not say */
};

size_t footprint_bytes(size_t more) {
    size_t resident = system_resident();
    return (resident ? resident : USUAL_BYTES) + more + PANEL_BYTES + (size_t)pool_threads() * THREAD_BYTES;
}
