/* Uses more than POSIX. */
#undef _XOPEN_SOURCE
#define _GNU_SOURCE 1
#include "check/check_system.h"
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* -DLEAST_SYSTEM builds the fallbacks alone, which tests/machines/machines.sh runs. */
#if defined LEAST_SYSTEM
#elif defined __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#elif defined __APPLE__
#include <mach-o/dyld.h>
#elif defined __FreeBSD__
#include <sys/procctl.h>
#endif

/* The resource of setrlimit that is a process's memory: its address space, or its data if that has no limit. */
#if defined RLIMIT_AS && !defined LEAST_SYSTEM
#define SYSTEM_MEMORY RLIMIT_AS
#else
#define SYSTEM_MEMORY RLIMIT_DATA
#endif

bool system_program(char *path, size_t size) {
#if defined __APPLE__ && !defined LEAST_SYSTEM
    uint32_t room = (uint32_t)size;
    bool known = _NSGetExecutablePath(path, &room) == 0;
    if (!known) *path = 0;
    return known;
#else
    static const char *const links[] = {"/proc/self/exe", "/proc/curproc/file", "/proc/curproc/exe"};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        ssize_t n = readlink(links[i], path, size - 1);
        path[n < 0 ? 0 : n] = 0;
        if (n > 0 && (size_t)n < size - 1) return true;
    }
    *path = 0;
    return false;
#endif
}

bool system_runs_code(const char *folder) {
#if defined ST_NOEXEC && !defined LEAST_SYSTEM
    struct statvfs found;
    return statvfs(folder, &found) != 0 || !(found.f_flag & ST_NOEXEC);
#else
    (void)folder;
    return true;
#endif
}

void system_end_with_parent(void) {
#if defined PR_SET_PDEATHSIG
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#elif defined PROC_PDEATHSIG_CTL
    int how = SIGKILL;
    procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &how);
#endif
}

void system_close(int from, int to) {
#ifdef SYS_close_range
    if (from <= to && syscall(SYS_close_range, from, to, 0) == 0) return;
#endif
    for (; from <= to; from++) close(from);
}

static bool under_sanitizer(void) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return true;
#elif defined __has_feature
    return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
    return false;
#endif
}

/* The limit, lowered to `value`, and for good to `hard`, as far as it may be. */
static const struct rlimit *lowered(struct rlimit *limit, double value, double hard) {
    rlim_t soft = (rlim_t)value, most = (rlim_t)hard;
    if (limit->rlim_max == RLIM_INFINITY || soft < limit->rlim_max) limit->rlim_cur = soft;
    if (limit->rlim_max == RLIM_INFINITY || most < limit->rlim_max) limit->rlim_max = most;
    return limit;
}

/* A macro, because the type of a resource differs between C libraries. */
#define LOWER(resource, value, hard)                                                                         \
    if (getrlimit(resource, &l) == 0) setrlimit(resource, lowered(&l, value, hard))

void system_set_limits(double seconds, size_t memory, size_t file_bytes) {
    struct rlimit l;
    LOWER(RLIMIT_CORE, 0, 0);
    LOWER(RLIMIT_CPU, seconds, seconds + 1);
    if (file_bytes) LOWER(RLIMIT_FSIZE, (double)file_bytes, (double)file_bytes);
    if (memory && !under_sanitizer()) LOWER(SYSTEM_MEMORY, (double)memory, (double)memory);
}

const char *const *system_loadable(bool open) {
#if defined LEAST_SYSTEM
    static const char *const flags[2][3] = {{NULL}, {NULL}};
#elif defined __APPLE__
    static const char *const flags[2][3] = {{"-Wl,-undefined,dynamic_lookup"},
                                            {"-Wl,-undefined,dynamic_lookup", "-Wl,-flat_namespace"}};
#else
    static const char *const flags[2][3] = {
        {"-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc", "-Wl,-Bsymbolic"},
        {"-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc"}};
#endif
    return flags[open];
}
