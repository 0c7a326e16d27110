/* The filter of system calls. */
#undef _XOPEN_SOURCE
#define _GNU_SOURCE 1
#include "check/sandbox.h"

#ifdef SANDBOX_CONFINES
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE
/* System calls that start, signal or examine processes, change what Landlock does not know, or
 * reach other machines. */
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

/* Refuses to open a file for writing or, where Landlock knows which may be written, to shorten one
 * that is opened for reading. */
static void refuse_opening(Filter *f, int call, int argument, bool may_write) {
    if (may_write)
        refuse_where(f, call, argument, O_ACCMODE | O_TRUNC, O_TRUNC, false);
    else
        refuse_where(f, call, argument, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, true);
}

void sandbox_refuse_calls(bool may_execute, bool may_write) {
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
    for (int i = 0; i < (may_write ? 0 : CHANGING); i++) refuse(&f, changing[i], EPERM);
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
void sandbox_refuse_calls(bool may_execute, bool may_write) {
    (void)may_execute;
    (void)may_write;
}

#endif
#endif
