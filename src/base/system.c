/* Above what POSIX asks for, in this file alone. */
#define _GNU_SOURCE 1
#define _DARWIN_C_SOURCE
#define _NETBSD_SOURCE
#define __BSD_VISIBLE 1
#include "base/system.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined __linux__
#include <sched.h>
#include <sys/prctl.h>
#elif defined __APPLE__
#include <mach-o/dyld.h>
#elif defined __FreeBSD__
#include <sys/procctl.h>
#endif

int system_processors(void) {
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
#ifdef _SC_NPROCESSORS_ONLN
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n > 0) return (int)n;
#endif
    return 1;
}

double system_memory(void) {
#ifdef _SC_PHYS_PAGES
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (bytes > 0) return bytes;
#endif
    return (double)INFINITY;
}

size_t system_resident(void) {
    size_t all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r"); /* Linux: sizes in pages, the second is what is resident */
    if (!f) return 0;
    if (fscanf(f, "%zu %zu", &all, &resident) != 2) resident = 0;
    fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

bool system_program(char *path, size_t size) {
#ifdef __APPLE__
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

void *system_pages(size_t bytes, bool shared) {
    int how = (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANON;
#ifdef MAP_NORESERVE
    if (shared) how |= MAP_NORESERVE;
#endif
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, how, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void system_large_pages(void *pages, size_t bytes) {
#ifdef MADV_HUGEPAGE
    madvise(pages, bytes, MADV_HUGEPAGE);
#else
    (void)pages, (void)bytes;
#endif
}

void system_end_with_parent(void) {
#if defined __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#elif defined __FreeBSD__
    int how = SIGKILL;
    procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &how);
#endif
}

bool system_lock(int fd) {
#ifdef LOCK_EX
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
#else
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_SETLK, &all) == 0) return true;
    if (errno == EACCES || errno == EAGAIN) errno = EWOULDBLOCK;
    return false;
#endif
}

int system_columns(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int system_option(int argc, char **argv, const char *letters, const struct option *options) {
    int at = optind ? optind : 1, code = getopt_long(argc, argv, letters, options, NULL);
    if (code != -1 || at >= argc || strcmp(argv[at], "-") != 0) return code;
    optarg = argv[at], optind = at + 1; /* musl ends at a lone -, which is an operand */
    return 1;
}

void system_start_options(void) {
#if defined __APPLE__ || defined __FreeBSD__ || defined __NetBSD__ || defined __OpenBSD__ ||                 \
    defined __DragonFly__
    optreset = optind = 1;
#else
    optind = 0; /* glibc and musl both read it so */
#endif
}
