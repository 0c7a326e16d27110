#undef _XOPEN_SOURCE
#define _GNU_SOURCE 1
#include "check/sandbox.h"
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
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

void system_end_with_parent(pid_t parent, int signal_number) {
    prctl(PR_SET_PDEATHSIG, signal_number);
    if (getppid() != parent) raise(signal_number);
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

/* Bytes of a file that a student's code may write, and threads of the processes of a student's
 * file: for each processor, and besides. */
enum { MAX_BYTES = 1 << 24, CASE_THREADS = 4, MAX_THREADS = 64 };

/* The system counts the threads of a user. A student's file that has no user of its own has its
 * share besides those that are there. */
static void set_limits(bool own_user) {
    struct sysinfo all = {0};
    if (!own_user) sysinfo(&all);
    double threads = MAX_THREADS + CASE_THREADS * (double)sysconf(_SC_NPROCESSORS_ONLN) + all.procs;
    system_lower_limit(RLIMIT_FSIZE, MAX_BYTES, MAX_BYTES);
    system_lower_limit(RLIMIT_NPROC, threads, threads);
}

#ifdef SANDBOX_CONFINES
#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* ---- Files: Landlock ---- */

/* As in <linux/landlock.h>, whose constants depend on the age of the headers. */
enum {
    CREATE_RULESET = 444,
    ADD_RULE,
    RESTRICT_SELF,
    ASK_VERSION = 1,
    BENEATH = 1,
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_FOLDER = 1 << 3,
    USE_DEVICE = 1 << 15, /* by version 5 */
    FILE_RIGHTS = 13,     /* versions 2, 3 and 5 add one each */
    TCP_RIGHTS = 3,       /* by version 4 */
    SCOPES = 3,           /* by version 6: signals, and sockets without a file */
};
typedef struct Ruleset {
    uint64_t files, network, scopes;
} Ruleset;
typedef struct __attribute__((packed)) Beneath {
    uint64_t rights;
    int32_t folder;
} Beneath;

static long landlock_version(void) {
    return syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
}

enum { READ = EXECUTE | READ_FILE | READ_FOLDER };

/* Allows these rights, of those that are confined, for a file or folder and what is below it, if it
 * is there. */
static void allow(int rules, const char *path, uint64_t rights) {
    struct stat found;
    Beneath below = {rights, open(path, O_PATH | O_CLOEXEC)};
    if (below.folder < 0) return;
    if (fstat(below.folder, &found) == 0 && !S_ISDIR(found.st_mode))
        below.rights &= EXECUTE | READ_FILE | WRITE_FILE | USE_DEVICE;
    syscall(ADD_RULE, rules, BENEATH, &below, 0);
    close(below.folder);
}

/* Finds a program by its path, or in $PATH. */
static bool find_program(const char *name, char path[PATH_MAX]) {
    const char *folders = getenv("PATH");
    snprintf(path, PATH_MAX, "%s", name);
    if (strchr(name, '/')) return access(path, X_OK) == 0;
    for (const char *at = folders ? folders : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        snprintf(path, PATH_MAX, "%.*s/%s", (int)length, at, name);
        if (access(path, X_OK) == 0) return true;
        at += length + (at[length] == ':');
    }
    return false;
}

/* Allows a program and its own library: the folders beside that of the program, and of what its
 * name is a link to. */
static void allow_program(int rules, const char *name) {
    static const char *const own[] = {
        "", "/../lib", "/../lib64", "/../libexec", "/../include", "/../share", "/../pyvenv.cfg"};
    char program[PATH_MAX], real[PATH_MAX], path[PATH_MAX + 16];
    if (!find_program(name, program)) return;
    const char *const ways[] = {program, realpath(program, real)};
    for (int way = 0; way < 2 && ways[way]; way++) {
        const char *slash = strrchr(ways[way], '/');
        for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
            if (!slash) break;
            snprintf(path, sizeof path, "%.*s%s", (int)(slash - ways[way]), ways[way], own[i]);
            allow(rules, path, READ);
        }
    }
}

/* Allows rights for each of "A:B:C". */
static void allow_each(int rules, const char *paths, uint64_t rights) {
    char path[PATH_MAX];
    for (size_t length; *paths; paths += length + (paths[length] == ':')) {
        length = strcspn(paths, ":");
        snprintf(path, sizeof path, "%.*s", (int)length, paths);
        allow(rules, path, rights);
    }
}

static const char libraries[] =
    "/lib:/lib64:/usr/lib:/usr/lib64:/usr/lib32:/usr/local/lib:/etc/ld.so.cache:"
    "/dev/urandom:/dev/random:/dev/zero";
static const char of_compiler[] = "/bin:/usr/bin:/usr/local/bin:/usr/include:/usr/local/include:"
                                  "/usr/libexec:/usr/share:/lib32:/nix/store";
