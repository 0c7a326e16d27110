#include "base/interrupt.h"
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void note(int signal_number) {
    came = signal_number;
}

enum { ASKING = 3 };
static const int asking[ASKING] = {SIGINT, SIGTERM, SIGHUP};

void interrupt_heed(void) {
    struct sigaction once = {.sa_flags = SA_RESTART | (int)SA_RESETHAND}, was;
    once.sa_handler = note;
    sigemptyset(&once.sa_mask);
    for (int i = 0; i < ASKING; i++)
        if (sigaction(asking[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(asking[i], &once, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

int interrupt_signal(void) {
    return came;
}

void interrupt_leave(void) {
    struct sigaction is;
    for (int i = 0; i < ASKING; i++)
        if (sigaction(asking[i], NULL, &is) == 0 && is.sa_handler == note) signal(asking[i], SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    came = 0;
}
