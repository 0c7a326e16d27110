/* Systems that confine less: without Landlock, as an older kernel; not as the superuser. For a
 * test's own process and what it starts. */
#pragma once

#include "child.h"

enum { NO_LANDLOCK = 1, NO_SUPERUSER = 2 };

#if defined __linux__ && defined __has_include
#if __has_include(<linux/seccomp.h>)
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define CAN_CONFINE_LESS 1
#endif
#endif

/* False: it cannot be done here, or is so already. */
static inline bool confine_less(int without) {
#ifdef CAN_CONFINE_LESS
    enum { FIRST_OF_LANDLOCK = 444, LAST_OF_LANDLOCK = 446, NOBODY = 65534 };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, without & NO_LANDLOCK ? FIRST_OF_LANDLOCK : ~0u, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST_OF_LANDLOCK, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (without & NO_SUPERUSER) {
        if (geteuid() != 0 || chown(".", NOBODY, NOBODY) != 0) return false;
        if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0) return false;
    }
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    return !without;
#endif
}
