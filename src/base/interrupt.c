#include "base/interrupt.h"
#include <signal.h>

static volatile sig_atomic_t came;

static void note(int signal_number) {
    came = signal_number;
    signal(signal_number, SIG_DFL);
}

void interrupt_heed(void) {
    static const int asking[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++)
        if (signal(asking[i], note) == SIG_IGN) signal(asking[i], SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

int interrupt_signal(void) {
    return came;
}
