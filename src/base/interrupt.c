#include "base/interrupt.h"
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t came;

static void note(int signal_number) {
    came = signal_number;
}

void interrupt_heed(void) {
    static const int asking[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction once = {.sa_flags = SA_RESTART | (int)SA_RESETHAND}, was;
    once.sa_handler = note;
    sigemptyset(&once.sa_mask);
    for (int i = 0; i < 3; i++)
        if (sigaction(asking[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(asking[i], &once, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

int interrupt_signal(void) {
    return came;
}