static const char of_interpreter[] =
    "/etc/mime.types:/etc/localtime:/usr/share/zoneinfo:/usr/share/fonts:"
    "/proc/cpuinfo:/proc/meminfo:/sys/devices/system/cpu";

/* Returns whether Landlock confines the files of this process. */
static bool restrict_files(const SandboxNeeds *needs) {
    long version = landlock_version();
    if (version < 1) return false;
    int rights = FILE_RIGHTS + (version >= 2) + (version >= 3) + (version >= 5);
    Ruleset all = {.files = ((uint64_t)1 << rights) - 1};
    size_t size = sizeof all.files;
    if (version >= 4) {
        all.network = TCP_RIGHTS;
        size = offsetof(Ruleset, scopes);
    }
    if (version >= 6) {
        all.scopes = SCOPES;
        size = sizeof all;
    }
    int rules = (int)syscall(CREATE_RULESET, &all, size, 0);
    if (rules < 0) return false;
    allow(rules, ".", needs->programs ? all.files : READ);
    allow(rules, "/dev/null", all.files);
    allow_each(rules, libraries, READ);
    if (needs->programs) allow_each(rules, of_compiler, READ);
    if (needs->interpreter) allow_each(rules, of_interpreter, READ);
    if (needs->headers) allow(rules, needs->headers, READ);
    for (const char *const *program = needs->programs; program && *program; program++)
        allow_program(rules, *program);
    for (const char *const *path = needs->interpreter; path && *path; path++)
        allow(rules, *path, READ);
    if (needs->writable) allow(rules, needs->writable, all.files & ~(uint64_t)EXECUTE);
    bool done = syscall(RESTRICT_SELF, rules, 0) == 0;
    close(rules);
    return done;
}

/* ---- The superuser ---- */

enum { NOBODY = 65534 };

/* Whether a user who owns nothing may use a path that is there. */
static bool nobody_may(const char *path, int rights) {
    bool there = access(path, F_OK) == 0, may = !there || seteuid(NOBODY) == 0;
    if (there && may) may = faccessat(AT_FDCWD, path, rights, AT_EACCESS) == 0;
    return seteuid(0) == 0 && may;
}

/* Whether that user may read what is needed: /root may hide it. */
static bool may_be_nobody(const SandboxNeeds *needs) {
    char path[PATH_MAX];
    bool may = !needs->headers || nobody_may(needs->headers, R_OK | X_OK);
    for (const char *const *program = needs->programs; program && *program; program++)
        may = may && (!find_program(*program, path) || nobody_may(path, X_OK));
    for (const char *const *at = needs->interpreter; at && *at; at++)
        may = may && nobody_may(*at, R_OK);
    return may;
}

/* Gives the working directory and what is in it to a user who owns nothing else, one for each
 * directory where the system has so many, and becomes that user. Returns whether the user is the
 * directory's own. */
static bool give_up_superuser(void) {
    enum { FIRST = 1000000000 };
    struct stat found = {0};
    DIR *d = opendir(".");
    if (!d || fstat(dirfd(d), &found) != 0) return false;
    uid_t user = FIRST + (uid_t)(found.st_ino % FIRST);
    if (fchown(dirfd(d), user, NOBODY) != 0) user = NOBODY;
    for (const struct dirent *entry = readdir(d); entry; entry = readdir(d))
        if (strcmp(entry->d_name, "..") != 0)
            (void)!fchownat(dirfd(d), entry->d_name, user, NOBODY, AT_SYMLINK_NOFOLLOW);
    closedir(d);
    if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0) return false;
    return setresuid(user, user, user) == 0 && user != NOBODY;
}

/* ---- All of it ---- */

static void drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}, {0}};
    syscall(SYS_capset, &header, none);
}

void sandbox_protect(void) {
    prctl(PR_SET_DUMPABLE, 0);
}

void sandbox_enter(const char *folder, const SandboxNeeds *needs) {
    bool here = chdir(folder) == 0, own_user = false;
    bool nobody = here && geteuid() == 0 && may_be_nobody(needs);
    pid_t parent = getppid();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    bool confined = restrict_files(needs);
    if (nobody) own_user = give_up_superuser();
    if (!needs->programs) set_limits(own_user);
    drop_capabilities();
    prctl(PR_SET_DUMPABLE, 0);
    system_end_with_parent(parent, SIGKILL); /* another user's processes would not */
    if (!needs->programs) sandbox_refuse_calls(needs->interpreter != NULL, confined);
}

#else

void sandbox_protect(void) {}

void sandbox_enter(const char *folder, const SandboxNeeds *needs) {
    (void)!chdir(folder);
    if (!needs->programs) set_limits(false);
}
#endif
