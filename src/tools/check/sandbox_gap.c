/* Tries what the sandbox confines on this system. */
#include "base/append.h"
#include "check/sandbox.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READS = 1, FORKS = 2 };

/* In a child: confines it and tries what must not be possible. */
static void try_to_leave(const char *folder, const SandboxNeeds *needs) {
    static const char *const others[] = {"/etc/passwd", "/etc/group"};
    int found = 0;
    sandbox_enter(folder, needs);
    for (int i = 0; i < 2; i++)
        if (open(others[i], O_RDONLY) >= 0) found |= READS;
    if (needs->programs) _exit(found);
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0 || fcntl(STDIN_FILENO, F_SETOWN, getpid()) == 0) found |= FORKS;
    _exit(found);
}

static int ways_out(const char *folder, const SandboxNeeds *needs) {
    int status;
    pid_t child = fork();
    if (child == 0) try_to_leave(folder, needs);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : READS | FORKS;
}

const char *sandbox_gap(const char *folder) {
    static char text[192];
    static const char *const shell[] = {"sh", NULL}, *const folders[] = {"/usr/bin", NULL};
    const SandboxNeeds code = {0}, compiler = {.programs = shell},
                       program = {.interpreter = folders};
    int of_code = ways_out(folder, &code);
    bool of_compiler = ways_out(folder, &compiler) & READS,
         of_program = ways_out(folder, &program) & READS;
    const char *const gaps[] = {of_code & READS ? "the files that a C file reads" : NULL,
                                of_program ? "the files that an interpreter reads" : NULL,
                                of_compiler ? "the files that the compiler reads" : NULL,
                                of_code & FORKS ? "processes" : NULL};
    text[0] = 0;
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++)
        if (gaps[i]) text_append(text, sizeof text, "%s%s", *text ? ", " : "", gaps[i]);
    return *text ? text : NULL;
}
