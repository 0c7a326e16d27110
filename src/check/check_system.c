/* Uses more than POSIX. */
#undef _XOPEN_SOURCE
#define _GNU_SOURCE 1
#include "check/check_system.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

bool system_program(char *path, size_t size) {
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    path[n < 0 ? 0 : n] = 0;
    return n > 0 && (size_t)n < size - 1;
}

bool system_runs_code(const char *folder) {
    struct statvfs found;
    return statvfs(folder, &found) != 0 || !(found.f_flag & ST_NOEXEC);
}

void system_end_with_parent(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static double seconds_in(struct timeval t) {
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

bool system_ended(pid_t child, int *status, double *seconds) {
    struct rusage used;
    if (wait4(child, status, WNOHANG, &used) != child) return false;
    *seconds = seconds_in(used.ru_utime) + seconds_in(used.ru_stime);
    return true;
}

/* The C library's type of a resource is int or an enumeration. */
#pragma GCC diagnostic ignored "-Wsign-conversion"
void system_lower_limit(int resource, double value, double most) {
    struct rlimit l;
    if (getrlimit(resource, &l) != 0) return;
    if ((rlim_t)most < l.rlim_max) l.rlim_max = (rlim_t)most; /* RLIM_INFINITY is the largest */
    l.rlim_cur = (rlim_t)value < l.rlim_max ? (rlim_t)value : l.rlim_max;
    setrlimit(resource, &l);
}
