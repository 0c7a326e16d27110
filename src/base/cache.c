#include "base/cache.h"
#include "base/system.h"
#include <pthread.h>

static long bytes[2] = {32 * 1024, 256 * 1024};

static void look(void) {
    long first = system_cache(1), second = system_cache(2);
    if (first >= 8 * 1024 && first <= 1024 * 1024) bytes[0] = first;
    if (second >= 4 * bytes[0] && second <= 64 * 1024 * 1024) bytes[1] = second;
}

long cache_bytes(int level) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
    return bytes[level - 1];
}
