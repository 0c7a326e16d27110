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

/* Bytes of a file that a student's code may write, and threads of the processes of a student's file: for each processor,
 * and besides. */
enum { MAX_BYTES = 1 << 24, CASE_THREADS = 4, MAX_THREADS = 64 };

/* The system counts the threads of a user. A student's file that has no user of its own has its share besides those that
 * are there. */
static void set_limits(bool own_user) {
    struct sysinfo all = {0};
    if (!own_user) sysinfo(&all);
    double threads = MAX_THREADS + CASE_THREADS * (double)sysconf(_SC_NPROCESSORS_ONLN) + all.procs;
    system_lower_limit(RLIMIT_FSIZE, MAX_BYTES, MAX_BYTES);
    system_lower_limit(RLIMIT_NPROC, threads, threads);
}

/* Sanitizers start processes and read /proc, so nothing is confined under them; musl comes without the kernel's headers. */
#if defined __has_include && !defined LEAST_SYSTEM && !SANDBOX_SANITIZED
#if __has_include(<linux/seccomp.h>) && __has_include(<linux/capability.h>)
#define CONFINED 1
#endif
#endif

#ifdef CONFINED
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
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

/* Allows these rights, of those that are confined, for a file or folder and what is below it, if it is there. */
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

/* Allows a program and its own library: the folders beside that of the program, and of what its name is a link to. */
static void allow_program(int rules, const char *name) {
    static const char *const own[] = {
        "", "/../lib", "/../lib64", "/../libexec", "/../include", "/../share", "/../pyvenv.cfg"};
    char program[PATH_MAX], real[PATH_MAX], path[PATH_MAX + 16];
    if (!find_program(name, program)) return;
    const char *const ways[] = {program, realpath(program, real)};
    for (int way = 0; way < 2 && ways[way]; way++) {
        const char *slash = strrchr(ways[way], '/');
        for (size_t i = 0; slash && i < sizeof own / sizeof *own; i++) {
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
    for (const char *const *program = needs->programs; may && program && *program; program++)
        may = !find_program(*program, path) || nobody_may(path, X_OK);
    for (const char *const *at = needs->interpreter; may && at && *at; at++)
        may = nobody_may(*at, R_OK);
    return may;
}

/* Gives the working directory and what is in it to a user who owns nothing else, one for each directory where the system
 * has so many, and becomes that user. Returns whether the user is the directory's own. */
static bool give_up_superuser(void) {
    enum { FIRST = 1000000000 };
    struct stat found = {0};
    DIR *d = opendir(".");
    if (!d || fstat(dirfd(d), &found) != 0) return false;
    uid_t user = FIRST + (uid_t)(found.st_ino % FIRST);
    if (fchown(dirfd(d), user, NOBODY) != 0) user = NOBODY;
    for (const struct dirent *entry; (entry = readdir(d));)
        if (strcmp(entry->d_name, "..") != 0)
            (void)!fchownat(dirfd(d), entry->d_name, user, NOBODY, AT_SYMLINK_NOFOLLOW);
    closedir(d);
    if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0) return false;
    return setresuid(user, user, user) == 0 && user != NOBODY;
}

/* ---- System calls ---- */

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE
/* System calls that start, signal or examine processes, change what Landlock does not know, or reach other machines. */
static const int refused[] = {
    /* processes */
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_tkill,
    SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_setpriority, SYS_sched_setscheduler,
    SYS_sched_setparam, SYS_sched_setattr, SYS_sched_setaffinity, SYS_ioprio_set, SYS_setsid,
    SYS_setpgid,
    /* other views of the system */
    SYS_unshare, SYS_setns, SYS_chroot, SYS_pivot_root, SYS_mount, SYS_umount2,
    SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
    /* memory and messages that outlive the process, and the network */
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_memfd_create, SYS_socket, SYS_shmget, SYS_shmat,
    SYS_shmctl, SYS_msgget, SYS_msgctl, SYS_semget, SYS_semctl, SYS_mq_open, SYS_mq_unlink,
    /* files */
    SYS_truncate, SYS_fallocate, SYS_mknodat, SYS_linkat, SYS_symlinkat, SYS_fchmod, SYS_fchmodat,
    SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
#ifdef __x86_64__
    /* older forms of the above */
    SYS_fork, SYS_vfork, SYS_mknod, SYS_link, SYS_symlink, SYS_chmod, SYS_chown, SYS_lchown,
    SYS_utime, SYS_utimes, SYS_futimesat,
#endif
    /* by number, where headers may be older: pidfd_…, io_uring_…, mounts, fchmodat2 */
    424, 425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 442, 452};

/* Those that change files, where Landlock does not say which. */
static const int changing[] = {SYS_mkdirat, SYS_unlinkat, SYS_renameat2,
#ifdef __x86_64__
                               SYS_creat,   SYS_mkdir,    SYS_rmdir,     SYS_unlink, SYS_rename,
#endif
#ifdef SYS_renameat
                               SYS_renameat
#endif
};

/* Commands that make a file send signals, or type into a terminal. */
static const uint32_t file_commands[] = {F_SETOWN, F_SETSIG, F_SETOWN_EX};
static const uint32_t device_commands[] = {FIOASYNC,  FIOSETOWN, SIOCSPGRP, TIOCSTI,
                                           TIOCSCTTY, TIOCSPGRP, TIOCLINUX, TIOCSETD};

enum {
    CLONE3 = 435,
    OPENAT2 = 437,
    REFUSED = sizeof refused / sizeof *refused,
    CHANGING = sizeof changing / sizeof *changing,
    FILE_COMMANDS = sizeof file_commands / sizeof *file_commands,
    DEVICE_COMMANDS = sizeof device_commands / sizeof *device_commands,
};

/* A filter under construction. */
typedef struct Filter {
    struct sock_filter code[2 * (REFUSED + CHANGING) + 6 * (FILE_COMMANDS + DEVICE_COMMANDS) + 100];
    unsigned short length;
} Filter;

static void emit(Filter *f, int code, uint32_t value, int if_true, int if_false) {
    f->code[f->length++] =
        (struct sock_filter){(uint16_t)code, (uint8_t)if_true, (uint8_t)if_false, value};
}

static void load(Filter *f, size_t at) {
    emit(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at, 0, 0);
}

static void load_argument(Filter *f, int argument) {
    load(f, offsetof(struct seccomp_data, args) + (size_t)argument * sizeof(uint64_t));
}

static void answer(Filter *f, int error) {
    emit(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error, 0, 0);
}

/* Refuses all calls with this number. */
static void refuse(Filter *f, int call, int error) {
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1);
    answer(f, error);
}

