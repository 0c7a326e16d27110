/* Uses more than POSIX. */
#undef _XOPEN_SOURCE
#define _GNU_SOURCE 1
#include "check/gradcheck/check_system.h"
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* As in base/system.c, -DLEAST_SYSTEM builds the fallbacks alone. */
#if defined LEAST_SYSTEM
#elif defined __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#elif defined __APPLE__
#include <mach-o/dyld.h>
#elif defined __FreeBSD__
#include <sys/procctl.h>
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
