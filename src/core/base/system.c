/* Uses more than POSIX. */
#undef _XOPEN_SOURCE
#define _GNU_SOURCE 1
#include "base/system.h"
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* The limit in a file: "LIMIT", or "TIME PERIOD"; INFINITY if there is none, as in "max". */
static double limit_in(const char *path) {
    double limit = 0, period = 1;
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%lf %lf", &limit, &period) < 1) limit = 0;
    if (f) fclose(f);
    return limit > 0 && period > 0 ? limit / period : (double)INFINITY;
}

double system_group_limit(const char *name, const char *groups, const char *root) {
    char line[PATH_MAX], path[3 * PATH_MAX];
    double min = (double)INFINITY;
    FILE *f = fopen(groups, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "0::/", 4) != 0) continue;
        line[strcspn(line, "\n")] = 0;
        for (char *end = line + strlen(line); end; end = strrchr(line + 3, '/')) {
            *end = 0;
            snprintf(path, sizeof path, "%s%s/%s", root, line + 3, name);
            min = fmin(min, limit_in(path));
        }
    }
    if (f) fclose(f);
    return min;
}

int system_processors(void) {
    cpu_set_t set;
    double found = fmax(1, (double)sysconf(_SC_NPROCESSORS_ONLN));
    if (sched_getaffinity(0, sizeof set, &set) == 0) found = CPU_COUNT(&set);
    return (int)fmin(found,
                     ceil(system_group_limit("cpu.max", "/proc/self/cgroup", "/sys/fs/cgroup")));
}

double system_memory(void) {
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    return bytes > 0 ? bytes : (double)INFINITY;
}

size_t system_resident(void) {
    size_t all, resident = 0, shared = 0; /* Linux gives sizes in pages */
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%zu %zu %zu", &all, &resident, &shared) != 3) resident = shared = 0;
    fclose(f);
    return (resident - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

size_t system_peak(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
    return (size_t)usage.ru_maxrss * 1024;
}

void *system_pages(size_t bytes) {
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    madvise(pages, bytes, MADV_HUGEPAGE); /* for speed alone */
    return pages;
}

bool system_lock(int fd) {
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

int system_reserve(int fd, off_t size) {
    return posix_fallocate(fd, 0, size);
}

int system_columns(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
