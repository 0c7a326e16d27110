#include "base/cache.h"
#include <pthread.h>
#include <unistd.h>

static long bytes[2] = {32 * 1024, 256 * 1024};

static void look(void) {
#if defined _SC_LEVEL1_DCACHE_SIZE && defined _SC_LEVEL2_CACHE_SIZE
    long first = sysconf(_SC_LEVEL1_DCACHE_SIZE), second = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (first >= 8 * 1024 && first <= 1024 * 1024) bytes[0] = first;
    if (second >= 4 * bytes[0] && second <= 64 * 1024 * 1024) bytes[1] = second;
#endif
}

long cache_bytes(int level) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
    return bytes[level - 1];
}