/* Refuses a call if (argument & mask) == value, or (`unless`) if it is not. */
static void refuse_where(Filter *f, int call, int argument, uint32_t mask, uint32_t value,
                         bool unless) {
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 5);
    load_argument(f, argument);
    emit(f, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, value, unless ? 1 : 0, unless ? 0 : 1);
    answer(f, EPERM);
    load(f, offsetof(struct seccomp_data, nr));
}

/* Refuses fcntl(file, F_SETFL, … | O_ASYNC). */
static void refuse_signals_of_files(Filter *f) {
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 7);
    load_argument(f, 1);
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, F_SETFL, 0, 4);
    load_argument(f, 2);
    emit(f, BPF_ALU | BPF_AND | BPF_K, O_ASYNC, 0, 0);
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    answer(f, EPERM);
    load(f, offsetof(struct seccomp_data, nr));
}

/* Refuses to open a file for writing or, where Landlock knows which may be written, to shorten one that is opened for
 * reading. */
static void refuse_opening(Filter *f, int call, int argument, bool may_write) {
    if (may_write)
        refuse_where(f, call, argument, O_ACCMODE | O_TRUNC, O_TRUNC, false);
    else
        refuse_where(f, call, argument, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, true);
}

static void refuse_calls(bool may_execute, bool may_write) {
    const uint32_t all = UINT32_MAX;
    static Filter f;
    uint32_t own = (uint32_t)getpid();
    load(&f, offsetof(struct seccomp_data, arch));
    emit(&f, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    answer(&f, EPERM);
    load(&f, offsetof(struct seccomp_data, nr));
    emit(&f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* the calls of x32 */
    answer(&f, EPERM);
    for (int i = 0; i < REFUSED; i++)
        if (!may_execute || (refused[i] != SYS_execve && refused[i] != SYS_execveat))
            refuse(&f, refused[i], EPERM);
    for (int i = 0; i < CHANGING && !may_write; i++) refuse(&f, changing[i], EPERM);
    /* Their arguments lie in memory; libraries fall back to clone and openat. */
    refuse(&f, CLONE3, ENOSYS);
    refuse(&f, OPENAT2, ENOSYS);
    refuse_where(&f, SYS_clone, 0, CLONE_THREAD, CLONE_THREAD, true);
    refuse_where(&f, SYS_kill, 0, all, own, true);
    refuse_where(&f, SYS_tgkill, 0, all, own, true);
    refuse_where(&f, SYS_prlimit64, 0, all, 0, true);
    refuse_where(&f, SYS_prctl, 0, all, PR_SET_PDEATHSIG, false);
    for (int i = 0; i < FILE_COMMANDS; i++)
        refuse_where(&f, SYS_fcntl, 1, all, file_commands[i], false);
    for (int i = 0; i < DEVICE_COMMANDS; i++)
        refuse_where(&f, SYS_ioctl, 1, all, device_commands[i], false);
    refuse_signals_of_files(&f);
    refuse_opening(&f, SYS_openat, 2, may_write);
#ifdef SYS_open
    refuse_opening(&f, SYS_open, 1, may_write);
#endif
    emit(&f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    struct sock_fprog program = {f.length, f.code};
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else
static void refuse_calls(bool may_execute, bool may_write) {
    (void)may_execute, (void)may_write;
}

#endif

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
    if (!needs->programs) refuse_calls(needs->interpreter != NULL, confined);
}

#else

void sandbox_protect(void) {}

void sandbox_enter(const char *folder, const SandboxNeeds *needs) {
    (void)!chdir(folder);
    if (!needs->programs) set_limits(false);
}
#endif
